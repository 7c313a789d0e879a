//! What stands between visitors and a service, as it is used.

mod answer_headers;
mod buckets;
mod credentials;
mod networks;
mod sign_in;

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;

use bytes::Bytes;

pub use self::answer_headers::AnswerHeaders;
pub use self::buckets::Buckets;
use self::networks::Networks;
pub use self::sign_in::{PasswordChecks, SignIn, SignInRefusal};
use crate::routes::{AccessSpec, RateSpec};

pub struct Access {
    networks: Networks,
    rate: Option<(RateSpec, Arc<Buckets>)>,
    pub sign_in: Option<Arc<SignIn>>,
    pub maintenance: bool,
    pub headers: AnswerHeaders,
    pub compress: bool,
    /// HTML by status, in place of the edge's own pages.
    pages: HashMap<u16, Bytes>,
}

impl Access {
    /// What was there before is kept where it is the same: visitors who must wait do so, and those who have signed in
    /// need not do it again.
    pub fn new(spec: &AccessSpec, before: Option<&Self>) -> Self {
        let signed_in = before.and_then(|before| before.sign_in.as_ref());
        Self {
            networks: Networks::new(&spec.allow, &spec.deny),
            rate: spec.rate.map(|rate| (rate, buckets(rate, before))),
            sign_in: spec.sign_in.as_ref().map(|sign_in| SignIn::new(sign_in, signed_in)),
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

    /// How often each household may ask.
    pub fn rate(&self) -> Option<&Buckets> {
        self.rate.as_ref().map(|(_, buckets)| buckets.as_ref())
    }

    pub fn page(&self, status: u16) -> Option<&Bytes> {
        self.pages.get(&status)
    }
}

fn buckets(rate: RateSpec, before: Option<&Access>) -> Arc<Buckets> {
    match before.and_then(|before| before.rate.as_ref()) {
        Some((same, buckets)) if *same == rate => buckets.clone(),
        _ => Arc::new(Buckets::new(rate.per_minute, rate.burst)),
    }
}
