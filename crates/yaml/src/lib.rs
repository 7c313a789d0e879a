//! YAML text as a tree in which every key and value knows where it was written.
//!
//! The text comes from people whom we do not know, so all that it can ask for has a bound: its length, how deep it nests, and how
//! much its aliases grow into. What YAML allows and no author means (two values for one key, a list as a key, a second document) is refused.

mod merge;
mod node;
mod parse;
mod problem;
mod scalar;
mod suggest;
mod write;

pub use node::{Key, Node, Value};
pub use parse::{Limits, parse};
pub use problem::{Place, Problem, at_index, at_key};
pub use suggest::nearest;
pub use write::write;
