//! What the texts must look like that become names and arguments elsewhere.
//!
//! Each rule holds for what an author wrote and, once values are in their places, for what a user gave: nothing of it may become an
//! option of a program, a second argument or a path that leads elsewhere. No message shows the text: it may contain a secret.

use std::path::PathBuf;

/// Reads a text as what it must be, or says what is wrong.
pub(crate) type Rule<T> = fn(&str) -> Result<T, String>;

/// Any text, on many lines if need be.
pub(crate) fn any_text(text: &str) -> Result<String, String> {
    Ok(text.into())
}

/// Letters, digits and the signs in `more`; the first one is a letter, a digit or `_`.
fn is_word(text: &str, most: usize, more: &str) -> bool {
    let is_first = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let is_inner = |c: char| is_first(c) || more.contains(c);
    text.len() <= most && text.starts_with(is_first) && text.chars().all(is_inner)
}

pub(crate) fn user_name(text: &str) -> Result<String, String> {
    let is_name = is_word(text, 32, "-.") && !text.starts_with(|c: char| c.is_ascii_digit());
    let message = "must be the name of a user or group: letters, digits, - and _, at most 32";
    if is_name { Ok(text.into()) } else { Err(message.into()) }
}

/// A user who may be deleted or changed.
pub(crate) fn ordinary_user(text: &str) -> Result<String, String> {
    if text == "root" {
        return Err("must not be root: an extension does not change that account".into());
    }
    user_name(text)
}

/// `user` or `user:group`, by name or number.
pub(crate) fn owner(text: &str) -> Result<(String, Option<String>), String> {
    let one = |text: &str| {
        let is_number = (1..=10).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
        if is_number { Ok(text.to_owned()) } else { user_name(text) }
    };
    match text.split_once(':') {
        Some((user, group)) => Ok((one(user)?, Some(one(group)?))),
        None => Ok((one(text)?, None)),
    }
}

pub(crate) fn service_name(text: &str) -> Result<String, String> {
    let message = "must be the name of a service, such as nginx or getty@tty1: letters, digits and : - _ . @";
    if is_word(text, 255, ":-.@") { Ok(text.into()) } else { Err(message.into()) }
}

/// A package manager takes a name that ends with `-` as one to remove, and one with a slash as a file or an address.
pub(crate) fn package_name(text: &str) -> Result<String, String> {
    let message = "must be the name of a package, such as nginx or libc6:arm64: letters, digits and + . : = ~ _ -";
    if is_word(text, 200, "+.:=~-") && !text.ends_with('-') { Ok(text.into()) } else { Err(message.into()) }
}

/// A path from the root of the host's files.
pub(crate) fn path(text: &str) -> Result<PathBuf, String> {
    const LONGEST: usize = 4096;
    if text.starts_with('~') {
        return Err("must begin with / (~ is not known here); write the whole path, such as /root/notes".into());
    }
    let Some(inner) = text.strip_prefix('/') else {
        return Err("must be an absolute path, such as /opt/notes/config.toml".into());
    };
    if text.len() > LONGEST || text.chars().any(char::is_control) {
        return Err(format!("must be a path on one line, of at most {LONGEST} bytes"));
    }
    let inner = inner.strip_suffix('/').unwrap_or(inner);
    if inner.is_empty() {
        return Err("must not be the root of all files".into());
    }
    if inner.split('/').any(|part| matches!(part, "" | "." | "..")) {
        return Err("must not have //, /./ or /../ in it".into());
    }
    Ok(PathBuf::from(format!("/{inner}")))
}

/// A path that may be deleted or moved away: not one of the directories below the root, which are the system's.
pub(crate) fn inner_path(text: &str) -> Result<PathBuf, String> {
    let path = path(text)?;
    if path.components().count() < 3 {
        return Err("must not be a whole directory below the root, such as /etc; name what is inside of it".into());
    }
    Ok(path)
}

pub(crate) fn mode(text: &str) -> Result<u32, String> {
    let is_octal = (3..=4).contains(&text.len()) && text.bytes().all(|byte| matches!(byte, b'0'..=b'7'));
    let mode = if is_octal { u32::from_str_radix(text, 8).ok() } else { None };
    mode.ok_or_else(|| "must be the octal text of a mode, such as \"0644\"".into())
}

pub(crate) fn port(text: &str) -> Result<u16, String> {
    match text.parse::<u16>() {
        Ok(port) if port > 0 => Ok(port),
        _ => Err("must be a port: a number from 1 to 65535".into()),
    }
}

pub(crate) fn seconds(text: &str) -> Result<u64, String> {
    match text.parse::<u64>() {
        Ok(seconds @ 1..=3600) => Ok(seconds),
        _ => Err("must be a number of seconds from 1 to 3600".into()),
    }
}

/// A name that visitors can ask for, in lower case; none if it is blank.
pub(crate) fn domain(text: &str) -> Result<Option<String>, String> {
    let text = text.trim();
    if text.is_empty() {
        return Ok(None);
    }
    let text = text.strip_suffix('.').unwrap_or(text).to_ascii_lowercase();
    let is_number = |label: &str| label.starts_with("0x") || label.bytes().all(|byte| byte.is_ascii_digit());
    let ends_in_number = text.rsplit('.').next().is_some_and(is_number);
    if text.len() > 253 || !text.split('.').all(is_label) || ends_in_number {
        return Err("must be a host name without port, such as wiki.example.org, or blank".into());
    }
    Ok(Some(text))
}

fn is_label(label: &str) -> bool {
    (1..=63).contains(&label.len())
        && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
        && !label.starts_with('-')
        && !label.ends_with('-')
}

