//! Durations, sizes, and other small values that are written as texts.

use std::time::Duration;

use crate::bounds::LONGEST_PATH;
use crate::problems::shown;

/// Longer than any of them is meant to be.
const LONGEST: Duration = Duration::from_secs(7 * 86_400);
const UNITS: [(&str, u64); 7] = [
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
];

/// Such as `1m30s`, `1.5h` or `500ms`.
pub fn duration(text: &str) -> Result<Duration, String> {
    let example = || format!("must be a time with its unit, such as \"30s\" or \"1m30s\", and is {}", shown(text));
    if text == "0" {
        return Ok(Duration::ZERO);
    }
    let mut rest = text;
    let mut nanos: u64 = 0;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').ok_or_else(example)?;
        let letters = rest[digits..].find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(rest.len() - digits);
        let unit = &rest[digits..digits + letters];
        let (_, size) = UNITS.iter().find(|(name, _)| *name == unit).ok_or_else(example)?;
        let part = scaled(&rest[..digits], *size).ok_or_else(example)?;
        nanos = nanos.checked_add(part).ok_or_else(example)?;
        rest = &rest[digits + letters..];
    }
    let duration = Duration::from_nanos(nanos);
    if text.is_empty() || duration > LONGEST {
        return Err(example());
    }
    Ok(duration)
}

/// Such as `512m`, `1.5gb` or a number of bytes.
pub fn bytes(text: &str) -> Result<u64, String> {
    let example = || format!("must be a size such as \"512m\" or \"1g\", and is {}", shown(text));
    let lower = text.to_ascii_lowercase();
    let digits = lower.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(lower.len());
    let unit = match lower[digits..].trim_start() {
        "" | "b" => 1,
        "k" | "kb" | "ki" | "kib" => 1 << 10,
        "m" | "mb" | "mi" | "mib" => 1 << 20,
        "g" | "gb" | "gi" | "gib" => 1 << 30,
        "t" | "tb" | "ti" | "tib" => 1 << 40,
        _ => return Err(example()),
    };
    scaled(&lower[..digits], unit).filter(|size| i64::try_from(*size).is_ok()).ok_or_else(example)
}

/// Processors, in billionths: such as `0.5`.
pub fn nano_cpus(text: &str) -> Result<u64, String> {
    const MOST: u64 = 1024;
    let cpus = scaled(text, 1_000_000_000).filter(|cpus| *cpus <= MOST * 1_000_000_000);
    cpus.ok_or_else(|| {
        format!("must be a number of processors such as \"0.5\", at most {MOST}, and is {}", shown(text))
    })
}

/// A decimal number times a unit, rounded down; exact, because no floating point is involved.
fn scaled(text: &str, unit: u64) -> Option<u64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let is_number = |part: &str| (1..=18).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number(whole) || !is_number(fraction) {
        return None;
    }
    let unit = u128::from(unit);
    let tens = 10_u128.pow(u32::try_from(fraction.len()).ok()?);
    let total = whole.parse::<u128>().ok()? * unit + fraction.parse::<u128>().ok()? * unit / tens;
    u64::try_from(total).ok()
}

/// A file's rights in octal digits, as people write them.
pub fn mode(text: &str) -> Result<u32, String> {
    let digits = text.strip_prefix("0o").unwrap_or(text);
    let mode = u32::from_str_radix(digits, 8).ok().filter(|mode| *mode <= 0o7777 && !digits.starts_with('+'));
    mode.ok_or_else(|| format!("must be rights in octal digits, such as \"0644\", and is {}", shown(text)))
}

/// An absolute path without `..`, in its shortest form. The root is none.
pub fn absolute_path(text: &str) -> Result<String, String> {
    let wrong = || format!("must be an absolute path without \"..\", such as \"/data\", and is {}", shown(text));
    let is_plain = text.len() <= LONGEST_PATH && !text.chars().any(char::is_control);
    if !is_plain || !text.starts_with('/') || text.split('/').any(|part| part == "..") {
        return Err(wrong());
    }
    let parts: Vec<&str> = text.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
    if parts.is_empty() { Err(wrong()) } else { Ok(format!("/{}", parts.join("/"))) }
}

/// A name made of letters, digits, `_`, `.` and `-` that begins with a letter or a digit.
pub fn name(text: &str, longest: usize) -> Result<String, String> {
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-');
    let begins = text.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric());
    if begins && text.len() <= longest && text.bytes().all(is_letter) {
        return Ok(text.into());
    }
    Err(format!("must be 1 to {longest} letters, digits, \"_\", \".\" or \"-\", and is {}", shown(text)))
}

/// A text that the engine takes as it is: visible ASCII characters without spaces.
pub fn word(text: &str) -> Result<String, String> {
    if (1..=512).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Ok(text.into());
    }
    Err(format!("must be one word of visible ASCII characters, and is {}", shown(text)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_units() {
        let cases = [
            ("30s", 30_000),
            ("1m30s", 90_000),
            ("1.5h", 5_400_000),
            ("500ms", 500),
            ("0", 0),
            ("0s", 0),
            ("15m30s", 930_000),
        ];
        for (text, millis) in cases {
            assert_eq!(duration(text), Ok(Duration::from_millis(millis)), "{text}");
        }
        assert_eq!(duration("3us1ns"), Ok(Duration::from_nanos(3001)));
        for text in
            ["", "30", "s", "1x", "1.2.3s", "-1s", "1 s", "99999999999h", "200h", ".s", "1m30", "99999999999999999999s"]
        {
            assert!(duration(text).is_err(), "{text}");
        }
    }

    #[test]
    fn sizes_have_units() {
        let cases = [
            ("0", 0),
            ("1024", 1024),
            ("1k", 1024),
            ("64m", 64 << 20),
            ("1.5GB", 3 << 29),
            ("2 GiB", 2 << 30),
            ("10b", 10),
            ("1t", 1 << 40),
        ];
        for (text, size) in cases {
            assert_eq!(bytes(text), Ok(size), "{text}");
        }
        for text in ["", "m", "1x", "-1", "1..5g", "99999999t", "1e3", "1 m b", "ä"] {
            assert!(bytes(text).is_err(), "{text}");
        }
    }

    #[test]
    fn processors_are_exact() {
        for (text, nanos) in [("0.5", 500_000_000), ("2", 2_000_000_000), ("0.1", 100_000_000), ("1.10", 1_100_000_000)]
        {
            assert_eq!(nano_cpus(text), Ok(nanos), "{text}");
        }
        for text in ["", "half", "-1", "1025", "1e2", "."] {
            assert!(nano_cpus(text).is_err(), "{text}");
        }
    }

    #[test]
    fn paths_are_absolute() {
        assert_eq!(absolute_path("/a//b/./c/"), Ok("/a/b/c".into()));
        for text in ["", "a", "./a", "/", "/../etc", "/a/..", "~/a", "/a\nb"] {
            assert!(absolute_path(text).is_err(), "{text}");
        }
    }

    #[test]
    fn rights_are_octal() {
        assert_eq!(mode("0644"), Ok(0o644));
        assert_eq!(mode("0o755"), Ok(0o755));
        for text in ["", "9", "77777", "rw", "+644", "-1"] {
            assert!(mode(text).is_err(), "{text}");
        }
    }
}
