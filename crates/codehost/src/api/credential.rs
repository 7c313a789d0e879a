//! By what a code host knows who asks.

use std::fmt;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use windlass_api::CodeHost;

use super::error::ApiError;

/// A token, and whose it is where the host wants to know that. Its `Debug` does not show it.
#[derive(Clone, PartialEq, Eq)]
pub struct Credential {
    user: Option<String>,
    token: String,
}

const LONGEST: usize = 10_000;
const BAD_TOKEN: ApiError = ApiError::BadInput("The token must not be empty or contain spaces. Copy it again.");
const BAD_USER: ApiError =
    ApiError::BadInput("The user name of the token must not be empty or contain spaces or colons.");

impl Credential {
    /// A token that is enough by itself: all but API tokens of Bitbucket Cloud.
    pub fn token(token: &str) -> Result<Self, ApiError> {
        let token = token.trim();
        let is_usable =
            |text: &str| !text.is_empty() && text.len() <= LONGEST && text.bytes().all(|b| b.is_ascii_graphic());
        if is_usable(token) { Ok(Self { user: None, token: token.to_owned() }) } else { Err(BAD_TOKEN) }
    }

    /// A token that is used like a password: of Bitbucket Cloud with the e-mail address of the Atlassian account, of Bitbucket
    /// Server with the user name. Other hosts know from the token itself whose it is.
    pub fn of_user(user: &str, token: &str) -> Result<Self, ApiError> {
        let user = user.trim();
        let is_bad = |c: char| c == ':' || c.is_whitespace() || c.is_control();
        if user.is_empty() || user.len() > LONGEST || user.contains(is_bad) {
            return Err(BAD_USER);
        }
        Ok(Self { user: Some(user.to_owned()), ..Self::token(token)? })
    }

    /// The value of the header `Authorization`.
    pub(super) fn authorization(&self, host: CodeHost) -> String {
        let Self { user, token } = self;
        match (host, user) {
            (CodeHost::Bitbucket | CodeHost::BitbucketServer, Some(user)) => {
                format!("Basic {}", BASE64_STANDARD.encode(format!("{user}:{token}")))
            }
            // The form of their own; newer versions take `Bearer` too.
            (CodeHost::Gitea | CodeHost::Forgejo, _) => format!("token {token}"),
            _ => format!("Bearer {token}"),
        }
    }

    /// The user name that git over https wants beside the token.
    pub(super) fn git_username(&self, host: CodeHost) -> &str {
        match (host, &self.user) {
            (CodeHost::GitHub, _) => "x-access-token",
            // These take any name.
            (CodeHost::GitLab | CodeHost::Gitea | CodeHost::Forgejo, _) => "oauth2",
            (CodeHost::Bitbucket, Some(_)) => "x-bitbucket-api-token-auth",
            (CodeHost::BitbucketServer, Some(user)) => user,
            (CodeHost::Bitbucket | CodeHost::BitbucketServer, None) => "x-token-auth",
        }
    }
}

impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credential").field("user", &self.user).finish_non_exhaustive()
    }
}
