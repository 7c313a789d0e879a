//! Encrypted connections: which certificate a visitor is shown, the handshake, and how often one address may ask for
//! one.

pub mod certificates;
pub mod handshake;
mod pace;
pub mod tickets;
