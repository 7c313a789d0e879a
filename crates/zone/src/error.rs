//! What can go wrong, sorted by what is to be done about it.

/// Why a record was not changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ZoneError {
    /// It was not tried.
    #[error("{0}")]
    BadRecord(String),
    /// The operator has to give another key or token, or to allow more to it.
    #[error("The zone {zone} may not be changed. {reason}")]
    NotAllowed { zone: String, reason: String },
    #[error("The zone {zone} was not found. {reason}")]
    NoSuchZone { zone: String, reason: String },
    /// The same will be refused again.
    #[error("The zone {zone} was not changed. {reason}")]
    Refused { zone: String, reason: String },
    /// The same may succeed in a while. It may also have been done: nothing is lost by doing it again.
    #[error("The zone {zone} cannot be changed at the moment. {reason}")]
    Temporary { zone: String, reason: String },
    /// What came back cannot be understood, or not be believed.
    #[error("It is not known whether the zone {zone} was changed. {reason}")]
    BadAnswer { zone: String, reason: String },
}

impl ZoneError {
    /// Whether the same may succeed in a while, without a change by a person.
    pub fn is_temporary(&self) -> bool {
        matches!(self, Self::Temporary { .. })
    }
}

/// Why a provider cannot be used as it is set up. Nothing of a secret is ever in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SettingError {
    #[error("The key is not as tsig-keygen prints one: {0}.")]
    BadKey(&'static str),
    #[error("The address of Cloudflare's API cannot be used: it {0}.")]
    BadAddress(&'static str),
    #[error("The token for Cloudflare cannot be one: it {0}.")]
    BadToken(&'static str),
}
