//! One request of a visitor: where it belongs, its way to a target and back, and the answers that the edge gives
//! itself.

mod answer_body;
mod compressed_body;
mod compression;
mod counted;
mod exchange;
pub mod forward;
mod forwarded;
mod guard;
mod headers;
mod held;
mod host;
mod journey;
mod pages;
mod redirect;
mod traffic;
mod tunnel;
pub mod visitor;
mod visitors_body;
pub mod worker;

pub use pages::PAGE_HEADER;
