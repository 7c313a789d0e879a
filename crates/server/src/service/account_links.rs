//! Links that are given or mailed to people: with each comes a token, of which only the hash is stored.

use windlass_store::{email_changes, invitations, password_resets};

use crate::app::App;
use crate::auth::token::{self, Token};
use crate::error::Result;

#[derive(Clone, Copy)]
pub enum AccountLink {
    Invitation,
    PasswordReset,
    EmailChange,
}

impl AccountLink {
    const ALL: [Self; 3] = [Self::Invitation, Self::PasswordReset, Self::EmailChange];

    /// As the dashboard reads it.
    const fn name(self) -> &'static str {
        match self {
            Self::Invitation => "invitation",
            Self::PasswordReset => "reset",
            Self::EmailChange => "verify-email",
        }
    }

    /// Behind the #, so that the token stays in the browser and reaches no server's log. It leads to where the settings say, never to what
    /// a request calls the server.
    pub fn url(self, app: &App, token: &Token) -> String {
        format!("{}/#{}={}", app.config.public_url(), self.name(), token.reveal())
    }

    /// Which link it is, with its token.
    fn read(url: &str) -> Option<(Self, &str)> {
        let (_, fragment) = url.split_once("/#")?;
        let (name, token) = fragment.split_once('=')?;
        Self::ALL.into_iter().find(|link| link.name() == name).map(|link| (link, token))
    }
}

/// Whether a link can still be opened: it was not used, withdrawn or replaced while it waited to be mailed. Any other address can.
pub async fn works(app: &App, url: &str) -> Result<bool> {
    let Some((link, token)) = AccountLink::read(url) else { return Ok(true) };
    let (hash, now) = (token::hash(token), app.now());
    let mut conn = app.db.read().await?;
    let works = match link {
        AccountLink::Invitation => invitations::by_token(&mut conn, &hash, now).await?.is_some(),
        AccountLink::PasswordReset => password_resets::exists(&mut conn, &hash, now).await?,
        AccountLink::EmailChange => email_changes::exists(&mut conn, &hash, now).await?,
    };
    Ok(works)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_read_as_they_are_written() {
        for link in AccountLink::ALL {
            let url = format!("https://windlass.example.org/below/#{}=a-token_1=", link.name());
            let read = AccountLink::read(&url).map(|(link, token)| (link.name(), token));
            assert_eq!(read, Some((link.name(), "a-token_1=")));
        }
        for other in ["https://windlass.example.org", "https://windlass.example.org/#login", "https://a.example/#x=y"] {
            assert!(AccountLink::read(other).is_none(), "{other}");
        }
    }
}
