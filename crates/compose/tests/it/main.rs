#![allow(clippy::unwrap_used, clippy::panic, reason = "a failure here is a failed test")]

mod bounds;
mod dangers;
mod mutations;
mod problems;
mod projects;
mod repository;

use windlass_compose::{Problem, Project, read};
use windlass_yaml::{Limits, parse};

/// The values that variables have in these tests.
fn lookup(name: &str) -> Option<String> {
    match name {
        "TAG" => Some("1.29".into()),
        "PORT" => Some("8080".into()),
        "YES" => Some("true".into()),
        "MEMORY" => Some("512m".into()),
        "PASSWORD" => Some("s3cr3t$X".into()),
        "EMPTY" => Some(String::new()),
        _ => None,
    }
}

fn project(text: &str) -> Result<Project, Vec<Problem>> {
    read(&parse(text, &Limits::default()).unwrap(), &lookup)
}

/// The problems of a document, a line each.
fn problems(text: &str) -> String {
    let problems = project(text).unwrap_err();
    problems.iter().map(|problem| format!("{problem}\n")).collect()
}

fn names(project: &Project) -> Vec<&str> {
    project.services.iter().map(|service| service.name.as_str()).collect()
}

/// Compares with a file, as the server's tests do.
fn assert_snapshot(name: &str, text: &str) {
    insta::with_settings!({ prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_snapshot!(name, text);
    });
}
