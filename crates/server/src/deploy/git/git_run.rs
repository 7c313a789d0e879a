//! Runs of the git program for one fetch: the key, the limits and the environment that it gets.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::ops::ControlFlow::Continue;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use tokio::process::Command;
use tokio::time::Instant;
use windlass_api::{RepositoryAddress, Transport};

use super::cache::Cache;
use super::error::{FetchError, classify};
use super::output::{self, Take};
use super::paths::FetchPaths;
use super::pinned::Pinned;
use super::source::{Limits, Source, Trust};
use crate::folders::size_of;
use crate::git_program;
use crate::programs::{Ended, Group};

/// How much of an answer of git's is read; the longest is a list of references.
const MAX_ANSWER: usize = 1 << 20;
/// How often the size on the disk is looked at.
const LOOK: Duration = Duration::from_millis(500);

/// Runs git for one fetch.
pub struct GitRun<'a> {
    pub source: &'a Source<'a>,
    pub paths: FetchPaths,
    limits: &'a Limits,
    pub deadline: Instant,
    /// Where a repository's own host on the web is, for all calls of this fetch.
    pub pinned: Option<Pinned>,
    key: Option<KeyFile>,
    /// Where git keeps objects, if that is not the fetch's own folder.
    objects: Option<PathBuf>,
}

/// Gone with the value.
struct KeyFile(PathBuf);

impl Drop for KeyFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

impl<'a> GitRun<'a> {
    /// Makes an empty repository beside the folder; or one whose objects are in the cache.
    pub async fn begin(
        source: &'a Source<'a>,
        paths: FetchPaths,
        limits: &'a Limits,
        deadline: Instant,
        cache: Option<&Cache>,
    ) -> Result<Self, FetchError> {
        std::fs::create_dir(&paths.git)?;
        let objects = cache.map(Cache::objects);
        let mut run = Self { source, paths, limits, deadline, pinned: None, key: None, objects };
        run.pinned = run.look_up().await?;
        run.key = run.write_key()?;
        run.run(&["init", "--quiet", "--template=", "."]).await?;
        if let Some(hash) = cache.and_then(Cache::last_commit) {
            run.offer_commit(&hash)?;
        }
        Ok(run)
    }

    async fn look_up(&self) -> Result<Option<Pinned>, FetchError> {
        let is_on_web = matches!(self.transport(), Transport::Https | Transport::Http);
        if !is_on_web || matches!(self.source.trust, Trust::Stranger { .. }) {
            return Ok(None);
        }
        let in_time = tokio::time::timeout_at(self.deadline, Pinned::look_up(self.source.url)).await;
        in_time.unwrap_or(Err(FetchError::TimedOut { limit: self.limits.time })).map(Some)
    }

    /// Lets git tell the server that this commit is here, but not what came before it.
    fn offer_commit(&self, hash: &str) -> Result<(), FetchError> {
        let folder = self.paths.git.join("refs/windlass");
        std::fs::create_dir_all(&folder)?;
        std::fs::write(folder.join("last"), format!("{hash}\n"))?;
        Ok(std::fs::write(self.paths.git.join("shallow"), format!("{hash}\n"))?)
    }

