//! Addresses of repositories: the one place where such a text is taken apart. Neither git nor ssh can take for anything
//! else what it lets pass.

use crate::Host;
use crate::text::{checked_text, refuse_invisible};

/// A scheme, a host and a path; a folder of the machine; or `user@host:path`.
const REPOSITORY_PATTERN: &str = concat!(
    r"^((https?|git|ssh)://[^/\s]+/\S+|file:///\S*|/\S*|push|image|extension",
    r"|[A-Za-z0-9._][A-Za-z0-9._-]*@[A-Za-z0-9._][A-Za-z0-9._-]*:[^\s-]\S*)$"
);
const EXAMPLE: &str = "must be the address of a git repository, such as https://git.example.org/team/shop.git";

checked_text! {
    /// Where the source is: https, http, ssh or git, or `user@host:path`. What begins with `/` or `file://` is a folder
    /// of the server's own machine, which is the server's business to allow. `push` is what is pushed to Windlass itself. `image` stands for none: the
    /// application is made from an image of a registry. `extension` neither: it is made from an extension's template.
    RepositoryAddress, 1..=2000, REPOSITORY_PATTERN, repository;
}

/// How a repository is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    Https,
    Http,
    Ssh,
    Git,
    Local,
    /// To Windlass itself.
    Push,
    /// There is no repository.
    Image,
    /// Neither is there here.
    Extension,
}

impl Transport {
    /// Its scheme, as git calls it.
    pub const fn scheme(self) -> &'static str {
        match self {
            Self::Https => "https",
            Self::Http => "http",
            Self::Ssh => "ssh",
            Self::Git => "git",
            Self::Local | Self::Push | Self::Image | Self::Extension => "file",
        }
    }

    /// The transport of an address that was checked, and what follows `://`.
    fn of(text: &str) -> (Self, &str) {
        let transports = [Self::Https, Self::Http, Self::Ssh, Self::Git, Self::Local];
        match text.split_once("://") {
            Some((scheme, rest)) => {
                let found = transports.into_iter().find(|transport| transport.scheme() == scheme);
                (found.unwrap_or(Self::Local), rest)
            }
            None if text.starts_with('/') => (Self::Local, text),
            None if text == RepositoryAddress::PUSHED => (Self::Push, text),
            None if text == RepositoryAddress::IMAGE => (Self::Image, text),
            None if text == RepositoryAddress::EXTENSION => (Self::Extension, text),
            None => (Self::Ssh, text),
        }
    }
}

impl RepositoryAddress {
    /// What is pushed to Windlass itself.
    pub const PUSHED: &str = "push";
    /// Nothing: an image of a registry is taken.
    pub const IMAGE: &str = "image";
    /// Nothing: what an extension installs is deployed.
    pub const EXTENSION: &str = "extension";

    pub fn transport(&self) -> Transport {
        Transport::of(self).0
    }

    /// Whether it is a folder of the server's own machine.
    pub fn is_local(&self) -> bool {
        self.transport() == Transport::Local
    }

    /// The host, with its port if it is given; none of a folder.
    pub fn authority(&self) -> Option<&str> {
        let (transport, rest) = Transport::of(self);
        let authority = match transport {
            Transport::Local | Transport::Push | Transport::Image | Transport::Extension => return None,
            Transport::Ssh if !self.contains("://") => rest.split(':').next(),
            _ => rest.split('/').next(),
        };
        authority.map(|authority| authority.rsplit_once('@').map_or(authority, |(_, host)| host))
    }

    /// What follows the host, without the slash or the colon before it; the whole of a folder.
    pub fn path(&self) -> &str {
        let (transport, rest) = Transport::of(self);
        let separator = if transport == Transport::Ssh && !self.contains("://") { ':' } else { '/' };
        match transport {
            Transport::Local | Transport::Push | Transport::Image | Transport::Extension => rest,
            _ => rest.split_once(separator).map_or("", |(_, path)| path),
        }
    }

    /// `https://host:port` of an address on the web: what a token is good for.
    pub fn origin(&self) -> Option<String> {
        let (transport, rest) = Transport::of(self);
        let usual_port = match transport {
            Transport::Https => ":443",
            Transport::Http => ":80",
            Transport::Ssh
            | Transport::Git
            | Transport::Local
            | Transport::Push
            | Transport::Image
            | Transport::Extension => return None,
        };
        let authority = rest.split('/').next().unwrap_or_default().to_ascii_lowercase();
        let authority = authority.strip_suffix(usual_port).unwrap_or(&authority);
        Some(format!("{}://{authority}", transport.scheme()))
    }
}

fn repository(text: &str) -> Result<String, String> {
    refuse_invisible(text)?;
    if text.contains(char::is_whitespace) {
        return Err("must not contain spaces".into());
    }
    let is_well_formed = match text.split_once("://") {
        Some((scheme @ ("https" | "http" | "git" | "ssh"), rest)) => remote(scheme, rest)?,
        Some(("file", rest)) => rest.starts_with('/'),
        Some(_) => return Err(format!("{EXAMPLE}: https, http, ssh and git are possible")),
        None => {
            text.starts_with('/')
                || matches!(text, RepositoryAddress::PUSHED | RepositoryAddress::IMAGE | RepositoryAddress::EXTENSION)
                || is_scp(text)
        }
    };
    // A backslash is a slash to some programs and not to others.
    if is_well_formed && !text.contains('\\') { Ok(text.to_owned()) } else { Err(EXAMPLE.into()) }
}

