//! A client of certificate authorities that speak ACME (RFC 8555).
//!
//! It keeps nothing: what has to outlive a step is given back as text, and a later step begins with that text. So an order can
//! be gone on with by another process, from any point.
//!
//! `account` registers at an authority, `order` asks for a certificate, `proof` shows that a host is ours to serve, and
//! `request` is what the authority signs. `calls` sends all of it, within the bounds of [`windlass_outgoing`].

mod account;
mod calls;
mod error;
mod order;
mod proof;
mod request;

pub use account::{Account, Authority, ExternalAccount, Renewal};
pub use error::AcmeError;
pub use order::{Order, Stage, Wanted, Way};
pub use proof::{DnsRecord, Proof, dns_record, tls_alpn};
pub use request::Request;
