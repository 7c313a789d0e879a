//! A folder of a checked-out repository becomes a plan, and the plan a Dockerfile. This is what the build pack `auto` does where there is no Dockerfile.
//!
//! The repository's author may be hostile. Nothing here runs or evaluates anything: [`Source`] reads a few files within bounds, [`detect`] says what
//! they mean and why, and [`Plan::dockerfile`] writes it down.
//!
//! - `detect.rs`: the table of languages, and what decides between several. A file or folder for each language: `find` says whether it is there, `plan` what is done.
//! - `draft.rs`: what all plans have in common. `wishes.rs`: what the user sets, which beats what was found.
//! - `around.rs`: what of the repository belongs to a folder.
//! - `source.rs` reads, `manifest.rs` parses, `version.rs` chooses a release line, `command.rs` is about commands for a shell.
//! - `dockerfile.rs`: stages, and their text. `images.rs`: what stages begin with. `variables.rs`: what commands of a build are given.

mod around;
mod command;
mod deno;
mod detect;
mod dockerfile;
mod dotnet;
mod draft;
mod elixir;
mod error;
mod go;
mod images;
mod java;
mod kind;
mod manifest;
mod node;
mod php;
mod plan;
mod procfile;
mod python;
mod ruby;
mod rust;
mod source;
mod static_site;
mod text;
mod variables;
mod version;
mod wishes;

pub use command::MOST_COMMAND_BYTES;
pub use detect::{Candidate, Detected, detect};
pub use error::Error;
pub use images::{BaseImages, OwnImage};
pub use kind::Kind;
pub use plan::{Plan, Reason, Serves, StageBase};
pub use source::{MOST_MANIFEST_BYTES, Source};
pub use variables::BuildVariables;
pub use version::Version;
pub use wishes::Wishes;
