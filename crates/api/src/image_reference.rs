//! Names of images in registries: the one place where such a text is taken apart.

use crate::Host;
use crate::text::{checked_text, refuse_invisible};

/// What stands for the registry when a name has none.
const USUAL_REGISTRY: &str = "docker.io";
const USUAL_TAG: &str = "latest";
const LONGEST_TAG: usize = 128;

/// The registry, if there is one; a path in lower case; a tag, a digest, or both.
const IMAGE_PATTERN: &str = concat!(
    r"^([A-Za-z0-9_.:\[\]-]+/)?[a-z0-9]+([._-]+[a-z0-9]+)*(/[a-z0-9]+([._-]+[a-z0-9]+)*)*",
    r"(:[A-Za-z0-9_][A-Za-z0-9_.-]*)?(@sha256:[0-9a-f]{64})?$"
);
/// A name with a dot or an address, and perhaps a port.
const REGISTRY_PATTERN: &str = r"^(localhost|[A-Za-z0-9-]*[.:\[][A-Za-z0-9.:\[\]-]*)$";
const EXAMPLE: &str = "must be the name of an image, such as registry.example.org/team/shop:1.4";

checked_text! {
    /// An image of a registry: `registry.example.org/team/shop:1.4`. Without a host it is Docker Hub's, without a tag `latest`. With
    /// `@sha256:` and a digest it is always the same image.
    ImageReference, 1..=500, IMAGE_PATTERN, image;
    /// The host of a registry, with its port if that is not the usual one. `docker.io` is Docker Hub.
    RegistryHost, 1..=253, REGISTRY_PATTERN, registry_host;
}

impl ImageReference {
    /// Its registry, as credentials name it.
    pub fn registry(&self) -> &str {
        registry_of(self)
    }

    /// Without tag and digest.
    pub fn name(&self) -> &str {
        let rest = self.split_once('@').map_or(&**self, |(name, _)| name);
        let after_host = rest.rfind('/').map_or(0, |slash| slash + 1);
        rest[after_host..].find(':').map_or(rest, |colon| &rest[..after_host + colon])
    }

    /// None if it leads to whatever its tag leads to.
    pub fn digest(&self) -> Option<&str> {
        self.split_once('@').map(|(_, digest)| digest)
    }

    /// With the tag that counts if none is given.
    pub fn with_tag(&self) -> String {
        let rest = self.split_once('@').map_or(&**self, |(name, _)| name);
        if rest == self.name() { format!("{rest}:{USUAL_TAG}") } else { rest.to_owned() }
    }

    /// This very image.
    pub fn at(&self, digest: &str) -> String {
        format!("{}@{digest}", self.name())
    }
}

/// The registry in a name that an engine takes, be it well-formed or not.
pub fn registry_of(reference: &str) -> &str {
    match reference.split_once('/') {
        Some(("index.docker.io" | "registry-1.docker.io", _)) | None => USUAL_REGISTRY,
        Some((first, _)) if is_registry(first) => first,
        Some(_) => USUAL_REGISTRY,
    }
}

/// Whether a digest is one, as engines write them.
pub fn is_digest(text: &str) -> bool {
    text.strip_prefix("sha256:").is_some_and(|hash| {
        hash.len() == 64 && hash.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'a'..=b'f'))
    })
}

/// Engines take the first part of a name for a registry if no path could begin like this.
fn is_registry(first: &str) -> bool {
    first == "localhost" || first.contains(['.', ':']) || first.bytes().any(|byte| byte.is_ascii_uppercase())
}

fn image(text: &str) -> Result<String, String> {
    refuse_invisible(text)?;
    let (rest, digest) = text.split_once('@').map_or((text, None), |(rest, digest)| (rest, Some(digest)));
    if digest.is_some_and(|digest| !is_digest(digest)) {
        return Err("has an @, and behind it no digest: sha256: and 64 digits of 0 to 9 and a to f".into());
    }
    let (host, path) = match rest.split_once('/') {
        Some((first, path)) if is_registry(first) => (Some(first), path),
        _ => (None, rest),
    };
    if let Some(host) = host.filter(|host| !is_registry(&host.to_ascii_lowercase())) {
        return Err(format!(
            "must not begin with {host}/: engines take capital letters there for the host of a registry"
        ));
    }
    let host = host.map(registry).transpose()?;
    let (path, tag) = path.split_once(':').map_or((path, None), |(path, tag)| (path, Some(tag)));
    if !path.split('/').all(is_component) || !tag.is_none_or(is_tag) {
        return Err(EXAMPLE.into());
    }
    let tail = &rest[rest.len() - path.len() - tag.map_or(0, |tag| tag.len() + 1)..];
    let digest = digest.map(|digest| format!("@{digest}")).unwrap_or_default();
    Ok(host.map_or_else(|| format!("{tail}{digest}"), |host| format!("{host}/{tail}{digest}")))
}

/// Docker Hub has several names.
fn registry_host(text: &str) -> Result<String, String> {
    registry(text).map(|host| registry_of(&format!("{host}/x")).to_owned())
}

