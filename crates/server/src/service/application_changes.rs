//! What a request makes of an application's configuration, variables and credentials.

use std::collections::BTreeMap;
use std::ops::Deref;

use windlass_api::{
    BuildPack, Changes, Configuration, Given, MASK, RepositoryAddress, RepositoryCredentials, Triggers, VariableMap,
    Variables,
};
use windlass_runtime::{MOST_ARGUMENT_BYTES, argument_bytes};

use crate::error::{Error, Result};
use crate::references;
use crate::wishes;

pub fn configure(configuration: &mut Configuration, changes: &Changes) -> Result<()> {
    let default = Configuration::default();
    set(&mut configuration.branch, &changes.branch, &default.branch);
    set(&mut configuration.base_path, &changes.base_path, &default.base_path);
    set(&mut configuration.dockerfile_path, &changes.dockerfile_path, &default.dockerfile_path);
    set(&mut configuration.environment, &changes.environment, &default.environment);
    set(&mut configuration.pre_run_command, &changes.pre_run_command, &default.pre_run_command);
    set(&mut configuration.post_run_command, &changes.post_run_command, &default.post_run_command);
    set(&mut configuration.settings.health_path, &changes.health_path, &default.settings.health_path);
    match changes.build_pack {
        Given::Absent => {}
        Given::Empty => configuration.build_pack = default.build_pack,
        Given::Value(pack) => configuration.build_pack = pack,
    }
    match changes.language {
        Given::Absent => {}
        Given::Empty => configuration.settings.language = default.settings.language,
        Given::Value(language) => configuration.settings.language = language,
    }
    let settings = &mut configuration.settings;
    set(&mut settings.build_target, &changes.build_target, "");
    set(&mut settings.compose_file, &changes.compose_file, "");
    set(&mut settings.service, &changes.service, "");
    set(&mut settings.language_version, &changes.language_version, "");
    set(&mut settings.program, &changes.program, "");
    set(&mut settings.install_command, &changes.install_command, "");
    set(&mut settings.build_command, &changes.build_command, "");
    set(&mut settings.start_command, &changes.start_command, "");
    set(&mut settings.output_path, &changes.output_path, "");
    set(&mut settings.image, &changes.image, "");
    configuration.port = number(configuration.port, changes.port.map(windlass_api::Whole::get));
    let settings = &mut configuration.settings;
    settings.health_seconds = number(settings.health_seconds, changes.health_seconds.map(windlass_api::Whole::get));
    settings.drain_seconds = number(settings.drain_seconds, changes.drain_seconds.map(windlass_api::Whole::get));
    settings.stop_seconds = number(settings.stop_seconds, changes.stop_seconds.map(windlass_api::Whole::get));
    settings.memory_mb = number(settings.memory_mb, changes.memory_mb.map(windlass_api::ZeroOr::get));
    settings.cpu_millis = number(settings.cpu_millis, changes.cpu_millis.map(windlass_api::ZeroOr::get));
    settings.pids = number(settings.pids, changes.pids.map(windlass_api::Whole::get));
    settings.kept_releases = number(settings.kept_releases, changes.kept_releases.map(windlass_api::Whole::get));
    settings.pause = changes.pause.unwrap_or(settings.pause);
    settings.snapshot_before_deploy = changes.snapshot_before_deploy.unwrap_or(settings.snapshot_before_deploy);
    settings.single_page = changes.single_page.unwrap_or(settings.single_page);
    settings.git_in_context = changes.git_in_context.unwrap_or(settings.git_in_context);
    settings.replicas = number(settings.replicas, changes.replicas.map(windlass_api::Whole::get));
    let (percent, seconds) = (changes.error_rate_percent, changes.error_rate_seconds);
    settings.error_rate_percent = number(settings.error_rate_percent, percent.map(windlass_api::Whole::get));
    settings.error_rate_seconds = number(settings.error_rate_seconds, seconds.map(windlass_api::Whole::get));
    refuse_for_services(configuration)?;
    wishes::check(configuration)
}

