//! What crosses the wire: the envelope, identifiers of errors, requests and records.
//!
//! This crate knows nothing of databases or HTTP. A request type refuses bad values while it is being
//! read (see [`text`]), so a value of such a type is valid, and the same type describes its limits
//! in the API description.

mod api_keys;
mod application_fields;
mod applications;
mod audit;
mod auth;
mod closed_set;
mod configuration;
mod connections;
mod deliveries;
mod deployments;
mod envelope;
mod events;
mod executions;
mod extensions;
mod given;
mod host_name;
mod installations;
mod instance;
mod link;
mod logs;
mod notification;
mod number;
mod organizations;
mod permissions;
mod previews;
mod repository_address;
mod repository_credentials;
mod sent;
mod snapshots;
mod system;
mod text;
mod timestamp;
mod traffic;
mod users;
mod variables;
mod volumes;

pub use api_keys::*;
pub use application_fields::*;
pub use applications::*;
pub use audit::*;
pub use auth::*;
pub use closed_set::choices;
pub use configuration::*;
pub use connections::*;
pub use deliveries::*;
pub use deployments::*;
pub use envelope::*;
pub use events::*;
pub use executions::*;
pub use extensions::*;
pub use given::*;
pub use host_name::*;
pub use installations::*;
pub use instance::*;
pub use link::*;
pub use logs::*;
pub use notification::*;
pub use number::*;
pub use organizations::*;
pub use permissions::*;
pub use previews::*;
pub use repository_address::*;
pub use repository_credentials::*;
pub use snapshots::*;
pub use system::*;
pub use text::*;
pub use timestamp::*;
pub use traffic::*;
pub use users::*;
pub use variables::*;
pub use volumes::*;
