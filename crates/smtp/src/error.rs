//! What can go wrong when a mail is sent, sorted by what a person must hear. Credentials are never in it.

use std::fmt;
use std::time::Duration;

use windlass_outgoing::CallError;

use crate::Answer;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SmtpError {
    #[error("The mail cannot be sent: {reason}.")]
    BadMail { reason: &'static str },
    #[error("The address {address} is not one that mail can be sent to.")]
    BadAddress { address: String },
    #[error("The user name or the password has a character that cannot be sent.")]
    BadCredentials,
    /// No connection, or none that is secure: the name does not exist, leads to a private address, nothing listens, the certificate
    /// is not good.
    #[error(transparent)]
    Connection(#[from] CallError),
    #[error("The mail server {host} took more than {} s {phase}.", .limit.as_secs_f64())]
    TimedOut { host: String, phase: Phase, limit: Duration },
    #[error("The mail server {host} closed the connection {phase}.")]
    ClosedEarly { host: String, phase: Phase },
    #[error("What answers at {host} is not a mail server, or breaks the rules of SMTP {phase}.")]
    NotSmtp { host: String, phase: Phase },
    #[error("The mail server {host} sent an answer that is too long {phase}.")]
    TooMuch { host: String, phase: Phase },
    #[error("The mail server {host} does not want to talk: {answer}")]
    GreetingRefused { host: String, answer: Answer },
    #[error("The mail server {host} does not offer STARTTLS.")]
    StarttlsNotOffered { host: String },
    #[error("The mail server {host} refused STARTTLS: {answer}")]
    StarttlsRefused { host: String, answer: Answer },
    /// Bytes that came before the connection was secure, to be believed after: an attack on STARTTLS.
    #[error("Something on the way to {host} sent more than the answer to STARTTLS; the connection cannot be trusted.")]
    Injected { host: String },
    #[error("The mail server {host} offers no way to log in that is known here (PLAIN, LOGIN).")]
    AuthenticationNotOffered { host: String },
    #[error("The mail server {host} refused the user name and the password: {answer}")]
    AuthenticationRefused { host: String, answer: Answer },
    #[error("The mail server {host} refused the sender: {answer}")]
    SenderRefused { host: String, answer: Answer },
    #[error("The mail server {host} refused every recipient: {}", first(.rejected))]
    AllRecipientsRefused { host: String, rejected: Vec<Rejected> },
    #[error("The mail server {host} refused the mail: {answer}")]
    MessageRefused { host: String, answer: Answer },
}

/// A recipient that the server does not take mail for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rejected {
    pub address: String,
    pub answer: Answer,
}

/// What the client waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    Connecting,
    Greeting,
    Hello,
    Starttls,
    Handshake,
    Authentication,
    Sender,
    Recipients,
    Message,
}

impl SmtpError {
    /// Whether the same mail may be taken in a while, without a change by a person.
    pub fn is_temporary(&self) -> bool {
        match self {
            Self::Connection(error) => error.is_temporary(),
            Self::TimedOut { .. } | Self::ClosedEarly { .. } => true,
            Self::GreetingRefused { answer, .. }
            | Self::StarttlsRefused { answer, .. }
            | Self::AuthenticationRefused { answer, .. }
            | Self::SenderRefused { answer, .. }
            | Self::MessageRefused { answer, .. } => answer.is_temporary(),
            Self::AllRecipientsRefused { rejected, .. } => rejected.iter().any(Rejected::is_temporary),
            Self::BadMail { .. }
            | Self::BadAddress { .. }
            | Self::BadCredentials
            | Self::NotSmtp { .. }
            | Self::TooMuch { .. }
            | Self::StarttlsNotOffered { .. }
            | Self::Injected { .. }
            | Self::AuthenticationNotOffered { .. } => false,
        }
    }
}

impl Rejected {
    /// Whether the server may take mail for it in a while.
    pub fn is_temporary(&self) -> bool {
        self.answer.is_temporary()
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Connecting => "while the connection was made",
            Self::Greeting => "before it greeted",
            Self::Hello => "when it was asked what it offers",
            Self::Starttls => "when it was asked for STARTTLS",
            Self::Handshake => "during the TLS handshake",
            Self::Authentication => "during the login",
            Self::Sender => "when it was told the sender",
            Self::Recipients => "when it was told the recipients",
            Self::Message => "when it was given the mail",
        })
    }
}

fn first(rejected: &[Rejected]) -> String {
    rejected.first().map(|one| format!("{}: {}", one.address, one.answer)).unwrap_or_default()
}
