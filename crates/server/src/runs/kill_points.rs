//! Points where a test kills the server.

/// Where a test can end the process: before and after everything that leaves a trace outside of the database.
pub const KILL_POINTS: [&str; 9] = [
    "run-claimed",
    "run-stored",
    "run-created",
    "run-begun",
    "run-started",
    "run-decided",
    "run-followed",
    "run-ended",
    "run-removed",
];
