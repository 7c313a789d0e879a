//! Asks applications again and again whether they answer, by the way that visitors take: through the edge.
//!
//! - `keeper.rs` looks whose time has come, and lets organizations take turns.
//! - `visit.rs` asks once.
//! - `verdict.rs` says what that means, and what is known of the application by now.
//! - What it comes to is written by `service/uptime.rs`.

pub mod keeper;
pub mod verdict;
pub mod visit;
