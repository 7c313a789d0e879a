//! What survives a crash: files that are the old or the new one at every moment, locks that end with their process, and
//! places where a test can crash.

pub mod file;
pub mod kill_point;
pub mod lock;
