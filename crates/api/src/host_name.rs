//! Names and addresses of machines: the one place where such a text is taken apart.

use std::net::{IpAddr, Ipv6Addr};

use crate::text::{checked_text, refuse_invisible};

/// Letters and digits of every script, and hyphens inside: written as what is not in it, which every reader of patterns understands.
macro_rules! labels {
    () => {
        concat!(
            r"[^\x00-/:-@\[-`{-\x7f]([^\x00-,./:-@\[-`{-\x7f]{0,61}[^\x00-/:-@\[-`{-\x7f])?",
            r"(\.[^\x00-/:-@\[-`{-\x7f]([^\x00-,./:-@\[-`{-\x7f]{0,61}[^\x00-/:-@\[-`{-\x7f])?)*"
        )
    };
}

/// Labels with dots between them, and perhaps one at the end. A label may be in any script.
const NAME_PATTERN: &str = concat!(r"^", labels!(), r"\.?$");
/// The same, or `*.` in front of it.
const DOMAIN_PATTERN: &str = concat!(r"^(\*\.)?", labels!(), r"\.?$");
/// Labels with dots between them, which an IPv4 address is too, or the characters of an IPv6 address.
const HOST_PATTERN: &str = concat!(
    r"^([A-Za-z0-9]([A-Za-z0-9_-]{0,61}[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9_-]{0,61}[A-Za-z0-9])?)*\.?",
    r"|[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*)$"
);

checked_text! {
    /// A name that visitors can ask for: in lower case, without the dot at the end, and not an address.
    HostName, 1..=253, NAME_PATTERN, host_name;
    /// The same, or `*.example.org` for every name below.
    DomainName, 1..=253, DOMAIN_PATTERN, domain_name;
    /// A name or an address, in lower case and without the dot at the end. Names inside a network may have underscores.
    Host, 1..=253, HOST_PATTERN, host;
}

impl Host {
    /// Of `host` or `host:port`, as it stands in a request's `Host`. An IPv6 address is in brackets.
    pub fn of_authority(text: &str) -> Option<Self> {
        let (host, port) = match text.rsplit_once(':') {
            Some((host, port)) if !port.contains(']') => (host, Some(port)),
            _ => (text, None),
        };
        let is_port = |port: &str| port.bytes().all(|byte| byte.is_ascii_digit()) && port.parse::<u16>().is_ok();
        if !port.is_none_or(is_port) || host.contains(char::is_whitespace) {
            return None;
        }
        match host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            Some(address) => Some(Self(address.parse::<Ipv6Addr>().ok()?.to_string())),
            None if host.contains(':') => None,
            None => Self::try_from(host).ok(),
        }
    }

    /// Of `scheme://host:port/path`.
    pub fn of_url(text: &str) -> Option<Self> {
        let (_, rest) = text.split_once("://")?;
        Self::of_authority(rest.split(['/', '?', '#', '\\']).next()?)
    }

    /// Whether it can only mean this machine.
    pub fn is_local(&self) -> bool {
        is_local_name(self) || self.parse::<IpAddr>().is_ok_and(|address| address.to_canonical().is_loopback())
    }
}

/// Whether a name in lower case can only mean this machine, be it well-formed or not.
pub fn is_local_name(name: &str) -> bool {
    name == "localhost" || name.ends_with(".localhost")
}

fn host_name(text: &str) -> Result<String, String> {
    let text = text.strip_suffix('.').unwrap_or(text);
    let name = if text.is_ascii() { Some(text.to_ascii_lowercase()) } else { in_ascii(text) };
    name.filter(|name| !name.contains('_') && is_name(name))
        .ok_or_else(|| "must be a host name without port, such as shop.example.org".into())
}

fn domain_name(text: &str) -> Result<String, String> {
    match text.strip_prefix("*.") {
        Some(above) => host_name(above).map(|above| format!("*.{above}")),
        None => host_name(text),
    }
}

