//! Carries out command runs, each in a container of its own, and asks for those of schedules when their time has come.

mod container;
mod follow;
mod handlers;
pub mod keeper;
mod kill_points;
mod run;

pub use container::look_after;
pub use handlers::add_to;
pub use kill_points::KILL_POINTS;
