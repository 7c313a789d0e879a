//! Names with values, written as a map or as a list of `NAME=value`.

use std::net::IpAddr;

use crate::at::At;
use crate::bounds::{LONGEST_ENVIRONMENT, LONGEST_NAME, MOST_ITEMS, MOST_VARIABLES};
use crate::interpolate::Lookup;
use crate::problems::{Problems, shown};
use crate::units;

/// The platform finds its own containers by these.
const RESERVED_LABELS: &str = "windlass.";

/// Each name with its value, if it has one. Of a name that comes twice, the last one counts. No message shows a value.
fn pairs(at: &At<'_>, most: usize, problems: &mut Problems) -> Vec<(String, Option<String>)> {
    let mut all: Vec<(String, Option<String>)> = Vec::new();
    let mut add = |name: String, value: Option<String>| match all.iter_mut().find(|(known, _)| *known == name) {
        Some(known) => known.1 = value,
        None => all.push((name, value)),
    };
    if at.node.as_map().is_some() {
        for (key, entry) in at.entries(most, problems) {
            let value = if entry.node.is_null() { None } else { entry.text(problems) };
            if check_name(&key.text, &entry, problems) {
                add(key.text.clone(), value);
            }
        }
        return all;
    }
    for item in at.items(problems) {
        let Some(text) = item.text(problems) else { continue };
        let (name, value) = text.split_once('=').map_or((text.as_str(), None), |(name, value)| (name, Some(value)));
        if check_name(name, &item, problems) {
            add(name.into(), value.map(Into::into));
        }
    }
    all
}

fn check_name(name: &str, at: &At<'_>, problems: &mut Problems) -> bool {
    let is_name =
        (1..=256).contains(&name.len()) && !name.chars().any(|c| c.is_control() || c.is_whitespace() || c == '=');
    if !is_name {
        at.problem(problems, "must have a name of 1 to 256 characters without spaces and \"=\", such as NAME=value");
    }
    is_name
}

/// A variable without a value gets the one that the caller knows, or is left out.
pub fn environment(at: &At<'_>, lookup: Lookup<'_>, problems: &mut Problems) -> Vec<(String, String)> {
    let mut all = Vec::new();
    for (name, value) in pairs(at, MOST_VARIABLES, problems) {
        all.extend(value.or_else(|| lookup(&name)).map(|value| (name, value)));
    }
    let bytes: usize = all.iter().map(|(name, value)| name.len() + value.len()).sum();
    if bytes > LONGEST_ENVIRONMENT {
        at.problem(problems, format!("has {bytes} bytes in all; at most {LONGEST_ENVIRONMENT} are allowed"));
    }
    all
}

pub fn labels(at: &At<'_>, problems: &mut Problems) -> Vec<(String, String)> {
    let all = pairs(at, MOST_ITEMS, problems);
    if all.iter().any(|(name, _)| name.to_ascii_lowercase().starts_with(RESERVED_LABELS)) {
        at.problem(problems, format!("labels that begin with {RESERVED_LABELS:?} are the platform's; leave them out"));
    }
    all.into_iter().map(|(name, value)| (name, value.unwrap_or_default())).collect()
}

pub fn sysctls(at: &At<'_>, problems: &mut Problems) -> Vec<(String, String)> {
    let all = pairs(at, MOST_ITEMS, problems);
    if all.iter().any(|(_, value)| value.is_none()) {
        at.problem(problems, "must have a value for each name, such as net.core.somaxconn=1024");
    }
    all.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
}

/// Host names with addresses: a map, or a list of `name=address` or `name:address`.
pub fn hosts(at: &At<'_>, problems: &mut Problems) -> Vec<(String, String)> {
    let mut all = Vec::new();
    if at.node.as_map().is_some() {
        for (key, entry) in at.entries(MOST_ITEMS, problems) {
            let addresses = entry.parse_each(problems, |text| host(&key.text, text));
            all.extend(addresses);
        }
        return all;
    }
    at.parse_each(problems, |text| {
        let (name, address) = text.split_once(['=', ':']).ok_or("must be like \"name:address\"")?;
        host(name, address)
    })
}

fn host(name: &str, address: &str) -> Result<(String, String), String> {
    let name = units::name(name.trim(), 253)?;
    let address = address.trim();
    let plain = address.strip_prefix('[').and_then(|address| address.strip_suffix(']')).unwrap_or(address);
    if plain == "host-gateway" || plain.parse::<IpAddr>().is_ok() {
        return Ok((name, plain.into()));
    }
    Err(format!("must have an IP address or \"host-gateway\" for the name, and has {}", shown(address)))
}

/// A name by which others reach a service.
pub fn alias(text: &str) -> Result<String, String> {
    units::name(text, LONGEST_NAME)
}
