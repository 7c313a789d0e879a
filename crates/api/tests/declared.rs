//! What the description declares of a text is what is enforced: nothing is accepted that it rules out, and what it lets pass is
//! refused only for reasons that a pattern cannot say.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a failure here is a failed test")]

use regex::Regex;
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::Value;
use windlass_api::{
    ApplicationName, Branch, BuildTarget, CertificateChain, CertificateKey, Command, ContainerPath, Cron, DomainName,
    Email, FilePath, FolderPath, HealthPath, Host, HostName, HostPath, IdempotencyName, ImageReference, LanguageTag,
    NewPassword, RegistryHost, RepositoryAddress, RoutePath, ServiceName, Slug, SshKey, Text, VariableText,
};

/// Texts near the edge of one rule or another, one on each line.
const LINES: &str = r#"
x
X
xy
 x 
x y
ä
東京
---
0
10
-x
x-
x--y
x-y
_x
x_y
arctic-chill
Arctic-Chill
en
pt-BR
e
toolonglang
en-
en-toolongtag
ada@example.org
 Ada@Example.ORG 
ada
@x
ada@
a@b@c
a b@c
ä@c
a@b..c
a@.b
a@b.
a@b-c.d_e
a.b+c@d
/
//
.
..
...
./x
../x
x/..
x/../y
x/.../y
/x
/x/
x/y
..x
x..
x..y
.x
Dockerfile
/health
/health?deep=1
/a b
/a#b
/a"b
/a|b
/%C3%A4
main
feature/x-1
feature/
v1.0
a:b
a~b
a^b
a?b
a*b
a[b
a\b
example.org
Shop.Example.ORG.
*.example.org
shop.example.org:80
10.0.0.1
::1
[::1]
0x7f.1
a..b
a_b.c
-a.b
a-.b
https://git.example.org/team/shop.git
HTTPS://git.example.org/x
http://127.0.0.1:3000/shop
http://[::1]:3000/shop
git://git.example.org/shop
ssh://git@git.example.org:2222/team/shop.git
git@git.example.org:team/shop.git
registry.example.org/team/shop:1.4
127.0.0.1:5000/shop
git@host:-x
-x@host:path
https://git.example.org
https://
https:///shop
https://ada:token@git.example.org/x
ftp://git.example.org/x
ext::sh
file:///srv/git
file://host/x
https://git.example.org/a b
ssh-ed25519 AAAA ada@example.org
0 3 * * mon
0  3 * * *
60 3 * * *
0 0 31 2 *
@daily
@never
-----BEGIN x
"#;

const OTHERS: [&str; 11] = [
    " ",
    "\t",
    "x\ny",
    "x\u{0}y",
    "x\u{7}y",
    "x\u{202E}y",
    "-----BEGIN OPENSSH PRIVATE KEY-----\nabc\n-----END OPENSSH PRIVATE KEY-----",
    "-----BEGIN OPENSSH PRIVATE KEY-----\r\nabc\r\n-----END OPENSSH PRIVATE KEY-----\r\n",
    "subject=x\n\t-----BEGIN CERTIFICATE-----\nabc\n-----END CERTIFICATE-----\nmore\n",
    "-----END CERTIFICATE-----\nPRIVATE KEY-----\n-----BEGIN CERTIFICATE",
    "-----BEGIN CERTIFICATE-----\n\u{1}\n-----END CERTIFICATE-----\n-----END PRIVATE KEY-----",
];

/// The texts above and, for each length that is declared, some that are just within it and just beyond.
fn texts(schema: &Value) -> Vec<String> {
    let mut all: Vec<String> = LINES.lines().chain(OTHERS).map(str::to_owned).collect();
    for limit in ["minLength", "maxLength"].map(|name| schema[name].as_u64().unwrap() as usize) {
        for length in limit.saturating_sub(1)..=limit + 1 {
            let labels = ["x".repeat(60), ".".to_owned()].concat();
            let name: String = labels.chars().cycle().take(length.saturating_sub(1)).chain(['x']).collect();
            let path: String = ['/'].into_iter().chain("x".chars().cycle()).take(length).collect();
            all.extend(["x".repeat(length), format!("a@{name}"), name, path]);
        }
    }
    for length in [63, 64, 65] {
        all.extend([format!("{}@b", "x".repeat(length)), format!("{}.org", "x".repeat(length))]);
    }
    all
}

fn is_declared(schema: &Value, text: &str) -> bool {
    let length = text.chars().count() as u64;
    let pattern = schema.get("pattern").map(|pattern| Regex::new(pattern.as_str().unwrap()).unwrap());
    schema["minLength"].as_u64().unwrap() <= length
        && length <= schema["maxLength"].as_u64().unwrap()
        && pattern.is_none_or(|pattern| pattern.is_match(text))
}

/// `beyond` are parts of the messages that refuse what the pattern lets pass.
fn hold<T: JsonSchema + for<'a> TryFrom<&'a str, Error = String>>(beyond: &[&str]) {
    let schema = T::json_schema(&mut SchemaGenerator::default()).to_value();
    let (mut accepted, mut refused) = (0, 0);
    for text in texts(&schema) {
        let name = T::schema_name();
        match T::try_from(&text) {
            // Most texts are trimmed before they are looked at.
            Ok(_) => {
                let declared = is_declared(&schema, &text) || is_declared(&schema, text.trim());
                assert!(declared, "{name} takes {text:?}, which {schema} rules out");
                accepted += 1;
            }
            Err(message) => {
                let is_beyond = message.contains("invisible") || beyond.iter().any(|part| message.contains(part));
                let declared = is_declared(&schema, &text);
                assert!(!declared || is_beyond, "{name} refuses {text:?}, which {schema} lets pass: {message}");
                refused += 1;
            }
        }
    }
    assert!(accepted > 0 && refused > 0, "{}: {accepted} accepted, {refused} refused", T::schema_name());
}

#[test]
fn what_is_declared_of_texts_is_what_is_enforced() {
    hold::<Text<1, 50>>(&[]);
    hold::<Text<0, 500>>(&[]);
    hold::<Slug<50>>(&[]);
    hold::<Email>(&[]);
    hold::<NewPassword>(&[]);
    hold::<LanguageTag>(&[]);
    hold::<ApplicationName>(&[]);
    // What a host and a path may be is more than a readable pattern can tell.
    hold::<RepositoryAddress>(&["must be the address of a git repository", "put the token in repository_token"]);
    hold::<ImageReference>(&["must be the name of an image", "must have the host of a registry"]);
    hold::<RegistryHost>(&["must have the host of a registry"]);
    hold::<Branch>(&["must be the name of a branch"]);
    // A slash is put before it.
    hold::<FolderPath>(&["must not be empty", "must have at most 500 characters"]);
    hold::<FilePath>(&["must not be empty", "must be a file of the repository"]);
    // What ends in a number is an address.
    hold::<HostName>(&["must be a host name without port"]);
    hold::<DomainName>(&["must be a host name without port"]);
    // No segment is a dot or two.
    hold::<RoutePath>(&["must be a path"]);
    hold::<Command>(&[]);
    // Which values a field may have.
    hold::<Cron>(&["has \"", "one of the names", "must be a time that comes"]);
    hold::<BuildTarget>(&[]);
    hold::<ServiceName>(&[]);
    hold::<HealthPath>(&[]);
    hold::<ContainerPath>(&[
        "must be an absolute path",
        "must not be the root",
        "must not be in",
        "must not contain the invisible",
    ]);
    hold::<HostPath>(&["must be an absolute path", "must not be the root", "must not contain the invisible"]);
    hold::<IdempotencyName>(&[]);
    hold::<Host>(&["must be a host name"]);
    hold::<SshKey>(&[]);
    hold::<CertificateChain>(&[]);
    hold::<CertificateKey>(&[]);
    hold::<VariableText>(&[]);
}
