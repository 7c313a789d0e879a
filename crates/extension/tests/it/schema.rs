//! The JSON Schema and the check agree.

use std::collections::BTreeSet;

use regex::Regex;
use serde_json::{Value as Json, json};
use windlass_extension::{check, schema};
use windlass_yaml::{Limits, parse};

use crate::documents::document;

/// As much of JSON Schema as ours uses. A word that is not known here fails the test.
struct Evaluator<'a> {
    root: &'a Json,
}

impl Evaluator<'_> {
    fn holds(&self, schema: &Json, value: &Json) -> bool {
        schema.as_object().unwrap().iter().all(|(word, rule)| self.rule(word, rule, schema, value))
    }

    fn rule(&self, word: &str, rule: &Json, schema: &Json, value: &Json) -> bool {
        let number = || usize::try_from(rule.as_u64().unwrap()).unwrap();
        let each = |rules: &Json| rules.as_array().unwrap().iter().filter(|rule| self.holds(rule, value)).count();
        match word {
            "$schema" | "$defs" | "title" | "description" | "then" => true,
            "$ref" => self.holds(self.root.pointer(rule.as_str().unwrap().strip_prefix('#').unwrap()).unwrap(), value),
            "type" if rule.is_array() => rule.as_array().unwrap().iter().any(|kind| is_kind(value, kind)),
            "type" => is_kind(value, rule),
            "const" => rule == value,
            "enum" => rule.as_array().unwrap().contains(value),
            "required" => value
                .as_object()
                .is_none_or(|map| rule.as_array().unwrap().iter().all(|key| map.contains_key(key.as_str().unwrap()))),
            "properties" => value.as_object().is_none_or(|map| {
                let known = |(key, value): (&String, &Json)| rule.get(key).is_none_or(|rule| self.holds(rule, value));
                map.iter().all(known)
            }),
            "additionalProperties" => value.as_object().is_none_or(|map| {
                let known = schema.get("properties");
                let others = map.iter().filter(|(key, _)| known.is_none_or(|known| known.get(key).is_none()));
                others.into_iter().all(|(_, value)| rule != &json!(false) && self.holds(rule, value))
            }),
            "propertyNames" => value.as_object().is_none_or(|map| map.keys().all(|key| self.holds(rule, &json!(key)))),
            "maxProperties" => value.as_object().is_none_or(|map| map.len() <= number()),
            "items" => value.as_array().is_none_or(|items| items.iter().all(|item| self.holds(rule, item))),
            "minItems" => value.as_array().is_none_or(|items| items.len() >= number()),
            "maxItems" => value.as_array().is_none_or(|items| items.len() <= number()),
            "minLength" => value.as_str().is_none_or(|text| text.chars().count() >= number()),
            "maxLength" => value.as_str().is_none_or(|text| text.chars().count() <= number()),
            "minimum" => value.as_i64().is_none_or(|value| value >= rule.as_i64().unwrap()),
            "maximum" => value.as_i64().is_none_or(|value| value <= rule.as_i64().unwrap()),
            "pattern" => value.as_str().is_none_or(|text| Regex::new(rule.as_str().unwrap()).unwrap().is_match(text)),
            "not" => !self.holds(rule, value),
            "allOf" => each(rule) == rule.as_array().unwrap().len(),
            "anyOf" => each(rule) > 0,
            "oneOf" => each(rule) == 1,
            "if" => !self.holds(rule, value) || self.holds(&schema["then"], value),
            other => panic!("{other} is not known to this test"),
        }
    }
}

fn is_kind(value: &Json, kind: &Json) -> bool {
    match kind.as_str().unwrap() {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "integer" => value.is_i64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        other => panic!("{other}"),
    }
}

pub fn accepts(text: &str) -> bool {
    let root = schema();
    let node = parse(text, &Limits::default()).unwrap().merged().unwrap();
    Evaluator { root: &root }.holds(&root, &node.to_json())
}

fn step(step: &str) -> String {
    document("install", "v: {type: string}", step)
}

const WAIT: &str = "- {name: W, type: wait, properties: {seconds: 1}}";

#[test]
fn both_accept_the_same_texts() {
    let head = document("run", "", WAIT);
    for text in [
        head.clone(),
        head.replace("  name: Test\n", "  name: Test\n  version: 1.2.0-beta.1\n  icon: 🐘\n  featured: true\n"),
        document(
            "run",
            "a: {type: array, default: [a, b], description: x, is_required: true, validation_pattern: '[a-z]'}",
            WAIT,
        ),
        step(
            "- {name: S, type: command, properties: {cmd: ls, revert_cmd: ls, user: ada}, timeout: 5, conditions: [v]}",
        ),
        step("- {name: S, type: file, properties: {action: write, dest: /a/b, content: '', mode: '0644', owner: ada}}"),
        step("- {name: S, type: service, properties: {action: start, name: ssh}}"),
        step("- {name: S, type: user, properties: {action: ensure, username: ada, groups: [a]}, condition: v}"),
        step("- {name: S, type: package, properties: {state: latest, name: [a, b]}}"),
        step(
            "- {name: S, type: docker, properties: {action: run, name: a, image: b, env: {A: 1}, ports: 80, health: x, init: true}}",
        ),
        step("- {name: S, type: docker_compose, properties: {action: up, compose: {services: {a: {image: b}}}}}"),
        step("- {name: S, type: docker_compose, properties: {action: down}}"),
        step("- {name: S, type: proxy, properties: {action: remove, domain: a.example}}"),
    ] {
        assert!(accepts(&text), "{text}");
        assert!(check(&text).problems.is_empty(), "{text}\n{:?}", check(&text).problems);
    }
}

