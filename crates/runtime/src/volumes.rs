//! Volumes: named, and there until they are removed by name.

use serde::Deserialize;
use serde_json::json;

use crate::call::encoded;
use crate::containers::none_if_absent;
use crate::{Docker, Labels, Result};

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

    /// One that is gone already is fine.
    pub async fn remove_volume(&self, name: &str) -> Result<()> {
        let call = self.delete("remove a volume", format!("/volumes/{}", encoded(name)));
        none_if_absent(call.done().await).map(drop)
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct VolumeAnswer {
    labels: Option<Labels>,
}