/// Whether what follows the scheme names a host and a path.
fn remote(scheme: &str, rest: &str) -> Result<bool, String> {
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    let (user, host) = authority.rsplit_once('@').map_or((None, authority), |(user, host)| (Some(user), host));
    // An address is shown to all who may see the application.
    if user.is_some_and(|user| scheme != "ssh" || user.contains(':')) {
        return Err("must not contain a user name or a password: put the token in repository_token".into());
    }
    let has_path = !path.is_empty() && !path.contains(['?', '#']);
    let has_port_0 =
        host.rsplit_once(':').is_some_and(|(_, port)| !port.is_empty() && port.bytes().all(|byte| byte == b'0'));
    let has_host = Host::of_authority(host).is_some() && !has_port_0;
    Ok(has_host && user.is_none_or(is_user) && has_path)
}

/// `git@git.example.org:team/shop.git`. After two colons git would start a program of that name.
fn is_scp(text: &str) -> bool {
    let parts = text.split_once('@').and_then(|(user, rest)| Some((user, rest.split_once(':')?)));
    parts.is_some_and(|(user, (host, path))| {
        let has_host = Host::of_authority(host).is_some();
        is_user(user) && has_host && !path.is_empty() && !path.starts_with(['-', ':'])
    })
}

/// It never begins with a hyphen: ssh would take that for an option.
fn is_user(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
    !text.is_empty() && !text.starts_with('-') && text.bytes().all(is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        for (text, transport, origin) in [
            ("https://git.example.org/team/shop.git", Transport::Https, Some("https://git.example.org")),
            ("https://EXAMPLE.com:8443/a", Transport::Https, Some("https://example.com:8443")),
            ("https://example.com:443/a", Transport::Https, Some("https://example.com")),
            ("http://example.com:443/a", Transport::Http, Some("http://example.com:443")),
            ("http://example.com:80/a", Transport::Http, Some("http://example.com")),
            ("http://127.0.0.1:3000/shop", Transport::Http, Some("http://127.0.0.1:3000")),
            ("http://[::1]:3000/a%20b", Transport::Http, Some("http://[::1]:3000")),
            ("http://git_server:3000/shop", Transport::Http, Some("http://git_server:3000")),
            ("git://git.example.org/shop", Transport::Git, None),
            ("ssh://git@git.example.org:2222/team/shop.git", Transport::Ssh, None),
            ("ssh://example.com/a.git", Transport::Ssh, None),
            ("git@git.example.org:team/shop.git", Transport::Ssh, None),
            ("git@git.example.org:/srv/shop.git", Transport::Ssh, None),
            ("/srv/git/shop", Transport::Local, None),
            ("file:///srv/git/shop", Transport::Local, None),
            ("push", Transport::Push, None),
            ("image", Transport::Image, None),
            ("extension", Transport::Extension, None),
        ] {
            let address = RepositoryAddress::try_from(text).unwrap_or_else(|problem| panic!("{text}: {problem}"));
            assert_eq!((address.transport(), address.origin().as_deref(), &*address), (transport, origin, text));
            assert_eq!(address.is_local(), transport == Transport::Local);
        }
    }

    #[test]
    fn what_is_no_address() {
        let long = format!("https://example.com/{}", "a".repeat(2000));
        for text in [
            "",
            &long,
            "shop",
            "a/b",
            "./shop",
            "../a",
            "https://",
            "https://git.example.org",
            "https://git.example.org/",
            "https:///shop",
            "HTTPS://example.com/a",
            "ftp://git.example.org/shop",
            "javascript://x/y",
            "ext::sh -c id",
            "ext::sh",
            "ext::https://example.com/a",
            "git@ext::sh",
            "fd::7",
            "--upload-pack=id",
            "--upload-pack=touch@host:x",
            "-x@host:path",
            "git@-oProxyCommand=id:x",
            "git@host:-x",
            "git@host:",
            "git@:x",
            "@host:x",
            "git@[::1:x",
            "host:path",
            "ssh://-oProxyCommand=id/x",
            "ssh://-x@host/y",
            "ssh://git@/x",
            "ssh://@host/x",
            "ssh://%2doProxyCommand=id/x",
            "ssh://%2dx@host/x",
            "ssh://a@b@host/x",
            "file://host/x",
            "file:/x",
            "https://example.com:0/a",
            "https://example.com:00/a",
            "https://example.com:/a",
            "https://example.com:65536/a",
            "https://example.com:x/a",
            "https://[::1/a",
            "https://::1/a",
            "https://[localhost]/a",
            "https://a..b/x",
            "https://10.1/x",
            "https://0x7f.1/x",
            "https://bücher.example/x",
            "https://exam%70le.com/a",
            "https://example.com/a?b=c",
            "https://example.com/a#main",
            "https://example.com\\@evil.com/a",
            "https://example.com/a\\b",
            "/srv/a\\b",
            "https://git.example.org/a b",
            "https://git.example.org/a\tb",
            "https://git.example.org/a\nb",
            "https://git.example.org/a\u{0}b",
            "https://git.example.org/a\u{202E}b",
        ] {
            assert!(RepositoryAddress::try_from(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn credentials_have_a_place_of_their_own() {
        for text in [
            "https://ada:token@git.example.org/shop",
            "https://token@git.example.org/x",
            "https://git.example.org@evil.example/x",
            "git://a@host/x",
            "ssh://a:b@host/x",
        ] {
            let told = RepositoryAddress::try_from(text).unwrap_err();
            assert!(told.contains("put the token in repository_token"), "{text}: {told}");
        }
    }
}
