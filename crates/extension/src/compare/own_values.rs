//! The values of an installation, as what its organization has made of the defaults of its text.

use serde_json::Value as Json;

use crate::extension::{Extension, Variable};
use crate::values::{MASK, Value, Values};

/// The tree with each default as its variable has it: the ports `8080` and `"8080"` are the same.
pub fn with_defaults(mut tree: Json, extension: &Extension) -> Json {
    for variable in &extension.variables {
        if let Some(default) = &variable.default {
            set_default(&mut tree, variable, default.to_json());
        }
    }
    tree
}

/// The tree with the values that differ from the defaults in the place of those; masked where `hides` says so. No secret is among them.
pub fn with_values(mut tree: Json, installed: &Extension, values: &Values, hides: &dyn Fn(&str) -> bool) -> Json {
    for variable in &installed.variables {
        let Some(value) = values.get(&variable.name).filter(|value| differs(variable, value)) else { continue };
        let shown = if hides(&variable.name) { Json::from(MASK) } else { value.to_json() };
        set_default(&mut tree, variable, shown);
    }
    tree
}

/// A secret has no default from which it could differ.
fn differs(variable: &Variable, value: &Value) -> bool {
    match (value, &variable.default) {
        // To nothing an update gives the default.
        (Value::Nothing | Value::Secret(_), _) | (Value::Boolean(false), None) => false,
        (value, default) => default.as_ref() != Some(value),
    }
}

fn set_default(tree: &mut Json, variable: &Variable, value: Json) {
    let found = tree.get_mut("variables").and_then(|variables| variables.get_mut(&variable.name));
    if let Some(Json::Object(found)) = found {
        found.insert("default".to_owned(), value);
    }
}
