//! What holds for every text that is taken, whatever was sent. `PROPTEST_CASES` says how many are tried of each.

#![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::net::{IpAddr, Ipv6Addr};
use std::ops::Deref;
use std::sync::{Mutex, PoisonError};

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use regex::Regex;
use schemars::{JsonSchema, SchemaGenerator};
use serde::Serialize;
use serde::de::DeserializeOwned;
use windlass_api::{
    ApplicationName, Branch, BuildTarget, Command, ContainerPath, DomainName, Email, EventCursor, FilePath, FolderPath,
    HealthPath, Host, HostName, HostPath, IdempotencyName, LanguageTag, LogCursor, LogStream, RepositoryAddress,
    RoutePath, ServiceName, Several, Slug, SshKey, Text, TextSet, Timestamp, Transport, VariableMap, WebhookSecret,
    Whole,
};

/// What rules are about, so that texts of them come near to every rule's edge. Some characters become ASCII in lower case.
#[rustfmt::skip]
const PIECES: &[&str] = &[
    "a", "b", "Z", "0", "7", "x1", "shop", "example", "org", "localhost", "main", "push", "xn--a", "0x7f", "-", "--", "_",
    ".", "..", "...", "/", "//", "./", "../", "\\", ":", "::", ":22", ":0", ":00", ":443", ":65536", "@", "git@", "ada:x@",
    "-x@", "https://", "http://", "ssh://", "git://", "file://", "ext::", "--upload-pack=id", "-oProxyCommand=id", "[", "]",
    "[::1]", "::1", "fe80::1", "10.0.0.1", "127.0.0.1", "0:0:0:0:0:0:0:1", "?", "#", "*", "~", "^", "=", ",", ";", "+",
    "%2d", "%00", "\"", "'", "`", "|", "{", " ", "  ", "\t", "\n", "\r\n", "\0", "\u{7}", "\u{7f}", "\u{85}", "\u{a0}",
    "\u{ad}", "\u{200b}", "\u{202e}", "\u{2028}", "\u{feff}", "\u{fffe}", "\u{130}", "\u{212a}", "\u{e4}", "\u{df}",
    "\u{6771}", "\u{1f680}", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", "-----BEGIN ",
    "PRIVATE KEY-----", "/proc", "/dev", "2026-01-31", "T", "23:59:59", "Z", "+23:59", "-23:59", "0000-01-01", "9999-12-31",
    ".123456", "stdout", "stderr",
];

fn text() -> impl Strategy<Value = String> {
    let pieces = vec(select(PIECES), 0..9).prop_map(|pieces| pieces.concat());
    prop_oneof![4 => pieces, 1 => any::<String>(), 1 => "[ -~]{0,30}"]
}

/// What is sent again as it was stored must be what is stored, also by way of JSON.
fn is_kept<T>(sent: &str) -> Option<T>
where
    T: for<'a> TryFrom<&'a str, Error = String>
        + Deref<Target = str>
        + PartialEq
        + Debug
        + Serialize
        + DeserializeOwned,
{
    let Ok(value) = T::try_from(sent) else { return None };
    let again = T::try_from(&value);
    assert_eq!(again.as_ref(), Ok(&value), "{sent:?} is not taken as it was kept");
    let json = serde_json::to_string(&value).unwrap();
    assert_eq!(&serde_json::from_str::<T>(&json).unwrap(), &value);
    Some(value)
}

/// What the description rules out is not taken.
fn is_declared<T: JsonSchema>(value: &str) {
    let schema = T::json_schema(&mut SchemaGenerator::default()).to_value();
    let length = value.chars().count() as u64;
    assert!((schema["minLength"].as_u64().unwrap()..=schema["maxLength"].as_u64().unwrap()).contains(&length));
    if let Some(pattern) = schema["pattern"].as_str() {
        assert!(is_like(pattern, value), "{value:?} is not {pattern}");
    }
}

/// Each pattern is compiled once.
fn is_like(pattern: &str, value: &str) -> bool {
    static COMPILED: Mutex<BTreeMap<String, Regex>> = Mutex::new(BTreeMap::new());
    let mut compiled = COMPILED.lock().unwrap_or_else(PoisonError::into_inner);
    compiled.entry(pattern.to_owned()).or_insert_with(|| Regex::new(pattern).unwrap()).is_match(value)
}

