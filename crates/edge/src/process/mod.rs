//! An edge as a process: its start and its end, the control socket, and one process after another.

mod accepting;
mod apply;
pub mod control;
mod descriptors;
mod ending;
pub mod hand_over;
mod health_checks;
mod holdings;
mod life;
mod options;
pub mod route_file;
mod running;
mod start;

pub use self::life::run;
pub use self::options::{EdgeError, Listen, Options};
