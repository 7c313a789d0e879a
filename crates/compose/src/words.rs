//! A command that is written as one text, as the words that a shell would make of it.

/// Splits at spaces that no quote or backslash protects. Nothing is expanded.
pub fn split(text: &str) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    // A word may be empty: '' is one.
    let mut word: Option<String> = None;
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\'' => quoted(&mut chars, word.get_or_insert_default())?,
            '"' => double_quoted(&mut chars, word.get_or_insert_default())?,
            '\\' => match chars.next() {
                // A line that goes on in the next one.
                Some('\n') => {}
                Some(c) => word.get_or_insert_default().push(c),
                None => return Err("ends with a backslash".into()),
            },
            c if c.is_whitespace() => words.extend(word.take()),
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    Ok(words)
}

fn quoted(chars: &mut std::str::Chars<'_>, word: &mut String) -> Result<(), String> {
    for c in chars {
        if c == '\'' {
            return Ok(());
        }
        word.push(c);
    }
    Err("has a ' without its second one".into())
}

fn double_quoted(chars: &mut std::str::Chars<'_>, word: &mut String) -> Result<(), String> {
    while let Some(c) = chars.next() {
        match c {
            '"' => return Ok(()),
            '\\' => match chars.next() {
                // The others keep their backslash, as in a shell.
                Some(c @ ('"' | '\\' | '$' | '`')) => word.push(c),
                Some('\n') => {}
                Some(c) => word.extend(['\\', c]),
                None => break,
            },
            c => word.push(c),
        }
    }
    Err("has a \" without its second one".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_those_of_a_shell() {
        let cases: [(&str, &[&str]); 9] = [
            ("", &[]),
            ("  \n ", &[]),
            ("serve --port 80", &["serve", "--port", "80"]),
            ("sh -c 'a \"b\" $c'", &["sh", "-c", "a \"b\" $c"]),
            ("a\"b c\"d", &["ab cd"]),
            ("'' \"\"", &["", ""]),
            ("a\\ b \\'", &["a b", "'"]),
            ("\"a\\\"b\\n\"", &["a\"b\\n"]),
            ("a \\\n  b", &["a", "b"]),
        ];
        for (text, words) in cases {
            assert_eq!(split(text).unwrap(), words, "{text:?}");
        }
        for text in ["'a", "\"a", "a\\", "\"a\\"] {
            assert!(split(text).is_err(), "{text:?}");
        }
    }
}
