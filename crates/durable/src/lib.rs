//! What survives a crash: files that are the old or the new one at every moment, and places where a test can crash.

pub mod file;
pub mod kill_point;
