//! Mails over real sockets: to a mail server, and to peers that break the rules.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a failure here is a failed test")]

mod aiosmtpd;
mod bounds;
mod logins;
mod mails;
mod refusals;
mod secure;
mod support;
