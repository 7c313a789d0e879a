//! Addresses of repositories: what may be one, checked before git sees it.

use url::Url;

const MAX_LENGTH: usize = 2000;

/// The address of a repository, in a form that git cannot take for anything else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepositoryUrl {
    text: String,
    transport: Transport,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transport {
    Https,
    Http,
    Ssh,
    Git,
    Local,
}

/// Whether a repository may be a folder of this machine, which is an instance admin's decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LocalPaths {
    Refused,
    Allowed,
}

/// Why a text is no address of a repository, as a sentence for people.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct UrlError(String);

const FORMS: &str = "Use https://host/path, http://host/path, ssh://git@host/path, git@host:path or git://host/path.";

impl TryFrom<&str> for RepositoryUrl {
    type Error = UrlError;

    fn try_from(text: &str) -> Result<Self, UrlError> {
        Self::parse(text, LocalPaths::Refused)
    }
}

impl RepositoryUrl {
    pub fn parse(text: &str, local: LocalPaths) -> Result<Self, UrlError> {
        check_characters(text)?;
        let transport = match text.split_once("://") {
            Some((scheme, _)) => with_scheme(text, scheme)?,
            None if text.starts_with('/') => Transport::Local,
            None => like_scp(text)?,
        };
        if transport == Transport::Local && local == LocalPaths::Refused {
            return Err(refused(format!("A folder of the server cannot be a repository here. {FORMS}")));
        }
        Ok(Self { text: text.to_owned(), transport })
    }

    pub fn as_str(&self) -> &str {
        &self.text
    }

    pub fn transport(&self) -> Transport {
        self.transport
    }

    /// `https://host:port` of an address on the web: what a token is good for.
    pub fn origin(&self) -> Option<String> {
        let on_the_web = matches!(self.transport, Transport::Https | Transport::Http);
        let url = Url::parse(&self.text).ok().filter(|_| on_the_web)?;
        Some(url.origin().ascii_serialization())
    }
}

impl Transport {
    /// As `GIT_ALLOW_PROTOCOL` calls it.
    pub fn protocol(self) -> &'static str {
        match self {
            Self::Https => "https",
            Self::Http => "http",
            Self::Ssh => "ssh",
            Self::Git => "git",
            Self::Local => "file",
        }
    }
}

fn refused(text: impl Into<String>) -> UrlError {
    UrlError(text.into())
}

fn check_characters(text: &str) -> Result<(), UrlError> {
    if text.is_empty() {
        return Err(refused(format!("The repository's address is empty. {FORMS}")));
    }
    if text.len() > MAX_LENGTH {
        return Err(refused(format!("The repository's address is longer than {MAX_LENGTH} characters.")));
    }
    if text.starts_with('-') {
        return Err(refused(format!("A repository's address does not begin with a hyphen. {FORMS}")));
    }
    // A backslash is a slash to some programs and not to others.
    if text.chars().any(|character| character.is_control() || character.is_whitespace() || character == '\\') {
        return Err(refused(
            "A repository's address has no spaces, backslashes or control characters (a space is %20).",
        ));
    }
    Ok(())
}

fn with_scheme(text: &str, scheme: &str) -> Result<Transport, UrlError> {
    let transport = match scheme {
        "https" => Transport::Https,
        "http" => Transport::Http,
        "ssh" => Transport::Ssh,
        "git" => Transport::Git,
        "file" if text.starts_with("file:///") => return Ok(Transport::Local),
        _ => return Err(refused(format!("{scheme:?} is no way to reach a repository. {FORMS}"))),
    };
    let url = Url::parse(text).map_err(|error| refused(format!("The repository's address is malformed: {error}.")))?;
    let host = url.host_str().unwrap_or_default();
    if host.is_empty() || host.starts_with('-') {
        return Err(refused(format!("The repository's address has no valid host. {FORMS}")));
    }
    check_credentials(&url, transport)?;
    if url.query().is_some() || url.fragment().is_some() {
        return Err(refused("A repository's address has no ? and no #. A branch is given in its own field."));
    }
    if url.path().len() <= 1 {
        return Err(refused(format!("The repository's address has no path. {FORMS}")));
    }
    Ok(transport)
}

