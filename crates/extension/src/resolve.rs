//! The steps with every value in its place.

use windlass_yaml::Problem;

use crate::action::{Action, ResolvedStep};
use crate::extension::{Extension, Step};
use crate::field::{At, Resolving};
use crate::task::Outcome;
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
    if resolving.problems.is_empty() { Ok(steps) } else { Err(resolving.problems) }
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
