//! Repositories inside a repository. Their addresses are the words of the repository's author, who may be a stranger: this machine must not be
//! made to call others for them. On the repository's own host all are fetched as the repository is; on other hosts only over https, and only
//! at public addresses.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::path::{Component, Path, PathBuf};

use windlass_api::{RepositoryAddress, Transport};
use windlass_outgoing::is_public;

use super::error::FetchError;
use super::git_run::GitRun;
use super::lfs::{self, InLfs};
use super::pinned::Pinned;
use super::reference;
use super::source::{Credentials, Limits, Reference, Source, Trust};
use super::tree::{self, Contents, Link, MOST_LINKS};

const DEEPEST: usize = 5;

/// One that is to be fetched.
struct Module {
    /// From the root of the whole tree.
    place: PathBuf,
    /// How many are around it.
    depth: usize,
    address: RepositoryAddress,
    hash: String,
    host: ModuleHost,
}

/// Where it is, as seen from the repository that names it.
enum ModuleHost {
    /// On the same host. It may get these credentials.
    Same(Credentials),
    /// On the same host, which is not that of the whole; git connects to where it did before.
    SameStranger {
        pinned: String,
    },
    Other,
}

/// What is fetched of submodules.
pub struct Wanted {
    /// What all of them may have together.
    pub left: Limits,
    /// Whether contents in Git LFS are fetched too.
    pub with_lfs: bool,
}

/// Puts the trees of all submodules into that of the commit. How many of their files came from Git LFS.
pub async fn fetch(run: &GitRun<'_>, hash: &str, contents: Contents, mut wanted: Wanted) -> Result<usize, FetchError> {
    let mut files_in_lfs = 0;
    let mut waiting: VecDeque<Module> = modules(run, hash, contents, (Path::new(""), 0)).await?.into();
    let mut number = 0;
    while let Some(module) = waiting.pop_front() {
        number += 1;
        let fetched = fetch_one(run, &module, number, &mut wanted).await;
        let (inner, in_lfs) = fetched.map_err(|error| error.of_submodule(&module.place))?;
        waiting.extend(inner);
        files_in_lfs += in_lfs;
        if number + waiting.len() > MOST_LINKS {
            return Err(FetchError::TooManySubmodules { limit: MOST_LINKS });
        }
    }
    Ok(files_in_lfs)
}

/// The submodules that it has itself, and how many of its files came from Git LFS.
async fn fetch_one(
    top: &GitRun<'_>,
    module: &Module,
    number: usize,
    wanted: &mut Wanted,
) -> Result<(Vec<Module>, usize), FetchError> {
    let own_pin;
    let (credentials, trust) = match &module.host {
        ModuleHost::Same(credentials) => (credentials.clone(), top.source.trust),
        ModuleHost::SameStranger { pinned } => (Credentials::default(), Trust::Stranger { pinned }),
        ModuleHost::Other => {
            let looking = pinned(&module.address, top.limits().private_targets);
            let in_time = tokio::time::timeout_at(top.deadline, looking).await;
            own_pin = in_time.unwrap_or(Err(FetchError::TimedOut { limit: top.limits().time }))?;
            (Credentials::default(), Trust::Stranger { pinned: &own_pin })
        }
    };
    let reference = Reference::Commit { hash: &module.hash, branch: None };
    let source = Source { url: &module.address, reference, credentials: &credentials, trust };
    let paths = top.paths.of_module(number);
    paths.make()?;
    let run = GitRun::begin(&source, paths, &wanted.left, top.deadline, None).await?;
    let hash = reference::fetch(&run).await?;
    let contents = tree::check_out(&run, &hash).await?;
    let most_bytes = wanted.left.bytes.saturating_sub(contents.bytes);
    let in_lfs = match wanted.with_lfs {
        true => lfs::fetch(&run, &hash, &contents, most_bytes).await?,
        false => InLfs::default(),
    };
    let (files, bytes) = (contents.entries, contents.bytes.saturating_add(in_lfs.bytes));
    let inner = modules(&run, &hash, contents, (&module.place, module.depth)).await?;
    put_in_place(&top.paths.folder, &module.place, &run.paths.folder)?;
    drop(run);
    let paths = top.paths.of_module(number);
    tokio::task::spawn_blocking(move || paths.clean()).await.map_err(io::Error::from)??;
    wanted.left.spend(files, bytes);
    Ok((inner, in_lfs.paths.len()))
}

