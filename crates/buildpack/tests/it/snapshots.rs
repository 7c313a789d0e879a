//! The plan and the Dockerfile of each fixture.

use std::fs;
use std::path::Path;

use windlass_buildpack::{BaseImages, BuildVariables, Detected, Error};

use crate::fixture::Fixture;
use crate::lines::check;

fn assert_snapshot(name: &str, text: &str) {
    insta::with_settings!({ prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_snapshot!(name, text);
    });
}

/// A plan in JSON and its Dockerfile, the candidates, or the message.
fn shown(detected: Result<Detected, Error>) -> String {
    match detected {
        Ok(Detected::Plan(plan)) => {
            let dockerfile =
                plan.dockerfile(&BaseImages::default(), BuildVariables { open: &["API_URL"], secret: &[] });
            check(&dockerfile);
            format!("{}\n\n{dockerfile}", serde_json::to_string_pretty(&plan).unwrap())
        }
        Ok(other) => serde_json::to_string_pretty(&other).unwrap(),
        Err(error) => error.to_string(),
    }
}

#[test]
fn fixtures() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(files.len() >= 60, "{}", files.len());
    for file in files {
        let fixture = Fixture::parse(&fs::read_to_string(&file).unwrap());
        assert_snapshot(file.file_stem().unwrap().to_str().unwrap(), &shown(fixture.detect()));
    }
}

/// What is not sent to the engine: the repository's own rules stay in force.
#[test]
fn ignored_files() {
    let mut all = String::new();
    for files in [
        vec![("index.html", ""), (".dockerignore", "drafts\n")],
        vec![("package.json", r#"{"scripts": {"start": "node ."}}"#)],
        vec![("main.py", ""), ("requirements.txt", "")],
    ] {
        let Ok(Detected::Plan(plan)) = Fixture::of(&files).detect() else { panic!() };
        all += &format!("{}:\n{}\n", plan.kind, plan.dockerignore());
    }
    assert_snapshot("ignored_files", &all);
}
