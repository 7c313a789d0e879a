//! Visitors and targets that break the rules, by mistake or on purpose. `crates/edge/PROTOCOL.md` lists what each gets.

mod early_answers;
mod http2;
mod limits;
mod smuggling;
mod upgrades;
mod upstream;
mod wire;
