//! Paths with places in them: `/blog/:year/*`.

use std::collections::HashMap;

/// A path that rules are about.
#[derive(Debug, PartialEq, Eq)]
pub struct Pattern {
    segments: Vec<Segment>,
    /// Whether it ends in `*`, which stands for any rest, also none.
    has_rest: bool,
}

#[derive(Debug, PartialEq, Eq)]
enum Segment {
    Exactly(Vec<u8>),
    Named(String),
}

/// Each is looked at for each request.
const MOST_SEGMENTS: usize = 32;

/// What stands in the places of a path that matches, not encoded.
pub type Places<'a> = HashMap<&'a str, &'a [u8]>;

/// The name of what `*` stands for.
pub const REST: &str = "splat";

impl Pattern {
    /// Of a path as it is written in a file: with escapes, or without.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        let Some(path) = text.strip_prefix('/') else { return Err("the path must begin with /") };
        let (path, has_rest) = match path.strip_suffix('*') {
            Some(before) if before.is_empty() || before.ends_with('/') => (before, true),
            Some(_) => return Err("* must stand alone between slashes"),
            None => (path, false),
        };
        if path.contains('*') {
            return Err("* can only be the last part of a path");
        }
        let parts = path.split('/').filter(|part| !part.is_empty());
        let segments: Vec<Segment> = parts
            .map(|part| match part.strip_prefix(':') {
                None if part.contains([':', '?', '#']) => {
                    Err(": must be the first of a part, and ? and # cannot be in a path")
                }
                Some(name) if is_name(name) => Ok(Segment::Named(name.to_owned())),
                Some(_) => Err("what follows : must be letters, digits and _"),
                None => Ok(Segment::Exactly(percent_encoding::percent_decode_str(part).collect())),
            })
            .collect::<Result<_, _>>()?;
        if segments.len() > MOST_SEGMENTS {
            return Err("the path has more than 32 parts");
        }
        Ok(Self { segments, has_rest })
    }

    /// Whether one path matches only.
    pub fn is_exact(&self) -> bool {
        !self.has_rest && self.segments.iter().all(|segment| matches!(segment, Segment::Exactly(_)))
    }

    /// The path that matches, if it is exact, in the form of [`normal`].
    pub fn exact(&self) -> Option<Vec<u8>> {
        let parts = self.segments.iter().map(|segment| match segment {
            Segment::Exactly(part) => Some(part.as_slice()),
            Segment::Named(_) => None,
        });
        self.is_exact().then(|| parts.flatten().collect::<Vec<_>>().join(&b'/'))
    }

    pub fn has_place(&self, name: &str) -> bool {
        let is_named = |segment: &Segment| matches!(segment, Segment::Named(known) if known == name);
        (self.has_rest && name == REST) || self.segments.iter().any(is_named)
    }

    /// Whether a path in the form of [`normal`] does.
    pub fn matches(&self, path: &[u8]) -> bool {
        let mut parts = parts(path);
        let all = self.segments.iter().all(|segment| match (segment, parts.next()) {
            (Segment::Exactly(wanted), Some(part)) => wanted == part,
            (Segment::Named(_), Some(_)) => true,
            (_, None) => false,
        });
        all && (self.has_rest || parts.next().is_none())
    }

    /// What stands in the places of a path that matches.
    pub fn places<'a>(&'a self, path: &'a [u8]) -> Places<'a> {
        let named = self.segments.iter().zip(parts(path)).filter_map(|(segment, part)| match segment {
            Segment::Named(name) => Some((name.as_str(), part)),
            Segment::Exactly(_) => None,
        });
        let before = parts(path).take(self.segments.len()).map(|part| part.len() + 1).sum::<usize>();
        let rest = self.has_rest.then(|| (REST, path.get(before..).unwrap_or_default()));
        named.chain(rest).collect()
    }
}

fn parts(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    let parts = path.split(|byte| *byte == b'/');
    parts.filter(move |_| !path.is_empty())
}

/// A request's path without its first slash and without a last one: `/docs/` and `/docs` are the same to rules.
pub fn normal(path: &[u8]) -> &[u8] {
    let path = path.strip_prefix(b"/").unwrap_or(path);
    path.strip_suffix(b"/").unwrap_or(path)
}

pub fn is_name(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}
