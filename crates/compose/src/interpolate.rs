//! Variables in the texts of a document: `$NAME`, `${NAME}`, and with a default, a replacement or a message.

use windlass_yaml::{Key, Node, Value, at_index, at_key};

use crate::bounds::{LONGEST_DOCUMENT, LONGEST_TEXT};
use crate::problems::{Problems, shown};

/// A default may have variables with defaults of their own.
pub const DEEPEST: usize = 8;

pub type Lookup<'a> = &'a dyn Fn(&str) -> Option<String>;

/// The document with every variable replaced by its value. Keys are left as they are, so a value can never become one.
pub fn interpolate(document: Node, lookup: Lookup<'_>, problems: &mut Problems) -> Node {
    let mut interpolation = Interpolation { lookup, left: LONGEST_DOCUMENT, problems };
    interpolation.tree(document, "")
}

struct Interpolation<'a> {
    lookup: Lookup<'a>,
    /// Bytes that the texts may still have.
    left: usize,
    problems: &'a mut Problems,
}

impl Interpolation<'_> {
    fn tree(&mut self, node: Node, path: &str) -> Node {
        let value = match node.value {
            Value::Text(text) if text.contains('$') => Value::Text(self.scalar(text, node.place, path)),
            Value::List(items) => {
                let items = items.into_iter().enumerate();
                Value::List(items.map(|(index, item)| self.tree(item, &at_index(path, index))).collect())
            }
            Value::Map(entries) => Value::Map(entries.into_iter().map(|entry| self.entry(entry, path)).collect()),
            other => other,
        };
        Node { value, ..node }
    }

    fn entry(&mut self, (key, node): (Key, Node), path: &str) -> (Key, Node) {
        // Nothing reads what begins so: it need not have values.
        if key.text.starts_with("x-") {
            return (key, node);
        }
        let node = self.tree(node, &at_key(path, &key.text));
        (key, node)
    }

    fn scalar(&mut self, text: String, place: windlass_yaml::Place, path: &str) -> String {
        let result = expand(&text, self.lookup, DEEPEST).and_then(|value| {
            self.left = self.left.checked_sub(value.len()).ok_or_else(too_long)?;
            Ok(value)
        });
        result.unwrap_or_else(|message| {
            self.problems.add_unresolved(place, path, message);
            text
        })
    }
}

fn too_long() -> String {
    format!(
        "is too long with the values of its variables: a text may have {LONGEST_TEXT} bytes, and all together {LONGEST_DOCUMENT}"
    )
}

pub fn expand(text: &str, lookup: Lookup<'_>, depth: usize) -> Result<String, String> {
    if depth == 0 {
        return Err(format!("has variables inside of variables, more than {DEEPEST} deep"));
    }
    let mut all = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('$') {
        all += before;
        let (value, used) = match after.as_bytes().first() {
            Some(b'$') => ("$".into(), 1),
            Some(b'{') => {
                let end =
                    closing_brace(after).ok_or_else(|| format!("has no }} for {}", shown(&format!("${after}"))))?;
                (braced(&after[1..end], lookup, depth)?, end + 1)
            }
            _ => {
                let name = leading_name(after);
                (value_of(name, lookup)?, name.len())
            }
        };
        all += &value;
        if all.len() > LONGEST_TEXT {
            return Err(too_long());
        }
        rest = &after[used..];
    }
    all += rest;
    Ok(all)
}

/// The place of the `}` that belongs to the `{` at the beginning. Braces in between come in pairs.
fn closing_brace(text: &str) -> Option<usize> {
    let mut open = 0_usize;
    for (index, byte) in text.bytes().enumerate() {
        match byte {
            b'{' => open += 1,
            b'}' if open == 1 => return Some(index),
            b'}' => open -= 1,
            _ => {}
        }
    }
    None
}

/// What is between the braces: a name, and perhaps what to do if it has a value or not.
fn braced(inside: &str, lookup: Lookup<'_>, depth: usize) -> Result<String, String> {
    let name = leading_name(inside);
    let rest = &inside[name.len()..];
    if name.is_empty() {
        return Err(format!(
            "has {}, which names no variable; write $$ for a plain $",
            shown(&format!("${{{inside}}}"))
        ));
    }
    if rest.is_empty() {
        return value_of(name, lookup);
    }
    // With a colon, an empty value is none.
    let (empty_is_none, operation) = rest.strip_prefix(':').map_or((false, rest), |operation| (true, operation));
    let value = lookup(name).filter(|value| !(empty_is_none && value.is_empty()));
    let operand = operation.get(1..).unwrap_or_default();
    match (operation.as_bytes().first(), value) {
        (Some(b'-'), Some(value)) | (Some(b'?'), Some(value)) => Ok(value),
        (Some(b'-'), None) | (Some(b'+'), Some(_)) => expand(operand, lookup, depth - 1),
        (Some(b'+'), None) => Ok(String::new()),
        (Some(b'?'), None) => {
            let why = expand(operand, lookup, depth - 1)?;
            Err(format!("the variable {name:?} must have a value: {}", shown(&why)))
        }
        _ => Err(format!(
            "has {}, which is none of ${{NAME}}, ${{NAME:-default}}, ${{NAME:?message}} and ${{NAME:+replacement}}",
            shown(&format!("${{{inside}}}"))
        )),
    }
}

