use windlass_yaml::nearest;

use super::Service;
use crate::at::At;
use crate::bounds::{LONGEST_NAME, MOST_ITEMS};
use crate::problems::{Problems, shown};
use crate::{pairs, units};

const KEYS: &[&str] = &[
    "attachable",
    "driver",
    "driver_opts",
    "enable_ipv4",
    "enable_ipv6",
    "external",
    "internal",
    "ipam",
    "labels",
    "name",
];
/// The one that every service is in if it names none.
const DEFAULT: &str = "default";

/// The names under `networks` of the document. They are names only: all services share one network, whose addresses are the platform's.
pub fn declared(at: &At<'_>, problems: &mut Problems) -> Vec<String> {
    let mut names = Vec::new();
    for (key, entry) in at.entries(MOST_ITEMS, problems) {
        match units::name(&key.text, LONGEST_NAME) {
            Ok(name) => names.push(name),
            Err(message) => problems.add(key.place, &entry.path, message),
        }
        for (option, field) in entry.fields(KEYS, problems) {
            check_option(option, &field, problems);
        }
    }
    names
}

fn check_option(option: &str, at: &At<'_>, problems: &mut Problems) {
    let is_on = |problems: &mut Problems| at.node.as_map().is_some() || at.boolean(problems) != Some(false);
    match option {
        "driver" if at.text(problems).as_deref() != Some("bridge") => {
            at.problem(problems, "must be bridge, or be left out");
        }
        "driver_opts" if at.node.as_map().is_none_or(|options| !options.is_empty()) => {
            at.problem(problems, "options of a driver are not supported; leave them out");
        }
        "external" if is_on(problems) => at.problem(problems, "a project uses networks of its own only; leave it out"),
        // A promise that nothing would keep.
        "internal" if is_on(problems) => {
            at.problem(
                problems,
                "a network without a way out is not supported: all services share one network; leave it out",
            );
        }
        _ => {}
    }
}

const MEMBERSHIP: &[&str] =
    &["aliases", "gw_priority", "interface_name", "ipv4_address", "ipv6_address", "mac_address", "priority"];

/// Reads `networks` of a service: a list of names, or a map with more about each.
pub fn read(at: &At<'_>, declared: &[String], service: &mut Service, problems: &mut Problems) {
    if at.node.as_map().is_none() {
        for item in at.items(problems) {
            if let Some(name) = item.text(problems) {
                check_known(&name, &item, declared, problems);
            }
        }
        return;
    }
    service.places.set("networks".into(), at.path.clone(), at.node.place);
    for (key, entry) in at.entries(MOST_ITEMS, problems) {
        check_known(&key.text, &entry, declared, problems);
        for (option, field) in entry.fields(MEMBERSHIP, problems) {
            match option {
                "aliases" => service.aliases.extend(field.parse_each(problems, pairs::alias)),
                "ipv4_address" | "ipv6_address" | "mac_address" => {
                    field.problem(
                        problems,
                        "the platform gives addresses; leave it out, and reach the service by its name",
                    );
                }
                // Which of several networks comes first: there is one.
                _ => {}
            }
        }
    }
}

fn check_known(name: &str, at: &At<'_>, declared: &[String], problems: &mut Problems) {
    if name == DEFAULT || declared.iter().any(|known| known == name) {
        return;
    }
    let known: Vec<&str> = declared.iter().map(String::as_str).collect();
    let message = match nearest(name, &known) {
        Some(meant) => format!("there is no network {}; did you mean {meant:?}?", shown(name)),
        None => format!("there is no network {}; add it under \"networks\" of the document", shown(name)),
    };
    at.problem(problems, message);
}
