//! What visitors see when there is no answer of the application's own: small, clear, HTML or JSON.

use bytes::Bytes;
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use hyper::{Response, StatusCode};

use crate::body::Body;
use crate::routes::Notice;

/// Names the page, on every page and redirect of the edge's own and on nothing else: so a program can tell it from what an application answers.
pub const PAGE_HEADER: &str = "x-windlass-page";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Page {
    UnknownHost,
    /// The table could not be read when the edge started, so it is not known what is here.
    RoutesDamaged,
    NotFound,
    Starting,
    Stopped,
    Failed,
    /// Its service is held, and the request cannot wait, or not any longer.
    Held,
    /// Its service has as many requests under way as one may have.
    Busy,
    NoTarget,
    UpstreamError,
    TimeLimit,
    BadRequest(&'static str),
    /// It came over a connection whose certificate is for other hosts.
    Misdirected,
    MethodNotAllowed,
    BodyTooLarge,
    BodyTooSlow,
    /// The visitor comes from a network that is kept out.
    Forbidden,
    /// The visitor has asked too often, and may do so again after so many seconds.
    TooManyRequests(u64),
    /// The visitor must give a name and a password.
    SignIn,
    /// The visitor has given too many wrong passwords, and may give another after so many seconds.
    TooManyTries(u64),
    /// Too many others wait for their passwords to be compared.
    SignInBusy,
    /// The application's owner works on it.
    Maintenance,
}

impl Page {
    pub fn status(self) -> StatusCode {
        match self {
            Self::UnknownHost | Self::NotFound => StatusCode::NOT_FOUND,
            Self::RoutesDamaged
            | Self::Starting
            | Self::Stopped
            | Self::Failed
            | Self::Held
            | Self::Busy
            | Self::NoTarget
            | Self::SignInBusy
            | Self::Maintenance => StatusCode::SERVICE_UNAVAILABLE,
            Self::UpstreamError => StatusCode::BAD_GATEWAY,
            Self::TimeLimit => StatusCode::GATEWAY_TIMEOUT,
            Self::BadRequest(_) => StatusCode::BAD_REQUEST,
            Self::Misdirected => StatusCode::MISDIRECTED_REQUEST,
            Self::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
            Self::BodyTooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::BodyTooSlow => StatusCode::REQUEST_TIMEOUT,
            Self::Forbidden => StatusCode::FORBIDDEN,
            Self::TooManyRequests(_) | Self::TooManyTries(_) => StatusCode::TOO_MANY_REQUESTS,
            Self::SignIn => StatusCode::UNAUTHORIZED,
        }
    }

    /// A stable name for programs, a heading and a sentence for people.
    fn words(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::UnknownHost => {
                ("unknown_host", "Nothing here yet", "This server knows of no application at this address.")
            }
            Self::RoutesDamaged => (
                "routes_damaged",
                "Temporarily unavailable",
                "This server could not read its routes when it started and is waiting to be given them again. \
                 Its log says more.",
            ),
            Self::NotFound => ("not_found", "Not found", "There is no page at this address."),
            Self::Starting => {
                ("starting", "Starting", "This application is being started. Try again in a few seconds.")
            }
            Self::Stopped => ("stopped", "Stopped", "This application has been stopped by its owner."),
            Self::Failed => (
                "failed",
                "Not running",
                "This application could not be started. Its owner can see why in the log of its last deployment.",
            ),
            Self::Held => (
                "held",
                "One moment",
                "This application is changing to a new release, and cannot take this request yet. Try again in a few \
                 seconds.",
            ),
            Self::Busy => (
                "busy",
                "Too busy",
                "This application is still answering as many requests as it may at once. Try again in a few seconds.",
            ),
            Self::NoTarget => (
                "no_healthy_target",
                "Temporarily unavailable",
                "No instance of this application can be reached. Try again in a few seconds.",
            ),
            Self::UpstreamError => (
                "upstream_error",
                "The application failed",
                "The application ended the connection or gave an answer that makes no sense.",
            ),
            Self::TimeLimit => {
                ("time_limit", "The application is too slow", "The application did not answer within its time limit.")
            }
            Self::BadRequest(why) => ("bad_request", "Bad request", why),
            Self::Misdirected => (
                "misdirected",
                "Wrong connection",
                "This connection was made for another host. Connect again to reach this one.",
            ),
            Self::MethodNotAllowed => {
                ("method_not_allowed", "Method not allowed", "This method cannot be used at this address.")
            }
            Self::BodyTooLarge => {
                ("too_large", "Too large", "The request's body is larger than this application accepts.")
            }
            Self::BodyTooSlow => ("too_slow", "Too slow", "The request's body did not arrive within the time limit."),
            Self::Forbidden => {
                ("forbidden", "Not from here", "This application cannot be visited from your network address.")
            }
            Self::TooManyRequests(_) => (
                "too_many_requests",
                "Too many requests",
                "This application has been asked too often from your network address. Try again in a moment.",
            ),
            Self::SignIn => (
                "sign_in_required",
                "Sign in",
                "This application can be visited with the right name and password only.",
            ),
            Self::TooManyTries(_) => (
                "too_many_tries",
                "Too many wrong passwords",
                "Too many wrong passwords have come from your network address. Try again in a minute.",
            ),
            Self::SignInBusy => (
                "sign_in_busy",
                "Too busy",
                "Many visitors are signing in, and your password could not be checked. Try again in a few seconds.",
            ),
            Self::Maintenance => (
                "maintenance",
                "Under maintenance",
                "The owner of this application is working on it. Try again in a few minutes.",
            ),
        }
    }

    /// The answer, in the form that the visitor's `Accept` asks for.
    pub fn answer(self, accept: Option<&HeaderValue>) -> Response<Body> {
        self.answer_with(accept, None)
    }

    /// The same, with the service's own HTML if it has some.
    pub fn answer_with(self, accept: Option<&HeaderValue>, own: Option<&Bytes>) -> Response<Body> {
        let (name, heading, sentence) = self.words();
        let (media_type, text) = if accept.is_some_and(prefers_json) {
            let json = serde_json::json!({"status": "error", "error": name, "message": sentence});
            ("application/json", json.to_string().into())
        } else {
            let html = || html(self.status().as_u16(), heading, sentence).into();
            ("text/html; charset=utf-8", own.cloned().unwrap_or_else(html))
        };
        let mut answer = Response::new(Body::Full(text));
        *answer.status_mut() = self.status();
        let headers = answer.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        headers.insert("x-content-type-options", HeaderValue::from_static("nosniff"));
        headers.insert(PAGE_HEADER, HeaderValue::from_static(name));
        if let Some(seconds) = self.retry_after() {
            headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        answer
    }

    /// After how many seconds it makes sense to ask again.
    fn retry_after(self) -> Option<u64> {
        match self {
            Self::Starting | Self::Held | Self::Busy | Self::NoTarget | Self::SignInBusy => Some(2),
            Self::TooManyRequests(seconds) | Self::TooManyTries(seconds) => Some(seconds),
            Self::Maintenance => Some(120),
            _ => None,
        }
    }
}

impl From<Notice> for Page {
    fn from(notice: Notice) -> Self {
        match notice {
            Notice::Starting => Self::Starting,
            Notice::Stopped => Self::Stopped,
            Notice::Failed => Self::Failed,
        }
    }
}

/// Programs that want JSON say so; browsers say `text/html`, and a visitor that says neither is shown the same as a
/// browser.
fn prefers_json(accept: &HeaderValue) -> bool {
    let mut accepted = accept.to_str().unwrap_or_default().split(',');
    let first = accepted.find(|one| one.contains("text/html") || one.contains("json"));
    first.is_some_and(|one| one.contains("json"))
}

/// None of the words comes from a visitor, so there is nothing to escape.
fn html(status: u16, heading: &str, sentence: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" \
         content=\"width=device-width\"><title>{heading}</title><style>body{{font:16px/1.5 system-ui,sans-serif;\
         max-width:32rem;margin:20vh auto;padding:0 1rem;color:#222;background:#fff}}small{{color:#666}}\
         @media(prefers-color-scheme:dark){{body{{color:#ddd;background:#111}}}}</style></head>\
         <body><h1>{heading}</h1><p>{sentence}</p><small>{status}</small></body></html>\n"
    )
}
