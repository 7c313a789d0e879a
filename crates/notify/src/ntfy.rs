//! ntfy, by the URL of a topic: `https://ntfy.sh/<topic>`. A server of one's own has another host.
//!
//! An access token stands after the question mark, as `?auth=tk_…`, or `auth` is what ntfy documents for it: the base64 of a whole
//! `Authorization` header. It is sent as that header, so that it is in no log of URLs.
//!
//! The message is published as JSON, because headers carry no line breaks and not every letter. It is plain text, in which apps
//! find links by themselves; so these are taken apart.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use serde_json::{Value, json};
use url::Url;

use crate::channel::check_web;
use crate::cleaned::Cleaned;
use crate::text::{bytes, cut, cut_start, unlinked};
use crate::{Attempt, BadDestination, Destination, Message, Mood, Request};

/// Longer messages become files.
const WHOLE: usize = 4096;
/// Of the JSON, in which a quotation mark takes two.
const WHOLE_BODY: usize = 8192;
const TITLE: usize = 250;
const ALL_LINES: usize = 1200;
const ALL_FACTS: usize = 1000;
const FOOTER: usize = 300;

struct Topic {
    /// The server, to which JSON is published.
    root: Url,
    name: String,
    authorization: Option<String>,
}

pub(crate) fn check(url: &Url) -> Result<(), BadDestination> {
    topic(url).map(|_| ())
}

pub(crate) fn request(
    message: &Message,
    destination: &Destination,
    _attempt: &Attempt,
) -> Result<Request, BadDestination> {
    let topic = topic(&destination.url)?;
    let said = Cleaned::of(message);
    let mut request = Request::json(topic.root, &fitting(&topic.name, &said));
    if let Some(authorization) = topic.authorization {
        request.headers.push(("authorization", authorization));
    }
    Ok(request)
}

fn topic(url: &Url) -> Result<Topic, BadDestination> {
    check_web(url)?;
    let refuse = |reason| Err(BadDestination { reason });
    let mut segments: Vec<&str> = url.path_segments().map(Iterator::collect).unwrap_or_default();
    let is_topic = |name: &str| {
        let is_usual = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_');
        (1..=64).contains(&name.len()) && name.chars().all(is_usual)
    };
    let Some(name) = segments.pop().filter(|name| is_topic(name)) else {
        return refuse("must end with the topic, of up to 64 letters, digits, - and _");
    };
    let mut authorization = None;
    for (key, value) in url.query_pairs() {
        if key != "auth" {
            return refuse("may have auth after the question mark, and nothing else");
        }
        authorization = Some(header(&value).ok_or(BadDestination { reason: "has an auth that is no access token" })?);
    }
    let mut root = url.clone();
    root.set_path(&format!("{}/", segments.join("/")));
    root.set_query(None);
    root.set_fragment(None);
    Ok(Topic { root, name: name.to_owned(), authorization })
}

/// The header for a token, or the header that is written in base64.
fn header(auth: &str) -> Option<String> {
    let is_token = |token: &str| !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_graphic());
    if auth.starts_with("tk_") {
        return is_token(auth).then(|| format!("Bearer {auth}"));
    }
    let encoded = auth.trim_end_matches('=');
    let decoded = URL_SAFE_NO_PAD.decode(encoded).or_else(|_| STANDARD_NO_PAD.decode(encoded)).ok()?;
    let header = String::from_utf8(decoded).ok()?;
    let (scheme, token) = header.split_once(' ')?;
    (matches!(scheme, "Bearer" | "Basic") && is_token(token)).then_some(header)
}

/// Cut further while what JSON escapes makes it too long.
fn fitting(topic: &str, said: &Cleaned) -> Value {
    let mut limit = WHOLE;
    loop {
        let body = body(topic, said, limit);
        if body.to_string().len() <= WHOLE_BODY || limit == 0 {
            return body;
        }
        limit /= 2;
    }
}

fn body(topic: &str, said: &Cleaned, limit: usize) -> Value {
    let mut body = json!({
        "topic": topic,
        "title": cut(&unlinked(&said.title), TITLE, bytes),
        "message": cut(&text(said), limit, bytes),
        "priority": if said.mood == Mood::Bad { 4 } else { 3 },
    });
    if let Some(tag) = tag(said.mood) {
        body["tags"] = json!([tag]);
    }
    if let Some(link) = &said.link {
        body["click"] = link.url.clone().into();
    }
    body
}

/// ntfy shows a sign for these.
fn tag(mood: Mood) -> Option<&'static str> {
    match mood {
        Mood::Plain => None,
        Mood::Good => Some("white_check_mark"),
        Mood::Warning => Some("warning"),
        Mood::Bad => Some("rotating_light"),
    }
}

/// Never empty: ntfy would write words of its own.
fn text(said: &Cleaned) -> String {
    let lines = cut(&unlinked(&said.lines.join("\n")), ALL_LINES, bytes);
    let facts: Vec<String> = said.facts.iter().map(|(name, value)| format!("{name}: {value}")).collect();
    let facts = cut(&unlinked(&facts.join("\n")), ALL_FACTS, bytes);
    let footer = cut(&unlinked(&said.footer), FOOTER, bytes);
    let left = WHOLE - ALL_LINES - ALL_FACTS - FOOTER - "\n\n".len() * 3;
    let quoted = said.quoted.as_deref().map(|text| cut_start(&unlinked(text), left, bytes)).unwrap_or_default();
    let parts = [lines, facts, quoted, footer].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>();
    if parts.is_empty() { unlinked(&said.title) } else { parts.join("\n\n") }
}
