//! `_headers`: a path on a line, and below it, indented, the headers of its answers. All that match count.

use std::collections::HashMap;

use hyper::header::{
    ACCEPT_RANGES, CACHE_CONTROL, ETAG, EXPIRES, HeaderName, HeaderValue, LAST_MODIFIED, LOCATION, VARY,
};
use hyper::{HeaderMap, StatusCode};

use super::pattern::{Pattern, normal};
use super::{MOST_PATTERNS, MOST_RULES, Problems};
use crate::routes::is_reserved_header;

/// Of one value.
const LONGEST_VALUE: usize = 4 * 1024;
/// What the edge says of a file itself, besides what no rule may set.
const OF_FILES: [HeaderName; 4] = [ACCEPT_RANGES, ETAG, LAST_MODIFIED, LOCATION];

const OF_CACHES: [HeaderName; 2] = [CACHE_CONTROL, EXPIRES];

#[derive(Debug, Default)]
pub struct HeaderRules {
    blocks: Vec<Vec<(HeaderName, HeaderValue)>>,
    exact: HashMap<Vec<u8>, Vec<usize>>,
    patterns: Vec<(Pattern, usize)>,
}

pub fn parse(text: &str, problems: &mut Problems) -> HeaderRules {
    let mut rules = HeaderRules::default();
    let mut count = 0;
    // None after a path that is not followed: neither are its headers.
    let mut block = None;
    for (index, line) in text.lines().enumerate() {
        let (is_indented, words) = (line.starts_with([' ', '\t']), line.trim());
        if words.is_empty() || words.starts_with('#') {
            continue;
        }
        if !problems.accepts(index + 1, line) {
            block = block.filter(|_| is_indented);
            continue;
        }
        count += 1;
        if count > MOST_RULES {
            problems.add(index + 1, format!("there are more than {MOST_RULES} lines"));
            break;
        }
        if is_indented {
            match (read(words), block) {
                (Ok(header), Some(block)) => Vec::push(&mut rules.blocks[block], header),
                (Ok(_), None) => problems.add(index + 1, "belongs to no path that is followed"),
                (Err(words), _) => problems.add(index + 1, words),
            }
            continue;
        }
        block = match Pattern::parse(words).map_err(str::to_owned).and_then(|path| rules.add(path)) {
            Ok(block) => Some(block),
            Err(words) => {
                problems.add(index + 1, words);
                None
            }
        };
    }
    rules
}

fn read(line: &str) -> Result<(HeaderName, HeaderValue), String> {
    let (name, value) = line.split_once(':').ok_or("must be a name, a colon and a value")?;
    let (name, value) = (name.trim(), value.trim());
    let known = HeaderName::from_bytes(name.as_bytes()).map_err(|_| format!("{name:?} is not the name of a header"))?;
    if is_reserved_header(&known) || OF_FILES.contains(&known) {
        return Err(format!("{known} is for the edge to set"));
    }
    if value.len() > LONGEST_VALUE || value.chars().any(char::is_control) {
        return Err(format!("the value must have at most {LONGEST_VALUE} bytes, and no control characters"));
    }
    let value = HeaderValue::from_bytes(value.as_bytes()).map_err(|_| "the value cannot be sent")?;
    Ok((known, value))
}

impl HeaderRules {
    pub fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    /// A new block of headers for a path.
    fn add(&mut self, path: Pattern) -> Result<usize, String> {
        let block = self.blocks.len();
        match path.exact() {
            Some(exact) => self.exact.entry(exact).or_default().push(block),
            None if self.patterns.len() == MOST_PATTERNS => {
                return Err(format!("there are more than {MOST_PATTERNS} paths with * or a name after :"));
            }
            None => self.patterns.push((path, block)),
        }
        self.blocks.push(Vec::new());
        Ok(block)
    }

    /// In the place of what an answer has by itself, `Vary` apart: that the encoding is chosen stays true. A name that is there several
    /// times is sent several times. How long an answer may be kept is said of files only: what is not found now may be there soon.
    pub fn set(&self, path: &[u8], status: StatusCode, head: &mut HeaderMap) {
        if status.is_server_error() {
            return;
        }
        let is_file = status.is_success() || status == StatusCode::NOT_MODIFIED;
        let path = normal(path);
        let exact = self.exact.get(path).into_iter().flatten().copied();
        let patterns = self.patterns.iter().filter(|(pattern, _)| pattern.matches(path));
        let mut blocks: Vec<usize> = exact.chain(patterns.map(|(_, block)| *block)).collect();
        blocks.sort_unstable();
        let mut own = HeaderMap::new();
        for (name, value) in blocks.into_iter().flat_map(|block| &self.blocks[block]) {
            if is_file || !OF_CACHES.contains(name) {
                own.append(name, value.clone());
            }
        }
        for name in own.keys().filter(|name| **name != VARY) {
            head.remove(name);
        }
        for (name, value) in &own {
            head.append(name, value.clone());
        }
    }
}