/// A tree can have names that lead elsewhere: a link in the place of a folder above it.
fn put_in_place(tree: &Path, place: &Path, from: &Path) -> Result<(), FetchError> {
    let target = tree.join(place);
    let parent = std::fs::canonicalize(target.parent().unwrap_or(tree))?;
    let expected = std::fs::canonicalize(tree)?.join(place.parent().unwrap_or(Path::new("")));
    if parent != expected || !std::fs::symlink_metadata(&target)?.is_dir() {
        return Err(FetchError::Failed { text: "its place in the repository is no folder".to_owned() });
    }
    // Git has made an empty folder there.
    Ok(std::fs::rename(from, target)?)
}

/// Where the links of a commit's tree lead.
async fn modules(
    run: &GitRun<'_>,
    hash: &str,
    contents: Contents,
    (place, depth): (&Path, usize),
) -> Result<Vec<Module>, FetchError> {
    if contents.links.is_empty() {
        return Ok(Vec::new());
    }
    if depth == DEEPEST {
        return Err(FetchError::SubmodulesTooDeep { limit: DEEPEST });
    }
    let file = format!("{hash}:{}", tree::ADDRESSES);
    let listed = match contents.has_addresses {
        true => run.run(&["config", "--no-includes", "--null", "--blob", &file, "--list"]).await?,
        false => String::new(),
    };
    let addresses = addresses(&listed);
    let mut modules = Vec::new();
    for Link { path, hash } in contents.links {
        let place = place.join(&path);
        let found = match addresses.get(&path) {
            // Its author does not want it to be fetched.
            Some(Listed { is_left_out: true, .. }) => continue,
            Some(listed) => module(run.source, &path, &listed.url),
            None => Err(refused(&format!("it has no address in {}", tree::ADDRESSES))),
        };
        let (address, host) = found.map_err(|error| error.of_submodule(&place))?;
        modules.push(Module { place, depth: depth + 1, address, hash, host });
    }
    Ok(modules)
}

/// What `.gitmodules` says of one.
#[derive(Debug, Default, PartialEq, Eq)]
struct Listed {
    path: String,
    url: String,
    is_left_out: bool,
}

/// By path, from git's list of `submodule.NAME.path` and the like.
fn addresses(listed: &str) -> BTreeMap<String, Listed> {
    let mut modules: BTreeMap<&str, Listed> = BTreeMap::new();
    for (key, value) in listed.split('\0').filter_map(|entry| entry.split_once('\n')) {
        match key.strip_prefix("submodule.").and_then(|key| key.rsplit_once('.')) {
            Some((name, "path")) => value.trim_end_matches('/').clone_into(&mut modules.entry(name).or_default().path),
            Some((name, "url")) => value.clone_into(&mut modules.entry(name).or_default().url),
            Some((name, "update")) => modules.entry(name).or_default().is_left_out = value == "none",
            _ => {}
        }
    }
    let whole = modules.into_values().filter(|listed| !listed.path.is_empty() && !listed.url.is_empty());
    whole.map(|listed| (listed.path.clone(), listed)).collect()
}

fn module(parent: &Source<'_>, path: &str, url: &str) -> Result<(RepositoryAddress, ModuleHost), FetchError> {
    let is_plain = |part: Component<'_>| matches!(part, Component::Normal(_));
    if path.contains(char::REPLACEMENT_CHARACTER) || !Path::new(path).components().all(is_plain) {
        return Err(refused("its path is not a plain one"));
    }
    let address = resolved(parent.url, url).ok_or_else(|| refused("its address is not that of a git repository"))?;
    let is_same = is_same_host(parent.url, &address);
    let host = match parent.trust {
        Trust::Own { has_local_modules, .. } if address.authority().is_none() => {
            if !(has_local_modules && parent.url.is_local()) {
                return Err(refused("its address is a folder of the machine that runs Windlass"));
            }
            ModuleHost::Same(Credentials::default())
        }
        Trust::Own { lends_credentials, .. } if is_same => {
            let lends = lends_credentials && parent.url.origin() == address.origin();
            ModuleHost::Same(if lends { parent.credentials.clone() } else { Credentials::default() })
        }
        Trust::Stranger { pinned } if is_same && parent.url.origin() == address.origin() => {
            ModuleHost::SameStranger { pinned: pinned.to_owned() }
        }
        Trust::Own { .. } | Trust::Stranger { .. } if address.transport() == Transport::Https => ModuleHost::Other,
        Trust::Own { .. } | Trust::Stranger { .. } => {
            return Err(refused("it is on another host than the repository, where only https is used"));
        }
    };
    Ok((address, host))
}

