//! What is set beats what was found, or is refused with its name.

use std::fs;
use std::path::Path;

use windlass_buildpack::{BaseImages, BuildVariables, Detected, Kind, OwnImage, Serves, Wishes};

use crate::fixture::Fixture;
use crate::lines::check;

fn node() -> Fixture {
    Fixture::of(&[("package.json", r#"{"scripts": {"start": "node a.js"}}"#), ("package-lock.json", "{}")])
}

#[test]
fn each_wish_is_in_the_dockerfile() {
    let mut fixture = node();
    fixture.wishes = Wishes {
        version: Some("20.1".into()),
        install: Some("install-it".into()),
        build: Some("build-it".into()),
        start: Some("start-it".into()),
        port: Some(1234),
        ..Wishes::default()
    };
    let dockerfile = fixture.dockerfile();
    for part in
        ["FROM node:20.1-slim", "\"install-it\"", "\"build-it\"", "\"exec start-it\"", "PORT=1234", "EXPOSE 1234"]
    {
        assert!(dockerfile.contains(part), "{part} is not in:\n{dockerfile}");
    }
}

#[test]
fn an_output_makes_files() {
    let mut fixture = node();
    fixture.wishes.output = Some("./site/".into());
    let Ok(Detected::Plan(plan)) = fixture.detect() else { panic!() };
    assert_eq!(plan.output.as_deref(), Some("site"));
    assert!(matches!(plan.serves, Serves::Files { .. }) && plan.start.is_none() && plan.port.is_none());
    let dockerfile = plan.dockerfile(&BaseImages::default(), BuildVariables::default());
    assert!(dockerfile.ends_with("FROM scratch\nCOPY --from=build [\"/app/site/\",\"/site/\"]\n"), "{dockerfile}");
}

#[test]
fn what_cannot_be_used_is_named() {
    for (wishes, message) in [
        (Wishes { version: Some("20-evil".into()), ..Wishes::default() }, "language_version: "),
        (Wishes { output: Some("../x".into()), ..Wishes::default() }, "output_path: "),
        (Wishes { program: Some("a b".into()), ..Wishes::default() }, "program: "),
        (Wishes { port: Some(0), ..Wishes::default() }, "port: "),
        (Wishes { start: Some("x".repeat(9_000)), ..Wishes::default() }, "start_command: "),
    ] {
        let mut fixture = node();
        fixture.wishes = wishes;
        assert!(fixture.error().starts_with(message), "{}", fixture.error());
    }
}

/// Whatever the last stage copies, the repository is no part of it: programs serve what is in their folder.
#[test]
fn the_repository_is_for_commands_that_build() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    for file in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        let mut fixture = Fixture::parse(&fs::read_to_string(&file).unwrap());
        fixture.wishes.git_in_context = true;
        let Ok(Detected::Plan(plan)) = fixture.detect() else { continue };
        let dockerfile = plan.dockerfile(&BaseImages::default(), BuildVariables::default());
        let stages: Vec<_> = dockerfile.trim_end().split("\n\n").collect();
        let (last, before) = stages.split_last().unwrap();
        if plan.kind == Kind::Static {
            assert!(plan.dockerignore().ends_with("**/.*\n!**/.well-known\n"), "{file:?}");
            continue;
        }
        let build = before.iter().find(|stage| stage.lines().next().unwrap().ends_with(" AS build"));
        let removed = "RUN [\"/bin/sh\",\"-c\",\"rm -rf /app/.git\"]";
        assert_eq!(build.unwrap().lines().next_back(), Some(removed), "{file:?}");
        for copy in last.lines().filter(|line| line.starts_with("COPY ")) {
            assert!(copy.contains("--from=build "), "{file:?}: {copy}");
        }
    }
}

#[test]
fn operators_choose_the_images() {
    let Ok(Detected::Plan(plan)) = node().detect() else { panic!() };
    let images = BaseImages::from_iter(OwnImage::try_from("node=registry.local/node-{version}"));
    assert!(plan.dockerfile(&images, BuildVariables::default()).starts_with("FROM registry.local/node-22 AS build\n"));
    assert_eq!(plan.images(&images), ["registry.local/node-22"]);
}

#[test]
fn variables_of_the_build_are_declared_where_commands_run() {
    let Ok(Detected::Plan(plan)) = node().detect() else { panic!() };
    let names = ["API_URL", "no name", "X\nRUN y"];
    let dockerfile = plan.dockerfile(&BaseImages::default(), BuildVariables { open: &names, secret: &[] });
    assert_eq!(dockerfile.matches("ARG ").count(), 1, "{dockerfile}");
}

/// Where it installs and builds, and nowhere else.
#[test]
fn secrets_of_the_build_are_mounted_for_commands_that_need_them() {
    let package =
        r#"{"scripts": {"start": "node ."}, "dependencies": {"prisma": "7"}, "devDependencies": {"tsx": "4"}}"#;
    let mut fixture = Fixture::of(&[("package.json", package), ("package-lock.json", "{}")]);
    fixture.wishes.build = Some("build-it".into());
    let Ok(Detected::Plan(plan)) = fixture.detect() else { panic!() };
    let names = ["NPM_TOKEN", "no name", "X\nRUN y", "$(id)"];
    let variables = BuildVariables { open: &[], secret: &names };
    assert_eq!(variables.unseen(), names[1..]);
    let dockerfile = plan.dockerfile(&BaseImages::default(), variables);
    let commands = check(&dockerfile);
    let (build, run) = dockerfile.split_once("\n\n").unwrap();
    for line in build.lines().filter(|line| line.starts_with("RUN ")) {
        let is_given = line.contains(" --mount=type=secret,id=NPM_TOKEN ") && line.contains("done; ");
        assert!(is_given != line.contains("apt-get"), "{line}");
    }
    for command in ["done; npm ci", "done; build-it", "done; npm prune", "apt-get"] {
        assert!(build.contains(command), "{command}: {build}");
    }
    assert!(run.contains("apt-get") && !run.contains("secret"), "{run}");
    assert!(!dockerfile.contains("ARG") && !dockerfile.contains("no name"), "{dockerfile}");
    assert!(commands.iter().all(|command| !command.contains("NPM_TOKEN")), "{commands:?}");
    assert!(!fixture.dockerfile().contains("secret"));
}

/// The shell that the command has: values may be anything, and a value may end with a line break.
#[test]
fn secrets_reach_commands_as_they_are() {
    let mut fixture = node();
    fixture.wishes.build = Some("printf %s \"$KEY\"; printf '|%s|' \"$TOKEN\"".into());
    let Ok(Detected::Plan(plan)) = fixture.detect() else { panic!() };
    let dockerfile = plan.dockerfile(&BaseImages::default(), BuildVariables { open: &[], secret: &["KEY", "TOKEN"] });
    let command = check(&dockerfile).into_iter().find(|command| command.contains("printf")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let values = ["-----BEGIN KEY-----\nabc\n\n", "it's \"$(id)\" `id` \\n *"];
    for (name, value) in ["KEY", "TOKEN"].into_iter().zip(values) {
        fs::write(folder.path().join(name), value).unwrap();
    }
    let command = command.replace("/run/secrets", folder.path().to_str().unwrap());
    let ran = std::process::Command::new("/bin/sh").args(["-c", &command]).output().unwrap();
    let printed = String::from_utf8(ran.stdout).unwrap();
    assert!(printed.starts_with(&format!("{}|{}|", values[0], values[1])), "{printed}");
}
