//! The format of extensions: its check, its variables, and the steps with every value in its place.
//!
//! An extension is a YAML text from an author whom we may not know, with values from a user whom we may not know. Nothing here
//! does anything: [`check`] says all that is wrong with the text, [`values`] all that is wrong with the values, and [`resolve`]
//! says exactly what would be done.

mod action;
mod canonical;
pub mod catalog;
mod check;
mod condition;
mod draft;
mod extension;
mod field;
mod given;
mod host_access;
mod pattern;
mod resolve;
mod rules;
mod schema;
mod services;
mod shell;
mod task;
mod template;
mod tree;
mod values;

pub use action::{Action, FileAction, Owner, PackageState, ResolvedStep, ServiceChange, UserAction};
pub use check::{Checked, check};
pub use draft::{Draft, draft};
pub use extension::{CATEGORIES, Extension, Kind, Metadata, Phase, Step, StepType, Variable, VariableType};
pub use resolve::resolve;
pub use schema::schema;
pub use values::{MASK, Value, Values, VariableProblem, values};
pub use windlass_yaml::{Place, Problem};
