//! Containers on a Docker engine: images are built, containers run, networks made, and their events followed. It knows
//! neither applications nor databases.
//!
//! - `docker.rs` is the engine and the version of its API; `call.rs` one call with its time limit; `error.rs` sorts failures by what a caller can do.
//! - `containers/`, `images.rs`, `registries.rs`, `networks.rs`, `volumes.rs`, `events.rs`, `exec.rs` are the nouns. Each call can be repeated: what is there is adopted,
//!   what is gone is fine.
//! - `build/` builds images with BuildKit.
//! - `usage/` tells what containers use, from the kernel's files or over the engine's API.
//! - `output/` reads what containers print, from the engine's files or over its API, and knows the position to go on from.

mod build;
mod call;
mod connection;
mod containers;
mod docker;
mod error;
mod events;
mod exec;
mod frames;
mod images;
mod lines;
mod logs;
mod moment;
mod networks;
mod output;
mod registries;
mod usage;
mod volumes;

pub use build::{Build, Dockerfile, GIVEN_DOCKERFILE, MOST_ARGUMENT_BYTES, argument_bytes};
pub use containers::{
    Archive, Container, ContainerHealth, ContainerSpec, ContainerSummary, Creation, Device, HealthTest, HelperSpec,
    LogLimits, Mount, MountSource, NewFile, Options, Published, State, Ulimit, VolumeRoot,
};
pub use docker::{Docker, Engine, Label, Labels};
pub use error::{Error, Result};
pub use events::{ContainerEvent, ContainerEventKind, Events};
pub use exec::{Exec, Executed};
pub use images::{HealthCheck, Image, ImageSummary};
pub use lines::{Joiner, PrintedLine, Stream};
pub use networks::{Network, NetworkSummary};
pub use output::{Access, Gap, Output, OutputLine, Portion, Position, Watched};
pub use registries::{RegistryLogin, RegistryProblem};
pub use usage::{Groups, Reading, Transfer};
