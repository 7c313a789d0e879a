//! From a repository to served traffic, on a real engine.

mod cancel;
mod crash;
mod failures;
mod gapless;
mod happy;
mod life;
mod several;
mod support;
mod visitor;
