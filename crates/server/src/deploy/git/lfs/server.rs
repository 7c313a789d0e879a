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
    // The path of a call is put behind it: it must not become a part of something else, to which a token is sent then.
    if url.query().is_some() || url.fragment().is_some() {
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
        (Transport::Local | Transport::Push | Transport::Image, _) => {
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
    Url::parse(&format!("{origin}/{path}{ending}/info/lfs")).ok()
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
    let told: Option<Told> = serde_json::from_slice(&answer).ok();
    let told = told.and_then(|told| {
        let url = Url::parse(told.href.trim_end_matches('/')).ok()?;
        Some((url, header_map(told.header.unwrap_or_default())?))
    });
    let Some((url, headers)) = told else {
        return Err(lfs.unreachable("what it says over ssh is not understood"));
    };
    let is_own = matches!(lfs.run.source.trust, Trust::Own { .. })
        && url.host_str().map(str::to_owned) == name_of(lfs.run.source.url);
    match is_own || url.scheme() == "https" {
        true => Ok(Server { url, headers, is_own }),
        false => Err(lfs.refused("its server is another host than the repository's, where only https is used")),
    }
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

    #[test]
    fn what_a_shell_takes_for_one_word() {
        assert_eq!(quoted("team/it's; rm -rf /"), r"'team/it'\''s; rm -rf /'");
    }
}
