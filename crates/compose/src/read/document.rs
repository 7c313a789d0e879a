use std::collections::HashMap;

use super::{Lookup, Service, networks, ordered, service, variables, volumes};
use crate::at::At;
use crate::beside::{Look, Room};
use crate::bounds::{LONGEST_NAME, MOST_ITEMS, MOST_SERVICES};
use crate::files::Contents;
use crate::problems::Problems;
use crate::{Project, keys, units};

/// What services refer to.
pub struct Declared<'a> {
    pub lookup: Lookup<'a>,
    /// What lies beside the document, if it is in a repository.
    pub beside: Option<Look<'a>>,
    pub room: Room,
    pub env_files: variables::Files<'a>,
    pub networks: Vec<String>,
    /// Names of volumes, if the document declares any.
    pub volumes: Option<Vec<String>>,
    pub configs: Contents,
    pub secrets: Contents,
}

impl<'a> Declared<'a> {
    pub fn new(lookup: Lookup<'a>, beside: Option<Look<'a>>) -> Self {
        Self {
            lookup,
            beside,
            room: Room::new(),
            env_files: variables::Files::new(lookup),
            networks: Vec::new(),
            volumes: None,
            configs: Contents::configs(),
            secrets: Contents::secrets(),
        }
    }
}

pub fn read(at: &At<'_>, lookup: Lookup<'_>, beside: Option<Look<'_>>, problems: &mut Problems) -> Project {
    let mut declared = Declared::new(lookup, beside);
    let (mut name, mut services) = (None, None);
    for (key, field) in at.entries(MOST_ITEMS, problems) {
        match key.text.as_str() {
            // Of the format; every one of them is read the same way.
            "version" => {}
            "name" => name = if field.is_blank() { None } else { field.text(problems) },
            "services" => services = Some(field),
            "networks" => declared.networks = networks::declared(&field, problems),
            "volumes" => declared.volumes = Some(volumes::declared(&field, problems)),
            "configs" => declared.configs.define(&field, lookup, beside, problems),
            "secrets" => declared.secrets.define(&field, lookup, beside, problems),
            "include" if beside.is_some() => {
                let instead = "is not supported: write the services of the other file into this one";
                problems.add(key.place, &field.path, instead);
            }
            "include" => {
                problems.add(key.place, &field.path, "is not supported: there are no files beside the document");
            }
            other => problems.add(key.place, &field.path, keys::unknown(other, keys::DOCUMENT)),
        }
    }
    let drafts = services.map(|services| read_services(&services, &declared, problems)).unwrap_or_default();
    if drafts.is_empty() && (at.node.is_null() || at.node.as_map().is_some()) {
        at.problem(problems, "needs \"services\" with at least one service");
    }
    let (services, left_out) = ordered(drafts, problems);
    if services.is_empty() && !left_out.is_empty() {
        at.problem(
            problems,
            "every service has profiles, so none would start; remove the profiles of those that should",
        );
    }
    check_ports(&services, problems);
    let volumes = volumes::used(&services, declared.volumes.as_deref(), problems);
    Project { name, services, volumes, left_out }
}

fn read_services(at: &At<'_>, declared: &Declared<'_>, problems: &mut Problems) -> Vec<super::Draft> {
    let mut drafts = Vec::new();
    for (key, entry) in at.entries(MOST_SERVICES, problems) {
        if let Err(message) = units::name(&key.text, LONGEST_NAME) {
            problems.add(key.place, &entry.path, message);
        }
        drafts.push(service::read(key, &entry, declared, problems));
    }
    drafts
}

/// The host has each port once.
fn check_ports(services: &[Service], problems: &mut Problems) {
    let mut owners = HashMap::new();
    for service in services {
        for port in service.ports.iter().filter(|port| port.published.is_some()) {
            let host = (port.address, port.published, port.protocol);
            let Some(owner) = owners.insert(host, service.name.as_str()) else { continue };
            if let (Some(number), Some((path, place))) = (port.published, service.places.get("ports")) {
                problems.add(*place, path, format!("the port {number} of the host is published by {owner:?} already"));
            }
        }
    }
}