/// The name of a container of the extension, which is also its name in the network. It is the rule for names of Compose services.
pub(crate) fn container_name(text: &str) -> Result<String, String> {
    let message = "must be the name of a container: letters, digits and - _ . with no sign first, at most 63";
    if is_word(text, 63, "-.") && !text.starts_with('_') { Ok(text.into()) } else { Err(message.into()) }
}

/// What an engine can pull: a registry perhaps, names in lower case, then a tag or a digest.
pub(crate) fn image(text: &str) -> Result<String, String> {
    let message = "must be the name of an image, such as postgres:17.5 or ghcr.io/owner/name:1.2";
    let (rest, digest) = match text.split_once('@') {
        Some((rest, digest)) => (rest, Some(digest)),
        None => (text, None),
    };
    let (name, tag) = match rest.rsplit_once(':') {
        Some((name, tag)) if !tag.contains('/') => (name, Some(tag)),
        _ => (rest, None),
    };
    let is_image = text.len() <= 512
        && is_image_name(name)
        && tag.is_none_or(|tag| is_word(tag, 128, "-."))
        && digest.is_none_or(is_digest);
    if is_image { Ok(text.into()) } else { Err(message.into()) }
}

pub(crate) fn image_tag(text: &str) -> Result<String, String> {
    let message = "must be the tag of an image, such as 17.5: letters, digits and . - _";
    if is_word(text, 128, "-.") { Ok(text.into()) } else { Err(message.into()) }
}

fn is_image_name(name: &str) -> bool {
    let is_sign = |c: char| matches!(c, '.' | '-' | '_');
    let is_part = |part: &str| {
        !part.starts_with(is_sign)
            && !part.ends_with(is_sign)
            && !part.is_empty()
            && part.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || is_sign(c))
    };
    let is_registry = |part: &str| {
        let (host, port) = part.split_once(':').unwrap_or((part, "443"));
        let is_host = part == "localhost" || part.contains(['.', ':']);
        is_host && host.split('.').all(is_label) && self::port(port).is_ok()
    };
    match name.split_once('/') {
        Some((first, rest)) => (is_registry(first) || is_part(first)) && rest.split('/').all(is_part),
        None => is_part(name),
    }
}

fn is_digest(digest: &str) -> bool {
    digest
        .strip_prefix("sha256:")
        .is_some_and(|hex| hex.len() == 64 && hex.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a hostile user might give where a name or a path is wanted.
    const HOSTILE: [&str; 16] = [
        "", " ", "-x", "--help", "a b", "a;b", "$(id)", "`id`", "a\nb", "a\0b", "../a", "a/../b", "*", "a|b", "a'b",
        "ä",
    ];

    fn accepted<T>(rule: Rule<T>, text: &str) -> bool {
        rule(text).is_ok()
    }

    #[test]
    fn nothing_hostile_passes() {
        for text in HOSTILE {
            assert!(!accepted(user_name, text), "{text:?}");
            assert!(!accepted(owner, text), "{text:?}");
            assert!(!accepted(service_name, text), "{text:?}");
            assert!(!accepted(package_name, text), "{text:?}");
            assert!(!accepted(path, text), "{text:?}");
            assert!(!accepted(mode, text), "{text:?}");
            assert!(!accepted(port, text), "{text:?}");
            assert!(!accepted(container_name, text), "{text:?}");
            assert!(!accepted(image, text), "{text:?}");
            assert!(!accepted(image_tag, text), "{text:?}");
            assert!(text.trim().is_empty() || !accepted(domain, text), "{text:?}");
        }
        for text in ["a,b", "a/b", "http://a/b.rpm", "a-"] {
            assert!(!accepted(package_name, text), "{text:?}");
        }
    }

    #[test]
    fn what_people_write_passes() {
        for text in ["www-data", "_apt", "ada.lovelace"] {
            assert!(accepted(user_name, text), "{text}");
        }
        assert_eq!(owner("1000:www-data"), Ok(("1000".into(), Some("www-data".into()))));
        assert!(accepted(service_name, "getty@tty1") && accepted(service_name, "ssh.service"));
        for text in ["nginx", "g++", "libc6:i386", "python3.11=3.11.2-6~deb12"] {
            assert!(accepted(package_name, text), "{text}");
        }
        assert_eq!(mode("0644"), Ok(0o644));
        assert_eq!(domain(" Wiki.Example.ORG. "), Ok(Some("wiki.example.org".into())));
        assert_eq!(domain(" "), Ok(None));
    }

    #[test]
    fn paths() {
        assert_eq!(path("/etc/a b/"), Ok(PathBuf::from("/etc/a b")));
        for text in ["/", "//", "etc", "~/x", "/a/../b", "/a/./b", "/a//b", "/..", "/a\n", "/a/.."] {
            assert!(path(text).is_err(), "{text}");
        }
        assert!(path("/srv").is_ok() && inner_path("/srv").is_err() && inner_path("/srv/x").is_ok());
    }

    #[test]
    fn images() {
        let digest = format!("postgres@sha256:{}", "a".repeat(64));
        for text in
            ["postgres", "postgres:17.5", "ghcr.io/a/b-c/d_e:v1", "localhost:5000/x", "r.example:5000/x:1", &digest]
        {
            assert!(image(text).is_ok(), "{text}");
        }
        for text in
            ["Postgres", "a:", ":a", "a::b", "a/", "/a", "a@sha256:00", "a b", "http://a/b", "a:b/c:d:e", "a.:1"]
        {
            assert!(image(text).is_err(), "{text}");
        }
    }

    #[test]
    fn domains() {
        for text in
            ["*.example.org", "a b.c", "a.b:80", "http://a.b", "-a.b", "10.0.0.1", "a..b", "bücher.example", "a_b.c"]
        {
            assert!(domain(text).is_err(), "{text}");
        }
    }
}
