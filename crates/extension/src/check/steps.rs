//! What is done, step by step.

use std::time::Duration;

use windlass_yaml::{Node, Place, Value};

use super::fields::{Fields, Found};
use super::limits::STEP_NAME;
use super::{Checker, MOST_PROBLEMS, Properties};
use crate::action::Action;
use crate::condition::Condition;
use crate::extension::{Kind, Phase, Step, StepType, VariableType};
use crate::field::{At, Resolving};
use crate::task::{Task, UpTask};

pub(crate) const EXECUTION_KEYS: &[&str] = &["run", "validate"];
pub(crate) const KEYS: &[&str] = &["name", "type", "properties", "ignore_errors", "timeout", "condition", "conditions"];
pub(crate) const MOST: usize = 100;
pub(crate) const MOST_CONDITIONS: usize = 20;
pub(crate) const LONGEST_CONDITION: usize = 500;
pub(crate) const DEFAULT_TIMEOUT: u64 = 300;
pub(crate) const LONGEST_TIMEOUT: i64 = 3600;

impl Checker {
    pub(super) fn steps(&mut self, found: &Found<'_>, kind: Option<Kind>) -> Option<Vec<Step>> {
        let map = found.map(EXECUTION_KEYS, self)?;
        let mut steps = Vec::new();
        let mut count = 0;
        for phase in [Phase::Run, Phase::Validate] {
            let Some(found) = map.get(phase.as_str()).filter(|found| !found.node.is_null()) else { continue };
            let items = found.list(self).unwrap_or_default();
            count += items.len();
            if count > MOST {
                found.problem(self, format!("must have at most {MOST} steps together with the other list"));
                return None;
            }
            steps.extend(items.iter().filter_map(|item| self.step(item, phase, kind)));
        }
        for step in &steps {
            self.check_service(step);
        }
        if count == 0 {
            found.problem(self, "has no steps; add at least one to run or validate");
        }
        Some(steps)
    }

    fn step(&mut self, found: &Found<'_>, phase: Phase, extension: Option<Kind>) -> Option<Step> {
        let map = found.map(KEYS, self)?;
        let name = map.required("name", self).and_then(|found| found.line(1, STEP_NAME, self));
        let kind = map.required("type", self).and_then(|found| found.word(StepType::TEXTS, self));
        let kind = kind.and_then(StepType::from_text);
        let ignore_errors = map.get("ignore_errors").map_or(Some(false), |found| found.boolean(self));
        let timeout = self.timeout(&map);
        let conditions = self.conditions(&map);
        let (task, properties) = self.task(&map, found.node.place, kind?, extension)?;
        Some(Step {
            name: name?,
            phase,
            kind: kind?,
            timeout: timeout?,
            ignore_errors: ignore_errors?,
            conditions,
            task,
            properties,
            place: found.node.place,
            path: found.path.clone(),
        })
    }

    fn task(
        &mut self,
        map: &Fields<'_>,
        place: Place,
        kind: StepType,
        extension: Option<Kind>,
    ) -> Option<(Task, serde_json::Value)> {
        let empty = Node::new(Value::Map(Vec::new()), place);
        let found = map.get("properties").unwrap_or_else(|| Found { node: &empty, path: map.path_of("properties") });
        let json = found.node.to_json();
        let mut properties = Properties::open(&found, kind, self)?;
        let task = Task::read(&mut properties)?;
        if task.lasts() && extension == Some(Kind::Run) {
            let message = "what lasts belongs to an installation; write type: install in the metadata";
            properties.problem("", message);
        }
        if let Task::Up(task) = &task {
            self.rehearse(task);
        }
        Some((task, json))
    }

    /// Tries what the values that are known give. What depends on others is checked when they are given.
    fn rehearse(&mut self, task: &UpTask) {
        let open = task.places_of(&|name| self.open.contains(name));
        let mut resolving = Resolving::new(&self.stand_ins, "installation");
        let action = task.resolve(&mut resolving);
        let problems = resolving.problems.into_iter().filter(|problem| !open.contains(&problem.place));
        self.problems.extend(problems.take(MOST_PROBLEMS));
        match action {
            Some(Action::Up { project }) if task.name_is_known() => {
                // Two steps may start containers of one name if their conditions exclude each other: that is checked with the values.
                project.services.iter().for_each(|service| drop(self.services.add(&service.name)));
            }
            _ => self.services.add_unknown(),
        }
    }

    fn check_service(&mut self, step: &Step) {
        let Task::Network(task) = &step.task else { return };
        let Some(service) = task.service() else { return };
        let literal = service.map(|field| field.template.literal());
        let problem = match literal {
            Some(None) => None,
            Some(Some(name)) => self.services.problem(Some(name)),
            None => self.services.problem(None),
        };
        if let Some(message) = problem {
            let (place, path) =
                service.map_or((step.place, step.path.as_str()), |field| (field.at.place, &field.at.path));
            self.problem(place, path, message);
        }
    }

    fn timeout(&mut self, map: &Fields<'_>) -> Option<Duration> {
        let Some(found) = map.get("timeout") else { return Some(Duration::from_secs(DEFAULT_TIMEOUT)) };
        match found.node.value {
            Value::Integer(0) => Some(Duration::from_secs(DEFAULT_TIMEOUT)),
            Value::Integer(seconds @ 1..=LONGEST_TIMEOUT) => Some(Duration::from_secs(seconds.unsigned_abs())),
            _ => {
                found.problem(self, format!("must be a number of seconds from 1 to {LONGEST_TIMEOUT}"));
                None
            }
        }
    }

    fn conditions(&mut self, map: &Fields<'_>) -> Vec<Condition> {
        let (one, many) = (map.get("condition"), map.get("conditions"));
        if let (Some(_), Some(found)) = (&one, &many) {
            found.problem(self, "condition is given too; write all of them as conditions");
        }
        let mut all: Vec<_> = one.into_iter().filter(|found| !found.node.is_null()).collect();
        if let Some(found) = many.filter(|found| !found.node.is_null()) {
            let items = found.list(self).unwrap_or_default();
            if items.len() > MOST_CONDITIONS {
                found.problem(self, format!("must have at most {MOST_CONDITIONS} conditions"));
                return Vec::new();
            }
            all.extend(items);
        }
        all.iter().filter_map(|found| self.condition(found)).collect()
    }

    fn condition(&mut self, found: &Found<'_>) -> Option<Condition> {
        let text = found.line(1, LONGEST_CONDITION, self)?;
        let condition = match Condition::parse(&text) {
            Ok(condition) => condition,
            Err(message) => {
                found.problem(self, message);
                return None;
            }
        };
        let at = At { place: found.node.place, path: found.path.clone() };
        if !self.knows(&condition.name, &at) {
            return None;
        }
        let compared = condition.compared();
        let never = match self.types.get(&condition.name) {
            Some(VariableType::Boolean) => compared.is_some_and(|text| !matches!(text, "true" | "false")),
            Some(VariableType::Integer) => compared.is_some_and(|text| !text.is_empty() && !is_integer(text)),
            _ => false,
        };
        if never {
            let kind = self.types.get(&condition.name).map_or("", |kind| kind.as_str());
            found.problem(self, format!("{} is of type {kind}, which never has that text", condition.name));
            return None;
        }
        Some(condition)
    }
}

/// As a value of the type is written.
fn is_integer(text: &str) -> bool {
    text.parse::<i64>().is_ok_and(|number| number.to_string() == text)
}
