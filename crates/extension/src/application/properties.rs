//! Any values and any routes.

use std::collections::BTreeSet;

use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use windlass_compose::Project;

use super::*;
use crate::check;

const KINDS: [VariableType; 5] =
    [VariableType::String, VariableType::Integer, VariableType::Boolean, VariableType::Array, VariableType::Secret];

fn texts() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-c, \\[\\]\"]{0,8}",
        "-?[0-9]{1,4}",
        " ?(true|FALSE|False) ?",
        "\\[(\"[a, \\[]{0,3}\",?){0,3}\\]",
        "[a-z]{8,12}"
    ]
}

fn variable(kind: VariableType, default: Option<Value>) -> Variable {
    Variable { name: "a".into(), kind, description: String::new(), default, is_required: false, pattern: None }
}

/// Of the names from a to c, each with a default or none.
fn extension(defaults: &BTreeMap<String, i64>) -> Extension {
    let lines: String =
        defaults.iter().map(|(name, default)| format!("  {name}: {{type: integer, default: {default}}}\n")).collect();
    let variables = if lines.is_empty() { String::new() } else { format!("variables:\n{lines}") };
    let text = format!(
        "metadata: {{id: tool, name: Tool, description: d, author: a, category: Other, type: run, version: 1.0.0}}\n\
         {variables}execution:\n  run:\n    - {{name: Wait, type: wait, properties: {{seconds: 1}}}}\n"
    );
    let checked = check(&text);
    checked.extension.unwrap_or_else(|| panic!("{:?}", checked.problems))
}

fn numbers() -> impl Strategy<Value = BTreeMap<String, i64>> {
    btree_map("[a-c]", 1..4_i64, 0..4)
}

fn stacks() -> impl Strategy<Value = Stack> {
    let route = ("[a-d]", "[xy]", 1..3_u16).prop_map(|(domain, service, port)| Route { domain, service, port });
    vec(route, 1..6).prop_map(|routes| {
        let mut seen = BTreeSet::new();
        let routes = routes.into_iter().filter(|route| seen.insert(route.domain.clone())).collect();
        Stack { project: Project::default(), routes }
    })
}

proptest! {
    #[test]
    fn a_value_has_one_text_and_is_read_from_it(kind in 0..KINDS.len(), text in texts(), default in option::of(texts())) {
        let kind = KINDS[kind];
        let value = |text: &str| given::read(kind, &Json::from(text)).ok().flatten();
        let variable = variable(kind, default.as_deref().and_then(value));
        let Some(value) = value(&text) else { return Ok(()) };
        let stored = variable.stored_text(&value);
        // An empty text can be nothing, or the default.
        if value != Value::Nothing {
            prop_assert_eq!(variable.read_text(&stored), Some(value.clone()));
        }
        prop_assert_eq!(variable.stored_text(&variable.read_text(&stored).unwrap_or(Value::Nothing)), stored);
    }

    #[test]
    fn what_is_in_force_stays(before in numbers(), after in numbers(), set in numbers(), wanted in vec("[a-c]", 0..2)) {
        let (old, new) = (extension(&before), extension(&after));
        let stored: BTreeMap<String, String> = set.iter().map(|(name, value)| (name.clone(), value.to_string())).collect();
        let values = values_after(&old, &new, &stored, &wanted);
        for (name, default) in &after {
            let in_force = set.get(name).or_else(|| before.get(name)).unwrap_or(default);
            let expected = if wanted.contains(name) { default } else { in_force };
            prop_assert_eq!(values.get(name), Some(&expected.to_string()), "{}", name);
        }
        // What the newer text does not know is what it was.
        for name in set.keys().filter(|name| !after.contains_key(*name)) {
            prop_assert_eq!(values.get(name), stored.get(name));
        }
        prop_assert!(values.keys().all(|name| after.contains_key(name) || set.contains_key(name)));
        prop_assert_eq!(values_after(&new, &new, &values, &[]), values);
    }

    #[test]
    fn changes_of_routes_lead_from_one_to_the_other(before in stacks(), after in stacks(), main in "[a-e]") {
        let mut routes: BTreeSet<Route> = before.others(&main).cloned().collect();
        for change in changes_of_routes(&before, &after, &main) {
            match change {
                RouteChange::Added(route) => prop_assert!(routes.insert(route)),
                RouteChange::Removed(route) => prop_assert!(routes.remove(&route)),
                RouteChange::Moved { before, after } => {
                    prop_assert!(before.domain == after.domain && routes.remove(&before) && routes.insert(after));
                }
            }
        }
        prop_assert_eq!(routes, after.others(&main).cloned().collect::<BTreeSet<_>>());
        prop_assert!(changes_of_routes(&after, &after, &main).is_empty());
    }
}
