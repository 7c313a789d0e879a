//! What Cloudflare answers: a result, or errors in its own words.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::ZoneError;

const LONGEST_WORDS: usize = 300;
const LONGEST_ID: usize = 64;

// Cloudflare's numbers for what can go wrong.
const RECORD_EXISTS: [i64; 2] = [81_057, 81_058];
const RECORD_IS_GONE: i64 = 81_044;
/// A token that cannot be one: the status is that of a bad request.
const BAD_HEADERS: i64 = 6_003;

pub enum Answer {
    Result(Value),
    Refusal(Refusal),
}

pub struct Refusal {
    status: u16,
    codes: Vec<i64>,
    words: String,
}

/// How every answer is wrapped.
#[derive(Deserialize)]
struct Envelope {
    success: bool,
    #[serde(default)]
    errors: Vec<Problem>,
    #[serde(default)]
    result: Value,
}

#[derive(Deserialize)]
struct Problem {
    #[serde(default)]
    code: i64,
    #[serde(default)]
    message: String,
}

#[derive(Deserialize)]
pub struct Zone {
    #[serde(deserialize_with = "id")]
    pub id: String,
    pub name: String,
    #[serde(default)]
    pub status: Option<String>,
}

#[derive(Deserialize)]
pub struct Record {
    #[serde(deserialize_with = "id")]
    pub id: String,
    pub name: String,
    #[serde(default)]
    pub content: String,
}

impl Answer {
    /// A server in Cloudflare's place may repeat the token that it was sent: it is not passed on. None for what is said to be
    /// a success, and is nothing that can be understood.
    pub fn read(status: u16, body: &[u8], token: &str) -> Option<Self> {
        let is_success = (200..300).contains(&status);
        let errors = match serde_json::from_slice::<Envelope>(body) {
            Ok(envelope) if is_success && envelope.success => return Some(Self::Result(envelope.result)),
            Ok(envelope) => envelope.errors,
            // Servers on the way answer in HTML.
            Err(_) if !is_success => Vec::new(),
            Err(_) => return None,
        };
        let codes = errors.iter().map(|problem| problem.code).collect();
        Some(Self::Refusal(Refusal { status, codes, words: words(&errors, token) }))
    }

    pub fn says_that_it_exists(&self) -> bool {
        matches!(self, Self::Refusal(refusal) if RECORD_EXISTS.iter().any(|code| refusal.codes.contains(code)))
    }

    pub fn says_that_it_is_gone(&self) -> bool {
        matches!(self, Self::Refusal(refusal) if refusal.codes.contains(&RECORD_IS_GONE))
    }

    pub fn result(self, zone: &str) -> Result<Value, ZoneError> {
        match self {
            Self::Result(result) => Ok(result),
            Self::Refusal(refusal) => Err(refusal.sorted(zone)),
        }
    }

    pub fn list<T: DeserializeOwned>(self, zone: &str) -> Result<Vec<T>, ZoneError> {
        serde_json::from_value(self.result(zone)?).map_err(|_| not_understood(zone))
    }
}

impl Refusal {
    fn sorted(self, zone: &str) -> ZoneError {
        let zone = zone.to_owned();
        let reason = match self.words.is_empty() {
            true => format!("Cloudflare answers with status {}.", self.status),
            false => format!("Cloudflare says: {}.", self.words),
        };
        match self.status {
            401 | 403 => ZoneError::NotAllowed { zone, reason },
            _ if self.codes.contains(&BAD_HEADERS) => ZoneError::NotAllowed { zone, reason },
            429 | 500..=599 => ZoneError::Temporary { zone, reason },
            400..=499 => ZoneError::Refused { zone, reason },
            _ => ZoneError::BadAnswer { zone, reason },
        }
    }
}

pub fn not_understood(zone: &str) -> ZoneError {
    let reason = "The answer of Cloudflare is not what its API describes.".to_owned();
    ZoneError::BadAnswer { zone: zone.to_owned(), reason }
}

/// One short line, without the signs that could be mistaken for another line of a log.
fn words(problems: &[Problem], token: &str) -> String {
    let said = |problem: &Problem| format!("{} ({})", problem.message.trim().trim_end_matches('.'), problem.code);
    let all = problems.iter().map(said).collect::<Vec<_>>().join("; ").replace(token, "…");
    all.chars().map(|sign| if sign.is_control() { ' ' } else { sign }).take(LONGEST_WORDS).collect()
}

/// It becomes a part of an address, so it must not lead elsewhere.
fn id<'de, D: serde::Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    let id = String::deserialize(from)?;
    let is_id = (1..=LONGEST_ID).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_alphanumeric());
    if is_id { Ok(id) } else { Err(serde::de::Error::custom("not an id")) }
}

#[cfg(test)]
mod properties {
    use proptest::prelude::*;

    use super::*;

    const TOKEN: &str = "hidden-token";

    fn problem() -> impl Strategy<Value = Value> {
        let message = "(\\PC|\n|hidden-token){0,40}";
        let code = prop::sample::select(vec![0, 1_000, 6_003, 10_000, 81_044, 81_057]);
        (message, code).prop_map(|(message, code)| serde_json::json!({ "code": code, "message": message }))
    }

    proptest! {
        /// Whatever is said, the words are one short line without the token.
        #[test]
        fn words_are_a_line_without_the_token(
            status in 100..700_u16, success: bool, errors in prop::collection::vec(problem(), 0..9),
        ) {
            let body = serde_json::json!({ "success": success, "errors": errors, "result": null }).to_string();
            let Some(answer) = Answer::read(status, body.as_bytes(), TOKEN) else { return Ok(()) };
            let Err(error) = answer.result("example.org") else { return Ok(()) };
            let said = error.to_string();
            prop_assert!(!said.contains(TOKEN) && !said.contains('\n'), "{said}");
            prop_assert!(said.chars().count() < LONGEST_WORDS + 200, "{said}");
        }

        /// An id that is taken is one part of a path.
        #[test]
        fn ids_lead_nowhere_else(id in "\\PC{0,9}|[a-f0-9./?#%]{0,70}") {
            let zone: Result<Zone, _> = serde_json::from_value(serde_json::json!({ "id": id, "name": "example.org" }));
            if let Ok(zone) = zone {
                prop_assert!(zone.id.bytes().all(|byte| byte.is_ascii_alphanumeric()) && !zone.id.is_empty());
            }
        }

        #[test]
        fn any_body_is_read_or_not(status in 100..700_u16, body in prop::collection::vec(any::<u8>(), 0..99)) {
            let answer = Answer::read(status, &body, TOKEN);
            prop_assert!(!matches!(answer, Some(Answer::Result(_))));
        }
    }
}
