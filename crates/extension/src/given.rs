//! A value as a user gives it, or as an author writes it for a default: a text such as "8080", or JSON of the type of its variable.

use serde_json::Value as Json;

use crate::extension::VariableType;
use crate::values::{MASK, Value};

const LONGEST: usize = 16 * 1024;
const MOST_ITEMS: usize = 500;
const SHORTEST_SECRET: usize = 8;

/// The value, or none if the default is wanted. An empty text is a field of a form that was left empty: of what can be empty it is
/// the value, of the rest it is none.
pub(crate) fn read(kind: VariableType, json: &Json) -> Result<Option<Value>, String> {
    match (json, kind) {
        (Json::Null, _) => return Ok(None),
        (Json::String(text), VariableType::String | VariableType::Array) if text.is_empty() => {
            return Ok(Some(Value::Nothing));
        }
        (Json::String(text), _) if text.is_empty() => return Ok(None),
        _ => {}
    }
    let value = match kind {
        VariableType::String => Value::String(text(json)?),
        VariableType::Secret => Value::Secret(secret(json)?),
        VariableType::Integer => Value::Integer(integer(json)?),
        VariableType::Boolean => Value::Boolean(boolean(json)?),
        VariableType::Array => match array(json)? {
            items if items.is_empty() => Value::Nothing,
            items => Value::Array(items),
        },
    };
    Ok(Some(value))
}

fn text(json: &Json) -> Result<String, String> {
    let text = json.as_str().ok_or("must be a text")?;
    if text.len() > LONGEST {
        return Err(format!("must have at most {LONGEST} bytes"));
    }
    // No environment of a command and no file of text has the first; the others are hidden from who reads them.
    if text.chars().any(|c| c.is_control() && !matches!(c, '\n' | '\t' | '\r')) {
        return Err("must not contain control characters".into());
    }
    Ok(text.into())
}

fn secret(json: &Json) -> Result<String, String> {
    let text = text(json)?;
    if text == MASK {
        return Err("is the row of stars that hides a secret; leave the field out, or give the secret itself".into());
    }
    // A shorter one stands in too many places where it is no secret, so it cannot be masked in what programs print.
    if text.chars().count() < SHORTEST_SECRET {
        return Err(format!("must have at least {SHORTEST_SECRET} characters, or it could not be hidden in the log"));
    }
    Ok(text)
}

fn integer(json: &Json) -> Result<i64, String> {
    let number = json.as_i64().or_else(|| json.as_str()?.trim().parse().ok());
    number.ok_or_else(|| "must be a whole number".into())
}

fn boolean(json: &Json) -> Result<bool, String> {
    let word = json.as_str().map(|text| text.trim().to_ascii_lowercase());
    match (json, word.as_deref()) {
        (Json::Bool(value), _) => Ok(*value),
        (_, Some("true")) => Ok(true),
        (_, Some("false")) => Ok(false),
        _ => Err("must be true or false".into()),
    }
}

fn array(json: &Json) -> Result<Vec<String>, String> {
    let message = "must be a list: [\"a\", \"b\"], or a text with commas such as a,b";
    let items = match json {
        Json::Array(items) => items.iter().map(item).collect::<Option<Vec<_>>>().ok_or(message)?,
        Json::String(text) if text.trim_start().starts_with('[') => {
            let items: Vec<Json> = serde_json::from_str(text).map_err(|_| message)?;
            items.iter().map(item).collect::<Option<Vec<_>>>().ok_or(message)?
        }
        Json::String(text) => {
            text.split(',').map(|item| item.trim().to_owned()).filter(|item| !item.is_empty()).collect()
        }
        _ => return Err(message.into()),
    };
    if items.len() > MOST_ITEMS {
        return Err(format!("must have at most {MOST_ITEMS} items"));
    }
    // The items are put into texts with commas between them, so a comma would make two of one.
    if items.iter().any(|item| item.is_empty() || item.contains([',', '\n', '\r'])) {
        return Err("must have items that are not empty, without commas and line breaks".into());
    }
    text(&Json::from(items.join(",")))?;
    Ok(items)
}

fn item(json: &Json) -> Option<String> {
    match json {
        Json::String(text) => Some(text.clone()),
        Json::Number(number) => Some(number.to_string()),
        Json::Bool(value) => Some(value.to_string()),
        _ => None,
    }
}