/// A variable without a value is a mistake far more often than an empty text, so it is refused, and the message says how to mean one.
fn value_of(name: &str, lookup: Lookup<'_>) -> Result<String, String> {
    if name.is_empty() {
        return Err("has a $ that begins no variable; write $$ for a plain $".into());
    }
    lookup(name).ok_or_else(|| {
        let name: String = name.chars().take(60).collect();
        format!("the variable {name:?} has no value; give it one, or a default such as ${{{name}:-value}}")
    })
}

fn leading_name(text: &str) -> &str {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let end = text.find(|c: char| !is_part(c)).unwrap_or(text.len());
    if text.starts_with(|c: char| c.is_ascii_digit()) { "" } else { &text[..end] }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expanded(text: &str) -> Result<String, String> {
        let lookup = |name: &str| match name {
            "A" => Some("a".to_string()),
            "_b1" => Some("b".to_string()),
            "EMPTY" => Some(String::new()),
            "DOLLAR" => Some("${A}".to_string()),
            "LONG" => Some("x".repeat(40_000)),
            _ => None,
        };
        expand(text, &lookup, DEEPEST)
    }

    #[test]
    fn variables_have_values() {
        let cases = [
            ("", ""),
            ("$A ${A} $_b1-${A}", "a a b-a"),
            ("$$A $${A} $$$A", "$A ${A} $a"),
            ("${NONE:-d} ${NONE-d} ${A:-d} ${EMPTY:-d} ${EMPTY-d}|", "d d a d |"),
            ("${A:+r} ${A+r} ${NONE:+r}${NONE+r} ${EMPTY:+r} ${EMPTY+r}", "r r   r"),
            ("${A:?e} ${A?e} ${EMPTY?e}|", "a a |"),
            ("${NONE:-${ALSO:-${A}x}y}", "axy"),
            ("${NONE:-{\"k\": {}}}", "{\"k\": {}}"),
            ("${NONE:-$$5}", "$5"),
            ("${NONE:-}", ""),
            ("${A:-${NONE}}", "a"),
            ("$DOLLAR", "${A}"),
            ("ä$A€", "äa€"),
        ];
        for (text, value) in cases {
            assert_eq!(expanded(text).as_deref(), Ok(value), "{text}");
        }
    }

    #[test]
    fn what_is_no_variable_is_refused() {
        let cases = [
            ("$NONE", "the variable \"NONE\" has no value; give it one, or a default such as ${NONE:-value}"),
            ("${NONE}", "the variable \"NONE\" has no value; give it one, or a default such as ${NONE:-value}"),
            ("${NONE:?set it}", "the variable \"NONE\" must have a value: \"set it\""),
            ("${EMPTY:?set $A}", "the variable \"EMPTY\" must have a value: \"set a\""),
            ("a$", "has a $ that begins no variable; write $$ for a plain $"),
            ("$1", "has a $ that begins no variable; write $$ for a plain $"),
            ("$ä", "has a $ that begins no variable; write $$ for a plain $"),
            ("${A", "has no } for \"${A\""),
            ("${}", "has \"${}\", which names no variable; write $$ for a plain $"),
            ("${1}", "has \"${1}\", which names no variable; write $$ for a plain $"),
            (
                "${A:}",
                "has \"${A:}\", which is none of ${NAME}, ${NAME:-default}, ${NAME:?message} and ${NAME:+replacement}",
            ),
            (
                "${A/b}",
                "has \"${A/b}\", which is none of ${NAME}, ${NAME:-default}, ${NAME:?message} and ${NAME:+replacement}",
            ),
            (
                "${Aä}",
                "has \"${Aä}\", which is none of ${NAME}, ${NAME:-default}, ${NAME:?message} and ${NAME:+replacement}",
            ),
        ];
        for (text, message) in cases {
            assert_eq!(expanded(text).unwrap_err(), message, "{text}");
        }
    }

    #[test]
    fn what_variables_grow_into_is_bounded() {
        assert_eq!(expanded(&"$LONG".repeat(10_000)).unwrap_err(), too_long());
        assert!(
            expanded(&format!("{}{}", "${X:-".repeat(1000), "}".repeat(1000)))
                .unwrap_err()
                .contains("more than 8 deep")
        );
        assert!(expanded(&"${X:-".repeat(10_000)).unwrap_err().starts_with("has no }"));
    }
}
