//! From a repository to served traffic, on a real engine.

mod cancel;
mod copies;
mod crash;
mod crowd;
mod engine_lost;
mod failures;
mod gapless;
mod happy;
mod health;
mod life;
mod port;
mod replicas;
mod repositories;
mod routes;
pub mod several;
pub mod support;
mod tenants;
pub mod visitor;
mod volumes;