fn set<T: Deref<Target = str>>(field: &mut String, given: &Given<T>, default: &str) {
    match given {
        Given::Absent => {}
        Given::Empty => default.clone_into(field),
        Given::Value(value) => value.deref().clone_into(field),
    }
}

/// The wire's limits are those of the field's type, so nothing is lost.
fn number<T: TryFrom<i64>>(now: T, given: Option<i64>) -> T {
    given.and_then(|given| T::try_from(given).ok()).unwrap_or(now)
}

/// Refuses settings that are for one image; a compose file has keys of its own for them.
fn refuse_for_services(configuration: &Configuration) -> Result<()> {
    if configuration.build_pack != BuildPack::DockerCompose {
        return Ok(());
    }
    let in_its_place = "a service that others depend on with service_completed_successfully does that";
    let asked = [
        ("replicas", configuration.settings.replicas > 1, "each service has one container"),
        ("pre_run_command", !configuration.pre_run_command.is_empty(), in_its_place),
        ("post_run_command", !configuration.post_run_command.is_empty(), "put it into a service of the compose file"),
        ("output_path", !configuration.settings.output_path.is_empty(), "sites are not made of services"),
    ];
    match asked.into_iter().find(|(_, is_asked, _)| *is_asked) {
        Some((field, _, reason)) => Err(Error::field(field, format!("must be left out with docker-compose: {reason}"))),
        None => Ok(()),
    }
}

/// What an application is made from decides whether an image of a registry is taken or one is built, and the two have settings of their own.
pub fn fit_to_source(configuration: &mut Configuration, repository: &str, changes: &Changes) -> Result<()> {
    if repository == RepositoryAddress::EXTENSION {
        return fit_to_extension(configuration, changes);
    }
    let is_image = repository == RepositoryAddress::IMAGE;
    if is_image && configuration.build_pack == BuildPack::Auto {
        configuration.build_pack = BuildPack::Image;
    }
    let (has_pack, has_image) =
        (configuration.build_pack == BuildPack::Image, !configuration.settings.image.is_empty());
    match (is_image, has_pack, has_image) {
        (true, true, true) => {
            refuse_without_repository(configuration, changes, "an image of a registry is taken as it is")
        }
        (true, false, _) => Err(Error::field("build_pack", "must be image or left out, because repository is image")),
        (true, true, false) => Err(Error::field("image", "must be given, because repository is image")),
        (false, true, _) => Err(Error::field("build_pack", "can be image only where repository is image")),
        (false, false, true) => {
            Err(Error::field("image", "must be left out: the application is built of its repository"))
        }
        (false, false, false) => Ok(()),
    }
}

/// The template says all that a compose file would.
fn fit_to_extension(configuration: &mut Configuration, changes: &Changes) -> Result<()> {
    if configuration.build_pack == BuildPack::Auto {
        configuration.build_pack = BuildPack::DockerCompose;
        refuse_for_services(configuration)?;
    }
    if configuration.build_pack != BuildPack::DockerCompose {
        let problem = "must be docker-compose or left out, because repository is extension";
        return Err(Error::field("build_pack", problem));
    }
    let why = "the application is made from an extension, whose template says all of that";
    if !configuration.settings.image.is_empty() {
        return Err(Error::field("image", format!("must be left out: {why}")));
    }
    refuse_without_repository(configuration, changes, why)
}

