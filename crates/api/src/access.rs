//! Access: what stands between visitors and an application.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;
use std::ops::Deref;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use uuid::Uuid;

use crate::applications::is_absent;
use crate::sent::{self, Sent};
use crate::text::{check_length, refuse_invisible};
use crate::{Given, MASK, Text, Whole};

/// What visitors of an application meet before it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Access {
    pub application_id: Uuid,
    /// Networks whose visitors alone come in; empty for all.
    pub allow: Vec<String>,
    /// Networks whose visitors do not come in, also where they are in one that is allowed.
    pub deny: Vec<String>,
    /// Users who sign in with a name and a password (HTTP basic authentication), each with `********`; empty if visitors need not.
    pub users: BTreeMap<String, String>,
    /// What browsers show above the fields for name and password.
    pub realm: String,
    /// Requests of one address within a minute, an IPv6 /64 counting as one; 0 for no limit.
    pub requests_per_minute: i64,
    /// How many of them may come at once; 0 for all.
    pub request_burst: i64,
    /// Bytes of a request's body; 0 for no limit.
    pub body_bytes: i64,
    /// How long the application may take until it begins to answer.
    pub answer_seconds: i64,
    /// Visitors get a page that says that the application is under maintenance.
    pub maintenance: bool,
    /// Browsers are told to take content types as they are, not to show pages inside of other sites, and to tell other sites only where
    /// visitors come from. What the application says itself about these stays.
    pub security_headers: bool,
    /// Headers of every answer, in the place of the application's own; an empty value removes the header.
    pub headers: BTreeMap<String, String>,
    /// Answers are compressed (zstd or gzip) for visitors whose browsers can read it.
    pub compress: bool,
    /// HTML in the place of the pages that Windlass shows itself, by status. What the application answers stays.
    pub pages: BTreeMap<String, String>,
}

/// What is absent stays as it is.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UpdateAccess {
    pub allow: Option<Networks>,
    pub deny: Option<Networks>,
    #[serde(serialize_with = "sent::optional")]
    pub users: Option<SignInUsers>,
    /// Empty for the usual one.
    #[serde(default, skip_serializing_if = "is_absent")]
    pub realm: Given<Realm>,
    pub requests_per_minute: Option<Whole<0, 1_000_000>>,
    pub request_burst: Option<Whole<0, 100_000>>,
    pub body_bytes: Option<Whole<0, 1_099_511_627_776>>,
    pub answer_seconds: Option<Whole<1, 3_600>>,
    pub maintenance: Option<bool>,
    pub security_headers: Option<bool>,
    pub headers: Option<AnswerHeaders>,
    pub compress: Option<bool>,
    pub pages: Option<ErrorPages>,
}

pub type Realm = Text<1, 100>;

/// Addresses and networks: `192.0.2.7`, `10.0.0.0/8`, `2001:db8::/32`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Networks(Vec<String>);

impl Networks {
    const MOST: usize = 200;
    const PATTERN: &str = r"^[0-9A-Fa-f:.]{2,45}(/[0-9]{1,3})?$";

    fn check(texts: Vec<String>) -> Result<Self, String> {
        if texts.len() > Self::MOST {
            return Err(format!("must have at most {} items", Self::MOST));
        }
        match texts.iter().position(|text| !is_network(text)) {
            Some(index) => {
                Err(format!("item {} must be an address or a network, such as 192.0.2.7 or 10.0.0.0/8", index + 1))
            }
            None => Ok(Self(texts)),
        }
    }
}

fn is_network(text: &str) -> bool {
    let (address, bits) = text.split_once('/').map_or((text, None), |(address, bits)| (address, Some(bits)));
    let Ok(address) = address.parse::<IpAddr>() else { return false };
    let most = if address.is_ipv4() { 32 } else { 128 };
    let is_number = |bits: &str| bits.bytes().all(|byte| byte.is_ascii_digit()) && !bits.is_empty() && bits.len() <= 3;
    bits.is_none_or(|bits| is_number(bits) && bits.parse::<u8>().is_ok_and(|bits| bits <= most))
}

impl Deref for Networks {
    type Target = [String];

    fn deref(&self) -> &[String] {
        &self.0
    }
}

