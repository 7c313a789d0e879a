use crate::problems::shown;

/// A reference such as `nginx:1.29`, `registry.example.org:5000/team/app@sha256:…`.
pub fn reference(text: &str) -> Result<String, String> {
    let wrong = || format!("must be the name of an image such as \"nginx:1.29\", and is {}", shown(text));
    let (named, digest) = text.split_once('@').map_or((text, None), |(named, digest)| (named, Some(digest)));
    // The first part may be a registry with a port, so only what follows the last slash can have a tag.
    let folder = named.rfind('/').map_or(0, |slash| slash + 1);
    let (name, tag) = match named[folder..].split_once(':') {
        Some((name, tag)) => (name, Some(tag)),
        None => (&named[folder..], None),
    };
    let is_path = |part: &str| is_part(part, |byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
    let (registry, folders) = named[..folder].split_once('/').unwrap_or_default();
    let is_registry = registry.is_empty() == (folder == 0)
        && registry.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-_:[]".contains(&byte));
    let has_folders = folders
        .trim_end_matches('/')
        .split('/')
        .all(|part| part.is_empty() == folders.is_empty() && (folders.is_empty() || is_path(part)));
    let has_tag = tag.is_none_or(|tag| tag.len() <= 128 && is_part(tag, |byte| byte.is_ascii_alphanumeric()));
    let has_digest = digest.is_none_or(|digest| {
        digest
            .strip_prefix("sha256:")
            .is_some_and(|hex| hex.len() == 64 && hex.bytes().all(|byte| byte.is_ascii_hexdigit()))
    });
    let is_whole = text.len() <= 512 && is_registry && has_folders && is_path(name) && has_tag && has_digest;
    if is_whole { Ok(text.into()) } else { Err(wrong()) }
}

fn is_part(part: &str, is_letter: impl Fn(u8) -> bool) -> bool {
    let begins = part.bytes().next().is_some_and(|byte| is_letter(byte) || byte == b'_');
    begins && part.bytes().all(|byte| is_letter(byte) || b"._-".contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images() {
        let digest = format!("sha256:{}", "0a".repeat(32));
        let right = [
            "nginx",
            "nginx:1.29",
            "library/nginx",
            "ghcr.io/a/b-c/d_e:v1.0",
            "localhost:5000/x",
            "Registry.example.org/x",
            "a/b/c/d:Latest",
            &format!("nginx@{digest}"),
            &format!("ghcr.io/a/b:1@{digest}"),
        ];
        for text in right {
            assert_eq!(reference(text), Ok(text.into()));
        }
        for text in [
            "",
            "Nginx",
            "a b",
            ":1",
            "nginx:",
            "a//b",
            "/a",
            "a/",
            "nginx@sha256:00",
            "a:b:c",
            "-a",
            "$x",
            "a/B",
            "nginx@",
            "a\n",
            "http://a/b",
        ] {
            assert!(reference(text).is_err(), "{text}");
        }
    }
}
