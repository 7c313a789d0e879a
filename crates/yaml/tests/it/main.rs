#![allow(clippy::unwrap_used, clippy::panic, reason = "a failure here is a failed test")]

mod bounds;
mod mutations;
mod places;
mod properties;
mod refusals;

use windlass_yaml::{Limits, Node, Problem, parse};

fn read(text: &str) -> Result<Node, Problem> {
    parse(text, &Limits::default())
}

fn json(text: &str) -> String {
    read(text).unwrap().to_json().to_string()
}

fn problem(text: &str) -> String {
    read(text).unwrap_err().to_string()
}
