//! What can go wrong, sorted by what is to be done about it.

use instant_acme::{Error, Problem};
use windlass_outgoing::CallError;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AcmeError {
    /// It may answer later.
    #[error("The certificate authority does not answer: {0}")]
    Unreachable(String),
    /// Too much was asked of it.
    #[error("The certificate authority asks for fewer orders: {0}")]
    RateLimited(String),
    /// The account is not there any more, or not allowed to order.
    #[error("The certificate authority does not accept the account: {0}")]
    BadAccount(String),
    /// What was begun cannot be gone on with; another order may succeed.
    #[error("The order at the certificate authority has ended: {0}")]
    OrderGone(String),
    #[error("The certificate authority does not know what it was asked")]
    Unsupported,
    /// It has looked at what was asked, and says no.
    #[error("The certificate authority refuses: {0}")]
    Refused(String),
}

/// Authorities write whole paragraphs.
const LONGEST: usize = 500;

impl AcmeError {
    /// The authority's own words.
    pub(crate) fn of_problem(problem: &Problem) -> Self {
        let kind = problem.r#type.as_deref().and_then(|kind| kind.strip_prefix("urn:ietf:params:acme:error:"));
        let words = words(problem);
        match (kind, problem.status) {
            (Some("rateLimited"), _) | (_, Some(429)) => Self::RateLimited(words),
            (Some("accountDoesNotExist"), _) => Self::BadAccount(words),
            // The same word is for a name that the account may not order for.
            (Some("unauthorized"), Some(401 | 403)) if words.to_ascii_lowercase().contains("account") => {
                Self::BadAccount(words)
            }
            (Some("badNonce" | "serverInternal"), _) | (_, Some(500..=599)) => Self::Unreachable(words),
            (Some("malformed"), Some(404)) | (_, Some(404)) => Self::OrderGone(words),
            _ => Self::Refused(words),
        }
    }
}

/// One line, without the signs that could be mistaken for markup or another line of a log.
fn words(problem: &Problem) -> String {
    let mut parts: Vec<&str> = problem.detail.as_deref().into_iter().collect();
    parts.extend(problem.subproblems.iter().filter_map(|part| part.detail.as_deref()));
    if parts.is_empty() {
        parts.push(problem.r#type.as_deref().unwrap_or("it gives no reason"));
    }
    shown(&parts.join("; "))
}

pub(crate) fn shown(text: &str) -> String {
    let line = text.chars().map(|sign| if sign.is_control() { ' ' } else { sign });
    line.take(LONGEST).collect::<String>().trim().to_owned()
}

impl From<Error> for AcmeError {
    fn from(error: Error) -> Self {
        match error {
            Error::Api(problem) => Self::of_problem(&problem),
            Error::Other(cause) => match cause.downcast_ref::<CallError>() {
                Some(call) => Self::Unreachable(call.to_string()),
                None => Self::Unreachable(shown(&cause.to_string())),
            },
            Error::Unsupported(_) => Self::Unsupported,
            Error::Json(_) => Self::Unreachable("its answer is not what ACME describes".into()),
            other => Self::Unreachable(shown(&other.to_string())),
        }
    }
}

impl From<rcgen::Error> for AcmeError {
    fn from(error: rcgen::Error) -> Self {
        Self::Refused(shown(&format!("no request could be written: {error}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> AcmeError {
        AcmeError::of_problem(&serde_json::from_str(text).unwrap())
    }

    #[test]
    fn problems_are_sorted_by_what_is_to_be_done() {
        let problem = |kind: &str, status: u16| {
            of(&format!(r#"{{"type":"urn:ietf:params:acme:error:{kind}","detail":"no","status":{status}}}"#))
        };
        let no = || "no".to_owned();
        assert_eq!(problem("rateLimited", 429), AcmeError::RateLimited(no()));
        assert_eq!(problem("accountDoesNotExist", 400), AcmeError::BadAccount(no()));
        assert_eq!(problem("unauthorized", 403), AcmeError::Refused(no()));
        let ended =
            r#"{"type":"urn:ietf:params:acme:error:unauthorized","detail":"Account is deactivated","status":403}"#;
        assert_eq!(of(ended), AcmeError::BadAccount("Account is deactivated".into()));
        assert_eq!(problem("serverInternal", 500), AcmeError::Unreachable(no()));
        assert_eq!(problem("malformed", 404), AcmeError::OrderGone(no()));
        assert_eq!(problem("rejectedIdentifier", 400), AcmeError::Refused(no()));
        assert_eq!(problem("caa", 403), AcmeError::Refused(no()));
    }

    #[test]
    fn the_authoritys_words_are_one_short_line() {
        let long = format!(r#"{{"detail":"a\u001b[31m\nb {}","subproblems":[{{"detail":"c"}}]}}"#, "x".repeat(2_000));
        let AcmeError::Refused(words) = of(&long) else { panic!() };
        assert!(words.starts_with("a [31m b xxx") && words.len() <= LONGEST, "{words}");
        assert_eq!(of("{}"), AcmeError::Refused("it gives no reason".into()));
    }
}