fn refused(why: &str) -> FetchError {
    FetchError::SubmoduleRefused { why: why.to_owned() }
}

/// With the same port, which may be given or the usual one.
fn is_same_host(parent: &RepositoryAddress, address: &RepositoryAddress) -> bool {
    match (parent.origin(), address.origin()) {
        (Some(parent), Some(address)) => parent == address,
        _ => match (parent.authority(), address.authority()) {
            (Some(parent), Some(address)) => parent.eq_ignore_ascii_case(address),
            _ => false,
        },
    }
}

/// The address as it is meant: relative ones begin at the repository's own. What is on its host, but asked for by ssh, is fetched as the
/// repository is: the token that opens one opens the other.
fn resolved(parent: &RepositoryAddress, text: &str) -> Option<RepositoryAddress> {
    if text.starts_with("./") || text.starts_with("../") {
        return relative(parent, text).and_then(|text| RepositoryAddress::try_from(text.as_str()).ok());
    }
    let address = RepositoryAddress::try_from(without_user(text).as_str()).ok()?;
    let is_by_ssh = matches!(address.transport(), Transport::Ssh | Transport::Git);
    let origin = parent.origin().filter(|_| is_by_ssh && name_of(parent) == name_of(&address));
    match origin {
        Some(origin) => {
            let path = address.path().trim_start_matches('/');
            RepositoryAddress::try_from(format!("{origin}/{path}").as_str()).ok()
        }
        None => Some(address),
    }
}

/// The name of its host, without a port.
pub fn name_of(address: &RepositoryAddress) -> Option<String> {
    let authority = address.authority()?;
    let name = authority.rsplit_once(':').filter(|(_, port)| !port.contains(']')).map_or(authority, |(name, _)| name);
    Some(name.to_ascii_lowercase())
}

/// Some code hosts show addresses with the name of a user in them, which says nothing without a password.
pub fn without_user(text: &str) -> String {
    let rest = text.strip_prefix("https://");
    let parts = rest.and_then(|rest| rest.split_once('@')).filter(|(user, _)| !user.contains(['/', ':']));
    parts.map_or_else(|| text.to_owned(), |(_, rest)| format!("https://{rest}"))
}

fn relative(parent: &RepositoryAddress, text: &str) -> Option<String> {
    let path = parent.path();
    let before = &parent[..parent.len() - path.len()];
    let mut parts: Vec<&str> = path.trim_end_matches('/').split('/').collect();
    for part in text.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    Some(format!("{before}{}", parts.join("/")))
}