/// Refuses settings that are about a repository, its pushes or a build: they would be stored and do nothing.
fn refuse_without_repository(configuration: &Configuration, changes: &Changes, why: &str) -> Result<()> {
    let (settings, default) = (&configuration.settings, Configuration::default());
    let asked = [
        ("branch", !configuration.branch.is_empty()),
        ("base_path", configuration.base_path != default.base_path),
        ("dockerfile_path", configuration.dockerfile_path != default.dockerfile_path),
        ("build_target", !settings.build_target.is_empty()),
        ("git_in_context", settings.git_in_context),
        ("compose_file", !settings.compose_file.is_empty()),
        ("service", !settings.service.is_empty()),
        ("language", settings.language != default.settings.language),
        ("language_version", !settings.language_version.is_empty()),
        ("program", !settings.program.is_empty()),
        ("install_command", !settings.install_command.is_empty()),
        ("build_command", !settings.build_command.is_empty()),
        ("start_command", !settings.start_command.is_empty()),
        ("output_path", !settings.output_path.is_empty()),
        ("single_page", settings.single_page),
        ("repository_token", changes.repository_token.value().is_some()),
        ("repository_ssh_key", changes.repository_ssh_key.value().is_some()),
        ("auto_deploy", changes.auto_deploy == Some(false)),
        ("watch_paths", changes.watch_paths.as_ref().is_some_and(|paths| !paths.is_empty())),
        ("tag_pattern", changes.tag_pattern.value().is_some()),
    ];
    match asked.into_iter().find(|(_, is_asked)| *is_asked) {
        Some((field, _)) => Err(Error::field(field, format!("must be left out: {why}"))),
        None => Ok(()),
    }
}

pub fn set_triggers(triggers: &mut Triggers, changes: &Changes) {
    triggers.auto_deploy = changes.auto_deploy.unwrap_or(triggers.auto_deploy);
    set(&mut triggers.tag_pattern, &changes.tag_pattern, "");
    if let Some(paths) = &changes.watch_paths {
        triggers.watch_paths = paths.to_vec();
    }
    triggers.auto_update = changes.auto_update.unwrap_or(triggers.auto_update);
    triggers.previews = changes.previews.unwrap_or(triggers.previews);
    triggers.preview_forks = changes.preview_forks.unwrap_or(triggers.preview_forks);
}

/// Given variables replace all of their kind; a mask stands for the value that is there. A name that is no longer marked as secret
/// needs a new value: a member who may change an application must not be able to have its secrets shown.
pub fn set_variables(variables: &mut Variables, changes: &Changes) -> Result<()> {
    let before = variables.clone();
    if let Some(given) = &changes.build_variables {
        variables.build = unmasked("build_variables", given, &before.build)?;
        refuse_buildkit("build_variables", &variables.build)?;
    }
    if let Some(given) = &changes.environment_variables {
        variables.environment = unmasked("environment_variables", given, &before.environment)?;
        check_given_port("environment_variables", &variables.environment)?;
    }
    if let Some(given) = &changes.preview_variables {
        variables.preview = unmasked("preview_variables", given, &before.preview)?;
        check_given_port("preview_variables", &variables.preview)?;
    }
    let is_there = |name: &String| {
        [&variables.build, &variables.environment, &variables.preview].iter().any(|all| all.contains_key(name))
    };
    variables.secret_names = match &changes.secret_names {
        Some(given) => {
            if let Some(unknown) = given.iter().find(|name| !is_there(name)) {
                return Err(Error::field("secret_names", format!("there is no variable {unknown}")));
            }
            given.to_vec()
        }
        None => before.secret_names.iter().filter(|name| is_there(name)).cloned().collect(),
    };
    variables.secret_names.sort_unstable();
    variables.preview_secret_names = preview_secrets(variables, &before, changes)?;
    refuse_long_arguments(variables)?;
    refuse_to_reveal(&before, variables, changes)
}

/// The secrets that previews get too.
fn preview_secrets(variables: &Variables, before: &Variables, changes: &Changes) -> Result<Vec<String>> {
    let mut names = match &changes.preview_secret_names {
        Some(given) => {
            if let Some(unknown) = given.iter().find(|name| !variables.is_secret(name)) {
                return Err(Error::field("preview_secret_names", format!("there is no {unknown} in secret_names")));
            }
            given.to_vec()
        }
        None => before.preview_secret_names.iter().filter(|name| variables.is_secret(name)).cloned().collect(),
    };
    names.sort_unstable();
    Ok(names)
}

