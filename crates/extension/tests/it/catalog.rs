//! The extensions that come with the server: each can be installed as it is.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use serde_json::{Value as Json, json};
use windlass_compose::{Project, Service, Source};
use windlass_extension::{
    Action, Extension, Kind, Phase, ResolvedStep, StepType, Values, VariableType, catalog, check, resolve, values,
};

use crate::documents::shown;
use crate::schema::accepts;

/// Containers that keep nothing: what they know is in the database beside them.
const WITHOUT_DATA: [&str; 4] = ["adminer", "miniflux", "umami", "wiki"];
const ON_THE_HOST: [&str; 4] = ["fail2ban-ssh", "firewall-ufw", "swap-file", "unattended-upgrades"];

fn all() -> impl Iterator<Item = Extension> {
    catalog::ALL.iter().map(|(file, text)| {
        let checked = check(text);
        checked.extension.unwrap_or_else(|| panic!("{file}:\n{}", shown(&checked.problems)))
    })
}

/// What a user would give.
fn given(extension: &Extension) -> BTreeMap<String, Json> {
    let required = extension.variables.iter().filter(|variable| variable.is_required || variable.name == "domain");
    let value = |name: &str| match name {
        "domain" => json!("app.example.org"),
        "server" => json!("https://git.example.org"),
        "token" => json!("0123456789abcdefghijABCDEFGHIJ0123456789"),
        other => panic!("{}: {other} is required", extension.metadata.id),
    };
    required.map(|variable| (variable.name.clone(), value(&variable.name))).collect()
}

fn filled(extension: &Extension) -> Values {
    let mut number = 0;
    let mut generate = || {
        number += 1;
        format!("generatedSecret{number:017}")
    };
    values(extension, &given(extension), &mut generate)
        .unwrap_or_else(|problems| panic!("{}: {}", extension.metadata.id, shown(&problems)))
}

fn planned(extension: &Extension) -> Vec<ResolvedStep> {
    resolve(extension, &filled(extension), "my-app")
        .unwrap_or_else(|problems| panic!("{}: {}", extension.metadata.id, shown(&problems)))
}

fn projects(steps: &[ResolvedStep]) -> Vec<&Project> {
    steps
        .iter()
        .filter_map(|step| match &step.action {
            Action::Up { project } => Some(project),
            _ => None,
        })
        .collect()
}

fn services() -> Vec<(String, Service)> {
    let mut services = Vec::new();
    for extension in all() {
        for project in projects(&planned(&extension)) {
            services.extend(project.services.iter().map(|service| (extension.metadata.id.clone(), service.clone())));
        }
    }
    services
}

#[test]
fn the_catalog_is_whole() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("catalog");
    let files: BTreeSet<String> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    let known: BTreeSet<String> = catalog::ALL.iter().map(|(file, _)| (*file).to_owned()).collect();
    assert_eq!(files, known);
    assert!(known.len() >= 24);
    for (extension, (file, text)) in all().zip(catalog::ALL) {
        assert_eq!(format!("{}.yaml", extension.metadata.id), *file);
        assert!(accepts(text), "{file}: the schema");
        assert!(text.chars().all(|c| c != '\t') && text.ends_with('\n'), "{file}");
        assert!(text.lines().all(|line| line.chars().count() <= 130), "{file}: a line is too long");
    }
}

#[test]
fn each_can_be_planned() {
    for extension in all() {
        let id = &extension.metadata.id;
        let steps = planned(&extension);
        assert!(steps.iter().any(|step| step.phase == Phase::Validate), "{id} validates nothing");
        assert!(steps.iter().filter(|step| step.skipped.is_some()).all(|step| step.kind == StepType::Command), "{id}");
        assert!(!extension.metadata.icon.is_empty() && extension.metadata.author == "Windlass", "{id}");
        for variable in &extension.variables {
            assert!(variable.description.ends_with('.'), "{id}: {} is not described", variable.name);
        }
        assert_eq!(check(&extension.canonical_json()).extension.unwrap().canonical_json(), extension.canonical_json());
    }
}

