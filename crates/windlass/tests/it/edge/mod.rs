//! The edge as a process: how it begins, changes hands, is looked after, and ends.

#[path = "../../../../edge/tests/it/app.rs"]
#[allow(dead_code, reason = "the edge's own tests use the rest")]
mod app;
#[path = "../../../../edge/tests/it/tls/authority.rs"]
#[allow(dead_code, reason = "the edge's own tests use the rest")]
pub mod authority;
mod load;
mod support;

mod control;
mod encrypted;
mod hand_over;
mod keeper;
mod many_certificates;
mod predecessor;
mod route_file;
mod starts;
mod successor;
mod versions;