    fn write_key(&self) -> Result<Option<KeyFile>, FetchError> {
        let Some(key) = self.source.credentials.ssh_key.as_deref().filter(|_| self.transport() == Transport::Ssh)
        else {
            return Ok(None);
        };
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&self.paths.key)?;
        let guard = KeyFile(self.paths.key.clone());
        // Without a newline at its end ssh takes a key for a damaged one.
        file.write_all(format!("{}\n", key.trim_end()).as_bytes())?;
        Ok(Some(guard))
    }

    fn transport(&self) -> Transport {
        self.source.url.transport()
    }

    /// What git answers, up to a limit.
    pub async fn run(&self, arguments: &[&str]) -> Result<String, FetchError> {
        let mut answer = Vec::new();
        let take = &mut |piece: &[u8]| {
            let space = MAX_ANSWER - answer.len().min(MAX_ANSWER);
            answer.extend_from_slice(&piece[..piece.len().min(space)]);
            Continue(())
        };
        self.run_and_take(arguments, take).await?;
        Ok(String::from_utf8_lossy(&answer).into_owned())
    }

    /// Gives what git answers to `take`, piece by piece, and fails if git does.
    async fn run_and_take(&self, arguments: &[&str], take: &mut Take<'_>) -> Result<(), FetchError> {
        let (success, said) = self.run_command(self.command(arguments)?, take).await?;
        self.check_success(success, &said)
    }

    pub fn check_success(&self, success: bool, said: &[u8]) -> Result<(), FetchError> {
        if success { Ok(()) } else { Err(classify(self.for_people(said))) }
    }

    /// Whether git succeeded, and what it said. It ends when `take` wants no more.
    pub async fn run_command(&self, command: Command, take: &mut Take<'_>) -> Result<(bool, Vec<u8>), FetchError> {
        let mut group = Group::start(command).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => FetchError::PrlimitMissing,
            _ => error.into(),
        })?;
        let ended = tokio::select! {
            ended = group.run(|stdout| output::pass(stdout, take), output::tail) => ended.map_err(FetchError::from),
            () = tokio::time::sleep_until(self.deadline) => Err(FetchError::TimedOut { limit: self.limits.time }),
            () = self.outgrown() => Err(FetchError::TooLarge { limit: self.limits.bytes }),
        };
        group.end().await;
        let Ended { status, read } = ended?;
        let ((), said) = read.ok_or_else(|| io::Error::other("a process that git has left keeps its output open"))?;
        Ok((status.success(), said))
    }

    pub const fn limits(&self) -> &Limits {
        self.limits
    }

    pub fn most_files(&self) -> usize {
        self.limits.files
    }

    pub fn check_size(&self, bytes: u64) -> Result<(), FetchError> {
        if bytes > self.limits.bytes { Err(FetchError::TooLarge { limit: self.limits.bytes }) } else { Ok(()) }
    }

    /// Returns when the repository or the tree has become larger than it may.
    async fn outgrown(&self) {
        loop {
            tokio::time::sleep(LOOK).await;
            for path in [&self.paths.git, &self.paths.folder].into_iter().chain(&self.objects) {
                let path = path.clone();
                let size = tokio::task::spawn_blocking(move || size_of(&path)).await;
                if size.is_ok_and(|size| self.check_size(size).is_err()) {
                    return;
                }
            }
        }
    }

    pub fn for_people(&self, said: &[u8]) -> String {
        let key = self.paths.key.display().to_string();
        output::for_people(said, &self.secrets()).replace(&key, "the key")
    }

    /// How the token is sent.
    pub fn authorization(&self) -> Option<String> {
        self.token().map(|token| format!("Basic {}", self.basic(token)))
    }

    fn basic(&self, token: &str) -> String {
        let user = self.source.credentials.user.as_deref().unwrap_or("x-access-token");
        BASE64_STANDARD.encode(format!("{user}:{token}"))
    }

    fn token(&self) -> Option<&str> {
        self.source.credentials.token.as_deref().filter(|token| !token.is_empty())
    }

    /// The token in the forms in which it is sent.
    fn secrets(&self) -> Vec<String> {
        self.token().map(|token| vec![self.basic(token), token.to_owned()]).unwrap_or_default()
    }

    /// Git in an environment of its own: what it may do comes from here alone, and all of it by environment, because
    /// arguments can be seen by every user of the machine.
    pub fn command(&self, arguments: &[&str]) -> Result<Command, FetchError> {
        let FetchPaths { folder, git, .. } = &self.paths;
        let mut command = git_program::command(git, arguments, &self.settings(), self.limits.memory);
        command.env("GIT_WORK_TREE", folder);
        if let Some(objects) = &self.objects {
            command.env("GIT_OBJECT_DIRECTORY", objects);
        }
        command.env("GIT_ALLOW_PROTOCOL", self.transport().scheme());
        command.env(self.paths.mark().0, self.paths.mark().1);
        if self.transport() == Transport::Ssh {
            command.env("GIT_SSH_COMMAND", self.ssh()?);
        }
        Ok(command)
    }

    /// Has the repository's server run a command over ssh, as git does.
    pub fn ssh_command(&self, asked: &str) -> Result<Command, FetchError> {
        let ssh = self.ssh()?;
        let mut words = ssh.split_whitespace();
        let mut command = git_program::bounded(words.next().unwrap_or_default(), &self.paths.git, self.limits.memory);
        let (host, port) = ssh_destination(self.source.url);
        command.args(words).args(port.iter().flat_map(|port| ["-p", port]));
        command.args(["--", &host, asked]).env(self.paths.mark().0, self.paths.mark().1);
        Ok(command)
    }

    fn settings(&self) -> Vec<(String, String)> {
        let fixed = [
            ("core.hooksPath", "/dev/null"),
            ("core.fsmonitor", "false"),
            // Larger ones are not held in memory, which has a limit.
            ("core.bigFileThreshold", "64m"),
            ("pack.threads", "1"),
            ("grep.threads", "1"),
            ("index.threads", "1"),
            ("core.symlinks", "true"),
            ("core.autocrlf", "false"),
            ("core.attributesFile", "/dev/null"),
            ("core.excludesFile", "/dev/null"),
            ("credential.helper", ""),
            ("fetch.recurseSubmodules", "false"),
            // A whole pack or nothing: what a cache holds is never half of what was fetched.
            ("fetch.unpackLimit", "1"),
            ("submodule.recurse", "false"),
            ("gc.auto", "0"),
            ("maintenance.auto", "false"),
            ("http.followRedirects", "false"),
            ("protocol.allow", "never"),
            ("ssh.variant", "ssh"),
            ("advice.detachedHead", "false"),
        ];
        let mut settings: Vec<_> = fixed.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        if let (Some(origin), Some(authorization)) = (self.source.url.origin(), self.authorization()) {
            let header = format!("Authorization: {authorization}");
            settings.push((format!("http.{origin}/.extraHeader"), header));
        }
        let pinned = match self.source.trust {
            Trust::Stranger { pinned } => pinned.to_owned(),
            Trust::Own { .. } => self.pinned.as_ref().map(Pinned::for_git).unwrap_or_default(),
        };
        if !pinned.is_empty() {
            settings.push(("http.curloptResolve".to_owned(), pinned));
        }
        settings
    }

    /// Git gives this to a shell. Nothing in it comes from a user, and the paths need no quotes.
    fn ssh(&self) -> Result<String, FetchError> {
        let known_hosts = plain(&self.paths.known_hosts)?;
        // Without a key of its own an application gets none, least of all the key of the user that runs the server.
        let identity = match &self.key {
            Some(KeyFile(path)) => format!("-i {}", plain(path)?),
            None => "-o IdentityFile=none".to_owned(),
        };
        Ok(format!(
            "ssh -F /dev/null {identity} -o IdentitiesOnly=yes -o IdentityAgent=none -o BatchMode=yes -o LogLevel=ERROR \
             -o StrictHostKeyChecking=accept-new -o UserKnownHostsFile={known_hosts}"
        ))
    }
}

