//! The table of channels, and what goes into and comes out of each.

use std::fmt;

use url::Url;

use crate::{Message, SigningSecret, discord, ntfy, slack, teams, telegram, webhook};

/// A kind of address that messages go to.
pub struct Channel {
    pub name: &'static str,
    /// Whether this channel can write to a URL: asked before it is saved.
    pub check: fn(&Url) -> Result<(), BadDestination>,
    /// What is to be posted. Fails only for a URL that `check` refuses.
    pub request: fn(&Message, &Destination, &Attempt) -> Result<Request, BadDestination>,
    /// What is to be posted in its place to a receiver that has answered with this status and these words, because it cannot read it.
    pub simpler: fn(&Message, &Destination, u16, &str) -> Option<Request>,
}

pub static CHANNELS: [Channel; 6] = [
    Channel { name: "slack", check: check_web, request: slack::request, simpler: nothing_simpler },
    Channel { name: "discord", check: check_web, request: discord::request, simpler: nothing_simpler },
    Channel { name: "webhook", check: check_web, request: webhook::request, simpler: nothing_simpler },
    Channel { name: "teams", check: check_web, request: teams::request, simpler: nothing_simpler },
    Channel { name: "telegram", check: telegram::check, request: telegram::request, simpler: telegram::simpler },
    Channel { name: "ntfy", check: ntfy::check, request: ntfy::request, simpler: nothing_simpler },
];

fn nothing_simpler(_: &Message, _: &Destination, _: u16, _: &str) -> Option<Request> {
    None
}

pub fn channel(name: &str) -> Option<&'static Channel> {
    CHANNELS.iter().find(|channel| channel.name == name)
}

/// Where messages go. The URL is a secret in most channels.
#[derive(Clone)]
pub struct Destination {
    pub url: Url,
    /// What the generic webhook is signed with: the newest, and during a rotation the one before. Others ignore them.
    pub secrets: Vec<SigningSecret>,
}

/// One try to deliver a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attempt {
    /// The same in each try of the same message, so that a receiver notices one that came twice.
    pub id: String,
    /// When this try is made, in seconds since 1970.
    pub timestamp: i64,
}

/// What to send with POST.
#[derive(Clone, PartialEq, Eq)]
pub struct Request {
    pub url: Url,
    pub headers: Vec<(&'static str, String)>,
    pub body: Vec<u8>,
}

/// Reads after the name of a field: "The URL …".
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("The URL {reason}.")]
pub struct BadDestination {
    pub reason: &'static str,
}

impl Request {
    pub(crate) fn json(url: Url, body: &serde_json::Value) -> Self {
        let headers = vec![("content-type", "application/json".to_owned())];
        Self { url, headers, body: body.to_string().into_bytes() }
    }
}

/// Path, query and headers are secrets.
impl fmt::Debug for Destination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Destination").field("host", &self.url.host_str()).finish_non_exhaustive()
    }
}

/// Path, query and headers are secrets.
impl fmt::Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request").field("host", &self.url.host_str()).finish_non_exhaustive()
    }
}

pub(crate) fn check_web(url: &Url) -> Result<(), BadDestination> {
    let refuse = |reason| Err(BadDestination { reason });
    if !matches!(url.scheme(), "https" | "http") {
        return refuse("must begin with https:// or http://");
    }
    // What sends requests refuses them, because they would be left out silently.
    if !url.username().is_empty() || url.password().is_some() {
        return refuse("must not have a user name or a password before the host");
    }
    if url.host().is_none() {
        return refuse("names no host");
    }
    Ok(())
}