fn is_plain_host(host: &str) -> bool {
    let is_name = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'.' | b'-' | b'_');
    !host.starts_with(['-', '.'])
        && !host.ends_with('.')
        && (host.bytes().all(is_name) || host.parse::<Ipv6Addr>().is_ok())
}

/// `https://user@host:port/path`, each part right or nearly so.
fn repository() -> impl Strategy<Value = String> {
    let scheme = select(&["https://", "http://", "ssh://", "git://", "file://", "HTTPS://", "ext::", ""][..]);
    let user = select(&["", "", "git@", "ada:x@", "-x@", "@", "a.b-c_d@"][..]);
    let host =
        select(&["git.example.org", "EXAMPLE.com", "10.0.0.1", "[::1]", "[0:0::1]", "-x", "a_b", "", "10.1", "x."][..]);
    let port = select(&["", "", ":22", ":443", ":0443", ":80", ":0", ":00", ":65535", ":65536", ":", ":x"][..]);
    let path = select(
        &["/a.git", "/team/shop", "/", "", ":team/shop", ":-x", ":/srv/a", "/a?b", "/a#b", "/a\\b", "/-x", "//x"][..],
    );
    (scheme, user, host, port, path)
        .prop_map(|(scheme, user, host, port, path)| [scheme, user, host, port, path].concat())
}

