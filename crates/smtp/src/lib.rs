//! Sends one mail to one server by SMTP, and says exactly what went wrong.
//!
//! Tenants name the server, so the connection comes from `windlass-outgoing`: it goes to the very address that was checked. `mail`
//! writes the message, `connection` reads and writes lines within bounds, `conversation` has the steps, `error` what can go wrong.
//!
//! A mail whose last answer is missing may have been taken: sent again, it has the same Message-ID, by which mailboxes notice it.

mod answer;
mod connection;
mod conversation;
mod error;
mod mail;
mod server;

#[cfg(test)]
mod properties;

pub use answer::Answer;
pub use conversation::send;
pub use error::{Phase, Rejected, SmtpError};
pub use mail::{Mail, Sender};
pub use server::{Credentials, Limits, Security, Sent, Server};
