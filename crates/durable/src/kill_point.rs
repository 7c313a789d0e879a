//! Places where a test can end the process as a power failure would: at once, with nothing cleaned up. Only debug
//! builds have them.

/// Names the point at which the process ends.
pub const VARIABLE: &str = "WINDLASS_KILL_AT";

/// The process ends here if it was told to.
pub fn reached(name: &str) {
    if cfg!(debug_assertions) && std::env::var(VARIABLE).is_ok_and(|wanted| wanted == name) {
        let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
    }
}
