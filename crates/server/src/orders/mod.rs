//! Certificates that Windlass orders itself, by ACME: which domains need one, and the jobs that get it.
//!
//! The row of a domain says how far its order is, so that any server goes on with it from there. A job is only the right to work on
//! it: [`keeper`] queues one whenever something is to be done.

mod alarm;
mod attempt;
mod authority;
mod handlers;
pub mod keeper;
mod kill_points;
mod preflight;
mod problem;
mod record;
mod schedule;

pub use alarm::{NEAR_END_SECONDS, is_near_end};
pub use handlers::add_to;
pub use kill_points::{DNS_KILL_POINT, KILL_POINTS};
