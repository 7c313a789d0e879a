//! Volumes of previews: as their application has them, each its own and empty at first.

use uuid::Uuid;
use windlass_api::{ErrorCode, VolumeOrigin};
use windlass_store::Conn;
use windlass_store::applications::Application;
use windlass_store::volumes::{self as rows, Volume};

use crate::error::Result;
use crate::service::audit::{Action, Actor};
use crate::service::volumes;
use crate::service::work::Work;

/// The volumes of an application that its previews have too. Folders of the machine are not for previews.
async fn of_previews(conn: &mut Conn, application_id: Uuid) -> Result<Vec<Volume>> {
    let all = rows::of_application(conn, application_id).await?;
    Ok(all.into_iter().filter(|volume| volume.host_path.is_empty() && volume.origin == VolumeOrigin::User).collect())
}

/// Why the volumes of a preview cannot be made.
pub async fn refusal(
    work: &mut Work<'_>,
    application: &Application,
    preview_id: Option<Uuid>,
) -> Result<Option<String>> {
    let own = match preview_id {
        Some(id) => rows::of_application(work, id).await?,
        None => Vec::new(),
    };
    let wanted = of_previews(work, application.id).await?;
    let missing = wanted.iter().filter(|wanted| own.iter().all(|own| own.name != wanted.name)).count();
    if missing == 0 {
        return Ok(None);
    }
    let limit = work.app.config.organization_volumes;
    let count = rows::count_of_organization(work, application.organization_id).await?;
    if count.saturating_add(i64::try_from(missing).unwrap_or(i64::MAX)) > limit {
        let message = format!("An organization can have {limit} volumes (organization-volumes). Delete one first.");
        return Ok(Some(message));
    }
    match volumes::refuse_beyond_ceiling(work, application.organization_id).await {
        Err(error) if error.code == ErrorCode::Conflict => Ok(Some(error.message)),
        other => other.map(|()| None),
    }
}

/// A preview has volumes as its application has, each its own and empty at first. What stands where another is wanted goes. The
/// caller holds the preview's application, and has asked for a [`refusal`].
pub async fn make(work: &mut Work<'_>, actor: &Actor, application_id: Uuid, preview: &Application) -> Result<()> {
    let wanted = of_previews(work, application_id).await?;
    for own in rows::of_application(work, preview.id).await? {
        if wanted.iter().any(|wanted| wanted.path == own.path && wanted.name != own.name) {
            let now = work.app.now();
            volumes::mark_deleted(work, actor, own, now).await?;
        }
    }
    for wanted in wanted {
        match rows::by_name(work, preview.id, &wanted.name).await? {
            Some(mut volume) => {
                (volume.path, volume.shared, volume.updated_at) = (wanted.path, wanted.shared, work.app.now());
                volumes::write(work, &volume).await?;
            }
            None => {
                let mut volume = volumes::new(work.app, preview, &wanted.name, &wanted.path, VolumeOrigin::User);
                volume.shared = wanted.shared;
                volumes::insert(work, preview, &volume).await?;
                volumes::record(work, actor, Action::Create, &volume, "created the volume");
            }
        }
    }
    Ok(())
}

/// Those of a preview that ends. They wait for no time in which they could be attached again.
pub async fn delete(work: &mut Work<'_>, actor: &Actor, preview: &Application) -> Result<()> {
    let past = work.app.now().plus_seconds(-work.app.config.volume_grace_seconds);
    for volume in rows::of_application(work, preview.id).await? {
        volumes::mark_deleted(work, actor, volume, past).await?;
    }
    Ok(())
}