/// The public addresses of its host, as git is told to use them.
async fn pinned(address: &RepositoryAddress, may_be_private: bool) -> Result<String, FetchError> {
    let found = Pinned::look_up(address).await?;
    if !(may_be_private || found.addresses.iter().copied().all(is_public)) {
        return Err(refused("its host has an address in a private network, and is not the repository's own"));
    }
    Ok(found.for_git())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(parent: &str, text: &str) -> Option<String> {
        resolved(&RepositoryAddress::try_from(parent).unwrap(), text).map(|address| address.to_string())
    }

    #[test]
    fn addresses_are_meant_as_git_means_them() {
        let shop = "https://git.example.org/team/shop.git";
        for (parent, text, expected) in [
            (shop, "../lib.git", Some("https://git.example.org/team/lib.git")),
            (shop, "../../other/lib", Some("https://git.example.org/other/lib")),
            (shop, "./lib", Some("https://git.example.org/team/shop.git/lib")),
            (shop, "../../../lib", None),
            (shop, "../../../../lib", None),
            (shop, "https://other.example.org/lib", Some("https://other.example.org/lib")),
            (shop, "git@git.example.org:team/lib.git", Some("https://git.example.org/team/lib.git")),
            (shop, "ssh://git@git.example.org/team/lib.git", Some("https://git.example.org/team/lib.git")),
            (shop, "git://git.example.org/team/lib.git", Some("https://git.example.org/team/lib.git")),
            (shop, "https://ada@other.example.org/lib", Some("https://other.example.org/lib")),
            (
                "https://git.lan:3000/team/shop",
                "ssh://git@git.lan:2222/team/lib",
                Some("https://git.lan:3000/team/lib"),
            ),
            (shop, "git@other.example.org:team/lib.git", Some("git@other.example.org:team/lib.git")),
            (shop, "ext::sh -c date", None),
            (shop, "-u/x", None),
            ("git@git.example.org:team/shop.git", "../lib.git", Some("git@git.example.org:team/lib.git")),
            ("git@git.example.org:shop.git", "../lib.git", Some("git@git.example.org:lib.git")),
            ("ssh://git@git.example.org:2222/team/shop", "../lib", Some("ssh://git@git.example.org:2222/team/lib")),
            ("/srv/git/shop", "../lib", Some("/srv/git/lib")),
        ] {
            assert_eq!(at(parent, text).as_deref(), expected, "{text} of {parent}");
        }
    }

    #[test]
    fn addresses_are_read_from_the_list_of_git() {
        let listed = "submodule.a.b.path\nlib/\0submodule.a.b.url\n../x\0submodule.c.path\nonly\0core.x\ny\0broken\0\
            submodule.d.path\nd\0submodule.d.url\n../d\0submodule.d.update\nnone\0";
        let one =
            |path: &str, url: &str, is_left_out| Listed { path: path.to_owned(), url: url.to_owned(), is_left_out };
        let expected = [("lib".to_owned(), one("lib", "../x", false)), ("d".to_owned(), one("d", "../d", true))];
        assert_eq!(addresses(listed), BTreeMap::from(expected));
    }

    /// A host that a stranger has named has the address that was looked at, whatever is asked for on it.
    #[test]
    fn what_a_stranger_names_stays_pinned() {
        let url = RepositoryAddress::try_from("https://evil.example:8080/outer").unwrap();
        let credentials = Credentials { token: Some("sesame".to_owned()), ..Credentials::default() };
        let host = |trust, address: &str| {
            let source = Source { url: &url, reference: Reference::DefaultBranch, credentials: &credentials, trust };
            module(&source, "lib", address).map(|(_, host)| match host {
                ModuleHost::Same(Credentials { token: Some(_), .. }) => "same, with credentials",
                ModuleHost::Same(_) => "same",
                ModuleHost::SameStranger { .. } => "pinned",
                ModuleHost::Other => "other",
            })
        };
        let stranger = Trust::Stranger { pinned: "evil.example:8080:9.9.9.9" };
        assert_eq!(host(stranger, "https://evil.example:8080/inner").unwrap(), "pinned");
        assert_eq!(host(stranger, "../inner").unwrap(), "pinned");
        assert!(host(stranger, "http://evil.example:8080/inner").is_err());
        assert_eq!(host(stranger, "https://evil.example/inner").unwrap(), "other");
        assert!(host(stranger, "/srv/git/private").is_err());
        let own = |lends_credentials| Trust::Own { has_local_modules: false, lends_credentials };
        assert_eq!(host(own(true), "../inner").unwrap(), "same, with credentials");
        assert_eq!(host(own(false), "../inner").unwrap(), "same");
        assert!(host(own(true), "/srv/git/private").is_err() && host(own(true), "http://evil.example/x").is_err());
    }

    #[test]
    fn a_place_behind_a_link_is_refused() {
        let place = tempfile::tempdir().unwrap();
        let [tree, elsewhere, from] = ["tree", "elsewhere", "from"].map(|name| place.path().join(name));
        for folder in [&tree.join("plain/lib"), &elsewhere.join("lib"), &from] {
            std::fs::create_dir_all(folder).unwrap();
        }
        std::os::unix::fs::symlink(&elsewhere, tree.join("link")).unwrap();
        std::os::unix::fs::symlink(&elsewhere, tree.join("plain/link")).unwrap();
        for path in ["link/lib", "plain/link", "plain/link/lib"] {
            assert!(put_in_place(&tree, Path::new(path), &from).is_err(), "{path}");
        }
        put_in_place(&tree, Path::new("plain/lib"), &from).unwrap();
        assert!(!from.exists());
    }

    #[tokio::test]
    async fn other_hosts_must_be_public() {
        let address = |text: &str| RepositoryAddress::try_from(text).unwrap();
        for text in ["https://127.0.0.1/a", "https://localhost/a", "https://[::1]:8443/a", "https://169.254.169.254/a"]
        {
            assert!(matches!(pinned(&address(text), false).await, Err(FetchError::SubmoduleRefused { .. })), "{text}");
        }
        let local = pinned(&address("https://localhost:8443/a"), true).await.unwrap();
        assert!(local.starts_with("localhost:8443:") && local.contains("127.0.0.1"), "{local}");
        assert_eq!(pinned(&address("https://9.9.9.9/a"), false).await.unwrap(), "");
    }
}
