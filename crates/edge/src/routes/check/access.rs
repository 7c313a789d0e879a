//! What makes valid what stands between visitors and a service.

use std::collections::HashSet;

use hyper::header::{HeaderName, HeaderValue};
use ipnet::IpNet;

use super::Problems;
use crate::password;
use crate::routes::{AccessSpec, HeaderSpec, PageSpec, RateSpec, SignInSpec, SignInUser};

/// Each request is compared with all of them.
const MOST_NETWORKS: usize = 200;
const MOST_PER_MINUTE: u32 = 1_000_000;
const MOST_AT_ONCE: u32 = 100_000;
const MOST_USERS: usize = 50;
const LONGEST_NAME: usize = 64;
const LONGEST_REALM: usize = 100;
/// Some seconds of a processor.
const MOST_ITERATIONS: u32 = 5_000_000;
/// In bytes.
const SALT_LENGTHS: std::ops::RangeInclusive<usize> = 8..=64;
const MOST_HEADERS: usize = 32;
const LONGEST_VALUE: usize = 1024;
/// Of all names and values together, in bytes: they are sent with every answer.
const LONGEST_HEADERS: usize = 4096;
const MOST_PAGES: usize = 8;
const LONGEST_PAGE: usize = 64 * 1024;
/// Those that a page of the edge's own can have.
const PAGE_STATUSES: [u16; 10] = [401, 403, 404, 413, 429, 500, 501, 502, 503, 504];

/// What frames an answer, says what its bytes are, or is the edge's own to say. All that begins with `proxy-` is too.
const RESERVED_HEADERS: [&str; 12] = [
    "connection",
    "content-encoding",
    "content-length",
    "content-range",
    "date",
    "keep-alive",
    "set-cookie",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "www-authenticate",
];

impl AccessSpec {
    /// Why an edge would refuse a table with it; empty if it would not.
    pub fn problems(&self) -> Vec<String> {
        let mut problems = Problems::default();
        self.check("access", &mut problems);
        problems.into_result().err().unwrap_or_default()
    }

    pub(super) fn check(&self, field: &str, problems: &mut Problems) {
        for (name, networks) in [("allow", &self.allow), ("deny", &self.deny)] {
            check_networks(&format!("{field}.{name}"), networks, problems);
        }
        if let Some(rate) = &self.rate {
            rate.check(&format!("{field}.rate"), problems);
        }
        if let Some(sign_in) = &self.sign_in {
            sign_in.check(&format!("{field}.sign_in"), problems);
        }
        check_headers(&format!("{field}.headers"), &self.headers, problems);
        check_pages(&format!("{field}.pages"), &self.pages, problems);
    }
}

fn check_networks(field: &str, networks: &[IpNet], problems: &mut Problems) {
    if networks.len() > MOST_NETWORKS {
        problems.add(format!("{field}: more than {MOST_NETWORKS}"));
    }
}

impl RateSpec {
    fn check(&self, field: &str, problems: &mut Problems) {
        if !(1..=MOST_PER_MINUTE).contains(&self.per_minute) {
            problems.add(format!("{field}.per_minute: must be 1 to {MOST_PER_MINUTE}"));
        }
        if !(1..=MOST_AT_ONCE).contains(&self.burst) {
            problems.add(format!("{field}.burst: must be 1 to {MOST_AT_ONCE}"));
        }
    }
}

impl SignInSpec {
    fn check(&self, field: &str, problems: &mut Problems) {
        if !is_printable(&self.realm, 0, LONGEST_REALM) || self.realm.contains(['"', '\\']) {
            problems.add(format!(
                "{field}.realm: must be at most {LONGEST_REALM} printable characters without quotes and backslashes"
            ));
        }
        if self.users.len() > MOST_USERS {
            return problems.add(format!("{field}.users: more than {MOST_USERS}"));
        }
        let mut names = HashSet::new();
        for (index, user) in self.users.iter().enumerate() {
            user.check(&format!("{field}.users[{index}]"), problems);
            if !names.insert(user.name.as_str()) {
                problems.add(format!("{field}.users[{index}].name: {:?} is there twice", user.name));
            }
        }
    }
}

