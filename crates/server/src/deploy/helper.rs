//! A helper: a container that is never started, through which the engine reads and writes a volume, or reads an image.

use uuid::Uuid;
use windlass_runtime::{HelperSpec, Mount};

use super::attempt::Attempt;
use super::failure::Result;
use crate::host::Host;
use crate::labels::{APPLICATION_LABEL, HELPER, INSTANCE_LABEL, PURPOSE_LABEL, short};

/// Where it has its volume.
const PATH: &str = "/volume";
/// It has no label: an image that is imported cannot have one, and it takes no room.
const EMPTY_IMAGE: &str = "windlass/empty:1";

pub struct Helper {
    pub name: String,
}

impl Helper {
    /// One that an attempt before this one has left is made anew.
    pub async fn of_volume(host: &Host, id: Uuid, application_id: Option<Uuid>, mount: Mount) -> Result<Self> {
        host.ensure_empty_image(EMPTY_IMAGE).await?;
        let mounts = vec![Mount { path: PATH.to_owned(), ..mount }];
        Self::make(host, &short(id), application_id, EMPTY_IMAGE, mounts).await
    }

    /// What is in an image can be read through it. Each attempt has its own: one that was lost may not have ended yet.
    pub async fn of_image(attempt: &Attempt<'_>, image: &str) -> Result<Self> {
        let name = format!("{}-{}", short(attempt.deployment.id), attempt.held.job.fence);
        Self::make(attempt.host, &name, Some(attempt.application.id), image, Vec::new()).await
    }

    async fn make(
        host: &Host,
        name: &str,
        application_id: Option<Uuid>,
        image: &str,
        mounts: Vec<Mount>,
    ) -> Result<Self> {
        let name = format!("wl-helper-{name}");
        host.remove_ended_container(&name).await?;
        // The reconciler removes it when no job of the application is left.
        let labels = [
            (INSTANCE_LABEL, host.installation.to_string()),
            (APPLICATION_LABEL, application_id.unwrap_or_default().to_string()),
            (PURPOSE_LABEL, HELPER.to_owned()),
        ];
        let labels = labels.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        host.create_helper(&HelperSpec { name: name.clone(), image: image.to_owned(), labels, mounts }).await?;
        Ok(Self { name })
    }

    pub const fn path(&self) -> &'static str {
        PATH
    }

    pub async fn remove(self, host: &Host) -> Result<()> {
        Ok(host.remove_ended_container(&self.name).await?)
    }
}