#[test]
fn both_refuse_the_same_texts() {
    let head = document("run", "", WAIT);
    for text in [
        head.replace("metadata:", "metdata:"),
        head.replace("id: test", "id: -x"),
        head.replace("id: test", "id: x"),
        head.replace("  author: Windlass\n", ""),
        head.replace("category: Other", "category: Things"),
        head.replace("type: run", "type: other"),
        head.replace("  name: Test\n", "  name: Test\n  version: 1.2\n"),
        head.replace("  name: Test\n", "  name: Test\n  version: '1.2'\n"),
        head.replace("  name: Test\n", "  name: Test\n  colour: red\n"),
        head.replace("execution:", "other: 1\nexecution:"),
        document("run", "1a: {type: string}", WAIT),
        document("run", "a: {type: text}", WAIT),
        document("run", "a: {type: string, required: true}", WAIT),
        document("run", "a: {default: x}", WAIT),
        document("run", "", "[]"),
        step("- {name: S, type: command}"),
        step("- {name: S, type: command, properties: {}}"),
        step("- {name: S, type: command, properties: {cmd: ' '}}"),
        step("- {name: S, type: command, properties: {cmd: ls, revert: ls}}"),
        step("- {type: command, properties: {cmd: ls}}"),
        step("- {name: S, type: comand, properties: {cmd: ls}}"),
        step("- {name: S, type: command, properties: {cmd: ls}, timeout: 4000}"),
        step("- {name: S, type: command, properties: {cmd: ls}, ignore_errors: 1}"),
        step("- {name: S, type: command, properties: {cmd: ls}, condition: v, conditions: [v]}"),
        step("- {name: S, type: file, properties: {dest: /a/b}}"),
        step("- {name: S, type: file, properties: {action: upload, dest: /a/b}}"),
        step("- {name: S, type: file, properties: {action: write, dest: /a/b}}"),
        step("- {name: S, type: file, properties: {action: delete, dest: /a/b, content: x}}"),
        step("- {name: S, type: file, properties: {action: mkdir, dest: /a/b, mode: 755}}"),
        step("- {name: S, type: package, properties: {state: installed, name: a}}"),
        step("- {name: S, type: docker_compose, properties: {action: up}}"),
        step("- {name: S, type: docker_compose, properties: {action: up, compose: {}, file: /a/b}}"),
        step("- {name: S, type: docker_compose, properties: {action: down, project: x}}"),
        step("- {name: S, type: wait, properties: {}}"),
        step("- {name: S, type: wait, properties: {seconds: 1, service: a}}"),
    ] {
        assert!(!accepts(&text), "{text}");
        assert!(!check(&text).problems.is_empty(), "{text}");
    }
}

/// Every key that a map of the schema knows.
fn keys(schema: &Json, found: &mut BTreeSet<String>) {
    match schema {
        Json::Object(map) => {
            for (word, inner) in map {
                if let ("properties", Some(properties)) = (word.as_str(), inner.as_object()) {
                    found.extend(properties.keys().cloned());
                }
                keys(inner, found);
            }
        }
        Json::Array(items) => items.iter().for_each(|item| keys(item, found)),
        _ => {}
    }
}

/// A key of the schema that the check does not know would be called unknown by it.
#[test]
fn the_check_knows_every_key_of_the_schema() {
    let mut found = BTreeSet::new();
    keys(&schema(), &mut found);
    assert!(found.len() > 60, "{found:?}");
    let root = schema();
    for definition in root["$defs"].as_object().unwrap().keys() {
        let Some(kind) = definition.strip_suffix("_properties") else { continue };
        let shapes = match root["$defs"][definition]["allOf"].as_array() {
            Some(rules) => rules.iter().map(|rule| rule["then"].clone()).collect(),
            None => vec![root["$defs"][definition].clone()],
        };
        for (index, shape) in shapes.iter().enumerate() {
            let action = &root["$defs"][definition]["properties"]["action"]["enum"][index];
            for key in shape["properties"].as_object().unwrap().keys().filter(|key| *key != "action") {
                let mut properties = json!({ key: {} });
                if let Some(action) = action.as_str() {
                    properties["action"] = json!(action);
                }
                let text = step(&format!("- {}", json!({ "name": "S", "type": kind, "properties": properties })));
                let told = crate::documents::problems(&text);
                assert!(!told.contains("unknown key") && !told.contains("no meaning"), "{kind} {action} {key}: {told}");
            }
        }
    }
}
