//! What must be known of an extension and its values before it is planned or run. Everything that can be wrong is found here.

use std::collections::BTreeMap;

use serde_json::Value;
use windlass_api::{ErrorCode, MASK, VariableMap, shown_name};
use windlass_compose::{Project, Service, Sharing};
use windlass_extension::{Action, Kind, ResolvedStep, StepType, Values, VariableType};
use windlass_store::extensions::Extension;

use crate::app::App;
use crate::error::{Error, Result};
use crate::random;
use crate::service::extensions::look;

/// Bytes of a secret that is made up.
const SECRET_BYTES: usize = 24;

/// An extension with the values that it is to be run with.
pub struct Prepared {
    pub values: Values,
    pub steps: Vec<ResolvedStep>,
    pub kind: Kind,
    pub yaml_content: String,
}

/// Which values are asked for.
pub enum Asked<'a> {
    Given(Option<&'a VariableMap>),
    /// With those that an installation has, of which the extension may not know all any more. Some are to have their defaults instead.
    Merged {
        stored: Values,
        given: Option<&'a VariableMap>,
        defaults: &'a [String],
    },
    /// With the secrets of a first execution that failed.
    Again {
        stored: Values,
        given: Option<&'a VariableMap>,
    },
}

impl Asked<'_> {
    /// Those that are to have their defaults, whatever is stored.
    fn defaults(&self) -> &[String] {
        match self {
            Self::Merged { defaults, .. } => defaults,
            Self::Given(_) | Self::Again { .. } => &[],
        }
    }

    /// Who wants a default must have it.
    fn check_defaults(&self, extension: &windlass_extension::Extension) -> Result<()> {
        let Self::Merged { given, defaults, .. } = self else { return Ok(()) };
        for name in *defaults {
            if extension.variable(name).is_none_or(|variable| variable.default.is_none()) {
                let problem = format!("the extension has no default for {}", shown_name(name));
                return Err(Error::field("defaults", problem));
            }
            if given.is_some_and(|given| given.contains_key(name)) {
                return Err(Error::field("defaults", format!("{name} is given a value in variables too")));
            }
        }
        Ok(())
    }

    /// By name. What is given goes before what is stored.
    fn values(&self, extension: &windlass_extension::Extension) -> BTreeMap<String, Value> {
        let (stored, given, only_secrets) = match self {
            Self::Given(given) => (None, given, false),
            Self::Merged { stored, given, .. } => (Some(stored), given, false),
            Self::Again { stored, given } => (Some(stored), given, true),
        };
        let mut values = BTreeMap::new();
        for (name, value) in stored.into_iter().flat_map(Values::iter) {
            let Some(variable) = extension.variable(name) else { continue };
            let (was, is) =
                (stored.is_some_and(|stored| stored.is_secret(name)), variable.kind == VariableType::Secret);
            // What was a secret is never shown as something else.
            let is_wanted = *value != windlass_extension::Value::Nothing && !self.defaults().contains(&variable.name);
            if is_wanted && (!was || is) && (was || !only_secrets) {
                values.insert(name.to_owned(), value.to_json());
            }
        }
        let given = given.iter().flat_map(|given| given.iter());
        values.extend(given.map(|(name, value)| (name.clone(), Value::from(value.as_str()))));
        values
    }
}

/// Everything that can be known to be wrong is found here, before anything runs.
pub async fn prepare(app: &App, row: &Extension, asked: &Asked<'_>, name: &str) -> Result<Prepared> {
    let texts = windlass_store::extensions::texts(&mut app.db.read().await?, row.id).await?;
    let text = texts.ok_or_else(|| Error::not_found("extension"))?.yaml_content;
    let extension = read(&text).await?;
    asked.check_defaults(&extension)?;
    let given = asked.values(&extension);
    let values = windlass_extension::values(&extension, &given, &mut new_secret).map_err(|problems| {
        let words: Vec<_> = problems.iter().map(|problem| format!("variables.{problem}")).collect();
        Error::new(ErrorCode::InvalidRequest, words.join("\n"))
    })?;
    Prepared::of(&extension, text, values, name)
}

