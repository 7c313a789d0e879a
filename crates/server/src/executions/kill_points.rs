//! Points where a test kills the server.

/// Where a test can end the process: before and after everything that leaves a trace outside of the database.
pub const KILL_POINTS: [&str; 18] = [
    "execution-begun",
    "execution-step-begun",
    "execution-step-acted",
    "execution-step-stored",
    "execution-decided",
    "execution-undo-begun",
    "execution-undo-acted",
    "execution-step-undone",
    "execution-given-back",
    "execution-ended",
    "service-stored",
    "service-predecessor-stopped",
    "service-created",
    "service-started",
    "uninstall-step-begun",
    "uninstall-service-removed",
    "uninstall-step-stored",
    "uninstall-ended",
];