impl SignInUser {
    /// No problem shows anything of the hash.
    fn check(&self, field: &str, problems: &mut Problems) {
        if !is_printable(&self.name, 1, LONGEST_NAME) || self.name.contains(':') {
            problems.add(format!("{field}.name: must be 1 to {LONGEST_NAME} printable characters without colons"));
        }
        if !(1..=MOST_ITERATIONS).contains(&self.iterations) {
            problems.add(format!("{field}.iterations: must be 1 to {MOST_ITERATIONS}"));
        }
        if password::from_hex(&self.salt).is_none_or(|salt| !SALT_LENGTHS.contains(&salt.len())) {
            let (shortest, longest) = (SALT_LENGTHS.start(), SALT_LENGTHS.end());
            problems.add(format!("{field}.salt: must be {shortest} to {longest} bytes in hexadecimal digits"));
        }
        if password::from_hex(&self.hash).is_none_or(|hash| hash.len() != password::HASH_LENGTH) {
            problems.add(format!("{field}.hash: must be {} bytes in hexadecimal digits", password::HASH_LENGTH));
        }
    }
}

/// Whether a text has so many characters, and none that steers a terminal.
fn is_printable(text: &str, shortest: usize, longest: usize) -> bool {
    (shortest..=longest).contains(&text.chars().count()) && !text.chars().any(char::is_control)
}

fn check_headers(field: &str, headers: &[HeaderSpec], problems: &mut Problems) {
    if headers.len() > MOST_HEADERS {
        return problems.add(format!("{field}: more than {MOST_HEADERS}"));
    }
    let length = |header: &HeaderSpec| header.name.len() + header.value.as_ref().map_or(0, String::len);
    if headers.iter().map(length).sum::<usize>() > LONGEST_HEADERS {
        problems.add(format!("{field}: more than {LONGEST_HEADERS} bytes together"));
    }
    let mut names = HashSet::new();
    for (index, header) in headers.iter().enumerate() {
        header.check(&format!("{field}[{index}]"), problems);
        if !names.insert(header.name.to_ascii_lowercase()) {
            problems.add(format!("{field}[{index}].name: {:?} is there twice", header.name));
        }
    }
}

impl HeaderSpec {
    fn check(&self, field: &str, problems: &mut Problems) {
        match HeaderName::from_bytes(self.name.as_bytes()) {
            Err(_) => problems.add(format!("{field}.name: {:?} is not the name of a header", self.name)),
            Ok(name) if is_reserved_header(&name) => {
                problems.add(format!("{field}.name: {name} is for the edge to set"));
            }
            Ok(_) => {}
        }
        let is_value = |value: &String| {
            value.len() <= LONGEST_VALUE
                && !value.chars().any(char::is_control)
                && HeaderValue::from_bytes(value.as_bytes()).is_ok()
        };
        if !self.value.as_ref().is_none_or(is_value) {
            problems.add(format!("{field}.value: must be at most {LONGEST_VALUE} bytes without control characters"));
        }
    }
}

/// Whether it is for the edge alone to set.
pub fn is_reserved_header(name: &HeaderName) -> bool {
    RESERVED_HEADERS.contains(&name.as_str()) || name.as_str().starts_with("proxy-")
}

fn check_pages(field: &str, pages: &[PageSpec], problems: &mut Problems) {
    if pages.len() > MOST_PAGES {
        return problems.add(format!("{field}: more than {MOST_PAGES}"));
    }
    let mut statuses = HashSet::new();
    for (index, page) in pages.iter().enumerate() {
        if !PAGE_STATUSES.contains(&page.status) {
            problems.add(format!("{field}[{index}].status: the edge has no page with status {}", page.status));
        }
        if !statuses.insert(page.status) {
            problems.add(format!("{field}[{index}].status: {} is there twice", page.status));
        }
        if page.html.len() > LONGEST_PAGE {
            problems.add(format!("{field}[{index}].html: more than {LONGEST_PAGE} bytes"));
        }
    }
}

#[cfg(test)]
mod tests;
