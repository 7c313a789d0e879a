//! The one shape of every answer, and the stable codes of everything that can go wrong.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    Success,
    Error,
}

/// `error` is absent on success, except on the endpoints whose specification always shows it.
#[derive(Debug, Serialize, Deserialize)]
pub struct Envelope<T> {
    pub status: Outcome,
    pub message: String,
    pub data: T,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl<T> Envelope<T> {
    pub fn success(message: impl Into<String>, data: T) -> Self {
        Self { status: Outcome::Success, message: message.into(), data, error: None }
    }
}

impl Envelope<()> {
    /// For the endpoints whose specification always shows `error`, and `data` as null.
    pub fn bare_success(message: impl Into<String>) -> Self {
        Self { error: Some(String::new()), ..Self::success(message, ()) }
    }
}

impl Envelope<()> {
    pub fn failure(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { status: Outcome::Error, message: message.into(), data: (), error: Some(code.as_str().to_owned()) }
    }
}

/// What went wrong, for programs. Codes are never renamed; the sentence for people is in `message`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ErrorCode {
    /// The body, a parameter or a header is not acceptable; `message` names the field.
    InvalidRequest,
    /// No credentials, or credentials that are not valid (any more).
    Unauthenticated,
    /// Login failed: unknown account or wrong password.
    InvalidCredentials,
    /// The account has a second factor: log in with `code` as well.
    CodeRequired,
    /// The second factor's code is wrong, used already or too old.
    InvalidCode,
    /// The first registration needs the set-up token that the server printed.
    SetupTokenRequired,
    /// The caller's role lacks the permission.
    Forbidden,
    /// Only a login can do this, not an API key.
    LoginRequired,
    /// Registration needs an invitation.
    RegistrationClosed,
    /// The invitation is for another e-mail address.
    InvitationForAnotherAddress,
    /// No such record, or none that the caller may know of.
    NotFound,
    /// The path exists, the method does not.
    MethodNotAllowed,
    /// The request contradicts the present state.
    Conflict,
    /// There is one already; update it instead.
    AlreadyExists,
    /// The second factor is on already, or it is not on.
    TwoFactorState,
    /// An account with this e-mail address exists.
    EmailTaken,
    /// The user is a member of the organization already.
    AlreadyMember,
    /// An organization keeps at least one owner.
    LastOwner,
    /// The organization still owns things, so it cannot be deleted.
    OrganizationNotEmpty,
    /// Another application of the organization has this name, and another repository.
    NameTaken,
    /// Another application has this domain.
    DomainTaken,
    /// The same `Idempotency-Key` came with another body before.
    IdempotencyKeyReused,
    /// The release was never live, or its image is not kept any more, so nothing can go back to it.
    ReleaseGone,
    /// The body did not arrive in time.
    BodyTimeout,
    /// The body is larger than the limit, as it came or unpacked.
    TooLarge,
    /// The body's `Content-Encoding` is neither `gzip` nor `identity`.
    UnsupportedEncoding,
    /// Too many requests; `Retry-After` says when to try again.
    RateLimited,
    /// A fault of the server. The request id finds it in the server's log.
    Internal,
    /// The server, or something it needs, cannot answer now.
    Unavailable,
    /// The disk of the database is full: reading works, changing does not.
    DiskFull,
    /// The request took longer than the limit.
    TimeLimit,
    /// Another installation holds what this one would change: it is a copy, and only reads.
    ReadOnly,
}

impl ErrorCode {
    /// The HTTP status that goes with a code.
    pub const fn status(self) -> u16 {
        match self {
            Self::InvalidRequest => 400,
            Self::Unauthenticated | Self::InvalidCredentials | Self::CodeRequired | Self::InvalidCode => 401,
            Self::Forbidden
            | Self::LoginRequired
            | Self::SetupTokenRequired
            | Self::RegistrationClosed
            | Self::InvitationForAnotherAddress => 403,
            Self::NotFound => 404,
            Self::MethodNotAllowed => 405,
            Self::Conflict
            | Self::AlreadyExists
            | Self::TwoFactorState
            | Self::EmailTaken
            | Self::AlreadyMember
            | Self::LastOwner
            | Self::OrganizationNotEmpty
            | Self::NameTaken
            | Self::DomainTaken
            | Self::IdempotencyKeyReused
            | Self::ReleaseGone => 409,
            Self::BodyTimeout => 408,
            Self::TooLarge => 413,
            Self::UnsupportedEncoding => 415,
            Self::RateLimited => 429,
            Self::Internal => 500,
            Self::Unavailable | Self::DiskFull | Self::TimeLimit | Self::ReadOnly => 503,
        }
    }

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::InvalidRequest => "invalid_request",
            Self::Unauthenticated => "unauthenticated",
            Self::InvalidCredentials => "invalid_credentials",
            Self::CodeRequired => "code_required",
            Self::InvalidCode => "invalid_code",
            Self::SetupTokenRequired => "setup_token_required",
            Self::Forbidden => "forbidden",
            Self::LoginRequired => "login_required",
            Self::RegistrationClosed => "registration_closed",
            Self::InvitationForAnotherAddress => "invitation_for_another_address",
            Self::NotFound => "not_found",
            Self::MethodNotAllowed => "method_not_allowed",
            Self::Conflict => "conflict",
            Self::AlreadyExists => "already_exists",
            Self::TwoFactorState => "two_factor_state",
            Self::EmailTaken => "email_taken",
            Self::AlreadyMember => "already_member",
            Self::LastOwner => "last_owner",
            Self::OrganizationNotEmpty => "organization_not_empty",
            Self::NameTaken => "name_taken",
            Self::DomainTaken => "domain_taken",
            Self::IdempotencyKeyReused => "idempotency_key_reused",
            Self::ReleaseGone => "release_gone",
            Self::BodyTimeout => "body_timeout",
            Self::TooLarge => "too_large",
            Self::UnsupportedEncoding => "unsupported_encoding",
            Self::RateLimited => "rate_limited",
            Self::Internal => "internal",
            Self::Unavailable => "unavailable",
            Self::DiskFull => "disk_full",
            Self::TimeLimit => "time_limit",
            Self::ReadOnly => "read_only",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_spelled_the_same_everywhere() {
        let schema = schemars::schema_for!(ErrorCode).to_value();
        let described = schema["oneOf"].as_array().unwrap().iter().map(|choice| choice["const"].clone());
        for name in described {
            let code: ErrorCode = serde_json::from_value(name.clone()).unwrap();
            assert_eq!(name, code.as_str());
            assert!((400..600).contains(&code.status()));
        }
    }
}
