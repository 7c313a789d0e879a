//! The documents say what is true.

use std::path::{Path, PathBuf};

use crate::process::{run, windlass};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

#[test]
fn the_checked_in_description_is_the_one_that_is_served() {
    let printed = String::from_utf8(run(windlass().arg("openapi")).stdout).unwrap();
    let checked_in = std::fs::read_to_string(root().join("openapi.json")).unwrap();
    assert!(printed == checked_in, "openapi.json is out of date: cargo run -p windlass -- openapi > openapi.json");
}

/// Every path in code quotes or links that looks like one of this repository's exists.
#[test]
fn named_paths_exist() {
    let root = root();
    let tops: Vec<String> = std::fs::read_dir(&root)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| !matches!(name.as_str(), "target" | ".git" | "data"))
        .collect();
    let mut checked = 0;
    for document in ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "bench/README.md"] {
        let text = std::fs::read_to_string(root.join(document)).unwrap_or_else(|_| panic!("{document} is missing"));
        for path in quoted(&text).chain(linked(&text)) {
            let path = path.trim_end_matches('/');
            let top = path.split('/').next().unwrap_or_default();
            let is_ours = tops.iter().any(|name| name == top) || path.ends_with(".md") || path.starts_with("crates/");
            // A pattern names a family: its folder must exist.
            let fixed = path.split(['<', '*', '{']).next().unwrap_or_default();
            let fixed = if fixed == path { path } else { fixed.rsplit_once('/').map_or("", |(folder, _)| folder) };
            if is_ours && !path.contains(' ') {
                assert!(root.join(fixed).exists(), "{document} names {path}, which does not exist");
                checked += 1;
            }
        }
    }
    assert!(checked > 20, "only {checked} paths were found in the documents");
}

fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

fn linked(text: &str) -> impl Iterator<Item = &str> {
    let targets = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    targets.filter(|target| !target.contains("://") && !target.starts_with('#'))
}

#[test]
fn every_setting_is_in_the_readme() {
    let readme = std::fs::read_to_string(root().join("README.md")).unwrap();
    for key in &windlass_server::config::KEYS {
        let row = readme.lines().find(|line| line.starts_with(&format!("| `{}` |", key.name)));
        let row = row.unwrap_or_else(|| panic!("the README does not list {}", key.name));
        let default = if key.default.is_empty() { "| |".to_owned() } else { format!("| `{}` |", key.default) };
        assert!(row.contains(&default), "the README's default of {} is not {:?}: {row}", key.name, key.default);
    }
}
