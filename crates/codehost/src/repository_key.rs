//! By what a repository is recognised, whichever of its addresses is used.

use windlass_api::CodeHost;

/// Host and path, all in lower case: `https://Git.example.org:8443/Team/shop.git` and `git@git.example.org:team/shop` have the same.
/// The port is left out, because a host has one for each way to reach it, and so are scheme and user. Two repositories with the same
/// key are told apart by the secrets of their applications.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RepositoryKey(String);

impl RepositoryKey {
    const LONGEST: usize = 2_000;

    /// None for a folder of the machine, and for what is no address.
    pub fn of(address: &str) -> Option<Self> {
        let (host, path) = parts(address).filter(|_| !address.contains(char::is_control))?;
        let key = format!("{host}/{path}").to_lowercase();
        (key.len() <= Self::LONGEST).then_some(Self(key))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Host and path of an address, without scheme, user, port and ending.
fn parts(address: &str) -> Option<(&str, &str)> {
    let (authority, path) = match address.split_once("://") {
        Some((scheme, rest)) if is_remote(scheme) => rest.split_once('/')?,
        Some(_) => return None,
        // user@host:path
        None if address.starts_with('/') => return None,
        None => address.split_once(':').filter(|(authority, _)| authority.contains('@'))?,
    };
    let host = host_of(authority);
    let path = path.trim_matches('/');
    let path = path.strip_suffix(".git").unwrap_or(path).trim_end_matches('/');
    (!host.is_empty() && !path.is_empty()).then_some((host, path))
}

/// By what its code host calls a repository, such as `team/shop`. `base` is where people visit the host. None for a repository that is
/// elsewhere.
pub fn full_name(host: CodeHost, base: &str, address: &str) -> Option<String> {
    let (_, rest) = base.split_once("://")?;
    let (authority, prefix) = rest.split_once('/').unwrap_or((rest, ""));
    let (found, path) = parts(address)?;
    if !found.eq_ignore_ascii_case(host_of(authority)) {
        return None;
    }
    let is_web = address.get(..4).is_some_and(|beginning| beginning.eq_ignore_ascii_case("http"));
    let path = match prefix.trim_matches('/') {
        prefix if is_web && !prefix.is_empty() => path.strip_prefix(prefix)?.strip_prefix('/')?,
        _ => path,
    };
    let path = match host {
        CodeHost::BitbucketServer if is_web => path.strip_prefix("scm/")?,
        _ => path,
    };
    path.contains('/').then(|| path.to_owned())
}

fn is_remote(scheme: &str) -> bool {
    ["https", "http", "ssh", "git", "git+ssh"].iter().any(|known| known.eq_ignore_ascii_case(scheme))
}

/// Without user and port.
fn host_of(authority: &str) -> &str {
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    match host.rsplit_once(':') {
        // The last colon of an IPv6 address without a port is inside the brackets.
        Some((name, port)) if !port.contains(']') => name,
        _ => host,
    }
    .trim_end_matches('.')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_address_of_a_repository_has_the_same_key() {
        for address in [
            "https://git.example.org/team/shop.git",
            "https://git.example.org/team/shop",
            "https://git.example.org/team/shop/",
            "https://Git.Example.ORG:443/team/shop.git",
            "HTTPS://git.example.org./Team/Shop.git",
            "http://git.example.org:3000/team/shop.git",
            "https://ada:token@git.example.org/team/shop.git",
            "git://git.example.org/team/shop",
            "ssh://git@git.example.org:2222/team/shop.git",
            "git@git.example.org:team/shop.git",
            "git@git.example.org:/team/shop.git",
        ] {
            assert_eq!(RepositoryKey::of(address).unwrap().as_str(), "git.example.org/team/shop", "{address}");
        }
        assert_eq!(RepositoryKey::of("http://[::1]:3000/a/b").unwrap().as_str(), "[::1]/a/b");
        assert_eq!(RepositoryKey::of("http://[::1]/a/b").unwrap().as_str(), "[::1]/a/b");
        assert_eq!(RepositoryKey::of("https://git.example.org/Ünï/東京").unwrap().as_str(), "git.example.org/ünï/東京");
    }

    #[test]
    fn names_at_a_code_host() {
        use CodeHost::{BitbucketServer, GitHub, GitLab, Gitea};
        for (host, base, address, expected) in [
            (GitHub, "https://github.com", "https://github.com/Team/shop.git", Some("Team/shop")),
            (GitHub, "https://github.com", "git@github.com:team/shop.git", Some("team/shop")),
            (GitHub, "https://github.com", "https://gitlab.com/team/shop.git", None),
            (GitHub, "https://github.com", "https://github.com.evil.example/team/shop", None),
            (GitLab, "https://gitlab.com", "https://gitlab.com/group/sub/shop", Some("group/sub/shop")),
            (Gitea, "http://git.example.org:3000", "http://git.example.org:3000/team/shop", Some("team/shop")),
            (Gitea, "https://example.org/git", "https://example.org/git/team/shop", Some("team/shop")),
            (Gitea, "https://example.org/git", "https://example.org/github/team/shop", None),
            (Gitea, "https://example.org/git", "ssh://git@example.org:2222/team/shop.git", Some("team/shop")),
            (BitbucketServer, "https://bb.example.org", "https://bb.example.org/scm/prj/shop.git", Some("prj/shop")),
            (BitbucketServer, "https://bb.example.org", "ssh://git@bb.example.org:7999/prj/shop.git", Some("prj/shop")),
            (Gitea, "https://git.example.org", "https://git.example.org/shop", None),
            (Gitea, "https://git.example.org", "/srv/shop", None),
        ] {
            assert_eq!(full_name(host, base, address).as_deref(), expected, "{address}");
        }
    }

    #[test]
    fn what_has_no_key() {
        let long = format!("https://git.example.org/{}", "a".repeat(3_000));
        for address in [
            "",
            "/srv/git/shop",
            "file:///srv/shop",
            "https://git.example.org",
            "https://git.example.org/",
            "shop",
            &long,
        ] {
            assert_eq!(RepositoryKey::of(address), None, "{address}");
        }
        assert_ne!(RepositoryKey::of("https://a.org/b/c"), RepositoryKey::of("https://a.org/b/c/d"));
    }
}
