//! The steps with every value in its place.

use windlass_compose::Project;
use windlass_yaml::Problem;

use crate::action::{Action, ResolvedStep};
use crate::check::{Checker, document, in_order};
use crate::extension::{Extension, Step};
use crate::field::{At, Resolving};
use crate::services::Services;
use crate::task::{Document, Outcome};
use crate::values::Values;

/// The steps of an extension, in order. `installation_name` is what `{{ installation_name }}` stands for.
pub fn resolve(
    extension: &Extension,
    values: &Values,
    installation_name: &str,
) -> Result<Vec<ResolvedStep>, Vec<Problem>> {
    let mut resolving = Resolving::new(values, installation_name);
    let steps: Vec<_> =
        extension.steps.iter().filter_map(|step| resolve_step(extension, step, &mut resolving)).collect();
    check_services(extension, &steps, &mut resolving);
    if resolving.problems.is_empty() { Ok(steps) } else { Err(in_order(resolving.problems)) }
}

impl Extension {
    /// The project of a Compose document that a step reads from the host, with every value in its place. The places of problems are
    /// those of `text`.
    pub fn project_of_file(
        &self,
        text: &str,
        values: &Values,
        installation_name: &str,
    ) -> Result<Project, Vec<Problem>> {
        let node = document(text).map_err(|problem| vec![problem])?;
        let mut checker = Checker::of(self);
        let document = Document::read(&node, String::new(), &mut checker);
        let Some(document) = document.filter(|_| checker.problems.is_empty()) else {
            return Err(in_order(checker.problems));
        };
        let mut resolving = Resolving::new(values, installation_name);
        document.project(&mut resolving).ok_or_else(|| in_order(resolving.problems))
    }
}

fn resolve_step(extension: &Extension, step: &Step, resolving: &mut Resolving<'_>) -> Option<ResolvedStep> {
    let (action, skipped) = match unmet(step, resolving) {
        Some(condition) => {
            (unwanted(extension, step, resolving), Some(format!("the condition {condition} does not hold")))
        }
        None => match step.task.resolve(extension, resolving)? {
            Outcome::Do(action) => (action, None),
            Outcome::Skip(reason) => (Action::Skipped, Some(reason.into())),
        },
    };
    if let Some(message) = too_short(step, &action).filter(|_| skipped.is_none()) {
        resolving.problem(&At { place: step.place, path: format!("{}.timeout", step.path) }, message);
    }
    Some(ResolvedStep {
        name: step.name.clone(),
        phase: step.phase,
        kind: step.kind,
        timeout: step.timeout,
        ignore_errors: step.ignore_errors,
        skipped,
        action,
    })
}

/// Steps speak of containers that steps start, and each is started once.
fn check_services(extension: &Extension, steps: &[ResolvedStep], resolving: &mut Resolving<'_>) {
    // With a problem in one of them, the steps do not stand beside those that they come from.
    if steps.len() != extension.steps.len() {
        return;
    }
    let mut services = Services::default();
    let done = || extension.steps.iter().zip(steps).filter(|(_, resolved)| resolved.skipped.is_none());
    for (step, resolved) in done() {
        match &resolved.action {
            Action::UpFile { .. } => services.add_unknown(),
            Action::Up { project } => {
                for message in project.services.iter().filter_map(|service| services.add(&service.name)) {
                    resolving.problem(&step.at(), message);
                }
            }
            _ => {}
        }
    }
    for (step, resolved) in done() {
        let named = match &resolved.action {
            Action::Start { service } | Action::Stop { service } | Action::Remove { service } => Some(service.as_str()),
            Action::WaitFor { service, .. } => Some(service.as_str()),
            Action::Route { service, .. } => service.as_deref(),
            _ => continue,
        };
        if let Some(message) = services.problem(named) {
            resolving.problem(&step.at(), message);
        }
    }
}

/// The first condition that does not hold.
fn unmet<'s>(step: &'s Step, resolving: &Resolving<'_>) -> Option<&'s str> {
    let unmet = step.conditions.iter().find(|condition| {
        let value = resolving.value(&condition.name).unwrap_or_default();
        !condition.holds(&value)
    });
    unmet.map(|condition| condition.text.as_str())
}

/// What a step would do that is not done: its values may be missing for the same reason, which is no problem.
fn unwanted(extension: &Extension, step: &Step, resolving: &mut Resolving<'_>) -> Action {
    let problems = resolving.problems.len();
    let outcome = step.task.resolve(extension, resolving);
    let is_sound = resolving.problems.len() == problems;
    resolving.problems.truncate(problems);
    match outcome {
        Some(Outcome::Do(action)) if is_sound => action,
        _ => Action::Skipped,
    }
}

fn too_short(step: &Step, action: &Action) -> Option<String> {
    let Action::WaitSeconds(seconds) = action else { return None };
    let message = || format!("the step waits for {seconds} seconds; give it a longer timeout than that");
    (*seconds >= step.timeout.as_secs()).then(message)
}
