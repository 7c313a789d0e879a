//! Texts that describe an application: where its source is, how it is built, and where its visitors find it.

use std::borrow::Cow;
use std::ops::Deref;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer};

use crate::text::{self, NOT_BLANK, check_length, refuse_invisible};

/// A text with a rule of its own: `checked_text! { /// Doc. Name, 1..=100, PATTERN, rule }`. The rule gives the text as it is
/// kept. The pattern is what clients are told of the rule; it lets everything pass that the rule does.
macro_rules! checked_text {
    ($($(#[$doc:meta])* $name:ident, $min:literal..=$max:literal, $pattern:expr, $rule:expr;)+) => {
        $($(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct $name(String);

        impl Deref for $name {
            type Target = str;

            fn deref(&self) -> &str {
                &self.0
            }
        }

        impl TryFrom<&str> for $name {
            type Error = String;

            fn try_from(text: &str) -> Result<Self, String> {
                let text = text.trim();
                check_length(text, $min, $max)?;
                let rule: fn(&str) -> Result<String, String> = $rule;
                rule(text).map(Self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                text::read(deserializer)
            }
        }

        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn inline_schema() -> bool {
                true
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({ "type": "string", "minLength": $min, "maxLength": $max, "pattern": $pattern })
            }
        })+
    };
}

/// A scheme, a host and a path; a folder of the machine; or `user@host:path`.
const REPOSITORY_PATTERN: &str = concat!(
    r"^((https?|git|ssh)://[^/\s]+/\S+|file:///\S*|/\S*",
    r"|[A-Za-z0-9._][A-Za-z0-9._-]*@[A-Za-z0-9._][A-Za-z0-9._-]*:[^\s-]\S*)$"
);
/// Segments, none of which is `..`.
const PATH_PATTERN: &str = r"^(\.?([^/.][^/]*)?|\.\.[^/]+)(/(\.?([^/.][^/]*)?|\.\.[^/]+))*$";
/// Labels with dots between them, and perhaps one at the end.
const DOMAIN_PATTERN: &str =
    r"^[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*\.?$";

checked_text! {
    /// Unique in its organization. It must give a label for a domain: [`ApplicationName::label`].
    ApplicationName, 1..=100, "[A-Za-z0-9]", application_name;
    /// Where the source is: https, http, ssh or git, or `user@host:path`. What begins with `/` or `file://` is a folder of the
    /// server's own machine, which is the server's business to allow.
    RepositoryUrl, 1..=2000, REPOSITORY_PATTERN, repository;
    Branch, 1..=250, r"^[^\s~^:?*\[\\/-]([^\s~^:?*\[\\]*[^\s~^:?*\[\\/])?$", branch;
    /// A folder of the repository, beginning with `/` at its root.
    FolderPath, 1..=500, PATH_PATTERN, folder;
    /// A file of the repository, without `/` at the beginning.
    FilePath, 1..=500, PATH_PATTERN, file;
    /// A host name in lower case, not an address.
    Domain, 1..=253, DOMAIN_PATTERN, domain;
    /// What a shell inside the container is given, so lines may be several.
    Command, 1..=4000, NOT_BLANK, command;
    /// The path of a URL on the application itself.
    HealthPath, 1..=500, "^/[!$-;=?-Z_a-z~]*$", health_path;
    /// The name that a sender gives to a request that must not be done twice.
    IdempotencyName, 1..=200, "^[!-~]+$", visible_ascii;
}

impl ApplicationName {
    /// The name as a label of a domain: `My Shop!` is `my-shop`. Short enough for something to be added.
    pub fn label(&self) -> String {
        label(&self.0)
    }
}

impl RepositoryUrl {
    /// Whether it is a folder of the server's own machine.
    pub fn is_local(&self) -> bool {
        self.0.starts_with('/') || self.0.starts_with("file://")
    }
}

fn label(name: &str) -> String {
    let lower = name.to_lowercase();
    let words = lower.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let whole = words.collect::<Vec<_>>().join("-");
    whole.chars().take(40).collect::<String>().trim_end_matches('-').to_owned()
}

fn application_name(text: &str) -> Result<String, String> {
    refuse_invisible(text)?;
    if label(text).is_empty() {
        return Err("must contain a letter (a to z) or a digit, because a domain is made from it".into());
    }
    Ok(text.to_owned())
}

fn repository(text: &str) -> Result<String, String> {
    refuse_invisible(text)?;
    if text.contains(char::is_whitespace) {
        return Err("must not contain spaces".into());
    }
    let example = "must be the address of a git repository, such as https://git.example.org/team/shop.git";
    let well_formed = match text.split_once("://") {
        Some((scheme @ ("https" | "http" | "git" | "ssh"), rest)) => remote(scheme, rest)?,
        Some(("file", rest)) => rest.starts_with('/'),
        Some(_) => return Err(format!("{example}: https, http, ssh and git are possible")),
        None => text.starts_with('/') || is_scp(text),
    };
    if well_formed { Ok(text.to_owned()) } else { Err(example.into()) }
}

/// Whether what follows the scheme names a host and a path. A user and a host never begin with a hyphen: ssh would take that for
/// an option.
fn remote(scheme: &str, rest: &str) -> Result<bool, String> {
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    let (user, host) = authority.rsplit_once('@').map_or((None, authority), |(user, host)| (Some(user), host));
    if user.is_some_and(|user| scheme != "ssh" || user.contains(':')) {
        return Err("must not contain a user name or a password: put the token in repository_token".into());
    }
    let has_path = !path.is_empty() && !path.contains(['?', '#', '\\']);
    Ok(is_host(host) && user.is_none_or(is_word) && has_path)
}

/// `git@git.example.org:team/shop.git`
fn is_scp(text: &str) -> bool {
    let parts = text.split_once('@').and_then(|(user, rest)| Some((user, rest.split_once(':')?)));
    parts.is_some_and(|(user, (host, path))| {
        is_word(user) && is_word(host) && !path.is_empty() && !path.starts_with('-') && !path.contains('\\')
    }) && !text.starts_with('-')
}

/// A name or an address, and a port if there is one.
fn is_host(text: &str) -> bool {
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => (host, Some(port)),
        _ => (text, None),
    };
    let address = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    let is_port = |port: &str| port.parse::<u16>().is_ok_and(|port| port > 0);
    let is_well_formed = match address {
        Some(address) => address.parse::<std::net::Ipv6Addr>().is_ok(),
        None => is_word(host),
    };
    is_well_formed && port.is_none_or(is_port)
}

fn is_word(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
    !text.is_empty() && !text.starts_with('-') && text.bytes().all(is_plain)
}

fn branch(text: &str) -> Result<String, String> {
    refuse_invisible(text)?;
    let forbidden = |c: char| c.is_whitespace() || "~^:?*[\\".contains(c);
    if text.starts_with(['-', '/']) || text.ends_with('/') || text.contains("..") || text.contains(forbidden) {
        return Err("must be the name of a branch, such as main".into());
    }
    Ok(text.to_owned())
}

fn folder(text: &str) -> Result<String, String> {
    Ok(format!("/{}", segments(text)?.join("/")))
}

fn file(text: &str) -> Result<String, String> {
    let path = segments(text)?.join("/");
    if path.is_empty() { Err("must be a file of the repository, such as Dockerfile".into()) } else { Ok(path) }
}

fn segments(path: &str) -> Result<Vec<&str>, String> {
    refuse_invisible(path)?;
    if path.split('/').any(|segment| segment == "..") {
        return Err("must not contain \"..\"".into());
    }
    Ok(path.split('/').filter(|segment| !matches!(*segment, "" | ".")).collect())
}

fn domain(text: &str) -> Result<String, String> {
    let text = text.strip_suffix('.').unwrap_or(text).to_lowercase();
    if !text.is_ascii() {
        return Err("must be in ASCII; a name in another script is written with xn--".into());
    }
    let is_label = |label: &str| {
        (1..=63).contains(&label.len())
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    // What ends in a number is an address, or nothing.
    let is_number = |label: &str| label.starts_with("0x") || label.bytes().all(|byte| byte.is_ascii_digit());
    if !text.split('.').all(is_label) || text.rsplit('.').next().is_some_and(is_number) {
        return Err("must be a host name without port, such as shop.example.org".into());
    }
    Ok(text)
}

fn command(text: &str) -> Result<String, String> {
    let text = text.replace("\r\n", "\n");
    refuse_invisible(&text.replace(['\n', '\t'], " "))?;
    Ok(text)
}

fn health_path(text: &str) -> Result<String, String> {
    let is_allowed = |byte: u8| byte.is_ascii_graphic() && !b"\"#<>[\\]^`{|}".contains(&byte);
    if !text.starts_with('/') || !text.bytes().all(is_allowed) {
        return Err("must be a path as it stands in a URL, beginning with /, such as /health".into());
    }
    Ok(text.to_owned())
}

fn visible_ascii(text: &str) -> Result<String, String> {
    if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err("must be visible ASCII characters".into());
    }
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_labels() {
        let long = "x".repeat(100);
        let tests = [("My Shop!", "my-shop"), ("shop--2", "shop-2"), ("Ünï 7", "n-7"), (&long, &long[..40])];
        for (name, label) in tests {
            assert_eq!(ApplicationName::try_from(name).unwrap().label(), label);
        }
        for name in ["", "東京", "---", "a\nb"] {
            assert!(ApplicationName::try_from(name).is_err(), "{name:?}");
        }
    }

    #[test]
    fn repositories() {
        for text in [
            "https://git.example.org/team/shop.git",
            "http://127.0.0.1:3000/shop",
            "http://[::1]:3000/shop",
            "git://git.example.org/shop",
            "ssh://git@git.example.org:2222/team/shop.git",
            "git@git.example.org:team/shop.git",
        ] {
            assert!(!RepositoryUrl::try_from(text).unwrap().is_local(), "{text}");
        }
        for text in ["/srv/git/shop", "file:///srv/git/shop"] {
            assert!(RepositoryUrl::try_from(text).unwrap().is_local(), "{text}");
        }
        for text in [
            "",
            "shop",
            "./shop",
            "https://",
            "https://git.example.org",
            "https:///shop",
            "ftp://git.example.org/shop",
            "ext::sh -c id",
            "ext::sh",
            "--upload-pack=id",
            "-x@host:path",
            "git@-oProxyCommand=id:x",
            "git@host:-x",
            "ssh://-oProxyCommand=id/x",
            "ssh://-x@host/y",
            "file://host/x",
            "https://git.example.org/a b",
            "https://git.example.org/a\u{0}b",
        ] {
            assert!(RepositoryUrl::try_from(text).is_err(), "{text:?}");
        }
        for text in ["https://ada:token@git.example.org/shop", "https://token@git.example.org/x", "ssh://a:b@host/x"] {
            assert!(RepositoryUrl::try_from(text).unwrap_err().contains("put the token in repository_token"), "{text}");
        }
    }

    #[test]
    fn branches_and_paths() {
        for (text, is_good) in
            [("main", true), ("feature/x-1", true), ("-x", false), ("a..b", false), ("a b", false), ("a:b", false)]
        {
            assert_eq!(Branch::try_from(text).is_ok(), is_good, "{text}");
        }
        for (text, kept) in [("/", "/"), (".", "/"), ("web", "/web"), ("./a//b/", "/a/b"), ("/a/./b", "/a/b")] {
            assert_eq!(&*FolderPath::try_from(text).unwrap(), kept);
        }
        for (text, kept) in [("Dockerfile", "Dockerfile"), ("/x", "x"), ("./ops/Dockerfile", "ops/Dockerfile")] {
            assert_eq!(&*FilePath::try_from(text).unwrap(), kept);
        }
        assert!(FilePath::try_from("/").is_err());
        assert!(FilePath::try_from("../x").is_err() && FolderPath::try_from("a/../..").is_err());
    }

    #[test]
    fn domains() {
        assert_eq!(&*Domain::try_from("Shop.Example.ORG.").unwrap(), "shop.example.org");
        for text in [
            "*.example.org",
            "10.0.0.1",
            "[::1]",
            "shop.example.org:80",
            "-a.b",
            "a..b",
            "a_b.c",
            "bücher.example",
            "1",
        ] {
            assert!(Domain::try_from(text).is_err(), "{text}");
        }
        assert!(Domain::try_from(format!("{}.org", "x".repeat(64)).as_str()).is_err());
    }

    #[test]
    fn commands_and_health_paths() {
        assert_eq!(&*Command::try_from("npm ci\r\n\tnpm test\n").unwrap(), "npm ci\n\tnpm test");
        assert!(Command::try_from("a\0b").is_err() && Command::try_from("a\u{7}b").is_err());
        assert!(HealthPath::try_from("/health?deep=1").is_ok());
        assert!(HealthPath::try_from("health").is_err() && HealthPath::try_from("/a b").is_err());
    }
}
