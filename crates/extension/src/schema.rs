//! The format as a JSON Schema (2020-12), for editors and for those who write extensions with programs.
//!
//! It is made from the tables that the check reads with. It says less than the check: what values do inside of texts, and what one part
//! demands of another, no schema can say.

use serde_json::{Map, Value as Json, json};

use crate::check::{limits, metadata, steps, variables};
use crate::extension::{CATEGORIES, Kind, StepType, VariableType};
use crate::pattern;
use crate::task::shape::{Shape, has_action, shapes};

/// The schema of an extension's text, read as YAML.
pub fn schema() -> Json {
    let mut definitions = Map::new();
    definitions.insert("variable".into(), variable());
    definitions.insert("step".into(), step());
    for kind in StepType::ALL {
        definitions.insert(definition(*kind), properties(*kind));
    }
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Windlass extension",
        "type": "object",
        "required": ["metadata", "execution"],
        "additionalProperties": false,
        "properties": {
            "metadata": metadata_map(),
            "variables": {
                "type": ["object", "null"],
                "description": "What a user is asked for.",
                "maxProperties": variables::MOST,
                "propertyNames": { "pattern": "^[A-Za-z_][A-Za-z0-9_]{0,99}$" },
                "additionalProperties": { "$ref": "#/$defs/variable" },
            },
            "execution": execution(),
        },
        "$defs": definitions,
    })
}

fn definition(kind: StepType) -> String {
    format!("{kind}_properties")
}

fn metadata_map() -> Json {
    let line =
        |most: usize, what: &str| json!({ "type": "string", "minLength": 1, "maxLength": most, "description": what });
    json!({
        "type": "object",
        "required": metadata::REQUIRED,
        "additionalProperties": false,
        "properties": {
            "id": {
                "type": "string", "minLength": 3, "maxLength": 50, "pattern": "^[a-z0-9][a-z0-9-]*[a-z0-9]$",
                "description": "The name by which the extension is known everywhere.",
            },
            "name": line(limits::NAME, "The name that people read."),
            "description": line(limits::DESCRIPTION, "What it is good for."),
            "author": line(limits::NAME, "Who wrote it."),
            "icon": {
                "type": ["string", "null"], "maxLength": metadata::LONGEST_ICON,
                "description": "One emoji, or an SVG as a data: URI.",
            },
            "category": { "enum": CATEGORIES },
            "type": { "enum": Kind::TEXTS, "description": "install: it stays, with containers of its own. run: it is done once." },
            "version": {
                "type": "string", "maxLength": 50, "pattern": "^[0-9]{1,9}(\\.[0-9]{1,9}){2}(-[0-9A-Za-z.-]+)?$",
            },
            "isVerified": { "type": "boolean", "description": "Accepted, and without effect." },
            "featured": { "type": "boolean", "description": "Accepted, and without effect." },
        },
    })
}

fn variable() -> Json {
    json!({
        "type": "object",
        "required": ["type"],
        "additionalProperties": false,
        "properties": {
            "type": { "enum": VariableType::TEXTS },
            "description": { "type": "string", "maxLength": limits::DESCRIPTION },
            "default": { "type": ["string", "number", "boolean", "array", "null"], "description": "Of the type. A secret has none." },
            "is_required": { "type": "boolean" },
            "validation_pattern": {
                "type": ["string", "null"], "minLength": 1, "maxLength": pattern::LONGEST,
                "description": "A regular expression that the whole value must match.",
            },
        },
    })
}

fn execution() -> Json {
    let list = json!({ "type": ["array", "null"], "maxItems": steps::MOST, "items": { "$ref": "#/$defs/step" } });
    let filled = |phase: &str| {
        let mut properties = Map::new();
        properties.insert(phase.into(), json!({ "type": "array", "minItems": 1 }));
        json!({ "required": [phase], "properties": properties })
    };
    json!({
        "type": "object",
        "additionalProperties": false,
        "properties": { "run": list, "validate": list },
        "anyOf": [filled("run"), filled("validate")],
    })
}

