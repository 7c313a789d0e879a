//! `_redirects`: a line each, `/from /to [status]`. The first that matches counts.

use std::borrow::Cow;
use std::collections::HashMap;

use hyper::StatusCode;

use super::pattern::{Pattern, Places, is_name, normal};
use super::{MOST_PATTERNS, MOST_RULES, Problems};
use crate::files::path::encode;

/// In where a rule leads: each can be as long as a request's path.
const MOST_PLACES: usize = 8;
/// Of what a visitor is sent to; a longer one is none.
const LONGEST_LOCATION: usize = 8 * 1024;

/// What is done with a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Redirect {
    /// The visitor is sent there.
    Elsewhere { status: StatusCode, location: String },
    /// The file of that path is the answer, with status 200 or 404. Decoded, with its first slash.
    File { path: Vec<u8>, is_found: bool },
    /// It leads to what cannot be a file of the site.
    Nowhere,
}

/// What rules say of a path.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Redirected {
    /// By the first that matches, if that counts whether there is a file or not.
    pub at_once: Option<Redirect>,
    /// If there is a file.
    pub with_file: Option<Redirect>,
    /// If there is none.
    pub without_file: Option<Redirect>,
}

#[derive(Debug, Default)]
pub struct Redirects {
    rules: Vec<Rule>,
    /// Those that match one path, by that path.
    exact: HashMap<Vec<u8>, Vec<usize>>,
    /// The others.
    patterns: Vec<usize>,
    has_forced: bool,
}

#[derive(Debug)]
struct Rule {
    from: Pattern,
    to: Vec<Piece>,
    does: Action,
    /// Also where there is a file.
    is_forced: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Action {
    Send(StatusCode),
    Answer { is_found: bool },
}

#[derive(Debug)]
enum Piece {
    Text(String),
    Place(String),
}

pub fn parse(text: &str, problems: &mut Problems) -> Redirects {
    let mut redirects = Redirects::default();
    for (index, line) in text.lines().enumerate() {
        if !problems.accepts(index + 1, line) {
            continue;
        }
        let line = line.split(" #").next().unwrap_or_default().trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Err(words) = read(line).and_then(|rule| redirects.add(rule)) {
            problems.add(index + 1, words);
        }
    }
    redirects
}

fn read(line: &str) -> Result<Rule, String> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let (from, to, status) = match words[..] {
        [from, to] => (from, to, "301"),
        [from, to, status] => (from, to, status),
        _ => return Err("must be a path, where it leads, and perhaps a status; conditions are not supported".into()),
    };
    let from = Pattern::parse(from)?;
    let (status, is_forced) = match status.strip_suffix('!') {
        Some(status) => (status, true),
        None => (status, false),
    };
    let does = match status {
        "301" | "302" | "303" | "307" | "308" => Action::Send(status.parse().map_err(|_| "no status")?),
        "200" => Action::Answer { is_found: true },
        "404" => Action::Answer { is_found: false },
        _ => return Err(format!("{status:?} is none of 200, 301, 302, 303, 307, 308 and 404")),
    };
    let to = target(to, &from, does)?;
    Ok(Rule { from, to, does, is_forced })
}

/// Where it leads. Only what comes after the host can depend on the visitor.
fn target(text: &str, from: &Pattern, does: Action) -> Result<Vec<Piece>, String> {
    let path = match text.strip_prefix("https://").or_else(|| text.strip_prefix("http://")) {
        Some(_) if matches!(does, Action::Answer { .. }) => {
            return Err(
                "answers of other servers are not fetched: with 200 and 404 it must be a path of the site".into()
            );
        }
        Some(address) => match address.find(['/', '?', '#']) {
            end if is_host(&address[..end.unwrap_or(address.len())]) => &address[end.unwrap_or(address.len())..],
            _ => return Err("the address needs a host that is a plain name".into()),
        },
        None if text.starts_with('/') && !text.starts_with("//") => text,
        None => return Err("where it leads must begin with /, http:// or https://".into()),
    };
    let mut pieces = vec![Piece::Text(text[..text.len() - path.len()].to_owned())];
    for part in split_places(path) {
        match part.strip_prefix(':').filter(|name| is_name(name)) {
            Some(name) if from.has_place(name) => pieces.push(Piece::Place(name.to_owned())),
            Some(name) => return Err(format!("the path has no :{name}")),
            None => pieces.push(Piece::Text(part.to_owned())),
        }
    }
    let is_plain = |piece: &Piece| match piece {
        Piece::Text(text) => text.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\'),
        Piece::Place(_) => true,
    };
    if !pieces.iter().all(is_plain) {
        return Err("where it leads must be written in ASCII without backslashes; encode other characters".into());
    }
    if pieces.iter().filter(|piece| matches!(piece, Piece::Place(_))).count() > MOST_PLACES {
        return Err(format!("where it leads has more than {MOST_PLACES} places"));
    }
    Ok(pieces)
}