/// `user@host`, and the port if there is one.
fn ssh_destination(address: &RepositoryAddress) -> (String, Option<String>) {
    let Some((authority, _)) = address.strip_prefix("ssh://").map(|rest| rest.split_once('/').unwrap_or((rest, "")))
    else {
        return (address.split_once(':').map_or(&**address, |(host, _)| host).to_owned(), None);
    };
    let (host, port) = match authority.rsplit_once(':').filter(|(_, port)| !port.contains(']')) {
        Some((host, port)) => (host, Some(port.to_owned()).filter(|port| !port.is_empty())),
        None => (authority, None),
    };
    // The brackets of an address, which only a port makes necessary.
    (host.replace(['[', ']'], ""), port)
}

fn plain(path: &Path) -> Result<&str, FetchError> {
    let valid = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'.' | b'-' | b'_');
    path.to_str().filter(|text| text.bytes().all(valid)).ok_or_else(|| FetchError::Failed {
        text: format!(
            "ssh needs a data folder whose path has only letters, digits, /, ., - and _, not {}",
            path.display()
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::deploy::git::source::{Credentials, Reference};

    /// Else a name could lead into the machine's own network after git was there.
    #[tokio::test]
    async fn git_connects_to_what_was_looked_up() {
        let place = tempfile::tempdir().unwrap();
        let credentials = Credentials::default();
        let limits = Limits {
            time: Duration::from_secs(60),
            bytes: 1 << 20,
            files: 100,
            memory: 1 << 30,
            private_targets: false,
        };
        for (number, (url, expected)) in
            [("http://localhost:8080/a", Some("localhost:8080:")), ("http://127.0.0.1:8080/a", None)].iter().enumerate()
        {
            let url = RepositoryAddress::try_from(*url).unwrap();
            let trust = Trust::Own { has_local_modules: false, lends_credentials: true };
            let source = Source { url: &url, reference: Reference::DefaultBranch, credentials: &credentials, trust };
            let paths = FetchPaths::of(&place.path().join(number.to_string())).unwrap();
            let deadline = Instant::now() + limits.time;
            let run = GitRun::begin(&source, paths, &limits, deadline, None).await.unwrap();
            let settings = run.settings();
            let told = settings.iter().find(|(key, _)| key == "http.curloptResolve").map(|(_, value)| value);
            assert_eq!(told.is_some(), expected.is_some(), "{told:?}");
            assert!(
                told.is_none_or(|told| told.starts_with(expected.unwrap()) && told.contains("127.0.0.1")),
                "{told:?}"
            );
            assert!(run.pinned.unwrap().addresses.iter().all(std::net::IpAddr::is_loopback));
        }
    }

    #[test]
    fn where_ssh_goes() {
        for (address, host, port) in [
            ("git@git.example.org:team/shop.git", "git@git.example.org", None),
            ("ssh://git.example.org/team/shop", "git.example.org", None),
            ("ssh://git@git.example.org:2222/team/shop", "git@git.example.org", Some("2222")),
            ("ssh://git@[::1]:2222/shop", "git@::1", Some("2222")),
            ("ssh://git@[::1]/shop", "git@::1", None),
        ] {
            let found = ssh_destination(&RepositoryAddress::try_from(address).unwrap());
            assert_eq!(found, (host.to_owned(), port.map(str::to_owned)), "{address}");
        }
    }
}
