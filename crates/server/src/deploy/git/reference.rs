//! Which commit is meant, and how to get it from a server that may not give all that it has.

use std::collections::HashSet;
use std::ops::ControlFlow;

use super::error::{FetchError, hash_is_refused, is_redirect};
use super::git_run::GitRun;
use super::source::{Reference, Source, is_whole_hash};

/// How many names an error lists.
const SHOWN: usize = 20;
const MAX_NAME: usize = 500;
/// How far back a commit is looked for at first when the server gives branches only.
const NEAR: &str = "--depth=100";
/// What git adds to the name of a tag for the commit that it leads to.
const PEELED: &str = "^{}";
/// What git takes for everything.
const FAR: &str = "--depth=2147483647";

/// How much comes with a commit.
#[derive(Clone, Copy, PartialEq, Eq)]
enum With {
    Nothing,
    /// What came before it, and the tags on that.
    History,
}

impl With {
    /// Git brings tags along where it writes down what it has fetched.
    const fn written_as(self) -> &'static str {
        match self {
            Self::Nothing => "FETCH_HEAD",
            Self::History => "refs/windlass/fetched",
        }
    }

    const fn options(self) -> &'static [&'static str] {
        match self {
            Self::Nothing => &["--no-tags", "--depth=1"],
            Self::History => &[],
        }
    }

    /// How far is looked for a commit on branches.
    const fn depths(self) -> &'static [&'static [&'static str]] {
        match self {
            Self::Nothing => &[&["--no-tags", NEAR], &["--no-tags", FAR]],
            Self::History => &[&[]],
        }
    }
}

/// Gets the commit, as shallow as the server lets us, and returns its hash.
pub async fn fetch(run: &GitRun<'_>) -> Result<String, FetchError> {
    fetch_with(run, With::Nothing).await
}

/// The same with all that came before the commit, and the tags on it.
pub async fn fetch_with_history(run: &GitRun<'_>) -> Result<String, FetchError> {
    fetch_with(run, With::History).await
}

async fn fetch_with(run: &GitRun<'_>, with: With) -> Result<String, FetchError> {
    match run.source.reference {
        Reference::Commit { hash, .. } if !is_whole_hash(hash) => {
            let exists = "A commit is named by all 40 digits of its hash.".to_owned();
            Err(FetchError::ReferenceNotFound { reference: format!("commit {hash:?}"), exists })
        }
        Reference::Commit { hash, branch } => {
            fetch_hash(run, with, hash.to_ascii_lowercase(), branch.unwrap_or_default()).await
        }
        Reference::DefaultBranch | Reference::Named(_) => {
            fetch_one(run, with, &find(run).await?).await?;
            // It may have moved on since it was found: what was fetched counts.
            let hash = run.run(&["rev-parse", "--verify", &format!("{}^{{commit}}", with.written_as())]).await?;
            Ok(hash.trim().to_owned())
        }
    }
}

/// The hash of the commit that is meant, as the server says it; that it is there is not looked at for one that is named by its hash.
pub async fn newest(run: &GitRun<'_>) -> Result<String, FetchError> {
    if let Reference::Commit { hash, .. } = run.source.reference {
        return Ok(hash.to_ascii_lowercase());
    }
    let candidates = candidates(&run.source.reference);
    // A tag with a message is an object of its own; what it leads to is listed beside it.
    let peeled = candidates.iter().map(|name| format!("{name}{PEELED}"));
    let asked: Vec<String> = candidates.iter().cloned().chain(peeled).collect();
    let asked: Vec<&str> = asked.iter().map(String::as_str).collect();
    let answer = if asked.is_empty() { String::new() } else { list(run, &[], &asked).await? };
    let listed: Vec<(&str, &str)> = answer.lines().filter_map(|line| line.split_once('\t')).collect();
    let hash_of = |name: &str| listed.iter().find(|(_, listed)| *listed == name).map(|(hash, _)| *hash);
    let found = candidates.iter().find_map(|name| hash_of(&format!("{name}{PEELED}")).or_else(|| hash_of(name)));
    match found.filter(|hash| is_whole_hash(hash)) {
        Some(hash) => Ok(hash.to_owned()),
        None => Err(not_found(run).await),
    }
}

async fn fetch_one(run: &GitRun<'_>, with: With, what: &str) -> Result<(), FetchError> {
    match with {
        With::Nothing => fetch_from(run, with.options(), what).await,
        With::History => fetch_from(run, with.options(), &format!("{what}:{}", with.written_as())).await,
    }
}

async fn fetch_from(run: &GitRun<'_>, options: &[&str], what: &str) -> Result<(), FetchError> {
    let fixed = ["fetch", "--quiet", "--no-write-commit-graph", "--no-recurse-submodules"];
    let url: &str = run.source.url;
    let arguments: Vec<_> = fixed.iter().chain(options).chain(&["--", url, what]).copied().collect();
    ask(run, &arguments).await.map(drop)
}

async fn fetch_hash(run: &GitRun<'_>, with: With, hash: String, branch: &str) -> Result<String, FetchError> {
    match fetch_one(run, with, &hash).await {
        Ok(()) => return as_commit(run, hash).await,
        Err(FetchError::Failed { text } | FetchError::Unreachable { text }) if hash_is_refused(&text) => {}
        Err(other) => return Err(other),
    }
    let pattern = if branch.is_empty() { "*" } else { branch };
    let branches = format!("+refs/heads/{pattern}:refs/heads/{pattern}");
    for &depth in with.depths() {
        match fetch_from(run, &[depth, &["--update-head-ok"][..]].concat(), &branches).await {
            Ok(()) if has(run, &hash).await => return Ok(hash),
            Ok(()) => {}
            Err(FetchError::Failed { text }) if hash_is_refused(&text) => break,
            Err(other) => return Err(other),
        }
    }
    let place = if branch.is_empty() { String::new() } else { format!(" on branch {branch:?}") };
    let exists = "Push it first, or deploy a branch.".to_owned();
    Err(FetchError::ReferenceNotFound { reference: format!("commit {hash}{place}"), exists })
}

