//! The edge: visitors' traffic to the right target, exactly drained. It knows hosts, services and targets; it knows neither
//! applications nor the database.

mod activity;
mod answer;
mod body;
mod connection;
pub mod control;
pub mod counters;
mod descriptors;
pub mod edge;
mod exchange;
mod files;
mod forward;
pub mod hand_over;
mod headers;
mod health;
mod journey;
mod listen;
mod pages;
pub mod process;
mod request_body;
pub mod route_file;
pub mod routes;
mod service;
pub mod stats;
mod table;
pub mod target;
mod tunnel;
mod upstream;
mod visitors_stream;
mod workers;
