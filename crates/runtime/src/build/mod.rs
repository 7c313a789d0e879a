//! Images built by the engine's BuildKit from a folder, with build secrets that only exist in memory.

mod cache;
mod context;
mod ignore;
mod progress;
mod reason;
mod session;

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;
use tokio::sync::mpsc;

use crate::call::{Call, encoded, to_json};
use crate::connection::RequestBody;
use crate::lines::give;
use crate::{Docker, Error, Labels, PrintedLine, Result, Stream};
use progress::BuildProgress;
use session::Session;

/// How often the engine is sent the context of one build.
const TRIES: usize = 5;
const LOST_CONTEXT: &str = "The engine has lost what it was sent, and is sent it again.";
const MISSED_PROGRAM: &str = "The engine did not find the program of a step, and is asked once more.";

pub struct Build {
    /// The folder that is sent to the engine, without `.git` and what `.dockerignore` names.
    pub context: PathBuf,
    /// What is sent as its `.git`, unless `.dockerignore` names that.
    pub git: Option<PathBuf>,
    /// The context or a folder above it: the Dockerfile may be a link to anywhere inside.
    pub tree: PathBuf,
    pub dockerfile: Dockerfile,
    /// The stage that is built; empty for the last one.
    pub target: String,
    pub tag: String,
    pub labels: Labels,
    pub args: Vec<(String, String)>,
    /// For `RUN --mount=type=secret,id=NAME`.
    pub secrets: Vec<(String, Vec<u8>)>,
    pub no_cache: bool,
    /// Cache mounts of builds with another one are not seen.
    pub cache_namespace: String,
    /// Results of `RUN` of builds with another one are not taken from the cache.
    pub host_name: String,
    /// Whether `RUN` has a network. What the engine itself fetches, as for `ADD` of an address, does not ask.
    pub has_network: bool,
}

/// What the steps of a build are.
#[derive(Clone)]
pub enum Dockerfile {
    /// A file of the context, by its path.
    InContext(String),
    /// A text that is sent as a file of the context, in the place of one of that name, so that `COPY .` copies it too; and the patterns of what
    /// is not sent, in the place of those of the context's `.dockerignore`.
    Given { text: String, ignored: Option<String> },
}

/// The file of a Dockerfile that is given.
pub const GIVEN_DOCKERFILE: &str = ".windlass.Dockerfile";

impl Dockerfile {
    /// Where the engine finds it.
    fn path(&self) -> &str {
        match self {
            Self::InContext(path) => path,
            Self::Given { .. } => GIVEN_DOCKERFILE,
        }
    }
}

/// Arguments go into the address of the call, which cannot be longer than 64 KiB: what is left there for them.
pub const MOST_ARGUMENT_BYTES: usize = 60_000;

/// How much of that they take.
pub fn argument_bytes(args: &[(&String, &String)]) -> usize {
    let args: BTreeMap<_, _> = args.iter().copied().collect();
    // Texts can always be written as JSON.
    to_json(&args).map_or(usize::MAX, |json| encoded(&json).len())
}

/// BuildKit's own build argument for the namespace of cache mounts.
const CACHE_NAMESPACE: &str = "BUILDKIT_CACHE_MOUNT_NS";

impl Build {
    fn arguments(&self) -> Labels {
        let namespace = (CACHE_NAMESPACE.to_owned(), self.cache_namespace.clone());
        // The last one of a name counts.
        self.args.iter().cloned().chain([namespace]).collect()
    }
}

impl Docker {
    /// Builds and tags an image and gives its id. It takes as long as it takes; dropping the future ends the build.
    pub async fn build(&self, build: Build, lines: mpsc::Sender<PrintedLine>) -> Result<String> {
        require_inside(build.dockerfile.path())?;
        let mut has_missed_program = false;
        for _ in 1..TRIES {
            let text = match self.try_build(&build, &lines).await {
                Err(error) if has_lost_context(&error) => LOST_CONTEXT,
                Err(error) if !has_missed_program && misses_program(&error) => {
                    has_missed_program = true;
                    MISSED_PROGRAM
                }
                built => return built,
            };
            give(&lines, PrintedLine { stream: Stream::Note, text: text.to_owned() }).await;
        }
        self.try_build(&build, &lines).await
    }