/// A hash may also be that of a tag with a message, which leads to a commit, or of something else, which does not.
async fn as_commit(run: &GitRun<'_>, hash: String) -> Result<String, FetchError> {
    let object = format!("{hash}^{{commit}}");
    match run.run(&["rev-parse", "--verify", &object]).await {
        Ok(commit) => Ok(commit.trim().to_owned()),
        Err(FetchError::Failed { text }) => {
            let reference = format!("commit {hash}");
            Err(FetchError::ReferenceNotFound { reference, exists: format!("Deploy a branch. ({text})") })
        }
        Err(other) => Err(other),
    }
}

async fn has(run: &GitRun<'_>, hash: &str) -> bool {
    run.run(&["cat-file", "-e", &format!("{hash}^{{commit}}")]).await.is_ok()
}

/// The full name of the reference on the server.
async fn find(run: &GitRun<'_>) -> Result<String, FetchError> {
    let candidates = candidates(&run.source.reference);
    let asked: Vec<_> = candidates.iter().map(String::as_str).collect();
    let answer = if candidates.is_empty() { String::new() } else { list(run, &[], &asked).await? };
    let listed: Vec<_> = answer.lines().filter_map(|line| line.split_once('\t')).map(|(_, name)| name).collect();
    match candidates.iter().find(|name| listed.contains(&name.as_str())) {
        Some(name) => Ok(name.clone()),
        None => Err(not_found(run).await),
    }
}

fn candidates(reference: &Reference<'_>) -> Vec<String> {
    match reference {
        Reference::DefaultBranch => vec!["HEAD".to_owned()],
        Reference::Named(name) if name.is_empty() || name.len() > MAX_NAME || name.chars().any(char::is_control) => {
            vec![]
        }
        Reference::Named(name) if name.starts_with("refs/") => vec![(*name).to_owned()],
        Reference::Named(name) => vec![format!("refs/heads/{name}"), format!("refs/tags/{name}")],
        Reference::Commit { .. } => vec![],
    }
}

fn short_name(name: &str) -> &str {
    name.strip_prefix("refs/heads/").or_else(|| name.strip_prefix("refs/tags/")).unwrap_or(name)
}

async fn list(run: &GitRun<'_>, options: &[&str], names: &[&str]) -> Result<String, FetchError> {
    let url: &str = run.source.url;
    let arguments: Vec<_> =
        ["ls-remote", "--quiet"].iter().chain(options).chain(&["--", url]).chain(names).copied().collect();
    ask(run, &arguments).await
}

/// Runs git, which talks to the server.
async fn ask(run: &GitRun<'_>, arguments: &[&str]) -> Result<String, FetchError> {
    match run.run(arguments).await {
        Err(FetchError::Unreachable { text }) if is_redirect(&text) => {
            Err(FetchError::Redirected { to: redirected_to(run, arguments).await? })
        }
        other => other,
    }
}

/// Asks again with git's own trace, the only place where it shows where a redirect leads. It hides credentials itself.
async fn redirected_to(run: &GitRun<'_>, arguments: &[&str]) -> Result<String, FetchError> {
    let mut command = run.command(arguments)?;
    command.env("GIT_TRACE_CURL", "2").env("GIT_TRACE_CURL_NO_DATA", "1");
    let (_, said) = run.run_command(command, &mut |_| ControlFlow::Continue(())).await?;
    let said = String::from_utf8_lossy(&said).into_owned();
    let header = said.lines().filter_map(|line| line.split_once("ecv header: "));
    let location = header.filter_map(|(_, header)| header.split_once(": "));
    let to = location.filter(|(name, _)| name.eq_ignore_ascii_case("location")).map(|(_, value)| value).next();
    let to = to.map(|to| to.split("/info/refs").next().unwrap_or(to));
    Ok(run.for_people(to.unwrap_or("another address").as_bytes()))
}

async fn not_found(run: &GitRun<'_>) -> FetchError {
    let reference = match run.source {
        Source { reference: Reference::Named(name), .. } => format!("branch or tag called {name:?}"),
        _ => "default branch".to_owned(),
    };
    let answer = match list(run, &["--heads", "--tags", "--refs"], &[]).await {
        Ok(answer) => answer,
        Err(error) => return error,
    };
    let names: Vec<_> =
        answer.lines().filter_map(|line| line.split_once('\t')).map(|(_, name)| short_name(name)).collect();
    let names = each_once(names);
    let more = if names.len() > SHOWN { ", and more" } else { "" };
    let exists = match names.len() {
        0 => "It is empty: push a commit first.".to_owned(),
        length => {
            let shown = names[..length.min(SHOWN)].join(", ");
            format!("There are: {shown}{more}. Choose one of them, or push it.{}", hint(&run.source.reference))
        }
    };
    FetchError::ReferenceNotFound { reference, exists }
}

/// A branch and a tag may have the same name.
fn each_once(names: Vec<&str>) -> Vec<&str> {
    let mut seen = HashSet::new();
    names.into_iter().filter(|name| seen.insert(*name)).collect()
}

/// A hint for a user who meant a commit.
fn hint(reference: &Reference<'_>) -> &'static str {
    match reference {
        Reference::Named(name) if name.len() >= 7 && name.bytes().all(|byte| byte.is_ascii_hexdigit()) => {
            " A commit is named by all 40 digits of its hash."
        }
        _ => "",
    }
}
