//! Where the contents are. `.lfsconfig` is the word of the repository's author, who may be a stranger: only the repository's own server gets
//! credentials and may have a private address; any other is called over https, at public addresses.

use std::collections::BTreeMap;
use std::ops::ControlFlow::Continue;
use std::path::PathBuf;

use serde::Deserialize;
use windlass_api::Transport;
use windlass_outgoing::header::{AUTHORIZATION, HeaderName, HeaderValue};
use windlass_outgoing::{HeaderMap, Url};

use super::Lfs;
use crate::deploy::git::error::FetchError;
use crate::deploy::git::source::Trust;
use crate::deploy::git::submodules::{name_of, without_user};

pub const SETTINGS: &str = ".lfsconfig";
/// What a server says over ssh.
const LONGEST_ANSWER: usize = 64 * 1024;
/// A server gives one or two.
const MOST_HEADERS: usize = 20;

pub enum Store {
    /// Of a repository on this machine.
    Folder(PathBuf),
    Server(Server),
}

pub struct Server {
    pub url: Url,
    /// For what has the same origin.
    pub headers: HeaderMap,
    /// Whether it is the repository's own.
    pub is_own: bool,
}

impl Server {
    /// Whether an address that it names may be called as its own is. Others must be https.
    pub fn is_at(&self, lfs: &Lfs<'_>, url: &Url) -> Result<bool, FetchError> {
        let is_same = self.url.origin() == url.origin();
        match is_same || url.scheme() == "https" {
            true => Ok(is_same),
            false => Err(lfs.refused("its server sends to another host, where only https is used")),
        }
    }
}

/// Where the repository says that they are.
pub async fn find(lfs: &Lfs<'_>, hash: &str, has_settings: bool) -> Result<Store, FetchError> {
    let given = match has_settings {
        true => given(lfs, hash).await?,
        false => None,
    };
    match given {
        Some(text) => given_server(lfs, &text).map(Store::Server),
        None => own(lfs).await,
    }
}

/// `lfs.url` of the commit's settings. Nothing else there is looked at.
async fn given(lfs: &Lfs<'_>, hash: &str) -> Result<Option<String>, FetchError> {
    let file = format!("{hash}:{SETTINGS}");
    let listed = lfs.run.run(&["config", "--no-includes", "--null", "--blob", &file, "--list"]).await?;
    let mut urls = listed.split('\0').filter_map(|entry| entry.strip_prefix("lfs.url\n"));
    Ok(urls.next_back().map(str::to_owned))
}

fn given_server(lfs: &Lfs<'_>, text: &str) -> Result<Server, FetchError> {
    let source = lfs.run.source;
    let url = Url::parse(without_user(text).trim_end_matches('/')).ok();
    let Some(url) = url.filter(|url| matches!(url.scheme(), "http" | "https")) else {
        return Err(lfs.refused("its lfs.url is no address that begins with https://"));
    };
    if !has_path_only(&url) {
        return Err(lfs.refused("its lfs.url has a ? or a #"));
    }
    let is_own_origin = source.url.origin().and_then(|origin| Url::parse(&origin).ok());
    let is_own_origin = is_own_origin.is_some_and(|own| own.origin() == url.origin());
    match source.trust {
        Trust::Own { lends_credentials, .. } if is_own_origin => {
            let is_usual = usual(lfs).as_ref() == Some(&url);
            let headers = if lends_credentials || is_usual { credentials(lfs) } else { HeaderMap::new() };
            Ok(Server { url, headers, is_own: true })
        }
        _ if url.scheme() == "https" => Ok(Server { url, headers: HeaderMap::new(), is_own: false }),
        _ => Err(lfs.refused("its lfs.url is on another host than the repository, where only https is used")),
    }
}

/// Where they are unless the repository says something else.
async fn own(lfs: &Lfs<'_>) -> Result<Store, FetchError> {
    let source = lfs.run.source;
    match (source.url.transport(), usual(lfs)) {
        (Transport::Local | Transport::Push | Transport::Image | Transport::Extension, _) => {
            Ok(Store::Folder(PathBuf::from(source.url.path())))
        }
        (Transport::Ssh, _) => by_ssh(lfs).await.map(Store::Server),
        (_, Some(url)) => {
            let is_own = matches!(source.trust, Trust::Own { .. });
            Ok(Store::Server(Server { url, headers: credentials(lfs), is_own }))
        }
        (_, None) => Err(lfs.refused("the repository's own address leads to no server of Git LFS")),
    }
}

fn usual(lfs: &Lfs<'_>) -> Option<Url> {
    let address = lfs.run.source.url;
    let origin = match address.transport() {
        Transport::Git => format!("https://{}", name_of(address)?),
        _ => address.origin()?,
    };
    let path = address.path().trim_end_matches('/');
    let ending = if path.ends_with(".git") { "" } else { ".git" };
    Url::parse(&format!("{origin}/{path}{ending}/info/lfs")).ok().filter(has_path_only)
}

/// The path of a call is put behind it: it must not become a part of something else, to which a token is sent then.
fn has_path_only(url: &Url) -> bool {
    url.query().is_none() && url.fragment().is_none()
}

/// The token of the repository, as git sends it. A key is none.
fn credentials(lfs: &Lfs<'_>) -> HeaderMap {
    let token = lfs.run.source.url.origin().and_then(|_| lfs.run.authorization());
    let value = token.and_then(|token| HeaderValue::from_str(&token).ok());
    value.into_iter().map(|value| (AUTHORIZATION, value)).collect()
}