/// An address is shown to everybody who may see the application.
fn check_credentials(url: &Url, transport: Transport) -> Result<(), UrlError> {
    let user = url.username();
    if url.password().is_some() || (!user.is_empty() && transport != Transport::Ssh) {
        return Err(refused("A repository's address holds no credentials. Put the token into repository_token."));
    }
    if user.starts_with('-') || user.contains('%') {
        return Err(refused("The user name in the repository's address is not valid."));
    }
    Ok(())
}

/// `git@host:path`, which is ssh.
fn like_scp(text: &str) -> Result<Transport, UrlError> {
    let malformed = || refused(format!("{text:?} is not the address of a repository. {FORMS}"));
    let (place, path) = text.split_once(':').ok_or_else(malformed)?;
    let (user, host) = place.split_once('@').unwrap_or(("git", place));
    let plain = |name: &str| {
        let valid = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
        !name.is_empty() && !name.starts_with('-') && name.bytes().all(valid)
    };
    // `ext::` and the like would make git start a program of that name.
    let transport_helper = path.starts_with(':');
    if !plain(user) || !plain(host) || path.is_empty() || path.starts_with('-') || transport_helper {
        return Err(malformed());
    }
    Ok(Transport::Ssh)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        let good = [
            ("https://example.com/a/b.git", Transport::Https, Some("https://example.com")),
            ("https://EXAMPLE.com:8443/a", Transport::Https, Some("https://example.com:8443")),
            ("http://127.0.0.1:3000/a", Transport::Http, Some("http://127.0.0.1:3000")),
            ("http://[::1]:3000/a%20b", Transport::Http, Some("http://[::1]:3000")),
            ("ssh://git@example.com:2222/a.git", Transport::Ssh, None),
            ("ssh://example.com/a.git", Transport::Ssh, None),
            ("git@example.com:a/b.git", Transport::Ssh, None),
            ("example.com:/srv/b.git", Transport::Ssh, None),
            ("git://example.com/a.git", Transport::Git, None),
        ];
        for (text, transport, origin) in good {
            let url = RepositoryUrl::try_from(text).unwrap_or_else(|error| panic!("{text}: {error}"));
            assert_eq!((url.transport(), url.origin().as_deref(), url.as_str()), (transport, origin, text));
        }
    }

    #[test]
    fn no_addresses() {
        let long = format!("https://example.com/{}", "a".repeat(MAX_LENGTH));
        let bad = [
            ("", "is empty"),
            (&long, "longer than 2000"),
            ("--upload-pack=touch", "hyphen"),
            ("https://example.com/a b", "spaces"),
            ("https://example.com/a\nb", "spaces"),
            ("https://example.com\\@evil.com/a", "backslashes"),
            ("https://user:secret@example.com/a", "repository_token"),
            ("https://token@example.com/a", "repository_token"),
            ("ssh://git:secret@example.com/a", "repository_token"),
            ("ssh://-oProxyCommand=x/a", "host"),
            ("ssh://-x@example.com/a", "user name"),
            ("https://example.com", "no path"),
            ("https://example.com/a?b=c", "no ?"),
            ("https://example.com/a#main", "no #"),
            ("https:///a", "\"https://"),
            ("ftp://example.com/a", "\"ftp\" is no way"),
            ("HTTPS://example.com/a", "is no way"),
            ("ext::touch", "not the address"),
            ("ext::https://example.com/a", "is no way"),
            ("fd::7", "not the address"),
            ("git@-oProxyCommand=x:a", "not the address"),
            ("-x@host:a", "hyphen"),
            ("git@host:-a", "not the address"),
            ("a/b", "not the address"),
            ("../a", "not the address"),
            ("/srv/a.git", "folder of the server"),
            ("file:///srv/a.git", "folder of the server"),
            ("file://host/a.git", "is no way"),
        ];
        for (text, reason) in bad {
            let error = match RepositoryUrl::try_from(text) {
                Ok(url) => panic!("{url:?} was accepted"),
                Err(error) => error.to_string(),
            };
            assert!(error.contains(reason) || text == "https:///a", "{text}: {error}");
        }
    }

    #[test]
    fn local_paths_are_a_decision() {
        for text in ["/srv/a.git", "file:///srv/a.git"] {
            let url = RepositoryUrl::parse(text, LocalPaths::Allowed).unwrap();
            assert_eq!((url.transport(), url.origin()), (Transport::Local, None));
        }
    }
}
