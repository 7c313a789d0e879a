//! Which volumes a deployment brings back, and from which snapshots.

use serde::{Deserialize, Serialize};
use uuid::Uuid;
use windlass_api::ErrorCode;
use windlass_store::{snapshots, volumes};

use crate::error::{Error, Result};
use crate::service::work::Work;

/// A volume that a deployment brings back, as the deployment's row has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Restore {
    pub volume_id: Uuid,
    pub snapshot_id: Uuid,
}

/// What the volumes had in them when a release was replaced: the newest snapshot of each that is still a volume.
pub async fn of_release(work: &mut Work<'_>, application_id: Uuid, release_id: Uuid) -> Result<Vec<Restore>> {
    let all = volumes::of_application(work, application_id).await?;
    let taken = snapshots::of_release(work, release_id).await?;
    let newest = all.iter().filter_map(|volume| taken.iter().find(|snapshot| snapshot.volume_id == volume.id));
    let restores: Vec<_> =
        newest.map(|snapshot| Restore { volume_id: snapshot.volume_id, snapshot_id: snapshot.id }).collect();
    if restores.is_empty() {
        let message = "There are no snapshots of the data of this release. Roll back without with_data.";
        return Err(Error::new(ErrorCode::ReleaseGone, message));
    }
    Ok(restores)
}
