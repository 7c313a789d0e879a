//! The one shape of every answer, and the stable codes of everything that can go wrong.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::closed_set::closed_set;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    Success,
    Error,
}

/// `error` is absent on success, except on `POST /notification/webhook` and `DELETE /notification/smtp`.
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
    /// For `POST /notification/webhook` and `DELETE /notification/smtp`: always with `error`, and `data` as null.
    pub fn bare_success(message: impl Into<String>) -> Self {
        Self { error: Some(String::new()), ..Self::success(message, ()) }
    }
}

impl Envelope<()> {
    pub fn failure(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { status: Outcome::Error, message: message.into(), data: (), error: Some(code.as_str().to_owned()) }
    }
}

closed_set! {
    /// What went wrong, for programs. Codes are never renamed; the sentence for people is in `message`.
    pub enum ErrorCode {
        /// The body, a parameter or a header is not acceptable; `message` names the field.
        InvalidRequest = "invalid_request",
        /// No credentials, or credentials that are not valid (any more).
        Unauthenticated = "unauthenticated",
        /// Login failed: unknown account or wrong password.
        InvalidCredentials = "invalid_credentials",
        /// The account has a second factor: send `code` as well.
        CodeRequired = "code_required",
        /// The second factor's code is wrong, used already or too old.
        InvalidCode = "invalid_code",
        /// No application of the repository has the secret that the delivery was signed with.
        InvalidSignature = "invalid_signature",
        /// The first registration needs the set-up token that the server printed.
        SetupTokenRequired = "setup_token_required",
        /// The caller's role lacks the permission.
        Forbidden = "forbidden",
        /// Only a login can do this, not an API key.
        LoginRequired = "login_required",
        /// Registration needs an invitation.
        RegistrationClosed = "registration_closed",
        /// The invitation is for another e-mail address.
        InvitationForAnotherAddress = "invitation_for_another_address",
        /// No such record, or none that the caller may know of.
        NotFound = "not_found",
        /// The path exists, the method does not.
        MethodNotAllowed = "method_not_allowed",
        /// The request contradicts the present state.
        Conflict = "conflict",
        /// There is one already; update it instead.
        AlreadyExists = "already_exists",
        /// The second factor is on already, or it is not on.
        TwoFactorState = "two_factor_state",
        /// An account with this e-mail address exists.
        EmailTaken = "email_taken",
        /// The user is a member of the organization already.
        AlreadyMember = "already_member",
        /// An organization keeps at least one owner.
        LastOwner = "last_owner",
        /// The organization still owns things, so it cannot be deleted.
        OrganizationNotEmpty = "organization_not_empty",
        /// Another application of the organization has this name, and another repository.
        NameTaken = "name_taken",
        /// Another application has this domain.
        DomainTaken = "domain_taken",
        /// The operator has set no mail server, so nothing can be sent.
        NoMailServer = "no_mail_server",
        /// The same `Idempotency-Key` came with another body before.
        IdempotencyKeyReused = "idempotency_key_reused",
        /// The release was never live, its image is not kept any more, or there is no snapshot of its data, so nothing can go back to it.
        ReleaseGone = "release_gone",
        /// The body did not arrive in time.
        BodyTimeout = "body_timeout",
        /// The body is larger than the limit, as it came or unpacked.
        TooLarge = "too_large",
        /// The body's `Content-Encoding` is neither `gzip` nor `identity`.
        UnsupportedEncoding = "unsupported_encoding",
        /// Too many requests; `Retry-After` says when to try again.
        RateLimited = "rate_limited",
        /// A fault of the server. The request id finds it in the server's log.
        Internal = "internal",
        /// The code host refused, or could not be reached.
        CodeHostFailed = "code_host_failed",
        /// The mail server refused, or could not be reached.
        MailFailed = "mail_failed",
        /// The server, or something it needs, cannot answer now.
        Unavailable = "unavailable",
        /// The disk of the database is full: reading works, changing does not.
        DiskFull = "disk_full",
        /// The request took longer than the limit.
        TimeLimit = "time_limit",
        /// Another installation or server holds the containers that this one would change, so it only reads.
        ReadOnly = "read_only",
    }
}

impl ErrorCode {
    /// The HTTP status that goes with a code.
    pub const fn status(self) -> u16 {
        match self {
            Self::InvalidRequest => 400,
            Self::Unauthenticated
            | Self::InvalidCredentials
            | Self::CodeRequired
            | Self::InvalidCode
            | Self::InvalidSignature => 401,
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
            | Self::NoMailServer
            | Self::IdempotencyKeyReused
            | Self::ReleaseGone => 409,
            Self::BodyTimeout => 408,
            Self::TooLarge => 413,
            Self::UnsupportedEncoding => 415,
            Self::RateLimited => 429,
            Self::Internal => 500,
            Self::CodeHostFailed | Self::MailFailed => 502,
            Self::Unavailable | Self::DiskFull | Self::TimeLimit | Self::ReadOnly => 503,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_described_as_they_are_sent() {
        let described = schemars::schema_for!(ErrorCode).to_value()["enum"].clone();
        assert_eq!(described, serde_json::to_value(ErrorCode::ALL).unwrap());
        assert!(ErrorCode::ALL.iter().all(|code| (400..600).contains(&code.status())));
    }
}
