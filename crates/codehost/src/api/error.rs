//! Why a code host did not do what it was asked for.

use std::fmt;

use httpdate::parse_http_date;
use serde_json::Value;
use windlass_api::CodeHost;

use super::exchange::ApiAnswer;

/// Its `Display` says to people what is wrong and what to do. A `reason` is what the host says, on one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ApiError {
    /// Nothing was sent, because what was given cannot be right.
    BadInput(&'static str),
    BadToken,
    Forbidden {
        reason: String,
    },
    /// Also what the token's account may not see.
    NotFound,
    /// It has another name or address now.
    Moved,
    RateLimited {
        /// None if the host does not say how long.
        seconds: Option<u64>,
    },
    Refused {
        status: u16,
        reason: String,
    },
    Unavailable {
        status: u16,
    },
    /// Such as a page for people, or an answer that was cut off.
    Unreadable,
}

impl ApiError {
    /// Whether the same request can succeed later, without that a person does anything.
    pub fn is_temporary(&self) -> bool {
        matches!(self, Self::RateLimited { .. } | Self::Unavailable { .. })
    }
}

impl fmt::Display for ApiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BadInput(problem) => f.write_str(problem),
            Self::BadToken => {
                f.write_str("The code host does not accept the token: it is wrong, expired or revoked. Store a new one.")
            }
            Self::Forbidden { reason } => write!(
                f,
                "The token may not do this{}. Give it the permission that is missing, or use one of an account that has it.",
                Said(reason)
            ),
            Self::NotFound => f.write_str(
                "The code host does not have this, or the token's account may not see it. Check the name, and what the token may see.",
            ),
            Self::Moved => {
                f.write_str("The code host has this under another name or address now. Use the new one.")
            }
            Self::RateLimited { seconds: Some(seconds) } => {
                write!(f, "The code host takes no more requests for now. Try again in {seconds} seconds.")
            }
            Self::RateLimited { seconds: None } => {
                f.write_str("The code host takes no more requests for now. Try again in some minutes.")
            }
            Self::Refused { status, reason } => {
                write!(f, "The code host refused the request with status {status}{}.", Said(reason))
            }
            Self::Unavailable { status } => {
                write!(f, "The code host could not answer: status {status}. Try again later, or ask those who run it.")
            }
            Self::Unreadable => f.write_str(
                "The code host's answer cannot be read. Check that the address is right, and what kind of host is there.",
            ),
        }
    }
}

impl std::error::Error for ApiError {}

/// What the host says, if it says anything.
struct Said<'a>(&'a str);

impl fmt::Display for Said<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.trim_end_matches('.') {
            "" => Ok(()),
            reason => write!(f, ": {reason}"),
        }
    }
}

/// Of an answer whose status is not a success.
pub(super) fn failure(host: CodeHost, answer: &ApiAnswer) -> ApiError {
    // A longer one says nothing to people, and is not worth its memory.
    let is_short = answer.body.len() <= LONGEST_ERROR;
    let body = Some(&answer.body)
        .filter(|_| is_short)
        .and_then(|body| serde_json::from_slice(body).ok())
        .unwrap_or(Value::Null);
    let reason = reason(answer, &body);
    match answer.status {
        300..=399 => ApiError::Moved,
        401 if is_missing_permission(&body) => ApiError::Forbidden { reason },
        401 => ApiError::BadToken,
        429 => ApiError::RateLimited { seconds: seconds_to_wait(answer) },
        403 if is_rate_limit(answer, &reason) => ApiError::RateLimited { seconds: seconds_to_wait(answer) },
        403 => ApiError::Forbidden { reason },
        404 => ApiError::NotFound,
        // Gitea fails like this for a commit or a pull request that is not there, which does not come right by itself.
        500 if matches!(host, CodeHost::Gitea | CodeHost::Forgejo) && reason.contains("does not exist") => {
            ApiError::NotFound
        }
        status @ (408 | 500..) => ApiError::Unavailable { status },
        status => ApiError::Refused { status, reason },
    }
}

/// Bitbucket Server says 401 also for a good token whose account lacks a permission.
fn is_missing_permission(body: &Value) -> bool {
    let exception = body.pointer("/errors/0/exceptionName").and_then(Value::as_str);
    exception.is_some_and(|name| name.ends_with(".AuthorisationException"))
}

/// GitHub says 403 for this too.
fn is_rate_limit(answer: &ApiAnswer, reason: &str) -> bool {
    let is_used_up = answer.header("x-ratelimit-remaining") == Some("0");
    is_used_up || answer.header("retry-after").is_some() || reason.to_lowercase().contains("rate limit")
}

/// Longer than any limit of a host lasts.
const LONGEST_WAIT: u64 = 24 * 60 * 60;

fn seconds_to_wait(answer: &ApiAnswer) -> Option<u64> {
    let number = |name: &str| answer.header(name).and_then(|value| value.trim().parse::<u64>().ok());
    let until_reset = |prefix: &str| {
        let is_used_up = number(&format!("{prefix}ratelimit-remaining")) == Some(0);
        let reset = number(&format!("{prefix}ratelimit-reset")).filter(|_| is_used_up)?;
        // By the host's own clock.
        let now = parse_http_date(answer.header("date")?).ok()?.duration_since(std::time::UNIX_EPOCH).ok()?;
        Some(reset.saturating_sub(now.as_secs()))
    };
    let seconds = number("retry-after").or_else(|| until_reset("x-")).or_else(|| until_reset(""));
    seconds.map(|seconds| seconds.min(LONGEST_WAIT))
}

const LONGEST_ERROR: usize = 64 * 1024;
const LONGEST_REASON: usize = 300;
/// What of a longer text is looked at.
const LOOKED_AT: usize = 4 * LONGEST_REASON;

fn reason(answer: &ApiAnswer, body: &Value) -> String {
    match body {
        // GitLab's front end and some others answer with plain text. A page for people says nothing in few words.
        Value::Null => {
            let text = String::from_utf8_lossy(&answer.body[..answer.body.len().min(LOOKED_AT)]);
            if text.trim_start().starts_with(['<', '{', '[']) { String::new() } else { on_one_line(&text) }
        }
        body => on_one_line(&said_in(body)),
    }
}

/// Every host has its own form of an error; these are the fields in which they say it to people.
fn said_in(value: &Value) -> String {
    const SAID: [&str; 5] = ["message", "error", "error_description", "errors", "detail"];
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Bool(_) | Value::Number(_) => value.to_string(),
        Value::Array(items) => joined(items.iter().map(said_in), ", "),
        Value::Object(fields) => {
            let said = joined(SAID.iter().filter_map(|name| fields.get(*name)).map(sentence), ": ");
            if !said.is_empty() {
                return said;
            }
            joined(fields.iter().map(|(name, value)| format!("{name} {}", said_in(value))), ", ")
        }
    }
}

/// Something may follow it.
fn sentence(value: &Value) -> String {
    said_in(value).trim_end_matches('.').to_owned()
}

fn joined(parts: impl Iterator<Item = String>, between: &str) -> String {
    let parts: Vec<_> = parts.filter(|part| !part.trim().is_empty()).collect();
    parts.join(between)
}

fn on_one_line(text: &str) -> String {
    let visible = text.chars().take(LOOKED_AT).map(|c| if c.is_control() { ' ' } else { c }).collect::<String>();
    let words: Vec<_> = visible.split_whitespace().collect();
    words.join(" ").chars().take(LONGEST_REASON).collect()
}
