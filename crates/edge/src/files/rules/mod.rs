//! What a site says about its own paths, in two files at its root: `_redirects` and `_headers`, as other hosts of static sites read them.
//!
//! Their author may be hostile: both are bounded, nothing in them is evaluated, and what cannot be followed is left out with a problem that
//! names its line.

mod headers;
mod pattern;
mod redirects;
#[cfg(test)]
mod tests;

use hyper::{HeaderMap, StatusCode};

use self::headers::HeaderRules;
use self::redirects::Redirects;
pub use self::redirects::{Redirect, Redirected};

pub const REDIRECTS: &str = "_redirects";
pub const HEADERS: &str = "_headers";
/// Of each of the two files.
pub const MOST_BYTES: usize = 64 * 1024;
/// Lines of one file that count.
const MOST_RULES: usize = 1_000;
/// Bytes of a line that counts.
const LONGEST_LINE: usize = 8 * 1024;
/// Rules of one file with `*` or a name in them: a request is compared with each.
const MOST_PATTERNS: usize = 100;

#[derive(Debug, Default)]
pub struct Rules {
    redirects: Redirects,
    headers: HeaderRules,
}

/// A line that is not followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleProblem {
    pub file: &'static str,
    pub line: usize,
    pub words: String,
}

/// Collected while a file is read.
struct Problems {
    file: &'static str,
    all: Vec<RuleProblem>,
}

impl Rules {
    /// Of the texts of the two files, empty where there is none.
    pub fn parse(redirects: &str, headers: &str) -> (Self, Vec<RuleProblem>) {
        let mut of_redirects = Problems { file: REDIRECTS, all: Vec::new() };
        let mut of_headers = Problems { file: HEADERS, all: Vec::new() };
        let rules = Self {
            redirects: redirects::parse(bounded(redirects, &mut of_redirects), &mut of_redirects),
            headers: headers::parse(bounded(headers, &mut of_headers), &mut of_headers),
        };
        of_redirects.all.extend(of_headers.all);
        (rules, of_redirects.all)
    }

    pub fn is_empty(&self) -> bool {
        self.redirects.is_empty() && self.headers.is_empty()
    }

    /// Where a path leads.
    pub fn redirect(&self, path: &[u8]) -> Redirected {
        self.redirects.find(path)
    }

    /// Sets what the site wants for a path on an answer with this status.
    pub fn set_headers(&self, path: &[u8], status: StatusCode, head: &mut HeaderMap) {
        self.headers.set(path, status, head);
    }
}

impl Problems {
    /// False for a line that is too long.
    fn accepts(&mut self, number: usize, line: &str) -> bool {
        let is_short = line.len() <= LONGEST_LINE;
        if !is_short {
            self.add(number, format!("the line has more than {LONGEST_LINE} bytes"));
        }
        is_short
    }

    fn add(&mut self, line: usize, words: impl Into<String>) {
        self.all.push(RuleProblem { file: self.file, line, words: words.into() });
    }
}

/// Whole lines of it.
fn bounded<'a>(text: &'a str, problems: &mut Problems) -> &'a str {
    if text.len() <= MOST_BYTES {
        return text;
    }
    let end = text.floor_char_boundary(MOST_BYTES);
    let end = text[..end].rfind('\n').unwrap_or(0);
    let line = text[..end].lines().count() + 1;
    problems.add(line, format!("from here on nothing is followed: the file has more than {} KiB", MOST_BYTES / 1024));
    &text[..end]
}

/// Whether a request's path is that of a file with rules, which is not served.
pub fn is_rule_file(path: &[u8]) -> bool {
    path.strip_prefix(b"/").is_some_and(|name| name == REDIRECTS.as_bytes() || name == HEADERS.as_bytes())
}

/// The files that can answer for a path that a rule leads to, in this order, from the folder.
pub fn file_names(path: &[u8]) -> Vec<Vec<u8>> {
    if is_rule_file(path) {
        return Vec::new();
    }
    let name = path.strip_prefix(b"/").unwrap_or(path);
    if name.is_empty() || name.ends_with(b"/") {
        return vec![[name, b"index.html"].concat()];
    }
    vec![name.to_vec(), [name, b".html"].concat(), [name, b"/index.html"].concat()]
}
