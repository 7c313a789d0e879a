//! Who is asking: passwords, tokens, limits on guessing, and the caller of a request.

pub mod caller;
pub mod limiter;
pub mod password;
pub mod token;

pub use caller::{Ctx, Login, Origin};
