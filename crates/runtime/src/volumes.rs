//! Volumes: named, and there until they are removed by name.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Deserialize;
use serde_json::json;

use crate::call::{encoded, within};
use crate::containers::none_if_absent;
use crate::{Docker, Error, Label, Labels, Result};

/// The engine looks at every file of every volume.
const SIZES_LIMIT: Duration = Duration::from_secs(300);
const SIZES_POLL: Duration = Duration::from_millis(500);

impl Docker {
    /// Makes sure that there is a volume of this name, and tells its labels. Of two callers with different labels the
    /// first one's stay, so that the second learns which caller was first.
    pub async fn ensure_volume(&self, name: &str, labels: &Labels) -> Result<Labels> {
        let body = json!({ "Name": name, "Labels": labels });
        self.post("create a volume", "/volumes/create".to_owned()).json(&body)?.done().await?;
        Ok(self.volume_labels(name).await?.unwrap_or_default())
    }

    /// None when there is no such volume.
    pub async fn volume_labels(&self, name: &str) -> Result<Option<Labels>> {
        let call = self.get("inspect a volume", format!("/volumes/{}", encoded(name)));
        let answer: Option<VolumeAnswer> = none_if_absent(call.read().await)?;
        Ok(answer.map(|answer| answer.labels.unwrap_or_default()))
    }

    /// How many bytes each volume with the label has on the disk; one whose size the engine does not know is left out.
    /// This reads the whole tree of all volumes that the engine has, and is for rare use.
    pub async fn volume_sizes(&self, label: &Label) -> Result<BTreeMap<String, u64>> {
        within("measure volumes", SIZES_LIMIT, async {
            loop {
                match self.measured(label).await {
                    // Older engines measure for one caller at a time.
                    Err(Error::Refused { message, .. } | Error::Conflict { message })
                        if message.contains("disk usage operation is already running") =>
                    {
                        tokio::time::sleep(SIZES_POLL).await;
                    }
                    other => return other,
                }
            }
        })
        .await
    }

    async fn measured(&self, label: &Label) -> Result<BTreeMap<String, u64>> {
        // Engines before 23 do not know the type, and measure images too.
        let call = self.get("measure volumes", "/system/df".to_owned()).query("type", "volume").limit(SIZES_LIMIT);
        let answer: ListAnswer = call.read().await?;
        Ok(answer.volumes.unwrap_or_default().into_iter().filter_map(|volume| size(volume, label)).collect())
    }

    /// One that is gone already is fine, one that a container has is a conflict, even if that never ran.
    pub async fn remove_volume(&self, name: &str) -> Result<()> {
        let call = self.delete("remove a volume", format!("/volumes/{}", encoded(name)));
        none_if_absent(call.done().await).map(drop)
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct VolumeAnswer {
    name: String,
    labels: Option<Labels>,
    usage_data: Option<UsageAnswer>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct UsageAnswer {
    /// -1 if it is not known.
    size: i64,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct ListAnswer {
    volumes: Option<Vec<VolumeAnswer>>,
}

fn size(volume: VolumeAnswer, label: &Label) -> Option<(String, u64)> {
    let value = volume.labels.as_ref()?.get(&label.name)?;
    let size = u64::try_from(volume.usage_data?.size).ok()?;
    (*value == label.value).then_some((volume.name, size))
}
