//! What a running container uses: from the machine's own files, which costs the engine nothing, or over the engine's API where these cannot be read.

mod groups;
mod stats;

pub use groups::Groups;

/// What a container has used since it was started, and the memory that it has now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reading {
    /// The time of processors.
    pub cpu_us: u64,
    /// Without pages of files that were not used for a while: what the engine's own program shows.
    pub memory_bytes: u64,
    /// None where it has no network of its own, or it is not known.
    pub network: Option<Transfer>,
    /// None where the kernel does not count it.
    pub disk: Option<Transfer>,
}

/// Bytes received and sent, or read and written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Transfer {
    pub inward: u64,
    pub outward: u64,
}
