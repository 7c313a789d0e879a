//! The one JSON text of an extension: two texts that mean the same have the same.

use serde_json::{Map, Value as Json, json};

use crate::extension::{Extension, Step, Variable};
use crate::values::Value;

impl Extension {
    /// Keys in order, defaults filled in, without places.
    pub fn canonical_json(&self) -> String {
        let steps = |phase: &str| {
            let steps = self.steps.iter().filter(|step| step.phase.as_str() == phase);
            Json::Array(steps.map(step).collect())
        };
        let variables: Map<String, Json> =
            self.variables.iter().map(|variable| (variable.name.clone(), self::variable(variable))).collect();
        let metadata = &self.metadata;
        let document = json!({
            "metadata": {
                "id": metadata.id,
                "name": metadata.name,
                "description": metadata.description,
                "author": metadata.author,
                "icon": metadata.icon,
                "category": metadata.category,
                "type": metadata.kind.as_str(),
                "version": metadata.version,
            },
            "variables": variables,
            "execution": { "run": steps("run"), "validate": steps("validate") },
        });
        sorted(document).to_string()
    }
}

fn variable(variable: &Variable) -> Json {
    json!({
        "type": variable.kind.as_str(),
        "description": variable.description,
        "default": variable.default.as_ref().map_or(Json::Null, Value::to_json),
        "is_required": variable.is_required,
        "validation_pattern": variable.validation_pattern(),
    })
}

fn step(step: &Step) -> Json {
    json!({
        "name": step.name,
        "type": step.kind.as_str(),
        "properties": step.properties,
        "ignore_errors": step.ignore_errors,
        "timeout": step.timeout.as_secs(),
        "conditions": step.conditions().collect::<Vec<_>>(),
    })
}

fn sorted(json: Json) -> Json {
    match json {
        Json::Array(items) => Json::Array(items.into_iter().map(sorted).collect()),
        Json::Object(map) => {
            let mut entries: Vec<_> = map.into_iter().map(|(key, value)| (key, sorted(value))).collect();
            entries.sort_by(|(one, _), (other, _)| one.cmp(other));
            Json::Object(entries.into_iter().collect())
        }
        scalar => scalar,
    }
}