    async fn try_build(&self, build: &Build, lines: &mpsc::Sender<PrintedLine>) -> Result<String> {
        let session = Session::open(self, build.secrets.clone()).await.inspect_err(|error| self.learn_from(error))?;
        let (chunks, reading) = context::read(build);
        let call = self
            .post("build an image", "/build".to_owned())
            .query("version", "2")
            .query("session", &session.id)
            .query("dockerfile", build.dockerfile.path())
            .query("t", &build.tag)
            .query("target", &build.target)
            .query("nocache", if build.no_cache { "true" } else { "false" })
            .query("labels", &to_json(&build.labels)?)
            .query("buildargs", &to_json(&build.arguments())?)
            .query("networkmode", if build.has_network { "default" } else { "none" })
            .query("extrahosts", &format!("{}:127.0.0.1", build.host_name))
            .upload("application/x-tar", RequestBody::Stream(chunks));
        match run(call, &build.tag, lines).await {
            Ok(id) => Ok(id),
            // If the folder could not be read the engine has only seen a connection that broke.
            Err(error) => Err(reading.failure().await.unwrap_or(error)),
        }
    }
}

/// When the build cache is pruned in the moment in which BuildKit has received the context and does not use it yet, it asks
/// for the context once more, which the engine no longer has.
fn has_lost_context(error: &Error) -> bool {
    let Error::BuildFailed { message, .. } = error else { return false };
    message.contains("build-context-") && message.contains("context not found")
}

/// An engine (20.10, on a machine whose disk was busy) has begun a step without the files of the steps before it: its shell, which
/// had run the step before, was not there. A Dockerfile whose program is really missing fails again at once.
fn misses_program(error: &Error) -> bool {
    let Error::BuildFailed { message, .. } = error else { return false };
    message.contains("unable to start container process: exec: ") && message.contains(": no such file or directory")
}

fn require_inside(dockerfile: &str) -> Result<()> {
    let leads_out = |part| !matches!(part, Component::Normal(_) | Component::CurDir);
    if Path::new(dockerfile).components().any(leads_out) {
        return Err(Error::Context { message: format!("{dockerfile} is not inside of it") });
    }
    Ok(())
}

/// One of the values that the engine sends while it builds.
#[derive(Deserialize)]
struct Message {
    id: Option<String>,
    aux: Option<Value>,
    error: Option<String>,
}

async fn run(call: Call<'_>, image: &str, lines: &mpsc::Sender<PrintedLine>) -> Result<String> {
    let mut answer = call.unlimited().await?;
    let mut progress = BuildProgress::new(image);
    let mut id = None;
    while let Some(message) = answer.next_json::<Message>().await? {
        if let Some(error) = message.error {
            for line in progress.unfinished_lines() {
                give(lines, line).await;
            }
            return Err(progress.failure(&error));
        }
        match (message.id.as_deref(), message.aux) {
            (Some("moby.buildkit.trace"), Some(Value::String(trace))) => {
                for line in progress.lines_of(&trace)? {
                    give(lines, line).await;
                }
            }
            (Some("moby.image.id"), Some(aux)) => id = aux["ID"].as_str().map(str::to_owned),
            _ => {}
        }
    }
    id.ok_or_else(|| Error::Unreachable { message: "the connection ended before the build".to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Build {
        pub(super) fn of_folder(folder: &Path) -> Self {
            Self {
                context: folder.to_owned(),
                git: None,
                tree: folder.to_owned(),
                dockerfile: Dockerfile::InContext("Dockerfile".to_owned()),
                target: String::new(),
                tag: "x:1".to_owned(),
                labels: Labels::new(),
                args: Vec::new(),
                secrets: Vec::new(),
                no_cache: false,
                cache_namespace: "own".to_owned(),
                host_name: "own.invalid".to_owned(),
                has_network: true,
            }
        }
    }

    #[test]
    fn no_argument_of_a_user_changes_the_namespace_of_cache_mounts() {
        let args = vec![(CACHE_NAMESPACE.to_owned(), "another's".to_owned())];
        let build = Build { args, ..Build::of_folder(Path::new("")) };
        assert_eq!(build.arguments()[CACHE_NAMESPACE], "own");
    }
}
