//! One HTTP/1.1 request to another server on behalf of a tenant, with a bound on its time and on its answer.
//!
//! The tenant names the server, so a name may lead anywhere: `lookup` refuses addresses of the machine's own network, and
//! `connect` uses exactly the addresses that were checked. `tls` decides whom to trust, `exchange` sends the request and
//! reads the answer. Redirects are answers: to follow one is a new call, with a new check. What is not HTTP takes the same checked
//! connection by `Outgoing::connect`.

mod addresses;
mod call;
mod connect;
mod error;
mod exchange;
mod lookup;
mod outgoing;
mod tls;

pub use addresses::is_public;
pub use call::{Answer, Call, Limits};
pub use error::{CallError, RootsError};
pub use outgoing::{Outgoing, Settings};

// What the fields of a call and of an answer are made of.
pub use bytes::Bytes;
pub use hyper::{HeaderMap, Method, StatusCode, header};
pub use url::Url;
