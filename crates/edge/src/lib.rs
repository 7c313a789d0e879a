//! The edge: visitors' traffic to the right target, exactly drained. It knows hosts, services and targets; it knows neither
//! applications nor the database.

pub mod body;
pub mod files;
pub mod routes;