/// A name or an address, and perhaps a port.
fn is_host(text: &str) -> bool {
    let (name, port) = match text.rsplit_once(':') {
        Some((name, port)) if !port.contains(']') => (name, Some(port)),
        _ => (text, None),
    };
    let is_address = name.strip_prefix('[').and_then(|name| name.strip_suffix(']'));
    let is_address = is_address.is_some_and(|address| address.parse::<std::net::Ipv6Addr>().is_ok());
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-');
    let is_port = |port: &str| port.parse::<u16>().is_ok() && port.bytes().all(|byte| byte.is_ascii_digit());
    (is_address || (!name.is_empty() && name.bytes().all(is_plain))) && port.is_none_or(is_port)
}

/// `/a/:b.html` becomes `/a/`, `:b`, `.html`.
fn split_places(path: &str) -> Vec<&str> {
    let (mut parts, mut rest) = (Vec::new(), path);
    while let Some(start) = rest.find(':') {
        let name = rest[start + 1..].bytes().take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_').count();
        let end = start + 1 + name;
        parts.extend([&rest[..start], &rest[start..end]]);
        rest = &rest[end..];
    }
    parts.push(rest);
    parts.retain(|part| !part.is_empty());
    parts
}

impl Redirects {
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    fn add(&mut self, rule: Rule) -> Result<(), String> {
        if self.rules.len() == MOST_RULES {
            return Err(format!("there are more than {MOST_RULES} lines"));
        }
        let index = self.rules.len();
        match rule.from.exact() {
            Some(path) => self.exact.entry(path).or_default().push(index),
            None if self.patterns.len() == MOST_PATTERNS => {
                return Err(format!("there are more than {MOST_PATTERNS} lines with * or a name after :"));
            }
            None => self.patterns.push(index),
        }
        self.has_forced |= rule.is_forced;
        self.rules.push(rule);
        Ok(())
    }

    pub fn find(&self, path: &[u8]) -> Redirected {
        if self.is_empty() {
            return Redirected::default();
        }
        let normal = normal(path);
        let Some(first) = self.first(normal, |_| true) else { return Redirected::default() };
        if first.is_forced {
            return Redirected { at_once: first.redirect(path, normal), ..Redirected::default() };
        }
        let forced = if self.has_forced { self.first(normal, |rule| rule.is_forced) } else { None };
        let with_file = forced.and_then(|rule| rule.redirect(path, normal));
        Redirected { with_file, without_file: first.redirect(path, normal), at_once: None }
    }

    /// The first rule of this kind that matches.
    fn first(&self, normal: &[u8], is_meant: impl Fn(&Rule) -> bool) -> Option<&Rule> {
        let is_meant = |index: &&usize| is_meant(&self.rules[**index]);
        let exact = self.exact.get(normal).into_iter().flatten().find(is_meant);
        let patterns = self.patterns.iter().take_while(|index| exact.is_none_or(|exact| *index < exact));
        let pattern = patterns.filter(is_meant).find(|index| self.rules[**index].from.matches(normal));
        pattern.or(exact).map(|index| &self.rules[*index])
    }
}

impl Rule {
    /// None if it leads to where the visitor is.
    fn redirect(&self, path: &[u8], normal: &[u8]) -> Option<Redirect> {
        let places = self.from.places(normal);
        let mut location = String::new();
        for piece in &self.to {
            location += &piece.encoded(&places);
            if location.len() > LONGEST_LOCATION {
                return Some(Redirect::Nowhere);
            }
        }
        // A place can be empty, and two slashes would begin the name of a host.
        while location.starts_with("//") {
            location.remove(0);
        }
        match self.does {
            Action::Send(status) => (location != encode(path)).then_some(Redirect::Elsewhere { status, location }),
            Action::Answer { is_found } => {
                let path = location.split(['?', '#']).next().unwrap_or_default();
                let path = crate::files::path::decode(path).map(Cow::into_owned);
                Some(path.map_or(Redirect::Nowhere, |path| Redirect::File { path, is_found }))
            }
        }
    }
}

impl Piece {
    fn encoded(&self, places: &Places<'_>) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Place(name) => encode(places.get(name.as_str()).copied().unwrap_or_default()),
        }
    }
}
