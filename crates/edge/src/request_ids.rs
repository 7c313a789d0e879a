//! Ids of requests: unique in this process and, very likely, elsewhere. They are no secrets.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};

use hyper::header::HeaderValue;

pub struct RequestIds {
    process: u64,
    next: AtomicU64,
}

impl RequestIds {
    pub fn new() -> Self {
        // The standard library's hasher is seeded from the system's randomness.
        Self { process: RandomState::new().build_hasher().finish(), next: AtomicU64::new(0) }
    }

    pub fn next(&self) -> HeaderValue {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let whole = (u128::from(self.process) << 64) | u128::from(number);
        let mut text = [0; 32];
        for (index, digit) in text.iter_mut().enumerate() {
            *digit = DIGITS[(whole >> (124 - 4 * index)) as usize & 15];
        }
        HeaderValue::from_bytes(&text).unwrap_or(HeaderValue::from_static("none"))
    }
}