proptest! {
    #[test]
    fn names_of_hosts(sent in text()) {
        if let Some(name) = is_kept::<HostName>(&sent) {
            is_declared::<HostName>(sent.trim());
            assert!(is_plain_host(&name) && name.parse::<IpAddr>().is_err(), "{name:?}");
            // Whatever visitors can ask for is a host that others can name.
            assert_eq!(Host::try_from(&*name).as_deref(), Ok(&*name));
            assert_eq!(Host::of_authority(&format!("{}:443", name.to_uppercase())).as_deref(), Some(&*name));
        }
    }

    #[test]
    fn names_of_domains(sent in text()) {
        for sent in [sent.clone(), format!("*.{sent}")] {
            let Some(name) = is_kept::<DomainName>(&sent) else { continue };
            is_declared::<DomainName>(sent.trim());
            let host = name.strip_prefix("*.").unwrap_or(&name);
            assert_eq!(HostName::try_from(host).as_deref(), Ok(host));
            // What is shown means the same again.
            let shown = windlass_api::readable(&name);
            assert_eq!(DomainName::try_from(shown.as_str()).as_deref(), Ok(&*name), "{shown}");
        }
    }

    #[test]
    fn beginnings_of_paths(sent in text()) {
        for sent in [sent.clone(), format!("/{sent}")] {
            let Some(path) = is_kept::<RoutePath>(&sent) else { continue };
            is_declared::<RoutePath>(sent.trim());
            assert!(path.starts_with('/') && (&*path == "/" || !path.ends_with('/')) && !path.contains("//"), "{path:?}");
        }
    }

    #[test]
    fn hosts(sent in text()) {
        if let Some(host) = is_kept::<Host>(&sent) {
            is_declared::<Host>(sent.trim());
            assert!(is_plain_host(&host), "{host:?}");
            let authority = if host.contains(':') { format!("[{}]", &*host) } else { host.to_string() };
            assert_eq!(Host::of_url(&format!("https://{authority}:7780/x")).as_ref(), Some(&host));
        }
    }

    #[test]
    fn hosts_of_authorities(sent in text()) {
        if let Some(host) = Host::of_authority(&sent) {
            assert!(is_plain_host(&host), "{host:?}");
            assert!(!sent.contains(['/', '@', '?', '#', '\\', '%']) && !sent.contains(char::is_whitespace), "{sent:?}");
            assert_eq!(Host::try_from(&*host).as_ref(), Ok(&host));
        }
        if let Some(host) = Host::of_url(&sent) {
            assert!(is_plain_host(&host), "{host:?}");
        }
    }

    #[test]
    fn addresses_of_repositories(sent in prop_oneof![repository(), text()]) {
        let Some(address) = is_kept::<RepositoryAddress>(&sent) else { return Ok(()) };
        is_declared::<RepositoryAddress>(&address);
        // Git would take it for an option, or for the name of a program that it is to start.
        let is_helper = |text: &str| text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte));
        let names_a_program = address.split_once("::").is_some_and(|(before, _)| is_helper(before));
        assert!(!address.starts_with('-') && !names_a_program, "{address:?}");
        assert!(!address.contains(|c: char| c.is_whitespace() || c.is_control() || c == '\\'), "{address:?}");
        match address.transport() {
            Transport::Push => assert_eq!(&*address, "push"),
            Transport::Image => assert_eq!(&*address, "image"),
            Transport::Extension => assert_eq!(&*address, "extension"),
            Transport::Local => assert!(address.starts_with('/') || address.starts_with("file:///")),
            Transport::Https | Transport::Http | Transport::Git | Transport::Ssh => {
                let rest = address.split_once("://").map_or(&*address, |(_, rest)| rest);
                let authority = rest.split('/').next().unwrap();
                let (user, host) = authority.rsplit_once('@').unwrap_or(("", authority));
                assert!(!user.starts_with('-') && !user.contains(':') && !host.starts_with('-'), "{address:?}");
                if address.contains("://") {
                    assert!(Host::of_authority(host).is_some(), "{address:?}");
                    let port = host.rsplit_once(':').filter(|(_, port)| !port.contains(']'));
                    assert!(port.is_none_or(|(_, port)| port.parse::<u16>().is_ok_and(|port| port > 0)), "{address:?}");
                }
            }
        }
        if let Some(origin) = address.origin() {
            assert!(address.to_lowercase().starts_with(&origin), "{address:?} is not at {origin:?}");
            assert!(Host::of_url(&origin).is_some() && !origin.contains('@'), "{origin:?}");
        }
    }

    #[test]
    fn texts(sent in text()) {
        for value in [is_kept::<Text<1, 20>>(&sent).map(Text::into_string), is_kept::<Text<0, 20>>(&sent).map(Text::into_string)] {
            let is_visible = |text: String| text.trim() == text && text.chars().count() <= 20 && !text.contains(char::is_control);
            assert!(value.is_none_or(is_visible));
        }
        if let Some(slug) = is_kept::<Slug<20>>(&sent) {
            is_declared::<Slug<20>>(&slug);
        }
        if let Some(email) = is_kept::<Email>(&sent) {
            is_declared::<Email>(&email);
            assert_eq!(email.to_ascii_lowercase(), &*email);
        }
        if let Some(name) = is_kept::<IdempotencyName>(&sent) {
            is_declared::<IdempotencyName>(&name);
        }
        if let Ok(tag) = LanguageTag::try_from(sent.as_str()) {
            is_declared::<LanguageTag>(tag.as_str());
        }
    }

    #[test]
    fn names_of_applications(sent in text()) {
        if let Some(name) = is_kept::<ApplicationName>(&sent) {
            is_declared::<ApplicationName>(&name);
            // A domain is made of it.
            assert!(HostName::try_from(&*format!("{}.example.org", name.label())).is_ok(), "{name:?}");
            assert_eq!(ApplicationName::try_from(&*name.label()).unwrap().label(), name.label());
        }
    }

    #[test]
    fn branches(sent in text()) {
        if let Some(branch) = is_kept::<Branch>(&sent) {
            is_declared::<Branch>(&branch);
            assert!(!branch.starts_with('-') && !branch.contains(|c: char| c.is_whitespace() || c.is_control()));
        }
    }

    #[test]
    fn paths(sent in text()) {
        let leads_out = |path: &str| path.split('/').any(|segment| matches!(segment, ".." | "."));
        if let Some(folder) = is_kept::<FolderPath>(&sent) {
            assert!(folder.starts_with('/') && !leads_out(&folder) && !folder.contains("//"), "{folder:?}");
        }
        if let Some(file) = is_kept::<FilePath>(&sent) {
            assert!(!file.starts_with('/') && !file.ends_with('/') && !leads_out(&file) && !file.contains("//"), "{file:?}");
        }
        if let Some(path) = is_kept::<HostPath>(&sent) {
            assert!(path.starts_with('/') && path.len() > 1 && !path.ends_with('/') && !leads_out(&path), "{path:?}");
        }
        if let Some(path) = is_kept::<ContainerPath>(&sent) {
            let kernel = ["/proc", "/sys", "/dev"].iter().any(|folder| format!("{}/", &*path).starts_with(&format!("{folder}/")));
            assert!(path.starts_with('/') && path.len() > 1 && !path.ends_with('/') && !leads_out(&path) && !kernel);
        }
        if let Some(name) = is_kept::<ServiceName>(&sent) {
            is_declared::<ServiceName>(&name);
        }
        if let Some(target) = is_kept::<BuildTarget>(&sent) {
            is_declared::<BuildTarget>(&target);
        }
        if let Some(path) = is_kept::<HealthPath>(&sent) {
            is_declared::<HealthPath>(&path);
        }
    }

    #[test]
    fn commands_and_keys(sent in text()) {
        if let Some(command) = is_kept::<Command>(&sent) {
            assert!(!command.contains(|c: char| c.is_control() && !matches!(c, '\n' | '\t')), "{command:?}");
        }
        if let Ok(key) = SshKey::try_from(sent.as_str()) {
            assert_eq!(SshKey::try_from(key.reveal()).unwrap().reveal(), key.reveal());
            assert!(key.reveal().ends_with("-----\n"));
        }
        if let Ok(secret) = WebhookSecret::try_from(sent.as_str()) {
            assert_eq!(WebhookSecret::try_from(secret.reveal()).unwrap().reveal(), secret.reveal());
            assert!(secret.reveal().bytes().all(|byte| byte.is_ascii_graphic()));
        }
    }

    #[test]
    fn moments(sent in prop_oneof![text(), "[0-9]{4}-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:[0-6][0-9](\\.[0-9]{1,9})?(Z|[+ -][0-2][0-9]:[0-5][0-9])"]) {
        if let Ok(moment) = Timestamp::try_from(sent.as_str()) {
            assert_eq!(Timestamp::try_from(moment.to_string().as_str()), Ok(moment), "{sent:?} is shown as {moment}");
        }
    }

    #[test]
    fn every_moment_that_has_a_text_is_read_back(micros in -62_167_219_200_000_000..253_402_300_800_000_000_i64) {
        let moment = Timestamp::from_micros(micros);
        let shown = moment.to_string();
        assert_eq!((shown.len(), Timestamp::try_from(shown.as_str())), (27, Ok(moment)));
    }

    #[test]
    fn cursors_and_numbers(sent in prop_oneof![text(), any::<i64>().prop_map(|number| number.to_string()), "[+-]?[0-9]{1,20}"]) {
        if let Ok(LogCursor(seq)) = LogCursor::try_from(sent.as_str()) {
            assert!(seq >= 0 && LogCursor::try_from(seq.to_string().as_str()) == Ok(LogCursor(seq)));
        }
        if let Ok(EventCursor(seq)) = EventCursor::try_from(sent.as_str()) {
            assert!(seq >= 0 && EventCursor::try_from(seq.to_string().as_str()) == Ok(EventCursor(seq)));
        }
        if let Ok(number) = Whole::<1, 65_535>::try_from(sent.as_str()) {
            assert!((1..=65_535).contains(&number.get()));
        }
    }

    #[test]
    fn lists_in_queries(sent in text()) {
        if let Ok(set) = TextSet::<3, 5>::try_from(sent.as_str()) {
            assert_eq!(&TextSet::try_from(set.join(",").as_str()).unwrap(), &set);
            assert!(set.len() <= 3 && set.iter().all(|text| (1..=5).contains(&text.chars().count()) && !text.contains(',')));
        }
        if let Ok(several) = Several::<LogStream>::try_from(sent.as_str()) {
            let words: Vec<_> = several.0.iter().map(|stream| stream.as_str()).collect();
            assert_eq!(words.join(","), sent);
        }
    }

    #[test]
    fn variables(sent in vec((text(), text()), 0..4)) {
        let object: BTreeMap<_, _> = sent.into_iter().collect();
        let json = serde_json::to_string(&object).unwrap();
        if let Ok(variables) = serde_json::from_str::<VariableMap>(&json) {
            assert_eq!(&*variables, &object);
            // As a process and a container get them.
            let is_taken = |(name, value): (&String, &String)| !name.is_empty() && !name.contains(['=', '\0', '\n']) && !value.contains('\0');
            assert!(variables.iter().all(is_taken), "{object:?}");
        }
    }

    #[test]
    fn variables_of_any_bytes(json in prop_oneof![any::<String>(), "\\{(\"[a-b]\":(\"[a-c]?\"|1|null),?){0,4}\\}"]) {
        let read = serde_json::from_str::<VariableMap>(&json);
        let plain = serde_json::from_str::<BTreeMap<String, String>>(&json);
        assert!(read.is_err() || read.ok().as_deref() == plain.ok().as_ref(), "{json:?}");
    }
}
