//! Volumes of what extensions install: left behind when it is uninstalled, and taken over when it is installed again.

use uuid::Uuid;
use windlass_api::EventName;
use windlass_store::Conn;
use windlass_store::installations::Installation;
use windlass_store::volumes::{self as rows, Volume};

use crate::auth::Authority;
use crate::error::{Error, Result};
use crate::service::audit::Action;
use crate::service::volumes;
use crate::service::work::{EventSubject, Work};

/// Those of what is uninstalled: the named ones are deleted, the others belong to the organization from now on. The caller has held the
/// installation.
pub async fn leave(work: &mut Work<'_>, installation_id: Uuid, deleted: &[String]) -> windlass_store::Result<()> {
    for mut volume in rows::of_installation(work, installation_id).await? {
        (volume.installation_id, volume.updated_at) = (None, work.app.now());
        if deleted.contains(&volume.name) {
            volume.deleted_at = Some(work.app.now().micros());
            let about =
                EventSubject { organization_id: volume.organization_id, application_id: None, deployment_id: None };
            work.tell(
                EventName::VolumeDeleted,
                about,
                &[("volume", &volume.name), ("installation", &volume.application_name)],
            );
        }
        rows::update(work, &volume).await?;
    }
    Ok(())
}

/// Volumes that an installation of the same name has left behind, by their names. Fails with the first that is not there.
pub async fn left_behind(
    conn: &mut Conn,
    organization_id: Uuid,
    installation_name: &str,
    names: &[String],
) -> Result<Vec<Volume>> {
    let all = rows::left_behind(conn, organization_id, installation_name).await?;
    let find = |name: &String| {
        let found = all.iter().find(|volume| volume.name == *name).cloned();
        found.ok_or_else(|| {
            let message = format!("no installation called {installation_name} has left a volume {name} behind");
            Error::field("volumes", message)
        })
    };
    names.iter().map(find).collect()
}

/// These are the installation's from now on.
pub async fn join(
    work: &mut Work<'_>,
    authority: &Authority,
    installation: &Installation,
    names: &[String],
) -> Result<()> {
    let own = rows::of_installation(work, installation.id).await?;
    if let Some(volume) = own.iter().find(|volume| names.contains(&volume.name)) {
        let message = format!("{} has a volume {} already", installation.name, volume.name);
        return Err(Error::field("volumes", message));
    }
    for mut volume in left_behind(work, installation.organization_id, &installation.name, names).await? {
        (volume.installation_id, volume.updated_at) = (Some(installation.id), work.app.now());
        rows::update(work, &volume).await?;
        volumes::record(work, &authority.actor(), Action::Update, &volume, "went on with the volume");
    }
    Ok(())
}
