//! Texts that several tests use.

use std::collections::BTreeMap;

use serde_json::Value as Json;
use windlass_extension::{Extension, ResolvedStep, Values, check, resolve, values};

/// A text with these variables and steps, each indented as it must be.
pub fn document(kind: &str, variables: &str, run: &str) -> String {
    let head = "metadata:\n  id: test\n  name: Test\n  description: A test.\n  author: Windlass\n  category: Other\n";
    let variables =
        if variables.is_empty() { String::new() } else { format!("variables:\n{}", indented(variables, 2)) };
    format!("{head}  type: {kind}\n{variables}execution:\n  run:\n{}", indented(run, 4))
}

fn indented(text: &str, by: usize) -> String {
    let space = " ".repeat(by);
    text.trim_matches('\n').lines().map(|line| format!("{space}{line}\n")).collect()
}

pub fn extension(text: &str) -> Extension {
    let checked = check(text);
    checked.extension.unwrap_or_else(|| panic!("{text}\n{}", shown(&checked.problems)))
}

pub fn shown<T: ToString>(problems: &[T]) -> String {
    problems.iter().map(|problem| problem.to_string() + "\n").collect()
}

/// All problems of a text, one on each line.
pub fn problems(text: &str) -> String {
    let checked = check(text);
    assert_eq!(checked.extension.is_some(), checked.problems.is_empty());
    shown(&checked.problems)
}

pub fn given(pairs: &[(&str, Json)]) -> BTreeMap<String, Json> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect()
}

pub fn filled(extension: &Extension, pairs: &[(&str, Json)]) -> Values {
    values(extension, &given(pairs), &mut || "generated-secret".into())
        .unwrap_or_else(|problems| panic!("{problems:?}"))
}

pub fn resolved(text: &str, pairs: &[(&str, Json)]) -> Result<Vec<ResolvedStep>, String> {
    let extension = extension(text);
    resolve(&extension, &filled(&extension, pairs), "my-test").map_err(|problems| shown(&problems))
}
