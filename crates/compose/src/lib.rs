//! A typed subset of the Compose specification: what a project of containers on one host needs, and nothing else.
//!
//! Keys are read, ignored or refused; none is passed over without a decision:
//! - **read**: what the fields of [`Service`] say;
//! - **ignored**, because it changes nothing here: see `IGNORED` in `keys.rs`, which gives the reason for each;
//! - **refused** by name, with what to do instead: see `REFUSED` there, and whatever is in no list.
//!
//! Variables (`${NAME}`) and merges (`<<`) are resolved first, so a number or a boolean may come as a text.
//! In a repository there is more to read: how an image is built, and the files that the document names ([`read_in_repository`]).
//! What would let a container out of its organization is read too, and listed by [`Service::dangers`]: whether it is allowed is for the caller
//! to decide.

mod at;
mod beside;
mod bounds;
mod build;
mod danger;
pub mod dotenv;
mod dotenv_line;
mod files;
mod health;
mod interpolate;
mod keys;
mod limits;
mod mounts;
mod order;
mod pairs;
mod ports;
mod problems;
mod project;
mod read;
mod service;
mod units;
mod words;

pub use beside::Beside;
pub use build::Build;
pub use danger::{Danger, is_harmless};
pub use dotenv_line::dotenv_line;
pub use files::File;
pub use health::Health;
pub use limits::Ulimit;
pub use mounts::{Mount, Source, Tmpfs};
pub use ports::{Port, Protocol};
pub use project::{Project, Volume};
pub use read::{read, read_in_repository};
pub use service::{Condition, Dependency, Device, PullPolicy, Restart, Service, Sharing};
pub use windlass_yaml::{Place, Problem};