/// Without a domain, only those can be installed whose page is not what they are for; the step is skipped then.
#[test]
fn a_domain_is_used_where_it_is_asked_for() {
    for extension in all() {
        let id = &extension.metadata.id;
        let routes = |steps: &[ResolvedStep]| {
            let is_route = |step: &&ResolvedStep| matches!(&step.action, Action::Route { domain, .. } if domain == "app.example.org");
            steps.iter().filter(is_route).count()
        };
        let has_domain = extension.variable("domain").is_some();
        assert_eq!(routes(&planned(&extension)), usize::from(has_domain), "{id}");
        if extension.variable("domain").is_some_and(|domain| !domain.is_required) {
            let values = values(&extension, &BTreeMap::new(), &mut || "generatedSecret0000".into()).unwrap();
            let steps = resolve(&extension, &values, "my-app").unwrap();
            assert_eq!(steps.iter().filter(|step| step.skipped.is_some()).count(), 1, "{id}");
        }
    }
}

#[test]
fn only_host_automations_need_the_host() {
    for extension in all() {
        let id = extension.metadata.id.as_str();
        let reasons: Vec<_> = planned(&extension).iter().flat_map(ResolvedStep::needs_host_access).collect();
        assert_eq!(!reasons.is_empty(), ON_THE_HOST.contains(&id), "{id}: {reasons:?}");
        assert_eq!(extension.metadata.kind == Kind::Run, ON_THE_HOST.contains(&id), "{id}");
    }
}

#[test]
fn containers_are_pinned_watched_bounded_and_keep_their_data() {
    let services = services();
    assert!(services.len() > 30, "{}", services.len());
    for (id, service) in services {
        let name = format!("{id}: {}", service.name);
        let tag = service.image.rsplit_once(':').map(|(_, tag)| tag).unwrap_or_default();
        assert!(
            tag.contains('.') && tag.chars().any(|c| c.is_ascii_digit()) && !tag.contains('/'),
            "{name}: {}",
            service.image
        );
        assert!(!service.image.contains("latest"), "{name}");
        assert!(
            service.health.is_some_and(|health| !health.test.is_empty() && health.start_period.is_some()),
            "{name}"
        );
        assert!(service.memory_bytes.is_some_and(|bytes| bytes <= 2 << 30), "{name} has no bound of memory");
        assert!(service.ports.is_empty(), "{name} takes a port of the host");
        assert_eq!(service.restart, windlass_compose::Restart::UnlessStopped, "{name}");
        let is_named = |source: &Source| matches!(source, Source::Volume(_));
        assert!(service.volumes.iter().all(|mount| is_named(&mount.source)), "{name}");
        assert_eq!(service.volumes.is_empty(), WITHOUT_DATA.contains(&service.name.as_str()), "{name}");
    }
}

#[test]
fn passwords_are_secrets() {
    for extension in all() {
        for variable in &extension.variables {
            let is_named_so = ["password", "secret", "token", "key"].iter().any(|word| variable.name.contains(word));
            let is_secret = variable.kind == VariableType::Secret;
            assert_eq!(
                is_named_so && variable.name != "access_key",
                is_secret,
                "{}: {}",
                extension.metadata.id,
                variable.name
            );
        }
    }
    for (id, service) in services() {
        for (name, value) in &service.environment {
            let is_named_so = ["PASS", "SECRET", "TOKEN"].iter().any(|word| name.to_uppercase().contains(word));
            assert!(
                !is_named_so || value.contains("generatedSecret") || name == "GITEA_RUNNER_REGISTRATION_TOKEN",
                "{id}: {name}"
            );
        }
    }
}

/// What a container gets is what the extension says, not what the shell or Compose made of it.
#[test]
fn no_dollar_sign_is_left_over() {
    for (id, service) in services() {
        let words = service.command.iter().chain(&service.entrypoint).flatten();
        let health = service.health.iter().flat_map(|health| &health.test);
        for word in words.chain(health) {
            assert!(!word.contains("$$") && !word.contains("{{"), "{id}: {word}");
        }
    }
}

#[test]
fn host_automations_can_be_undone_and_are_valid_shell() {
    for extension in all().filter(|extension| ON_THE_HOST.contains(&extension.metadata.id.as_str())) {
        for step in planned(&extension) {
            let Action::Command { script, revert, .. } = &step.action else { continue };
            let name = format!("{}: {}", extension.metadata.id, step.name);
            let only_looks = step.phase == Phase::Validate || step.name.starts_with("See that");
            assert_eq!(revert.is_none(), only_looks, "{name}");
            for script in [Some(script), revert.as_ref()].into_iter().flatten() {
                let output = Command::new("/bin/sh").args(["-n", "-c", script]).output().unwrap();
                assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
            }
        }
    }
}
