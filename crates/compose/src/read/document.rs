use std::collections::HashMap;

use super::{Lookup, Service, networks, ordered, service, volumes};
use crate::at::At;
use crate::bounds::{LONGEST_NAME, MOST_ITEMS, MOST_SERVICES};
use crate::files::Contents;
use crate::problems::Problems;
use crate::{Project, keys, units};

/// What services refer to by name.
pub struct Declared<'a> {
    pub lookup: Lookup<'a>,
    pub networks: Vec<String>,
    pub configs: Contents,
    pub secrets: Contents,
}

pub fn read(at: &At<'_>, lookup: Lookup<'_>, problems: &mut Problems) -> Project {
    let mut declared =
        Declared { lookup, networks: Vec::new(), configs: Contents::configs(), secrets: Contents::secrets() };
    let (mut name, mut services, mut declared_volumes) = (None, None, None);
    for (key, field) in at.entries(MOST_ITEMS, problems) {
        match key.text.as_str() {
            // Of the format; every one of them is read the same way.
            "version" => {}
            "name" => name = if field.is_blank() { None } else { field.text(problems) },
            "services" => services = Some(field),
            "networks" => declared.networks = networks::declared(&field, problems),
            "volumes" => declared_volumes = Some(volumes::declared(&field, problems)),
            "configs" => declared.configs.define(&field, lookup, problems),
            "secrets" => declared.secrets.define(&field, lookup, problems),
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
    let volumes = volumes::used(&services, declared_volumes.as_deref(), problems);
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
