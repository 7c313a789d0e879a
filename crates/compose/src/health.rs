use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::at::At;
use crate::problems::{Problems, shown};
use crate::units;

/// How the engine finds out whether a container works. What is not given is the image's, or the engine's.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Health {
    /// `["CMD", program, arguments…]` or `["CMD-SHELL", text]`; empty for the image's own.
    pub test: Vec<String>,
    pub interval: Option<Duration>,
    pub timeout: Option<Duration>,
    pub start_period: Option<Duration>,
    pub start_interval: Option<Duration>,
    pub retries: Option<u32>,
    /// Whether the image's own check is turned off too.
    pub disabled: bool,
}

const KEYS: &[&str] = &["disable", "interval", "retries", "start_interval", "start_period", "test", "timeout"];

pub fn read(at: &At<'_>, problems: &mut Problems) -> Health {
    let mut health = Health::default();
    for (key, field) in at.fields(KEYS, problems) {
        match key {
            "test" => health.test = test(&field, problems),
            "interval" => health.interval = time(&field, problems),
            "timeout" => health.timeout = time(&field, problems),
            "start_period" => health.start_period = time(&field, problems),
            "start_interval" => health.start_interval = time(&field, problems),
            "disable" => health.disabled |= field.boolean(problems).unwrap_or_default(),
            _ => health.retries = field.number(0..=10_000, problems).and_then(|number| u32::try_from(number).ok()),
        }
    }
    if health.test.first().is_some_and(|kind| kind == "NONE") {
        health.disabled = true;
    }
    if health.disabled {
        health.test.clear();
    }
    health
}

/// The engine takes no time below a millisecond, and 0 as: not given.
fn time(at: &At<'_>, problems: &mut Problems) -> Option<Duration> {
    let time = at.parse(problems, units::duration)?;
    if !time.is_zero() && time < Duration::from_millis(1) {
        at.problem(problems, "must be at least 1ms");
    }
    Some(time).filter(|time| !time.is_zero())
}

fn test(at: &At<'_>, problems: &mut Problems) -> Vec<String> {
    if at.node.as_list().is_none() {
        return at.text(problems).map(|text| vec!["CMD-SHELL".into(), text]).unwrap_or_default();
    }
    let words: Vec<String> = at.items(problems).iter().filter_map(|item| item.text(problems)).collect();
    let is_whole = match words.first().map(String::as_str) {
        None | Some("NONE") => true,
        // What follows the text of CMD-SHELL becomes parameters of the shell, which the engine allows.
        Some("CMD" | "CMD-SHELL") => words.len() > 1,
        Some(other) => {
            let message = format!("must begin with \"CMD\" or \"CMD-SHELL\", and begins with {}", shown(other));
            at.problem(problems, message);
            return Vec::new();
        }
    };
    if !is_whole {
        at.problem(problems, "must be [\"CMD\", program, arguments…] or [\"CMD-SHELL\", text]");
    }
    words
}
