//! The format of extensions: its check, its variables, and the steps with every value in its place.
//!
//! An extension is a YAML text from an author whom we may not know, with values from a user whom we may not know. Nothing here
//! does anything: [`check`] says all that is wrong with the text, [`values`] all that is wrong with the values, and [`resolve`]
//! says exactly what would be done.
//!
//! Nothing here does anything: a text and values go in, problems or `ResolvedStep`s come out.
//!
//! - `check/`: a text becomes an `Extension`, or all that is wrong with it. `task/`: each kind of step, from its properties to its `Action`; `task/shape.rs` is the
//!   table of all properties, of which `schema.rs` makes the JSON Schema.
//! - `template.rs` takes `{{ name }}` apart, once. Three ways lead a value out: `field.rs` (a text with a rule from `rules.rs` that holds for what comes out),
//!   `tree.rs` (a Compose document, of which no key is replaced), and `shell/`, where it becomes an expansion of an environment variable.
//! - `values.rs` and `given.rs`: what a user gave, defaults, secrets. `host_access.rs`: why a step needs the host.
//! - `compare/`: what two sides have made of one text, and both together.
//! - `application/`: an extension as an application.
//! - `catalog/` beside it has the extensions that come along, `catalog.rs` names them.

mod action;
pub mod application;
mod canonical;
pub mod catalog;
mod check;
pub mod compare;
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
