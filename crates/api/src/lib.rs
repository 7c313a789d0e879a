//! What crosses the wire: the envelope, identifiers of errors, requests and records.
//!
//! This crate knows nothing of databases or HTTP. A request type refuses bad values while it is being
//! read (see [`text`]), so whoever holds one holds a valid one, and the same type describes its limits
//! in the API description.

mod auth;
mod envelope;
mod link;
mod organizations;
mod permissions;
mod system;
mod text;
mod timestamp;
mod users;

pub use auth::*;
pub use envelope::*;
pub use link::*;
pub use organizations::*;
pub use permissions::*;
pub use system::*;
pub use text::*;
pub use timestamp::*;
pub use users::*;
