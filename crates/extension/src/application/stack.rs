//! The services of an extension, and the domains that lead to them.

use std::collections::BTreeMap;

use windlass_compose::Project;

use crate::action::{Action, ResolvedStep};

/// What an application of an extension runs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stack {
    pub project: Project,
    /// The first is where visitors of the application's main domain come.
    pub routes: Vec<Route>,
}

/// A domain that leads to a service.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Route {
    pub domain: String,
    pub service: String,
    pub port: u16,
}

/// What is different for visitors of a domain that is not the main one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RouteChange {
    Added(Route),
    /// It leads nowhere any more.
    Removed(Route),
    /// It leads to another service, or port, than before.
    Moved {
        before: Route,
        after: Route,
    },
}

impl Stack {
    pub fn main(&self) -> Option<&Route> {
        self.routes.first()
    }

    /// Those beside the main one, as long as they are not the main domain.
    pub fn others<'a>(&'a self, main_domain: &'a str) -> impl Iterator<Item = &'a Route> {
        self.routes.iter().skip(1).filter(move |route| route.domain != main_domain)
    }

    /// Where each service that visitors reach listens.
    pub fn ports(&self) -> BTreeMap<String, u16> {
        self.routes.iter().map(|route| (route.service.clone(), route.port)).collect()
    }
}

/// The steps as an application; or why they are none, each reason with what to do.
pub fn stack(steps: &[ResolvedStep]) -> Result<Stack, Vec<String>> {
    let (mut stack, mut problems) = (Stack::default(), Vec::new());
    let mut routes = Vec::new();
    for step in steps.iter().filter(|step| step.skipped.is_none()) {
        match &step.action {
            Action::Up { project } => add(&mut stack.project, project),
            Action::Route { domain, service, port } => routes.push((domain, service, *port)),
            // A deployment pulls images and waits until services are well, without being asked.
            Action::Skipped | Action::Pull { .. } | Action::WaitSeconds(_) | Action::WaitFor { .. } => {}
            Action::Command { .. }
            | Action::File(_)
            | Action::Service { .. }
            | Action::User(_)
            | Action::Package { .. }
            | Action::UpFile { .. } => {
                problems.push(format!("{}: a step that reaches the machine is no part of an application", step.name));
            }
            Action::Start { .. }
            | Action::Stop { .. }
            | Action::Remove { .. }
            | Action::Down
            | Action::Unroute { .. } => {
                problems.push(format!("{}: a step that ends something is no part of an application", step.name));
            }
        }
    }
    let only = match stack.project.services.as_slice() {
        [only] => Some(only.name.clone()),
        _ => None,
    };
    for (domain, service, port) in routes {
        // Without a name it is the only one, which the check of the steps has made sure of.
        let Some(service) = service.clone().or_else(|| only.clone()) else { continue };
        let route = Route { domain: domain.clone(), service, port };
        match problem_of(&stack.routes, &route) {
            Some(problem) => problems.push(problem),
            None if stack.routes.contains(&route) => {}
            None => stack.routes.push(route),
        }
    }
    if stack.routes.is_empty() {
        problems
            .push("no step sends visitors to one of its services (proxy), and an application has visitors".to_owned());
    }
    if problems.is_empty() { Ok(stack) } else { Err(problems) }
}

fn add(all: &mut Project, project: &Project) {
    all.services.extend(project.services.iter().cloned());
    for volume in &project.volumes {
        if !all.volumes.contains(volume) {
            all.volumes.push(volume.clone());
        }
    }
    all.left_out.extend(project.left_out.iter().cloned());
}

fn problem_of(known: &[Route], route: &Route) -> Option<String> {
    let Route { domain, service, port } = route;
    if let Some(other) = known.iter().find(|other| other.service == *service && other.port != *port) {
        let first = other.port;
        return Some(format!(
            "visitors come to {service} at the ports {first} and {port}, and an application has one for each service"
        ));
    }
    let is_elsewhere = known.iter().any(|other| other.domain == *domain && other.service != *service);
    is_elsewhere.then(|| format!("{domain} leads to several services"))
}

/// What becomes different for visitors. Who comes by the main domain comes to the main service of either.
pub fn changes_of_routes(before: &Stack, after: &Stack, main_domain: &str) -> Vec<RouteChange> {
    let find = |stack: &Stack, domain: &str| stack.others(main_domain).find(|route| route.domain == domain).cloned();
    let mut changes = Vec::new();
    for route in before.others(main_domain) {
        match find(after, &route.domain) {
            None => changes.push(RouteChange::Removed(route.clone())),
            Some(other) if other == *route => {}
            Some(other) => changes.push(RouteChange::Moved { before: route.clone(), after: other }),
        }
    }
    let is_new = |route: &&Route| find(before, &route.domain).is_none();
    changes.extend(after.others(main_domain).filter(is_new).cloned().map(RouteChange::Added));
    changes
}
