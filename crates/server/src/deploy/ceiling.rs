//! How much disk the artifacts of one organization may take.

use windlass_api::Failure;
use windlass_store::{pulled_images, releases};

use super::attempt::Attempt;
use super::failure::{Result, failed};
use super::record;

const MIB: i64 = 1024 * 1024;

/// Fails if the organization's artifacts, with `added` bytes that no row counts yet, reach `organization-images-mib`: a full disk stops all.
pub async fn refuse_beyond(attempt: &Attempt<'_>, added: i64) -> Result<()> {
    let most = attempt.host.app.config.organization_artifact_bytes;
    let mut used = used_by_artifacts(attempt).await?.saturating_add(added);
    if most == 0 || used < most {
        return Ok(());
    }
    // The application may be keeping fewer releases since it was deployed last.
    record::prune(attempt.host, attempt.held, attempt).await?;
    used = used_by_artifacts(attempt).await?.saturating_add(added);
    if used < most {
        return Ok(());
    }
    failed(
        Failure::CeilingReached,
        format!(
            "the images and sites of the organization's releases take {} MiB, and {} MiB is the most that the operator gives it \
             (organization-images-mib). Keep fewer releases, or delete an application.",
            used / MIB,
            most / MIB
        ),
    )
}

async fn used_by_artifacts(attempt: &Attempt<'_>) -> Result<i64> {
    let (mut conn, organization_id) = (attempt.host.app.db.read().await?, attempt.application.organization_id);
    let made = releases::artifact_bytes_of_organization(&mut conn, organization_id).await?;
    Ok(made.saturating_add(pulled_images::bytes_of_organization(&mut conn, organization_id).await?))
}
