//! Steps that stay with the containers of the extension: what starts and stops them, proxy, wait.

use crate::action::Action;
use crate::check::Properties;
use crate::extension::StepType;
use crate::field::{Field, Resolving};
use crate::rules;
use crate::task::Outcome;

#[derive(Clone, Debug)]
pub(crate) enum NetworkTask {
    Pull { image: Field<String>, tag: Option<Field<String>> },
    Start(Field<String>),
    Stop(Field<String>),
    Remove(Field<String>),
    Down,
    Route { domain: Field<Option<String>>, service: Option<Field<String>>, port: Field<u16> },
    Unroute { domain: Field<Option<String>> },
    WaitSeconds(Field<u64>),
    WaitFor { service: Field<String>, port: Option<Field<u16>> },
}

const BLANK_DOMAIN: &str = "the domain is blank";

impl NetworkTask {
    pub fn read(properties: &mut Properties<'_, '_>) -> Option<Self> {
        match properties.kind() {
            StepType::Docker => docker(properties),
            StepType::DockerCompose => Some(Self::Down),
            StepType::Proxy => proxy(properties),
            _ => wait(properties),
        }
    }

    /// The container of the extension that the step speaks of: one by its name, or the only one.
    pub fn service(&self) -> Option<Option<&Field<String>>> {
        match self {
            Self::Start(service) | Self::Stop(service) | Self::Remove(service) | Self::WaitFor { service, .. } => {
                Some(Some(service))
            }
            Self::Route { service, .. } => Some(service.as_ref()),
            Self::Pull { .. } | Self::Down | Self::Unroute { .. } | Self::WaitSeconds(_) => None,
        }
    }

    pub fn resolve(&self, resolving: &mut Resolving<'_>) -> Option<Outcome> {
        let action = match self {
            Self::Pull { image, tag } => pull(image, tag.as_ref(), resolving)?,
            Self::Start(service) => Action::Start { service: resolving.field(service)? },
            Self::Stop(service) => Action::Stop { service: resolving.field(service)? },
            Self::Remove(service) => Action::Remove { service: resolving.field(service)? },
            Self::Down => Action::Down,
            Self::Route { domain, service, port } => return route(domain, service.as_ref(), port, resolving),
            Self::Unroute { domain } => match resolving.field(domain)? {
                Some(domain) => Action::Unroute { domain },
                None => return Some(Outcome::Skip(BLANK_DOMAIN)),
            },
            Self::WaitSeconds(seconds) => Action::WaitSeconds(resolving.field(seconds)?),
            Self::WaitFor { service, port } => {
                let (service, port) = (resolving.field(service), resolving.optional(port.as_ref()));
                Action::WaitFor { service: service?, port: port? }
            }
        };
        Some(Outcome::Do(action))
    }
}

fn docker(properties: &mut Properties<'_, '_>) -> Option<NetworkTask> {
    if properties.action()? == "pull" {
        let image = properties.field("image", rules::image);
        let tag = properties.field("tag", rules::image_tag);
        return Some(NetworkTask::Pull { image: image?, tag });
    }
    let name = properties.field("name", rules::container_name);
    match properties.action()? {
        "start" => name.map(NetworkTask::Start),
        "stop" => name.map(NetworkTask::Stop),
        _ => name.map(NetworkTask::Remove),
    }
}

fn proxy(properties: &mut Properties<'_, '_>) -> Option<NetworkTask> {
    let domain = properties.field("domain", rules::domain);
    if properties.action()? == "remove" {
        return Some(NetworkTask::Unroute { domain: domain? });
    }
    let service = properties.field("service", rules::container_name);
    let port = properties.field("port", rules::port);
    Some(NetworkTask::Route { domain: domain?, service, port: port? })
}

fn wait(properties: &mut Properties<'_, '_>) -> Option<NetworkTask> {
    let seconds = properties.field("seconds", rules::seconds);
    let service = properties.field("service", rules::container_name);
    let port = properties.field("port", rules::port);
    match (properties.has("seconds"), properties.has("service")) {
        (true, false) if properties.has("port") => {
            properties.problem("port", "belongs to service, and seconds is given; leave one of them out");
            None
        }
        (true, false) => seconds.map(NetworkTask::WaitSeconds),
        (false, true) => Some(NetworkTask::WaitFor { service: service?, port }),
        _ => {
            properties.problem("", "must have exactly one of seconds and service");
            None
        }
    }
}

fn pull(image: &Field<String>, tag: Option<&Field<String>>, resolving: &mut Resolving<'_>) -> Option<Action> {
    let (name, tag) = (resolving.field(image), resolving.optional(tag));
    match with_tag(&name?, tag?.as_deref()) {
        Ok(image) => Some(Action::Pull { image }),
        Err(message) => {
            resolving.problem(&image.at, message);
            None
        }
    }
}

/// An image and the tag that stands beside it.
pub(crate) fn with_tag(image: &str, tag: Option<&str>) -> Result<String, &'static str> {
    let last = image.rsplit('/').next().unwrap_or(image);
    match tag {
        Some(_) if last.contains([':', '@']) => Err("has a tag already; leave one of both out"),
        Some(tag) => Ok(format!("{image}:{tag}")),
        None if last.contains([':', '@']) => Ok(image.into()),
        None => Ok(format!("{image}:latest")),
    }
}

fn route(
    domain: &Field<Option<String>>,
    service: Option<&Field<String>>,
    port: &Field<u16>,
    resolving: &mut Resolving<'_>,
) -> Option<Outcome> {
    let Some(domain) = resolving.field(domain)? else { return Some(Outcome::Skip(BLANK_DOMAIN)) };
    let (service, port) = (resolving.optional(service), resolving.field(port));
    Some(Outcome::Do(Action::Route { domain, service: service?, port: port? }))
}