fn step() -> Json {
    let condition = json!({ "type": "string", "minLength": 1, "maxLength": steps::LONGEST_CONDITION });
    let rules: Vec<_> = StepType::ALL.iter().map(|kind| step_rule(*kind)).collect();
    json!({
        "type": "object",
        "required": ["name", "type"],
        "additionalProperties": false,
        "properties": {
            "name": { "type": "string", "minLength": 1, "maxLength": limits::STEP_NAME },
            "type": { "enum": StepType::TEXTS },
            "properties": { "type": "object" },
            "ignore_errors": { "type": "boolean", "description": "Go on if the step fails." },
            "timeout": { "type": "integer", "minimum": 0, "maximum": steps::LONGEST_TIMEOUT, "description": "In seconds. 0 stands for 300." },
            "condition": { "anyOf": [condition, { "type": "null" }], "description": "name, not name, name == text or name != text." },
            "conditions": {
                "type": ["array", "null"], "maxItems": steps::MOST_CONDITIONS, "items": condition, "description": "All must hold.",
            },
        },
        "not": { "required": ["condition", "conditions"] },
        "allOf": rules,
    })
}

/// Which properties go with a type. Where none is required, all may be left out.
fn step_rule(kind: StepType) -> Json {
    let reference = format!("#/$defs/{}", definition(kind));
    json!({
        "if": { "properties": { "type": { "const": kind.as_str() } } },
        "then": { "required": ["properties"], "properties": { "properties": { "$ref": reference } } },
    })
}

fn properties(kind: StepType) -> Json {
    if !has_action(kind) {
        return shapes(kind).next().map(shape).unwrap_or_default();
    }
    let actions: Vec<_> = shapes(kind).filter_map(|shape| shape.action).collect();
    let rule = |shape: &Shape| {
        json!({
            "if": { "properties": { "action": { "const": shape.action } } },
            "then": self::shape(shape),
        })
    };
    json!({
        "type": "object",
        "required": ["action"],
        "properties": { "action": { "enum": actions } },
        "allOf": shapes(kind).map(rule).collect::<Vec<_>>(),
    })
}

fn shape(shape: &Shape) -> Json {
    let properties: Map<_, _> = shape.keys().map(|key| (key.to_owned(), property(shape.kind, key))).collect();
    let mut schema = json!({
        "type": "object",
        "required": shape.required,
        "additionalProperties": false,
        "properties": properties,
    });
    let one_of = match (shape.kind, shape.action) {
        (StepType::Wait, _) => ["seconds", "service"],
        (StepType::DockerCompose, Some("up")) => ["compose", "file"],
        _ => return schema,
    };
    schema["oneOf"] = json!([{ "required": [one_of[0]] }, { "required": [one_of[1]] }]);
    schema
}

/// What a property may be. A number or a boolean may come from a value, and is then a text.
fn property(kind: StepType, key: &str) -> Json {
    let text = json!({ "type": ["string", "number", "boolean"] });
    let listed = json!({ "type": ["string", "number", "boolean", "array"] });
    match (kind, key) {
        (StepType::Command, "cmd" | "revert_cmd") => json!({
            "type": "string", "pattern": "\\S",
            "description": "For /bin/sh -c. {{ name }} becomes an expansion of the environment variable of that name.",
        }),
        (StepType::File, "mode") => json!({ "type": "string", "description": "Octal, such as \"0644\"." }),
        (StepType::Package, "state") => json!({ "enum": ["present", "absent", "latest"] }),
        (StepType::Package, "name") | (StepType::User, "groups") => listed,
        (StepType::DockerCompose, "compose") => json!({ "type": "object", "description": "A Compose document." }),
        (StepType::Docker, "env" | "labels" | "health" | "networks") => {
            json!({ "type": ["string", "number", "boolean", "array", "object", "null"] })
        }
        (StepType::Docker, "name" | "image" | "tag") => text,
        // What Compose has for the same key.
        (StepType::Docker, _) => json!({ "type": ["string", "number", "boolean", "array", "null"] }),
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::DOCUMENT_KEYS;

    #[test]
    fn the_schema_has_every_key_of_the_check() {
        let schema = schema();
        for (path, keys) in [
            ("/properties", DOCUMENT_KEYS),
            ("/properties/metadata/properties", metadata::KEYS),
            ("/properties/execution/properties", steps::EXECUTION_KEYS),
            ("/$defs/variable/properties", variables::KEYS),
            ("/$defs/step/properties", steps::KEYS),
        ] {
            let mut found: Vec<_> = schema.pointer(path).unwrap().as_object().unwrap().keys().collect();
            let mut known: Vec<_> = keys.iter().collect();
            found.sort_unstable();
            known.sort_unstable();
            assert!(found.iter().eq(known.iter()), "{path}: {found:?} and {known:?}");
        }
    }
}
