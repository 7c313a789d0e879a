//! Extensions, carried out for real: on this machine, in folders of the test's own, and on a real engine.

mod applications;
mod catalog;
mod crash;
mod engine_steps;
mod machine;
mod own_machine;
pub mod registry;
mod services;
mod support;
