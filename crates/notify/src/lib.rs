//! Messages to people, and how each channel writes them. Nothing here talks to a network: a channel makes a [`Request`], and
//! the server sends it.
//!
//! A [`Message`] is neutral and made once. [`CHANNELS`] has a line for each channel that is an HTTP address: its name, what its
//! addresses look like, and what it sends. [`email`] writes the same message as a mail. A new channel is a file and a line.
//!
//! Every text of a message is untrusted: tenants choose the names in it. It may not act as markup, mention people, or become a
//! link anywhere; the message's own [`Link`] is the only one. [`text`] has what the channels share for it. Each channel cuts a
//! message to what its service takes, on the borders of characters and with a mark.

mod channel;
mod cleaned;
mod discord;
pub mod email;
mod fold;
mod message;
mod ntfy;
mod sign;
mod slack;
mod teams;
mod telegram;
mod text;
mod webhook;

#[cfg(test)]
mod properties;

pub use channel::{Attempt, BadDestination, CHANNELS, Channel, Destination, Request, channel};
pub use fold::several;
pub use message::{Link, Message, Mood};
pub use sign::{BadSecret, SigningSecret, sign, signatures};

// What the fields of a message and of a request are made of.
pub use serde_json::{Map, Value};
pub use url::Url;
