//! Which volumes a deployment brings back, and from which snapshots.

use serde::{Deserialize, Serialize};
use uuid::Uuid;
use windlass_api::ErrorCode;
use windlass_store::snapshots::{self, Snapshot};
use windlass_store::volumes::{self, Volume};

use crate::error::{Error, Result};
use crate::service::work::Work;

/// A volume that a deployment brings back, as the deployment's row has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Restore {
    pub volume_id: Uuid,
    pub snapshot_id: Uuid,
}

/// What the volumes had in them when a release was replaced: all snapshots of the newest deployment that did so. Of each volume that
/// there was by then, or data of different times would be mixed.
pub async fn of_release(work: &mut Work<'_>, application_id: Uuid, release_id: Uuid) -> Result<Vec<Restore>> {
    let all = volumes::of_application(work, application_id).await?;
    let taken = snapshots::of_release(work, release_id).await?;
    let Some(newest) = taken.first() else {
        let message = "There are no snapshots of the data of this release. Roll back without with_data.";
        return Err(Error::new(ErrorCode::ReleaseGone, message));
    };
    let mut restores = Vec::new();
    // Folders of the machine are never written over.
    let is_meant = |volume: &&Volume| volume.created_at <= newest.created_at && volume.host_path.is_empty();
    for volume in all.iter().filter(is_meant) {
        let its =
            |snapshot: &&Snapshot| snapshot.deployment_id == newest.deployment_id && snapshot.volume_id == volume.id;
        let Some(snapshot) = taken.iter().find(its) else {
            let message = format!(
                "There is no snapshot of the volume {} of that time. Roll back without with_data.",
                volume.name
            );
            return Err(Error::new(ErrorCode::ReleaseGone, message));
        };
        restores.push(Restore { volume_id: volume.id, snapshot_id: snapshot.id });
    }
    Ok(restores)
}
