//! Points where a test kills the server.

/// Before notices and cursor are committed, after that, and between a delivery and its record.
pub const KILL_POINTS: [&str; 3] = ["notices-made", "notices-written", "notice-delivered"];
/// When many have become one, which is not sent yet.
pub const FOLD_KILL_POINT: &str = "notices-folded";
