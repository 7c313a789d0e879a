//! One error type for everything that a request can run into. `http/respond.rs` turns it into an answer.

use windlass_api::ErrorCode;

pub type Result<T> = std::result::Result<T, Error>;

/// `message` is for the caller. `cause` is for the log and never leaves the server.
#[derive(Debug)]
pub struct Error {
    pub code: ErrorCode,
    pub message: String,
    pub retry_after: Option<u64>,
    pub cause: Option<String>,
}

impl Error {
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), retry_after: None, cause: None }
    }

    /// A field that is not acceptable, and why: `name: must not be empty`.
    pub fn field(name: &str, problem: impl std::fmt::Display) -> Self {
        Self::new(ErrorCode::InvalidRequest, format!("{name}: {problem}"))
    }

    pub fn not_found(what: &str) -> Self {
        Self::new(ErrorCode::NotFound, format!("No such {what}."))
    }

    pub fn internal(cause: impl std::fmt::Display) -> Self {
        let message = "Something went wrong in the server. Its log has the details under this request's id.";
        Self { cause: Some(cause.to_string()), ..Self::new(ErrorCode::Internal, message) }
    }

    pub fn unavailable(message: impl Into<String>, cause: impl std::fmt::Display) -> Self {
        Self { cause: Some(cause.to_string()), retry_after: Some(5), ..Self::new(ErrorCode::Unavailable, message) }
    }

    pub fn disk_full(cause: impl std::fmt::Display) -> Self {
        let message = "The disk of the database is full: free some space, then try again.";
        Self { cause: Some(cause.to_string()), retry_after: Some(30), ..Self::new(ErrorCode::DiskFull, message) }
    }

    pub fn rate_limited(message: impl Into<String>, retry_after: u64) -> Self {
        Self { retry_after: Some(retry_after), ..Self::new(ErrorCode::RateLimited, message) }
    }
}

impl From<windlass_store::Error> for Error {
    fn from(error: windlass_store::Error) -> Self {
        match error {
            _ if error.is_full() => Self::disk_full(error),
            windlass_store::Error::Unavailable(_) => {
                Self::unavailable("The database does not answer. Try again in a moment.", error)
            }
            _ => Self::internal(error),
        }
    }
}
