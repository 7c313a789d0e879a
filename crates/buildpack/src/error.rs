use std::io;

/// Why there is no plan. What is named is cut and without control characters.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{path} is not a folder of the repository")]
    NoFolder { path: String },
    #[error("{file} has more than {limit} bytes, and is not read")]
    TooLarge { file: String, limit: u64 },
    #[error("there is more to look at than is looked at. Set base_path to the folder of the application")]
    TooMuch,
    #[error("{file} is not a text in UTF-8")]
    NotText { file: String },
    #[error("{file} cannot be understood: {problem}")]
    Malformed { file: String, problem: String },
    /// What was found cannot be run as it is. The message says what to change.
    #[error("{message}")]
    Unsuitable { message: String },
    /// What the user has set cannot be used.
    #[error("{field}: {problem}")]
    Wish { field: &'static str, problem: String },
    #[error("the repository cannot be read: {0}")]
    Io(#[from] io::Error),
}

pub type Result<T, E = Error> = std::result::Result<T, E>;

pub fn unsuitable<T>(message: impl Into<String>) -> Result<T> {
    Err(Error::Unsuitable { message: message.into() })
}
