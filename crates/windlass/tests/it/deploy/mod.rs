//! From a repository to served traffic, on a real engine.

mod cancel;
mod clock_set;
mod copies;
mod crash;
mod crash_loops;
mod crowd;
mod database_lost;
mod disks;
mod engine_hangs;
mod engine_lost;
mod failures;
mod gapless;
mod happy;
mod health;
mod life;
mod port;
mod reach;
mod replicas;
mod repositories;
mod routes;
mod secrets;
pub mod several;
mod slow_logs;
pub mod support;
mod tenants;
pub mod visitor;
mod volumes;
