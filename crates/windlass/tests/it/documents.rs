//! The documents say what is true.

use std::path::{Path, PathBuf};

use serde_json::Value;

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

/// Of a `oneOf` of constants generators make a type for each word, of a `default` a required field, and of a header's format an
/// object that is no header.
#[test]
fn the_description_has_nothing_that_generators_of_clients_trip_over() {
    let text = std::fs::read_to_string(root().join("openapi.json")).unwrap();
    let description: Value = serde_json::from_str(&text).unwrap();
    let mut checked = 0;
    let mut open = vec![&description];
    while let Some(value) = open.pop() {
        let shown = || value.to_string().chars().take(200).collect::<String>();
        let is_schema = value["type"].is_string() || value["type"].is_array() || value.get("oneOf").is_some();
        assert!(!is_schema || (value.get("oneOf").is_none() && value.get("default").is_none()), "{}", shown());
        assert!(value["in"] != "header" || value["schema"].get("format").is_none(), "{}", shown());
        checked += usize::from(is_schema);
        open.extend(value.as_object().into_iter().flat_map(|fields| fields.values()));
        open.extend(value.as_array().into_iter().flatten());
    }
    assert!(checked > 500, "only {checked} schemas were found");
}

/// Every path in code quotes or links exists: from the root, or inside the source of the server or of the edge, of which most
/// is told.
#[test]
fn named_paths_exist() {
    let sources = ["crates/server/src", "crates/edge/src", "crates/runtime/src"];
    let roots = [vec![root()], sources.map(|folder| root().join(folder)).to_vec()].concat();
    let mut checked = 0;
    for document in ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "bench/README.md"] {
        let text = std::fs::read_to_string(root().join(document)).unwrap_or_else(|_| panic!("{document} is missing"));
        for path in quoted(&text).chain(linked(&text)).filter(|path| is_path(path)) {
            // A pattern names a family: its folder must exist.
            let fixed = path.split(['<', '*']).next().unwrap_or_default();
            let fixed = if fixed == path { path } else { fixed.rsplit_once('/').map_or("", |(folder, _)| folder) };
            let exists = roots.iter().any(|root| root.join(fixed).exists());
            assert!(exists, "{document} names {path}, which does not exist");
            checked += 1;
        }
    }
    assert!(checked > 50, "only {checked} paths were found in the documents");
}

/// Relative, and with a folder or a known ending. What begins with a slash is the path of a URL.
fn is_path(text: &str) -> bool {
    let ending = [".rs", ".md", ".toml", ".json", ".sql", ".sh"].iter().any(|ending| text.ends_with(ending));
    let whole = !text.contains([' ', ':', '$', '|', '"', '(']) && !text.starts_with(['/', '-', '#']);
    // Written by a run, or a name that the reader chooses.
    let exists_later = text.starts_with("bench/results") || text.starts_with("target/");
    // A range of addresses.
    let is_subnet = text.split_once('/').is_some_and(|(address, _)| address.parse::<std::net::Ipv4Addr>().is_ok());
    whole && !exists_later && !is_subnet && (ending || text.contains('/'))
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
