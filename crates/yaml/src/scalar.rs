//! What a scalar means: the core schema of YAML 1.2, except as [`Value`] says.

use granit_parser::Tag;

use crate::Value;
use crate::node::float_text;

/// A scalar without quotes.
pub fn plain(text: &str) -> Value {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        _ => boolean(text)
            .map(Value::Bool)
            .or_else(|| special_float(text).map(Value::Float))
            .or_else(|| with_base(text).map(Value::Integer))
            .or_else(|| decimal(text))
            .unwrap_or_else(|| Value::Text(text.into())),
    }
}

fn boolean(text: &str) -> Option<bool> {
    match text {
        "true" | "True" | "TRUE" => Some(true),
        "false" | "False" | "FALSE" => Some(false),
        _ => None,
    }
}

fn special_float(text: &str) -> Option<f64> {
    match text {
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => Some(f64::INFINITY),
        "-.inf" | "-.Inf" | "-.INF" => Some(f64::NEG_INFINITY),
        ".nan" | ".NaN" | ".NAN" => Some(f64::NAN),
        _ => None,
    }
}

fn with_base(text: &str) -> Option<i64> {
    let (digits, base) = match text.as_bytes() {
        [b'0', b'x', ..] => (&text[2..], 16),
        [b'0', b'o', ..] => (&text[2..], 8),
        _ => return None,
    };
    // `from_str_radix` would take a sign here.
    let first_is_digit = digits.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric());
    if first_is_digit { i64::from_str_radix(digits, base).ok() } else { None }
}

/// A decimal number, if it is written back as it was.
fn decimal(text: &str) -> Option<Value> {
    if let Ok(number) = text.parse::<i64>()
        && number.to_string() == text
    {
        return Some(Value::Integer(number));
    }
    float(text).filter(|number| float_text(*number) == text).map(Value::Float)
}

/// Rust reads more as a number than YAML does, such as "inf".
fn float(text: &str) -> Option<f64> {
    let is_part = |byte: u8| byte.is_ascii_digit() || matches!(byte, b'.' | b'-' | b'+' | b'e' | b'E');
    if text.bytes().all(is_part) { text.parse().ok() } else { None }
}

/// A scalar with a tag, or why it cannot be.
pub fn tagged(text: &str, tag: &Tag) -> Result<Value, String> {
    let Some(kind) = tag.core_suffix() else { return Err(unknown(tag)) };
    let value = match kind {
        "str" => Some(Value::Text(text.into())),
        "null" => matches!(plain(text), Value::Null).then_some(Value::Null),
        "bool" => boolean(text).map(Value::Bool),
        "int" => with_base(text).or_else(|| text.parse().ok()).map(Value::Integer),
        "float" => special_float(text).or_else(|| float(text)).map(Value::Float),
        _ => return Err(unknown(tag)),
    };
    value.ok_or_else(|| format!("the value does not fit its tag !!{kind}; leave the tag out"))
}

/// Whether a key may have this tag: it is a text, whatever it looks like, and `<<` may say what it is.
pub fn check_key(text: &str, tag: &Tag) -> Result<(), String> {
    let is_merge = || text == "<<" && tag.suffix_in_namespace("tag:yaml.org,2002:").as_deref() == Some("merge");
    if tag.is_yaml_core_schema_tag("str") || is_merge() { Ok(()) } else { Err(unknown(tag)) }
}

/// Whether a list ("seq") or a map ("map") may have this tag.
pub fn check_collection(kind: &str, tag: &Tag) -> Result<(), String> {
    match tag.core_suffix() {
        Some(known) if known == kind => Ok(()),
        _ => Err(unknown(tag)),
    }
}

fn unknown(tag: &Tag) -> String {
    let shown: String = tag.original().chars().take(60).collect();
    format!("the tag {shown:?} is not supported; leave it out")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_scalars_have_the_types_of_the_core_schema() {
        for text in ["", "~", "null", "Null", "NULL"] {
            assert_eq!(plain(text), Value::Null, "{text}");
        }
        for (text, value) in [("true", true), ("True", true), ("FALSE", false)] {
            assert_eq!(plain(text), Value::Bool(value), "{text}");
        }
        for (text, value) in [("0", 0), ("-12", -12), ("0x1F", 31), ("0o17", 15), ("9223372036854775807", i64::MAX)] {
            assert_eq!(plain(text), Value::Integer(value), "{text}");
        }
        for (text, value) in [("1.2", 1.2), ("-0.5", -0.5), ("1.0", 1.0), (".inf", f64::INFINITY)] {
            assert_eq!(plain(text), Value::Float(value), "{text}");
        }
        assert!(matches!(plain(".nan"), Value::Float(number) if number.is_nan()));
    }

    #[test]
    fn what_would_not_be_written_back_stays_a_text() {
        let texts = [
            "1.10",
            "0644",
            "007",
            "12e4567",
            "1e3",
            "+1",
            "-0",
            ".5",
            "5.",
            "9223372036854775808",
            "1_000",
            "0x",
            "0x-1",
            "0o8",
            "inf",
            "nan",
            "infinity",
            "yes",
            "on",
            "tRUE",
            "1:30",
            "-",
            "e",
            ".",
            "1.2.3",
            "\u{0661}",
        ];
        for text in texts {
            assert_eq!(plain(text), Value::Text(text.into()), "{text}");
        }
    }
}
