//! Images that the engine has.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::call::encoded_reference;
use crate::containers::none_if_absent;
use crate::{Docker, Label, Labels, Result};

/// Layers are many files.
const REMOVAL_LIMIT: Duration = Duration::from_secs(300);

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Image {
    pub id: String,
    pub tags: Vec<String>,
    pub labels: Labels,
    /// TCP only, in ascending order.
    pub exposed_ports: Vec<u16>,
    pub has_health_check: bool,
    /// "amd64", "arm64".
    pub architecture: String,
    pub size: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImageSummary {
    pub id: String,
    /// None if another image has been built under its tag since.
    pub tags: Vec<String>,
    pub labels: Labels,
}

impl Docker {
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
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "PascalCase")]
struct ConfigAnswer {
    labels: Option<Labels>,
    exposed_ports: Option<BTreeMap<String, IgnoredAny>>,
    healthcheck: Option<HealthCheckAnswer>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct HealthCheckAnswer {
    test: Option<Vec<String>>,
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
    Image {
        id: answer.id,
        tags: tags(answer.repo_tags),
        labels: config.labels.unwrap_or_default(),
        exposed_ports: tcp_ports(config.exposed_ports.unwrap_or_default().keys()),
        has_health_check: config.healthcheck.and_then(|check| check.test).is_some_and(|test| is_a_check(&test)),
        architecture: answer.architecture,
        size: answer.size,
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

/// `HEALTHCHECK NONE` takes away the one of the base image.
fn is_a_check(test: &[String]) -> bool {
    test.first().is_some_and(|first| first != "NONE")
}
