//! Images built by the engine's BuildKit from a folder, with build secrets that only exist in memory.

mod cache;
mod context;
mod ignore;
mod progress;
mod reason;
mod session;

use std::path::{Component, Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;
use tokio::sync::mpsc;

use crate::call::{Call, to_json};
use crate::connection::RequestBody;
use crate::lines::give;
use crate::{Docker, Error, Labels, PrintedLine, Result};
use progress::BuildProgress;
use session::Session;

pub struct Build {
    /// The folder that is sent to the engine, without `.git` and what `.dockerignore` names.
    pub context: PathBuf,
    /// The context or a folder above it: the Dockerfile may be a link to anywhere inside.
    pub tree: PathBuf,
    /// The path of the Dockerfile inside the context.
    pub dockerfile: String,
    pub tag: String,
    pub labels: Labels,
    pub args: Vec<(String, String)>,
    /// For `RUN --mount=type=secret,id=NAME`.
    pub secrets: Vec<(String, Vec<u8>)>,
    pub no_cache: bool,
}

impl Docker {
    /// Builds and tags an image and gives its id. It takes as long as it takes; dropping the future ends the build.
    pub async fn build(&self, build: Build, lines: mpsc::Sender<PrintedLine>) -> Result<String> {
        require_inside(&build.dockerfile)?;
        let session = Session::open(self, build.secrets).await.inspect_err(|error| self.learn_from(error))?;
        let (chunks, reading) = context::read(build.context, build.tree, build.dockerfile.clone());
        let call = self
            .post("build an image", "/build".to_owned())
            .query("version", "2")
            .query("session", &session.id)
            .query("dockerfile", &build.dockerfile)
            .query("t", &build.tag)
            .query("nocache", if build.no_cache { "true" } else { "false" })
            .query("labels", &to_json(&build.labels)?)
            .query("buildargs", &to_json(&build.args.into_iter().collect::<Labels>())?)
            .upload("application/x-tar", RequestBody::Stream(chunks));
        match run(call, &lines).await {
            Ok(id) => Ok(id),
            // If the folder could not be read the engine has only seen a connection that broke.
            Err(error) => Err(reading.failure().await.unwrap_or(error)),
        }
    }
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

async fn run(call: Call<'_>, lines: &mpsc::Sender<PrintedLine>) -> Result<String> {
    let mut answer = call.unlimited().await?;
    let mut progress = BuildProgress::default();
    let mut image = None;
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
            (Some("moby.image.id"), Some(aux)) => image = aux["ID"].as_str().map(str::to_owned),
            _ => {}
        }
    }
    image.ok_or_else(|| Error::Unreachable { message: "the connection ended before the build".to_owned() })
}