impl<'de> Deserialize<'de> for Networks {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::check(Vec::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

impl JsonSchema for Networks {
    fn schema_name() -> Cow<'static, str> {
        "Networks".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let items = serde_json::json!({ "type": "string", "maxLength": 49, "pattern": Self::PATTERN });
        json_schema!({ "type": "array", "items": items, "maxItems": Self::MOST })
    }
}

/// Texts by name, checked while they are read: `checked_map! { /// Doc. Name, rules; }`. They may be secret or long, so they are not
/// shown in debug output.
macro_rules! checked_map {
    ($($(#[$doc:meta])* $name:ident, $rules:expr;)+) => {
        $($(#[$doc])*
        #[derive(Clone, PartialEq, Eq)]
        pub struct $name(BTreeMap<String, String>);

        impl Deref for $name {
            type Target = BTreeMap<String, String>;

            fn deref(&self) -> &Self::Target {
                &self.0
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self.0.len())
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_map($rules).map(Self)
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
                $rules.schema()
            }
        })+
    };
}

checked_map! {
    /// Passwords by the names of users. `********` stands for the one that is there.
    SignInUsers, USERS;
    AnswerHeaders, HEADERS;
    ErrorPages, PAGES;
}

impl Sent for SignInUsers {
    fn sent(&self) -> impl Serialize {
        &self.0
    }
}

impl Serialize for AnswerHeaders {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl Serialize for ErrorPages {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

#[derive(Clone, Copy)]
enum Keys {
    Like { pattern: &'static str, most_characters: usize },
    OneOf(&'static [&'static str]),
}

/// What is expected of a map.
#[derive(Clone, Copy)]
struct Rules {
    most: usize,
    keys: Keys,
    value_pattern: &'static str,
    /// The least and the most characters of a value.
    value_length: (usize, usize),
    /// Of keys and values together.
    bytes: usize,
    /// The key as it is kept.
    check: fn(&str, &str) -> Result<String, String>,
}

const USERS: Rules = Rules {
    most: 50,
    keys: Keys::Like { pattern: r"^[!-9;-~]([ -9;-~]{0,62}[!-9;-~])?$", most_characters: 64 },
    value_pattern: r"^[^\u0000-\u001f\u007f]*$",
    value_length: (8, 128),
    bytes: 16 * 1024,
    check: user,
};

/// With room for the three that `security_headers` adds: the edge takes 32, and 4 KiB of them.
const HEADERS: Rules = Rules {
    most: 29,
    keys: Keys::Like { pattern: "^[A-Za-z0-9_-]{1,64}$", most_characters: 64 },
    value_pattern: "^([!-~]([ -~]*[!-~])?)?$",
    value_length: (0, 1_024),
    bytes: 3_584,
    check: header,
};

const PAGES: Rules = Rules {
    most: STATUSES.len(),
    keys: Keys::OneOf(&STATUSES),
    value_pattern: r"^[^\u0000-\u0008\u000b\u000c\u000e-\u001f]*$",
    value_length: (1, 16_384),
    bytes: 64 * 1024,
    check: page,
};

/// Those that Windlass answers with itself.
const STATUSES: [&str; 8] = ["401", "403", "404", "413", "429", "502", "503", "504"];

/// Names that frame an answer, that the edge writes itself, or that every answer has its own of.
const RESERVED: [&str; 17] = [
    "connection",
    "content-encoding",
    "content-length",
    "content-range",
    "content-type",
    "date",
    "etag",
    "host",
    "keep-alive",
    "last-modified",
    "location",
    "set-cookie",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "www-authenticate",
];

fn user(name: &str, password: &str) -> Result<String, String> {
    let is_name = (1..=64).contains(&name.len())
        && name.trim() == name
        && name.bytes().all(|byte| (b' '..=b'~').contains(&byte) && byte != b':');
    if !is_name {
        return Err("a name must have 1 to 64 visible characters of ASCII, and no colon".into());
    }
    if password != MASK {
        refuse_invisible(password)?;
        check_length(password, 8, 128)?;
    }
    Ok(name.to_owned())
}

fn header(name: &str, value: &str) -> Result<String, String> {
    let is_name = (1..=64).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'));
    if !is_name {
        return Err("a name must have 1 to 64 letters, digits and hyphens".into());
    }
    let name = name.to_ascii_lowercase();
    if RESERVED.contains(&name.as_str()) || name.starts_with("proxy-") {
        return Err("cannot be set here".into());
    }
    if value.len() > 1_024 || value.trim() != value || !value.bytes().all(|byte| (b' '..=b'~').contains(&byte)) {
        return Err("must have at most 1024 visible characters of ASCII".into());
    }
    Ok(name)
}

fn page(status: &str, html: &str) -> Result<String, String> {
    if !STATUSES.contains(&status) {
        return Err(format!("must be one of {}", STATUSES.join(", ")));
    }
    // Written in JSON, each would be six characters.
    if html.contains(|c: char| c.is_ascii_control() && !matches!(c, '\t' | '\n' | '\r' | '\x7f')) {
        return Err("must not contain control characters, tabs and line breaks apart".into());
    }
    check_length(html, 1, 16_384)?;
    Ok(status.to_owned())
}

/// A name in a message: it is the caller's own and can be as long as a body.
fn shown(name: &str) -> String {
    name.chars().take(60).flat_map(char::escape_debug).collect()
}

impl Rules {
    fn schema(&self) -> Schema {
        let names = match self.keys {
            Keys::Like { pattern, most_characters } => {
                serde_json::json!({ "minLength": 1, "maxLength": most_characters, "pattern": pattern })
            }
            Keys::OneOf(names) => serde_json::json!({ "enum": names, "maxLength": 3 }),
        };
        json_schema!({
            "type": "object",
            "maxProperties": self.most,
            "propertyNames": names,
            "additionalProperties": {
                "type": "string",
                "minLength": self.value_length.0,
                "maxLength": self.value_length.1,
                "pattern": self.value_pattern,
            },
            "description": "Replaces all of them.",
        })
    }
}

impl<'de> Visitor<'de> for Rules {
    type Value = BTreeMap<String, String>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Self::Value, A::Error> {
        let (mut all, mut bytes) = (BTreeMap::new(), 0);
        while let Some((key, value)) = access.next_entry::<String, String>()? {
            let named = |problem: String| A::Error::custom(format!("{}: {problem}", shown(&key)));
            let kept = (self.check)(&key, &value).map_err(named)?;
            bytes += kept.len() + value.len();
            if all.insert(kept, value).is_some() {
                return Err(A::Error::custom(format!("{}: is given twice", shown(&key))));
            }
            if all.len() > self.most {
                return Err(A::Error::custom(format!("must have at most {} entries", self.most)));
            }
        }
        if bytes > self.bytes {
            return Err(A::Error::custom(format!("must have at most {} bytes in all", self.bytes)));
        }
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> Result<UpdateAccess, String> {
        serde_json::from_str(json).map_err(|error| error.to_string())
    }

    #[test]
    fn networks_are_addresses_with_or_without_bits() {
        for good in ["192.0.2.7", "10.0.0.0/8", "0.0.0.0/0", "2001:db8::/32", "::/0", "::ffff:192.0.2.7/128"] {
            assert!(is_network(good), "{good}");
        }
        for bad in
            ["", "/8", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/+8", "::/129", "10.0.0/8", "example.org", "10.0.0.0/8/8"]
        {
            assert!(!is_network(bad), "{bad}");
        }
    }

    #[test]
    fn maps_are_checked_and_not_shown() {
        let access =
            read(r#"{"users": {"anna": "correct horse"}, "headers": {"X-Frame-Options": "DENY", "server": ""}}"#);
        let access = access.unwrap();
        assert_eq!(format!("{:?}", access.users), "Some(SignInUsers(1))");
        assert_eq!(access.headers.unwrap().keys().collect::<Vec<_>>(), ["server", "x-frame-options"]);
        for (bad, why) in [
            (r#"{"users": {"an:na": "correct horse"}}"#, "colon"),
            (r#"{"users": {"anna": "short"}}"#, "anna: must have at least 8"),
            (r#"{"users": {"anna": "correct\nhorse"}}"#, "invisible"),
            (r#"{"headers": {"Transfer-Encoding": "x"}}"#, "cannot be set here"),
            (r#"{"headers": {"x y": "x"}}"#, "letters, digits and hyphens"),
            (r#"{"headers": {"x": "a\r\nb: c"}}"#, "visible"),
            (r#"{"headers": {"x": "1", "X": "2"}}"#, "twice"),
            (r#"{"pages": {"200": "x"}}"#, "must be one of"),
            (r#"{"pages": {"503": ""}}"#, "must not be empty"),
            (r#"{"allow": ["everywhere"]}"#, "must be an address or a network"),
            (r#"{"answer_seconds": 0}"#, "from 1 to 3600"),
        ] {
            let problem = read(bad).unwrap_err();
            assert!(problem.contains(why), "{bad}: {problem}");
        }
        assert!(read(&format!(r#"{{"users": {{"anna": "{MASK}"}}}}"#)).is_ok());
    }
}