/// The form that DNS knows: `bücher.example` is `xn--bcher-kva.example`. A label that would become another one of letters a to z is refused:
/// the Kelvin sign would become a k.
fn in_ascii(text: &str) -> Option<String> {
    refuse_invisible(text).ok()?;
    let name = idna::domain_to_ascii_strict(text).ok()?;
    let is_same_kind = |(before, after): (&str, &str)| {
        let is_label = before.chars().count() <= 63 && !before.starts_with('-') && !before.ends_with('-');
        is_label && (before.is_ascii() || after.starts_with("xn--"))
    };
    let are_as_many = text.split('.').count() == name.split('.').count();
    (are_as_many && text.split('.').zip(name.split('.')).all(is_same_kind)).then_some(name)
}

/// A name as people write it: the other way round. What would not mean the same again stays as it is.
pub fn readable(domain: &str) -> String {
    let (name, _) = idna::domain_to_unicode(domain);
    match domain_name(&name) {
        Ok(meant) if meant == domain => name,
        _ => domain.to_owned(),
    }
}

fn host(text: &str) -> Result<String, String> {
    refuse_invisible(text)?;
    let text = text.strip_suffix('.').unwrap_or(text).to_ascii_lowercase();
    match text.parse::<IpAddr>() {
        // In one form, whichever it was written in.
        Ok(address) => Ok(address.to_string()),
        Err(_) if is_name(&text) => Ok(text),
        Err(_) => Err("must be a host name, such as mail.example.org, or an IP address".into()),
    }
}

/// What ends in a number is an address, or nothing: resolvers disagree about 10.1 and 0x7f.1.
fn is_name(text: &str) -> bool {
    let is_number = |label: &str| label.starts_with("0x") || label.bytes().all(|byte| byte.is_ascii_digit());
    text.split('.').all(is_label) && !text.rsplit('.').next().is_some_and(is_number)
}

