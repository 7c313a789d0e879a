//! What stands between visitors and a service, as it is used.

mod answer_headers;
mod networks;

use std::collections::HashMap;
use std::net::IpAddr;

use bytes::Bytes;

pub use self::answer_headers::AnswerHeaders;
use self::networks::Networks;
use crate::routes::AccessSpec;

pub struct Access {
    networks: Networks,
    pub maintenance: bool,
    pub headers: AnswerHeaders,
    pub compress: bool,
    /// HTML by status, in place of the edge's own pages.
    pages: HashMap<u16, Bytes>,
}

impl Access {
    pub fn new(spec: &AccessSpec) -> Self {
        Self {
            networks: Networks::new(&spec.allow, &spec.deny),
            maintenance: spec.maintenance,
            headers: AnswerHeaders::new(&spec.headers),
            compress: spec.compress,
            pages: spec.pages.iter().map(|page| (page.status, Bytes::from(page.html.clone()))).collect(),
        }
    }

    /// Whether visitors from this address come in.
    pub fn lets_in(&self, address: IpAddr) -> bool {
        self.networks.let_in(address)
    }

    pub fn page(&self, status: u16) -> Option<&Bytes> {
        self.pages.get(&status)
    }
}
