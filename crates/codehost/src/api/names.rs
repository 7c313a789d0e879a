//! Names that people type, as parts of addresses. None of them leads out of its place.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use windlass_api::CodeHost;

use super::error::ApiError;
use crate::delivery::hash;

const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

const BAD_NAME: ApiError = ApiError::BadInput("The repository must be named as its host does, such as team/shop.");
const BAD_WORKSPACE: ApiError = ApiError::BadInput("The workspace must be named as Bitbucket does, such as team.");
pub(super) const BAD_ID: ApiError = ApiError::BadInput("This is no id that the code host gave.");
const BAD_COMMIT: ApiError = ApiError::BadInput("The commit must be its whole hash: 40 or 64 hexadecimal digits.");

/// No host has names that come near.
const LONGEST: usize = 1_000;

pub(super) fn encoded(text: &str) -> String {
    utf8_percent_encode(text, ENCODED).to_string()
}

pub(super) fn with_query(path: &str, fields: &[(&str, String)]) -> String {
    let fields: Vec<_> = fields.iter().map(|(name, value)| format!("{name}={}", encoded(value))).collect();
    format!("{path}?{}", fields.join("&"))
}

/// Owner and name of a repository, encoded.
pub(super) struct RepositoryName {
    /// For GitLab with its groups.
    owner: Vec<String>,
    name: String,
}

impl RepositoryName {
    pub(super) fn of(host: CodeHost, full_name: &str) -> Result<Self, ApiError> {
        let segments: Option<Vec<_>> = full_name.split('/').map(segment).collect();
        let mut owner = segments.filter(|_| full_name.len() <= LONGEST).ok_or(BAD_NAME)?;
        let is_right = match host {
            CodeHost::GitLab => owner.len() >= 2,
            _ => owner.len() == 2,
        };
        match owner.pop() {
            Some(name) if is_right => Ok(Self { owner, name }),
            _ => Err(BAD_NAME),
        }
    }

    pub(super) fn owner(&self) -> String {
        self.owner.join("/")
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// As two segments of a path.
    pub(super) fn path(&self) -> String {
        format!("{}/{}", self.owner(), self.name)
    }

    /// As a single segment.
    pub(super) fn segment(&self) -> String {
        format!("{}%2F{}", self.owner.join("%2F"), self.name)
    }
}

/// None for what is no name anywhere. A percent sign is among that: servers between here and the host may decode twice.
fn segment(text: &str) -> Option<String> {
    let is_strange = |c: char| c.is_control() || c.is_whitespace() || "/\\?#%:@;&=+'\"<>|^`$!*()[],".contains(c);
    let is_name = !text.is_empty() && text != "." && text != ".." && !text.contains(is_strange);
    is_name.then(|| encoded(text))
}

pub(super) fn workspace(text: &str) -> Result<String, ApiError> {
    segment(text).filter(|_| text.len() <= LONGEST).ok_or(BAD_WORKSPACE)
}

/// Numbers, and the identifiers in braces of Bitbucket Cloud.
pub(super) fn id(text: &str) -> Result<String, ApiError> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'{' | b'}');
    let is_id = !text.is_empty() && text.len() <= LONGEST && text.bytes().all(is_plain);
    if is_id { Ok(encoded(text)) } else { Err(BAD_ID) }
}

pub(super) fn commit(text: &str) -> Result<String, ApiError> {
    hash(text).ok_or(BAD_COMMIT)
}
