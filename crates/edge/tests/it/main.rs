//! The edge as its visitors and its operator see it: real sockets, real upstreams.

mod app;
mod drain;
mod support;
