//! Points where a test kills the server.

/// Before and after a code host is told of a commit.
pub const KILL_POINTS: [&str; 2] = ["report-before", "report-sent"];
/// The same for a pull request.
pub const COMMENT_KILL_POINTS: [&str; 2] = ["comment-before", "comment-sent"];