#[derive(Deserialize)]
struct Told {
    href: String,
    header: Option<BTreeMap<String, String>>,
}

/// A server of ssh tells where its server of Git LFS is, and what opens it.
async fn by_ssh(lfs: &Lfs<'_>) -> Result<Server, FetchError> {
    let mut answer = Vec::new();
    let take = &mut |piece: &[u8]| {
        answer.extend_from_slice(&piece[..piece.len().min(LONGEST_ANSWER - answer.len().min(LONGEST_ANSWER))]);
        Continue(())
    };
    let path = lfs.run.source.url.path();
    let path = if lfs.run.source.url.contains("://") { format!("/{path}") } else { path.to_owned() };
    // The server gives this to a shell.
    let asked = format!("git-lfs-authenticate {} download", quoted(&path));
    let (success, said) = lfs.run.run_command(lfs.run.ssh_command(&asked)?, take).await?;
    if !success {
        return Err(lfs.unreachable(&String::from_utf8_lossy(&said)));
    }
    let is_own = matches!(lfs.run.source.trust, Trust::Own { .. });
    let own_host = name_of(lfs.run.source.url).filter(|_| is_own);
    match told(&answer, own_host.as_deref()) {
        Some(server) => server.map_err(|why| lfs.refused(why)),
        None => Err(lfs.unreachable("what it says over ssh is not understood")),
    }
}

/// None if it is not understood; else the server, or why it is not called. Nothing but https shows that it is the server of that name: ssh
/// has looked the name up by itself.
fn told(answer: &[u8], own_host: Option<&str>) -> Option<Result<Server, &'static str>> {
    let told: Told = serde_json::from_slice(answer).ok()?;
    let url = Url::parse(told.href.trim_end_matches('/')).ok()?;
    let headers = header_map(told.header.unwrap_or_default())?;
    if url.scheme() != "https" {
        return Some(Err("its server says over ssh that they are at an address that does not begin with https://"));
    }
    if !has_path_only(&url) {
        return Some(Err("its server says over ssh that they are at an address with a ? or a #"));
    }
    let is_own = own_host.is_some() && url.host_str() == own_host;
    Some(Ok(Server { url, headers, is_own }))
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// None if there are too many, or something that is no header.
pub fn header_map(given: BTreeMap<String, String>) -> Option<HeaderMap> {
    if given.len() > MOST_HEADERS {
        return None;
    }
    let header =
        |(name, value): (String, String)| Some((HeaderName::try_from(name).ok()?, HeaderValue::try_from(value).ok()?));
    given.into_iter().map(header).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::deploy::git::lfs::tests::with_lfs;

    /// A token is for the origin of the repository.
    #[tokio::test]
    async fn no_other_server_gets_credentials() {
        for lends_credentials in [true, false] {
            with_lfs("http://127.0.0.1:1/app.git", lends_credentials, async |lfs| {
                for (url, is_own, has_token) in [
                    ("http://127.0.0.1:1/app.git/info/lfs", true, true),
                    ("http://127.0.0.1:1/other.git/info/lfs", true, lends_credentials),
                    ("https://127.0.0.1:1/app.git/info/lfs", false, false),
                    ("https://127.0.0.1/app.git/info/lfs", false, false),
                    ("https://lfs.example.org/app.git/info/lfs", false, false),
                ] {
                    let server = given_server(lfs, url).unwrap();
                    assert_eq!((server.is_own, !server.headers.is_empty()), (is_own, has_token), "{url}");
                }
                for url in ["http://127.0.0.1/app", "http://127.0.0.1:1/app?x", "http://127.0.0.1:1/app#x"] {
                    assert!(given_server(lfs, url).is_err(), "{url}");
                }
            })
            .await;
        }
    }

    #[test]
    fn what_a_server_says_over_ssh_leads_nowhere_else() {
        let told = |href: &str| {
            let answer = serde_json::json!({ "href": href, "header": { "Authorization": "sesame" } });
            told(answer.to_string().as_bytes(), Some("git.example.org")).map(|told| told.map(|server| server.is_own))
        };
        for (href, is_own) in [
            ("https://git.example.org/app.git/info/lfs", true),
            ("https://GIT.example.org:8443/lfs/", true),
            ("https://lfs.example.org/app", false),
            ("https://git.example.org.evil.example/app", false),
            ("https://git.example.org@evil.example/app", false),
        ] {
            assert_eq!(told(href), Some(Ok(is_own)), "{href}");
        }
        for (href, why) in [
            ("http://git.example.org/app.git/info/lfs", "https://"),
            ("http://git.example.org:9200/app", "https://"),
            ("file:///etc", "https://"),
            ("https://git.example.org/app?x=", "a ? or a #"),
            ("https://git.example.org/app#", "a ? or a #"),
        ] {
            let refused = told(href).unwrap().unwrap_err();
            assert!(refused.contains(why), "{href}: {refused}");
        }
        assert!(told("app/info/lfs").is_none());
        assert!(super::told(b"Welcome!", None).is_none());
        // A stranger has no own host.
        let answer = br#"{ "href": "https://git.example.org/app" }"#;
        assert!(!super::told(answer, None).unwrap().unwrap().is_own);
    }

    #[test]
    fn what_a_shell_takes_for_one_word() {
        assert_eq!(quoted("team/it's; rm -rf /"), r"'team/it'\''s; rm -rf /'");
    }
}
