//! What is measured of applications: points in time, how several become one, and how they are packed into few bytes. It reads no clock, no
//! file and no database.
//!
//! - `point.rs`: what one point says. Gaps are points that are not there; a number that is not known is none, and never 0.
//! - `figures.rs`: the points of one application as one server has taken them, by what they are of.
//! - `step.rs`: how far apart points are, how many are packed together, and for how long.
//! - `pack.rs` and `code.rs`: the packed form.
//! - `sum.rs` and `latency.rs`: what points say of a longer time, of several instances and as several servers have seen it.

mod code;
mod figures;
mod latency;
mod pack;
mod point;
mod step;
mod sum;

pub use figures::{Figures, Instance, MOST_INSTANCES, Subject};
pub use latency::percentile_us;
pub use pack::Damaged;
pub use point::{BUCKETS, Flow, Point, Usage, Visits};
pub use step::{COARSE, FINE, MINUTE, Step};
pub use sum::{Filter, Parts, Span, Sum, joined, sums};
