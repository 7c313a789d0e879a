//! Images that the engine has.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use bytes::Bytes;
use serde::Deserialize;
use serde::de::IgnoredAny;
use tokio::sync::mpsc;

use crate::call::{USUAL_LIMIT, encoded_reference, within};
use crate::connection::RequestBody;
use crate::containers::none_if_absent;
use crate::lines::give;
use crate::registries::RegistryLogin;
use crate::{Docker, Error, Label, Labels, PrintedLine, Result, Stream};

/// Layers are many files.
const REMOVAL_LIMIT: Duration = Duration::from_secs(300);

/// A tar without entries is the mark of its end only.
const EMPTY_TAR: [u8; 1024] = [0; 1024];

/// A health check as the engine runs it when the image says no more.
const USUAL_SHELL: [&str; 2] = ["/bin/sh", "-c"];
const USUAL_INTERVAL: Duration = Duration::from_secs(30);
const USUAL_TIMEOUT: Duration = Duration::from_secs(30);
const USUAL_RETRIES: u32 = 3;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Image {
    pub id: String,
    pub tags: Vec<String>,
    pub labels: Labels,
    /// TCP only, in ascending order.
    pub exposed_ports: Vec<u16>,
    pub health_check: Option<HealthCheck>,
    /// The paths that `VOLUME` names, without a slash at the end, in ascending order.
    pub volumes: Vec<String>,
    /// What `USER` says: a name or a number, maybe with a group behind a colon; mostly empty.
    pub user: String,
    /// "amd64", "arm64".
    pub architecture: String,
    pub size: u64,
    /// The same for images with the same files that run in the same way, whatever their labels.
    pub content: String,
}

/// How an image says whether its container is well, with the engine's own figures where it has none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HealthCheck {
    /// Program and arguments.
    pub command: Vec<String>,
    pub interval: Duration,
    /// How long one try may take.
    pub timeout: Duration,
    /// Failures in this time do not count.
    pub start_period: Duration,
    /// How many failures in a row make a container unhealthy.
    pub retries: u32,
}

