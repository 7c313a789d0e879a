use windlass_yaml::{Place, nearest};

use super::{Draft, Need};
use crate::at::At;
use crate::bounds::{MOST_ALIASES, MOST_ALIASES_IN_ALL, MOST_SERVICES};
use crate::problems::{Problems, shown};
use crate::service::{Condition, Dependency, Service};

/// Reads `depends_on`: a list of names, or a map with a condition for each.
pub fn read(at: &At<'_>, draft: &mut Draft, problems: &mut Problems) {
    if at.node.as_map().is_none() {
        for item in at.one_or_more(problems) {
            if let Some(name) = item.text(problems) {
                draft.need(&item, name, Condition::Started);
            }
        }
        return;
    }
    for (key, entry) in at.entries(MOST_SERVICES, problems) {
        let mut need = Need {
            on: key.text.clone(),
            condition: Condition::Started,
            is_required: true,
            place: key.place,
            path: entry.path.clone(),
        };
        for (field, value) in entry.fields(&["condition", "required", "restart"], problems) {
            match field {
                "condition" => need.condition = value.parse(problems, condition).unwrap_or(Condition::Started),
                "required" => need.is_required = value.boolean(problems).unwrap_or(true),
                // Whether it is restarted with the other one, which the platform decides.
                _ => {}
            }
        }
        draft.needs.push(need);
    }
}

fn condition(text: &str) -> Result<Condition, String> {
    match text {
        "service_started" => Ok(Condition::Started),
        "service_healthy" => Ok(Condition::Healthy),
        "service_completed_successfully" => Ok(Condition::Completed),
        _ => Err(format!(
            "must be service_started, service_healthy or service_completed_successfully, and is {}",
            shown(text)
        )),
    }
}

/// Reads `links`: names of services, each perhaps with another name by which it is reached.
pub fn links(at: &At<'_>, draft: &mut Draft, problems: &mut Problems) {
    for item in at.one_or_more(problems) {
        let Some(text) = item.text(problems) else { continue };
        let (name, alias) = text.split_once(':').unwrap_or((&text, &text));
        draft.need(&item, name.into(), Condition::Started);
        if alias == name {
            continue;
        }
        match crate::pairs::alias(alias) {
            Ok(alias) => draft.links.push((name.into(), alias)),
            Err(message) => item.problem(problems, message),
        }
    }
}

/// Turns names of services into dependencies and aliases, if there are such services.
pub fn resolve(drafts: &mut [Draft], left_out: &[String], problems: &mut Problems) {
    let names: Vec<String> = drafts.iter().map(|draft| draft.service.name.clone()).collect();
    for draft in drafts.iter_mut() {
        for need in std::mem::take(&mut draft.needs) {
            if names.contains(&need.on) {
                add(draft, need);
            } else if need.is_required {
                problems.add(need.place, &need.path, missing(&need.on, &names, left_out));
            }
        }
    }
    let links: Vec<(String, String)> = drafts.iter_mut().flat_map(|draft| std::mem::take(&mut draft.links)).collect();
    let mut left = MOST_ALIASES_IN_ALL;
    for draft in drafts {
        let aliases = links.iter().filter(|(name, _)| *name == draft.service.name).map(|(_, alias)| alias.clone());
        draft.service.aliases.extend(aliases);
        tidy(&mut draft.service.aliases, &draft.service.name);
        check_aliases(&draft.service, &mut left, problems);
    }
}

/// Each service is told the names of all others.
fn check_aliases(service: &Service, left: &mut usize, problems: &mut Problems) {
    let count = service.aliases.len();
    if count > MOST_ALIASES || count > *left {
        let key = ["networks", "container_name", "links"].iter().find_map(|key| service.places.get(key));
        let (path, place) = key.cloned().unwrap_or_else(|| (format!("services.{}", service.name), Place::START));
        let message = format!(
            "the service has {count} other names; at most {MOST_ALIASES} are possible, and {MOST_ALIASES_IN_ALL} of all services together"
        );
        problems.add(place, &path, message);
    }
    *left = left.saturating_sub(count);
}

/// Of two reasons for the same dependency, the one that waits longer counts.
fn add(draft: &mut Draft, need: Need) {
    let known = draft.service.depends_on.iter_mut().find(|dependency| dependency.service == need.on);
    match known {
        Some(known) if known.condition == Condition::Started => known.condition = need.condition,
        Some(_) => {}
        None => draft.service.depends_on.push(Dependency { service: need.on, condition: need.condition }),
    }
}

fn missing(name: &str, names: &[String], left_out: &[String]) -> String {
    if left_out.iter().any(|known| known == name) {
        return format!(
            "the service {name:?} has profiles, so it is not started; remove its profiles or this dependency"
        );
    }
    let known: Vec<&str> = names.iter().map(String::as_str).collect();
    match nearest(name, &known) {
        Some(meant) => format!("there is no service {}; did you mean {meant:?}?", shown(name)),
        None => format!("there is no service {}", shown(name)),
    }
}

/// Each alias once, and none that is the service's name.
fn tidy(aliases: &mut Vec<String>, name: &str) {
    let mut seen = std::collections::HashSet::new();
    aliases.retain(|alias| alias != name && seen.insert(alias.clone()));
}