/// The text must have no problems.
async fn read(text: &str) -> Result<windlass_extension::Extension> {
    let looked = look(text.to_owned()).await?;
    let problems = looked.checked.problems.len();
    looked.checked.extension.ok_or_else(|| {
        let message = format!("The extension is a draft: {problems} things are wrong with it, see validation_errors.");
        Error::new(ErrorCode::Conflict, message)
    })
}

impl Prepared {
    fn of(extension: &windlass_extension::Extension, yaml_content: String, values: Values, name: &str) -> Result<Self> {
        let steps = windlass_extension::resolve(extension, &values, name).map_err(|problems| {
            let words: Vec<_> = problems.iter().map(ToString::to_string).collect();
            Error::field("variables", words.join("\n"))
        })?;
        refuse_unsupported(&steps)?;
        Ok(Self { values, steps, kind: extension.metadata.kind, yaml_content })
    }

    /// A text that was run before, with the values of then.
    pub async fn again(yaml_content: String, values: Values, name: &str) -> Result<Self> {
        Self::of(&read(&yaml_content).await?, yaml_content, values, name)
    }

    /// JSON: the values, secrets masked.
    pub fn shown_values(&self) -> String {
        Value::Object(self.values.masked().to_json()).to_string()
    }

    /// A text without any secret.
    pub fn masked(&self, text: &str) -> String {
        self.values.secrets().iter().fold(text.to_owned(), |text, secret| text.replace(secret, MASK))
    }
}

/// Letters and digits: it may stand in an address or a file without quotes.
pub fn new_secret() -> String {
    let bytes = random::bytes::<SECRET_BYTES>();
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// What a service asks for and cannot have, each with its name.
pub fn unsupported(service: &Service) -> Vec<String> {
    let is_other = |sharing: &Option<Sharing>| matches!(sharing, Some(Sharing::Service(_) | Sharing::Container(_)));
    let asked = [
        ("network_mode", is_other(&service.network_mode) || service.network_mode == Some(Sharing::None)),
        ("pid", is_other(&service.pid)),
        ("ipc", is_other(&service.ipc)),
        ("userns_mode", service.userns_host),
        ("cgroup_parent", service.cgroup_parent.is_some()),
        ("platform", service.platform.is_some()),
    ];
    let refused = asked.into_iter().filter(|(_, is_asked)| *is_asked);
    refused.map(|(key, _)| format!("{}: {key} is not supported; leave it out", service.name)).collect()
}

/// Fails with all that services ask for and cannot have.
pub fn refuse_unsupported(steps: &[ResolvedStep]) -> Result<()> {
    let problems: Vec<_> = services(steps).flat_map(unsupported).collect();
    if problems.is_empty() { Ok(()) } else { Err(Error::new(ErrorCode::Conflict, problems.join("\n"))) }
}

/// Whether the container engine is needed.
pub fn needs_engine(steps: &[ResolvedStep]) -> bool {
    steps
        .iter()
        .any(|step| matches!(step.kind, StepType::Docker | StepType::DockerCompose | StepType::Proxy | StepType::Wait))
}

/// Why steps need host access, each with the step's name.
pub fn reasons_for_host_access(steps: &[ResolvedStep]) -> Vec<String> {
    let of = |step: &ResolvedStep| {
        let name = step.name.clone();
        step.needs_host_access().into_iter().map(move |reason| format!("{name}: {reason}"))
    };
    steps.iter().flat_map(of).collect()
}

/// What the steps that are not skipped do.
pub fn done(steps: &[ResolvedStep]) -> impl Iterator<Item = &Action> {
    steps.iter().filter(|step| step.skipped.is_none()).map(|step| &step.action)
}

pub fn services(steps: &[ResolvedStep]) -> impl Iterator<Item = &Service> {
    done(steps).flat_map(|action| match action {
        Action::Up { project: Project { services, .. } } => services.as_slice(),
        _ => &[],
    })
}
