//! What code hosts are told by jobs: the statuses of commits, how previews are, and that something that was registered is of no more use.

mod comment;
mod handlers;
mod kill_points;
mod report;
mod unregister;

pub use handlers::add_to;
pub use kill_points::{COMMENT_KILL_POINTS, KILL_POINTS};