pub fn unmasked(
    field: &str,
    given: &VariableMap,
    before: &BTreeMap<String, String>,
) -> Result<BTreeMap<String, String>> {
    let mut variables = BTreeMap::new();
    for (name, value) in given.iter() {
        let value = match value.as_str() {
            MASK => before.get(name).ok_or_else(|| {
                let problem = format!("{name}: {MASK} stands for the value that is there, and there is none");
                Error::field(field, problem)
            })?,
            _ => value,
        };
        variables.insert(name.clone(), value.clone());
    }
    // What a mask stands for counts too.
    VariableMap::check_size(&variables).map_err(|problem| Error::field(field, problem))?;
    Ok(variables)
}

/// Secrets reach a build another way, which is wide enough for all of them.
pub fn refuse_long_arguments(variables: &Variables) -> Result<()> {
    let arguments: Vec<_> = variables.build.iter().filter(|(name, _)| !variables.is_secret(name)).collect();
    let bytes = argument_bytes(&arguments);
    if bytes <= MOST_ARGUMENT_BYTES {
        return Ok(());
    }
    let problem = format!(
        "take {bytes} bytes, encoded as the engine needs them, of which {MOST_ARGUMENT_BYTES} are possible. Shorten them, or add some to secret_names"
    );
    Err(Error::field("build_variables", problem))
}

/// They are for the builder itself, and some of them let one build read what others have left.
fn refuse_buildkit(field: &str, build: &BTreeMap<String, String>) -> Result<()> {
    match build.keys().find(|name| name.starts_with("BUILDKIT_")) {
        Some(name) => {
            Err(Error::field(field, format!("{name}: names that begin with BUILDKIT_ are the builder's own")))
        }
        None => Ok(()),
    }
}

/// What it refers to is checked when it is known.
fn check_given_port(field: &str, environment: &BTreeMap<String, String>) -> Result<()> {
    match environment.get("PORT").is_some_and(|text| references::refers(text)) {
        true => Ok(()),
        false => check_port(field, environment),
    }
}

/// The variable says where visitors are sent, so it must be a port.
pub fn check_port(field: &str, environment: &BTreeMap<String, String>) -> Result<()> {
    let is_port = |text: &String| text.trim().parse::<u16>().is_ok_and(|port| port > 0);
    if environment.get("PORT").is_some_and(|text| !is_port(text)) {
        let problem = "PORT: must be a whole number from 1 to 65535. Leave it out if it does not matter which.";
        return Err(Error::field(field, problem));
    }
    Ok(())
}

fn refuse_to_reveal(before: &Variables, after: &Variables, changes: &Changes) -> Result<()> {
    let is_given = |given: &Option<VariableMap>, name: &str| {
        given.as_ref().is_some_and(|given| given.get(name).is_some_and(|value| value != MASK))
    };
    for name in before.secret_names.iter().filter(|name| !after.is_secret(name)) {
        let keeps_build = after.build.contains_key(name) && !is_given(&changes.build_variables, name);
        let keeps_run = after.environment.contains_key(name) && !is_given(&changes.environment_variables, name);
        let keeps_preview = after.preview.contains_key(name) && !is_given(&changes.preview_variables, name);
        if keeps_build || keeps_run || keeps_preview {
            let problem = format!("{name} stays secret as long as it keeps its value: give it a new one as well");
            return Err(Error::field("secret_names", problem));
        }
    }
    Ok(())
}

pub fn touches_variables(changes: &Changes) -> bool {
    [&changes.build_variables, &changes.environment_variables, &changes.preview_variables]
        .iter()
        .any(|all| all.is_some())
        || changes.secret_names.is_some()
        || changes.preview_secret_names.is_some()
}

pub fn set_credentials(credentials: &mut RepositoryCredentials, changes: &Changes) {
    match &changes.repository_token {
        Given::Absent => {}
        Given::Empty => credentials.token.clear(),
        Given::Value(token) => token.reveal().clone_into(&mut credentials.token),
    }
    match &changes.repository_ssh_key {
        Given::Absent => {}
        Given::Empty => credentials.ssh_key.clear(),
        Given::Value(key) => key.reveal().clone_into(&mut credentials.ssh_key),
    }
}

pub fn touches_credentials(changes: &Changes) -> bool {
    changes.repository_token != Given::Absent || changes.repository_ssh_key != Given::Absent
}
