//! Who is asking: passwords, tokens, limits on guessing, and the caller of a request.

pub mod caller;
pub mod denials;
pub mod limiter;
pub mod origin;
pub mod password;
pub mod token;

pub use caller::{Ctx, Login};
pub use origin::Origin;
