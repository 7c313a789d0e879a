//! How far a change of a field reaches: to what is built, only to the containers, or nowhere.

use windlass_api::{BuildPack, Configuration, DeployEffect, ReleaseChange, Variables};

/// What the change leads from, or to.
#[derive(Clone, Copy)]
pub struct Side<'a> {
    pub configuration: &'a Configuration,
    pub variables: &'a Variables,
    pub knows_commit: bool,
}

/// Read when containers are started, looked after and ended, or right before; so each deploy brings them along.
const OF_CONTAINERS: [&str; 15] = [
    "cpu_millis",
    "drain_seconds",
    "environment_variables",
    "health_path",
    "health_seconds",
    "memory_mb",
    "pause",
    "pids",
    "port",
    "post_run_command",
    "pre_run_command",
    "replicas",
    "snapshot_before_deploy",
    "stop_seconds",
    "volumes",
];

pub fn of(field: &str, before: Side<'_>, after: Side<'_>) -> DeployEffect {
    // Which commit a branch leads to is what counts, and is compared by itself.
    if field == "branch" && !(before.knows_commit && after.knows_commit) {
        return DeployEffect::Unknown;
    }
    let is_of_build = |side: Side<'_>| is_read_by_build(field, side.configuration);
    let is_build = match field {
        "secret_names" => changes_secrets_of_build(before.variables, after.variables),
        _ => is_of_build(before) || is_of_build(after),
    };
    match field {
        _ if is_build => DeployEffect::Build,
        _ if OF_CONTAINERS.contains(&field) => DeployEffect::Containers,
        _ => DeployEffect::Nothing,
    }
}

/// Whether what is built can depend on it. `deploy/pack.rs` reads these fields, and what it calls.
fn is_read_by_build(field: &str, configuration: &Configuration) -> bool {
    use BuildPack::{Auto, DockerCompose, Dockerfile, Image, Static};
    let pack = configuration.build_pack;
    match field {
        "artifact" | "base_path" | "build_pack" | "commit_hash" => true,
        "dockerfile_path" | "build_target" => matches!(pack, Auto | Dockerfile),
        "image" => pack == Image,
        "output_path" => !matches!(pack, DockerCompose | Image),
        "single_page" => match pack {
            Auto | Static => true,
            Dockerfile => !configuration.settings.output_path.is_empty(),
            DockerCompose | Image => false,
        },
        "build_variables" | "git_in_context" => !matches!(pack, Static | Image),
        // They are filled into the compose file.
        "environment_variables" | "compose_file" | "service" => pack == DockerCompose,
        // It stands in the Dockerfile that is made where there is none.
        "port" => pack == Auto,
        "language" | "language_version" | "program" | "install_command" | "build_command" | "start_command" => {
            pack == Auto
        }
        _ => false,
    }
}

/// Those that are secret reach a build another way than those that are not.
fn changes_secrets_of_build(before: &Variables, after: &Variables) -> bool {
    let mut names = before.build.keys().chain(after.build.keys());
    names.any(|name| before.is_secret(name) != after.is_secret(name))
}

/// For what is a site, and stays one because nothing changes of what is built.
pub fn without_containers(changes: &mut [ReleaseChange]) {
    if changes.iter().any(|change| matches!(change.effect, DeployEffect::Build | DeployEffect::Unknown)) {
        return;
    }
    for change in changes {
        change.effect = DeployEffect::Nothing;
    }
}

/// The farthest that any of them reaches.
pub fn farthest(changes: &[ReleaseChange]) -> DeployEffect {
    let reaches = |effect| changes.iter().any(|change| change.effect == effect);
    let all = [DeployEffect::Build, DeployEffect::Unknown, DeployEffect::Containers];
    all.into_iter().find(|effect| reaches(*effect)).unwrap_or(DeployEffect::Nothing)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Said about a release, and read by nothing that builds or runs it.
    const OF_NEITHER: [&str; 5] =
        ["branch", "environment", "error_rate_percent", "error_rate_seconds", "kept_releases"];

    #[test]
    fn each_field_of_a_configuration_has_its_place() {
        let variables = Variables::default();
        let packs = BuildPack::ALL.iter().map(|pack| Configuration { build_pack: *pack, ..Configuration::default() });
        let packs: Vec<_> = packs.collect();
        let value = serde_json::to_value(&packs[0]).unwrap();
        for field in value.as_object().unwrap().keys().map(String::as_str).chain(["build_variables", "volumes"]) {
            let effect = |configuration| {
                let side = Side { configuration, variables: &variables, knows_commit: true };
                of(field, side, side)
            };
            let effects: Vec<_> = packs.iter().map(effect).collect();
            let is_known = OF_CONTAINERS.contains(&field) || OF_NEITHER.contains(&field);
            assert!(
                is_known || effects.contains(&DeployEffect::Build),
                "{field} is read by nothing: add it to one of the lists"
            );
        }
    }

    #[test]
    fn the_same_field_matters_to_some_packs_only() {
        let (plain, mut marked) = (Variables::default(), Variables::default());
        marked.secret_names = vec!["KEY".into()];
        let effect = |field: &str, pack: BuildPack, after: &Variables| {
            let configuration = Configuration { build_pack: pack, ..Configuration::default() };
            let side = |variables| Side { configuration: &configuration, variables, knows_commit: true };
            of(field, side(&plain), side(after)).as_str()
        };
        for (field, pack, expected) in [
            ("environment_variables", BuildPack::Dockerfile, "containers"),
            ("environment_variables", BuildPack::DockerCompose, "build"),
            ("port", BuildPack::Dockerfile, "containers"),
            ("port", BuildPack::Auto, "build"),
            ("start_command", BuildPack::Dockerfile, "nothing"),
            ("start_command", BuildPack::Auto, "build"),
            ("single_page", BuildPack::Dockerfile, "nothing"),
            ("kept_releases", BuildPack::Auto, "nothing"),
            ("git_in_context", BuildPack::Static, "nothing"),
            ("git_in_context", BuildPack::DockerCompose, "build"),
            ("branch", BuildPack::Auto, "nothing"),
            ("secret_names", BuildPack::Auto, "nothing"),
        ] {
            assert_eq!(effect(field, pack, &marked), expected, "{field} with {}", pack.as_str());
        }
        let mut secret_build = marked.clone();
        secret_build.build.insert("KEY".into(), "x".into());
        assert_eq!(effect("secret_names", BuildPack::Auto, &secret_build), "build");
        let configuration = Configuration::default();
        let side = Side { configuration: &configuration, variables: &plain, knows_commit: false };
        assert_eq!(of("branch", side, side), DeployEffect::Unknown);
    }
}
