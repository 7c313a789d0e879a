//! A variable as a line of a file, such that a program that reads the file has the value as it was.

use crate::dotenv::{LONGEST_NAME, is_in_name};

/// `NAME=value`, without the end of the line; the value of some has several lines. None if such a file cannot have the name.
///
/// Quotes are used only where something would be lost without them: single ones first, because other programs read them the same way.
pub fn dotenv_line(name: &str, value: &str) -> Option<String> {
    let can_stand = (1..=LONGEST_NAME).contains(&name.len()) && name.chars().all(is_in_name) && !value.contains('\0');
    can_stand.then(|| format!("{name}={}", quoted(value)))
}

fn quoted(value: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./:,@%+=".contains(c);
    if value.chars().all(is_plain) {
        return value.to_owned();
    }
    if !value.contains(['\'', '\\', '\r']) {
        return format!("'{value}'");
    }
    let mut text = String::from("\"");
    for c in value.chars() {
        match c {
            '"' | '\\' | '$' => text.extend(['\\', c]),
            '\r' => text.push_str("\\r"),
            _ => text.push(c),
        }
    }
    text.push('"');
    text
}

#[cfg(test)]
mod tests {
    use super::dotenv_line;

    #[test]
    fn quotes_only_where_they_are_needed() {
        for (value, written) in [
            ("", "A="),
            ("plain-1.2", "A=plain-1.2"),
            ("postgres://db.example.org:5432/shop", "A=postgres://db.example.org:5432/shop"),
            ("two words", "A='two words'"),
            ("a # b", "A='a # b'"),
            ("$HOME", "A='$HOME'"),
            ("say \"hi\"", "A='say \"hi\"'"),
            ("it's", "A=\"it's\""),
            (r"C:\x $Y", r#"A="C:\\x \$Y""#),
            ("1\n2", "A='1\n2'"),
            ("1\r\n2", "A=\"1\\r\n2\""),
        ] {
            assert_eq!(dotenv_line("A", value).unwrap(), written);
        }
        for name in ["", "my name", "ä", "A=B", "A\nB", &"A".repeat(257)] {
            assert_eq!(dotenv_line(name, "x"), None, "{name:?}");
        }
        assert_eq!(dotenv_line("A", "\0"), None);
    }
}

#[cfg(test)]
mod properties;
