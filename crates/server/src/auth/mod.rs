//! Who is asking, and what they may do: passwords, tokens, limits on guessing, the caller of a request and their
//! authority.

pub mod actor;
pub mod admin;
pub mod authority;
pub mod bearer;
pub mod caller;
pub mod cookie;
pub mod ctx;
pub mod denials;
pub mod limiter;
pub mod login;

pub mod origin;
pub mod password;
pub mod resources;
pub mod token;
pub mod under_way;

#[cfg(test)]
mod properties;

pub use actor::Actor;
pub use admin::Admin;
pub use authority::{Asked, Authority, Granted};
pub use caller::Caller;
pub use ctx::Ctx;
pub use login::Login;
pub use origin::Origin;