fn registry(text: &str) -> Result<String, String> {
    let text = text.to_ascii_lowercase();
    let port = text.rsplit_once(':').filter(|(_, port)| !port.contains(']')).map(|(_, port)| port);
    let has_bad_port = port.is_some_and(|port| port.is_empty() || port.bytes().all(|byte| byte == b'0'));
    let has_bad_name = text.contains('_') || text.ends_with('.') || text.contains(".:");
    let is_host = !has_bad_name && Host::of_authority(&text).is_some();
    match is_host && !has_bad_port && is_registry(&text) {
        true => Ok(text),
        false => Err("must have the host of a registry in it, such as registry.example.org or 127.0.0.1:5000".into()),
    }
}

/// Lower case and digits, with one dot, one or two underscores or some hyphens between them.
fn is_component(text: &str) -> bool {
    let is_inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let mut separators = text.split(|letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit());
    let has_ends = text.bytes().next().is_some_and(is_inner) && text.bytes().last().is_some_and(is_inner);
    has_ends
        && separators
            .all(|between| matches!(between, "" | "." | "_" | "__") || between.bytes().all(|byte| byte == b'-'))
}

fn is_tag(text: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    text.len() <= LONGEST_TAG
        && text.bytes().next().is_some_and(is_letter)
        && text.bytes().all(|byte| is_letter(byte) || matches!(byte, b'.' | b'-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIGEST: &str = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

    #[test]
    fn names_of_images() {
        for (text, registry, name, with_tag) in [
            ("nginx", "docker.io", "nginx", "nginx:latest"),
            ("team/shop:1.4", "docker.io", "team/shop", "team/shop:1.4"),
            ("docker.io/library/nginx", "docker.io", "docker.io/library/nginx", "docker.io/library/nginx:latest"),
            (
                "Registry.Example.org/a/b:V1",
                "registry.example.org",
                "registry.example.org/a/b",
                "registry.example.org/a/b:V1",
            ),
            ("127.0.0.1:5000/shop", "127.0.0.1:5000", "127.0.0.1:5000/shop", "127.0.0.1:5000/shop:latest"),
            ("localhost/shop:2", "localhost", "localhost/shop", "localhost/shop:2"),
            ("[::1]:5000/shop", "[::1]:5000", "[::1]:5000/shop", "[::1]:5000/shop:latest"),
            ("team/a--b__c.d", "docker.io", "team/a--b__c.d", "team/a--b__c.d:latest"),
        ] {
            let image = ImageReference::try_from(text).unwrap_or_else(|problem| panic!("{text}: {problem}"));
            assert_eq!((image.registry(), image.name(), &*image.with_tag()), (registry, name, with_tag), "{text}");
            assert_eq!(image.digest(), None);
        }
        let image = ImageReference::try_from(format!("registry.example.org:444/shop:1@{DIGEST}").as_str()).unwrap();
        assert_eq!((image.name(), image.digest()), ("registry.example.org:444/shop", Some(DIGEST)));
        assert_eq!(image.at(DIGEST), format!("registry.example.org:444/shop@{DIGEST}"));
        assert_eq!(ImageReference::try_from("index.docker.io/library/nginx").unwrap().registry(), "docker.io");
    }

    #[test]
    fn what_is_no_name_of_an_image() {
        for text in [
            "",
            "Shop",
            "Shop/x",
            "INTRANET/x:1",
            "shop:",
            "shop:a b",
            "shop@",
            "shop@sha256:12",
            "/shop",
            "shop/",
            "a//b",
            "-shop",
            "shop-",
            "a___b",
            "a..b",
            "https://registry.example.org/shop",
            "registry.example.org/",
            "registry.example.org:0/shop",
            "registry.example.org:/shop",
            "registry.example.org:99999/shop",
            "ada@registry.example.org/shop",
            "shop?x=1",
            "shop#x",
            "shop\\x",
            "../shop",
            "shop:-1",
            "[::1/shop",
            "10.1:5000x/shop",
            "registry.example.org./shop",
            "shop\u{202E}",
        ] {
            assert!(ImageReference::try_from(text).is_err(), "{text:?}");
        }
        assert!(ImageReference::try_from(format!("shop:{}", "a".repeat(129)).as_str()).is_err());
        let problem = ImageReference::try_from("Shop/x").unwrap_err();
        assert!(problem.contains("must not begin with Shop/"), "{problem}");
    }

    #[test]
    fn registries_of_names_as_engines_read_them() {
        for (reference, registry) in [
            ("INTRANET/shop", "INTRANET"),
            ("Intranet/team/shop:1", "Intranet"),
            ("intranet/shop", "docker.io"),
            ("localhost/shop", "localhost"),
            ("Shop", "docker.io"),
            ("registry.example.org/shop", "registry.example.org"),
            ("index.docker.io/library/nginx", "docker.io"),
        ] {
            assert_eq!(registry_of(reference), registry, "{reference}");
        }
    }

    #[test]
    fn hosts_of_registries() {
        for text in [
            "registry.example.org",
            "Registry.example.org:5000",
            "127.0.0.1:5000",
            "[::1]:5000",
            "localhost",
            "docker.io",
        ] {
            assert!(RegistryHost::try_from(text).is_ok(), "{text}");
        }
        for text in [
            "",
            "registry",
            "https://registry.example.org",
            "registry.example.org/team",
            "a b.org",
            "registry.example.org:0",
            "a.org:x",
        ] {
            assert!(RegistryHost::try_from(text).is_err(), "{text}");
        }
    }
}