fn is_label(label: &str) -> bool {
    let is_inner = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    (1..=63).contains(&label.len())
        && label.bytes().all(is_inner)
        && !label.starts_with(['-', '_'])
        && !label.ends_with(['-', '_'])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is neither a name nor an address, in every place where one can stand.
    const NOTHING: [&str; 22] = [
        "",
        ".",
        "..",
        ".a",
        "a..b",
        "a..",
        "-a.b",
        "a-.b",
        "_a.b",
        "*.example.org",
        "a b",
        "a\tb",
        "a\u{0}b",
        "a\u{200B}b",
        "a%2eb",
        "a/b",
        "a@b",
        "a:b@c",
        "a\\b",
        "--upload-pack=id",
        "10.1",
        "0x7f.1",
    ];

    #[test]
    fn names() {
        for (text, name) in [
            ("Shop.Example.ORG.", "shop.example.org"),
            (" shop.example.org ", "shop.example.org"),
            ("localhost", "localhost"),
            ("xn--bcher-kva.example", "xn--bcher-kva.example"),
            ("1.example.org", "1.example.org"),
            ("a--b.c", "a--b.c"),
            ("B\u{fc}cher.example", "xn--bcher-kva.example"),
            ("東京.example.org.", "xn--1lqs71d.example.org"),
        ] {
            assert_eq!(HostName::try_from(text).as_deref(), Ok(name));
        }
        let more = [
            "10.0.0.1",
            "::1",
            "[::1]",
            "shop.example.org:80",
            "a_b.c",
            "1",
            "boo\u{212A}.example",
            "bücher\u{200B}.example",
            "ü。example",
            "\u{200D}.example",
        ];
        for text in NOTHING.iter().chain(&more) {
            assert!(HostName::try_from(*text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn names_of_every_script_are_readable() {
        for (name, shown) in [
            ("xn--bcher-kva.example", "bücher.example"),
            ("*.xn--1lqs71d.example.org", "*.東京.example.org"),
            ("shop.example.org", "shop.example.org"),
            ("xn--a.example", "xn--a.example"),
        ] {
            assert_eq!(readable(name), shown);
        }
    }

    #[test]
    fn names_of_all_below() {
        assert_eq!(DomainName::try_from("*.Bücher.example").as_deref(), Ok("*.xn--bcher-kva.example"));
        assert_eq!(DomainName::try_from("shop.example.org").as_deref(), Ok("shop.example.org"));
        for text in ["*", "*.", "*.*.example.org", "a.*.example.org", "*shop.example.org", "*.10.0.0.1"] {
            assert!(DomainName::try_from(text).is_err(), "{text}");
        }
    }

    #[test]
    fn lengths() {
        let label = |length: usize| "x".repeat(length);
        let whole = format!("{}.{}.{}.{}", label(63), label(63), label(63), label(61));
        assert_eq!(whole.len(), 253);
        for text in [&format!("{}.org", label(63)), &whole] {
            assert!(HostName::try_from(text.as_str()).is_ok() && Host::try_from(text.as_str()).is_ok(), "{text}");
        }
        for text in [&format!("{}.org", label(64)), &format!("{whole}x"), &format!("a.{whole}")] {
            assert!(HostName::try_from(text.as_str()).is_err() && Host::try_from(text.as_str()).is_err(), "{text}");
        }
    }

    #[test]
    fn names_and_addresses() {
        for (text, host) in [
            ("Mail.Example.ORG.", "mail.example.org"),
            ("a_b.internal", "a_b.internal"),
            ("10.0.0.1", "10.0.0.1"),
            ("::1", "::1"),
            ("FE80::1", "fe80::1"),
            ("0:0:0::1", "::1"),
        ] {
            assert_eq!(Host::try_from(text).as_deref(), Ok(host));
        }
        for text in NOTHING.iter().chain(&["[::1]", "mail.example.org:25", "bücher.example", "256.0.0.1", "1:2"]) {
            assert!(Host::try_from(*text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn hosts_of_authorities_and_addresses() {
        for (text, host) in [
            ("localhost", "localhost"),
            ("LOCALHOST.:7780", "localhost"),
            ("shop.example.org:80", "shop.example.org"),
            ("127.0.0.1:7780", "127.0.0.1"),
            ("[::1]", "::1"),
            ("[0:0::1]:7780", "::1"),
        ] {
            assert_eq!(Host::of_authority(text).as_deref(), Some(host));
            assert_eq!(Host::of_url(&format!("https://{text}/a?b#c")).as_deref(), Some(host));
            assert_eq!(Host::of_url(&format!("http://{text}")).as_deref(), Some(host));
        }
        let more =
            ["::1", "[::1", "::1]", "[::1]x", "[127.0.0.1]", "a:", "a:x", "a:+1", "a:65536", "a:1:2", " a", "a "];
        let tricks = ["localhost:80@example.org", "localhost@example.org", "[::1]@example.org", "[fe80::1%25eth0]"];
        for text in NOTHING.iter().chain(&more).chain(&tricks) {
            assert_eq!(Host::of_authority(text), None, "{text:?}");
        }
        for text in ["", "localhost", "https://", "https:///a", "https://a@b/", "https://localhost:80@example.org/"] {
            assert_eq!(Host::of_url(text), None, "{text:?}");
        }
        // To a browser a backslash is a slash.
        assert_eq!(Host::of_url("https://a\\@b").as_deref(), Some("a"));
    }

    #[test]
    fn this_machine() {
        for text in ["localhost", "LOCALHOST.", "shop.localhost", "127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1"] {
            assert!(Host::try_from(text).unwrap().is_local(), "{text}");
        }
        for text in ["example.org", "localhost.example.org", "notlocalhost", "10.0.0.1", "0.0.0.0", "fe80::1"] {
            assert!(!Host::try_from(text).unwrap().is_local(), "{text}");
        }
    }
}