impl HealthCheck {
    /// How long the engine takes at most to call a container unhealthy.
    pub fn verdict_after(&self) -> Duration {
        let one_try = self.interval.saturating_add(self.timeout);
        self.start_period.saturating_add(one_try.saturating_mul(self.retries))
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImageSummary {
    pub id: String,
    /// None if another image has been built under its tag since.
    pub tags: Vec<String>,
    pub labels: Labels,
}

/// How long an image may take to be pulled.
const PULL_LIMIT: Duration = Duration::from_secs(1_800);

impl Docker {
    /// Brings an image from its registry, to which the login is shown. What the engine says meanwhile goes to `lines`, but not each step of a bar.
    pub async fn pull(
        &self,
        reference: &str,
        login: Option<&RegistryLogin>,
        lines: &mpsc::Sender<PrintedLine>,
    ) -> Result<()> {
        #[derive(Deserialize)]
        struct Progress {
            #[serde(default)]
            id: String,
            #[serde(default)]
            status: String,
            error: Option<String>,
        }
        within("pull an image", PULL_LIMIT, async {
            let call = self.post("pull an image", "/images/create".to_owned()).query("fromImage", reference);
            let call = call.registry_login(login);
            let mut answer = call.unlimited().await?;
            while let Some(progress) = answer.next_json::<Progress>().await? {
                if let Some(message) = progress.error {
                    return Err(Error::Refused { status: 500, message });
                }
                if !matches!(progress.status.as_str(), "Downloading" | "Extracting" | "Waiting" | "Verifying Checksum")
                {
                    let text = format!("{} {}", progress.id, progress.status).trim().to_owned();
                    give(lines, PrintedLine { stream: Stream::Note, text }).await;
                }
            }
            Ok(())
        })
        .await
    }

    /// Gives an image another name.
    pub async fn tag_image(&self, reference: &str, repository: &str, tag: &str) -> Result<()> {
        let path = format!("/images/{}/tag", encoded_reference(reference));
        self.post("name an image", path).query("repo", repository).query("tag", tag).done().await
    }

    /// By tag or id.
    pub async fn image(&self, reference: &str) -> Result<Option<Image>> {
        let call = self.get("describe an image", format!("/images/{}/json", encoded_reference(reference)));
        let answer: Option<InspectAnswer> = none_if_absent(call.read().await)?;
        Ok(answer.map(image))
    }

    /// All with the label, those without a tag too.
    pub async fn images(&self, label: &Label) -> Result<Vec<ImageSummary>> {
        let call = self.get("list images", "/images/json".to_owned());
        let answers: Vec<ListAnswer> = call.filters(&[("label", &[&label.filter()])])?.read().await?;
        Ok(answers.into_iter().map(summary).collect())
    }

    /// Makes sure that there is an image of this tag. It is made of nothing, for containers that are never started.
    pub async fn ensure_empty_image(&self, tag: &str) -> Result<()> {
        if self.image(tag).await?.is_some() {
            return Ok(());
        }
        within("import an image", USUAL_LIMIT, self.import_nothing(tag)).await
    }

    async fn import_nothing(&self, tag: &str) -> Result<()> {
        /// A failure comes as a line too, because the answer has begun with 200.
        #[derive(Deserialize)]
        struct Progress {
            error: Option<String>,
        }
        let (repository, tag) = tag.rsplit_once(':').unwrap_or((tag, "latest"));
        let call = self
            .post("import an image", "/images/create".to_owned())
            .query("fromSrc", "-")
            .query("repo", repository)
            .query("tag", tag)
            .upload("application/x-tar", RequestBody::Whole(Some(Bytes::from_static(&EMPTY_TAR))));
        let mut answer = call.unlimited().await?;
        while let Some(progress) = answer.next_json::<Progress>().await? {
            if let Some(message) = progress.error {
                return Err(Error::answered(500, message));
            }
        }
        Ok(())
    }

    /// Takes the tag away, and with its last tag the image. One that is gone already is fine, one in use is a conflict.
    pub async fn remove_image(&self, reference: &str) -> Result<()> {
        let call = self
            .delete("remove an image", format!("/images/{}", encoded_reference(reference)))
            .query("noprune", "true")
            .limit(REMOVAL_LIMIT);
        none_if_absent(call.done().await).map(drop)
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct InspectAnswer {
    id: String,
    repo_tags: Option<Vec<String>>,
    architecture: String,
    size: u64,
    config: Option<ConfigAnswer>,
    #[serde(default, rename = "RootFS")]
    root_fs: RootFsAnswer,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "PascalCase")]
struct RootFsAnswer {
    #[serde(default)]
    layers: Vec<String>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "PascalCase")]
struct ConfigAnswer {
    labels: Option<Labels>,
    exposed_ports: Option<BTreeMap<String, IgnoredAny>>,
    volumes: Option<BTreeMap<String, IgnoredAny>>,
    #[serde(default)]
    user: String,
    healthcheck: Option<HealthCheckAnswer>,
    /// What `SHELL` says.
    shell: Option<Vec<String>>,
    #[serde(flatten)]
    rest: BTreeMap<String, serde_json::Value>,
}

/// Times in nanoseconds; what is 0 or missing is as usual.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct HealthCheckAnswer {
    test: Option<Vec<String>>,
    #[serde(default)]
    interval: u64,
    #[serde(default)]
    timeout: u64,
    #[serde(default)]
    start_period: u64,
    #[serde(default)]
    retries: u32,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct ListAnswer {
    id: String,
    repo_tags: Option<Vec<String>>,
    labels: Option<Labels>,
}

fn image(answer: InspectAnswer) -> Image {
    let config = answer.config.unwrap_or_default();
    let exposed_ports = tcp_ports(config.exposed_ports.unwrap_or_default().keys());
    let health_check = config.healthcheck.and_then(|check| health_check(check, config.shell));
    let volumes = without_slash(config.volumes.unwrap_or_default().keys());
    let content = format!(
        "{:?} {:?} {exposed_ports:?} {health_check:?} {volumes:?} {:?}",
        answer.root_fs.layers, config.rest, config.user
    );
    Image {
        id: answer.id,
        tags: tags(answer.repo_tags),
        labels: config.labels.unwrap_or_default(),
        exposed_ports,
        health_check,
        volumes,
        user: config.user,
        architecture: answer.architecture,
        size: answer.size,
        content,
    }
}

fn summary(answer: ListAnswer) -> ImageSummary {
    ImageSummary { id: answer.id, tags: tags(answer.repo_tags), labels: answer.labels.unwrap_or_default() }
}

/// Older engines write that there is none as one called "<none>:<none>".
fn tags(answer: Option<Vec<String>>) -> Vec<String> {
    answer.unwrap_or_default().into_iter().filter(|tag| tag != "<none>:<none>").collect()
}

fn tcp_ports<'a>(ports: impl Iterator<Item = &'a String>) -> Vec<u16> {
    let mut ports: Vec<u16> = ports.filter_map(|port| port.strip_suffix("/tcp")?.parse().ok()).collect();
    ports.sort_unstable();
    ports
}

/// The engine keeps them as they are written, so that "/data" and "/data/" are two.
fn without_slash<'a>(paths: impl Iterator<Item = &'a String>) -> Vec<String> {
    let bare = |path: &String| match path.trim_end_matches('/') {
        "" => "/".to_owned(),
        bare => bare.to_owned(),
    };
    paths.map(bare).collect::<BTreeSet<_>>().into_iter().collect()
}

/// None if it is `HEALTHCHECK NONE`, which takes away the one of the base image.
fn health_check(answer: HealthCheckAnswer, shell: Option<Vec<String>>) -> Option<HealthCheck> {
    let test = answer.test?;
    let (form, arguments) = test.split_first()?;
    let mut command = match form.as_str() {
        "CMD" => Vec::new(),
        "CMD-SHELL" => shell.filter(|words| !words.is_empty()).unwrap_or_else(|| USUAL_SHELL.map(str::to_owned).into()),
        _ => return None,
    };
    command.extend(arguments.iter().cloned());
    let time = |nanoseconds: u64, usual| if nanoseconds > 0 { Duration::from_nanos(nanoseconds) } else { usual };
    (!arguments.is_empty()).then_some(HealthCheck {
        command,
        interval: time(answer.interval, USUAL_INTERVAL),
        timeout: time(answer.timeout, USUAL_TIMEOUT),
        start_period: Duration::from_nanos(answer.start_period),
        retries: if answer.retries > 0 { answer.retries } else { USUAL_RETRIES },
    })
}
