//! Images and networks that nothing wants any more.

use std::collections::HashSet;

use windlass_store::releases;

use crate::deploy::{self, Result};
use crate::host::Host;
use crate::host_route;
use crate::labels::DEPLOYMENT_LABEL;

/// Removes images of this installation that belong to no release that can be made live.
pub(super) async fn images(host: &Host) -> Result<()> {
    let images = host.images().await?;
    let mut conn = host.app.db.read().await?;
    let wanted: HashSet<String> = releases::wanted_images(&mut conn).await?.into_iter().collect();
    for image in images {
        if wanted.contains(&image.id) {
            continue;
        }
        // One that is being built is in no row yet.
        let release = match image.labels.get(DEPLOYMENT_LABEL).and_then(|id| id.parse().ok()) {
            Some(id) => releases::get(&mut conn, id).await?,
            None => None,
        };
        if release.is_some_and(|release| release.removed_at.is_none() && release.artifact.is_none()) {
            continue;
        }
        tracing::info!(image = image.id, "removing an image that belongs to no release");
        for name in image.tags.iter().chain(image.tags.is_empty().then_some(&image.id)) {
            if let Err(error) = host.remove_image(name).await {
                tracing::debug!(%error, name, "an image could not be removed yet");
            }
        }
    }
    Ok(())
}

/// Networks whose organization has no application any more, or whose preview is gone, and networks without a row.
pub(super) async fn networks(host: &Host) -> Result<()> {
    deploy::remove_unused_networks(host).await?;
    let _one_at_a_time = host.networks.lock().await;
    let on_engine = host.networks().await?;
    let rows = windlass_store::networks::all(&mut host.app.db.read().await?).await?;
    if !rows.is_empty() {
        host_route::add(&host.app.config.data_dir, host.app.config.network_pool).await;
    }
    for stray in on_engine {
        if rows.iter().any(|row| row.name == stray.name) {
            continue;
        }
        tracing::info!(network = stray.name, "removing a network that has no row");
        if let Err(error) = host.remove_network(&stray.name).await {
            tracing::warn!(network = stray.name, %error, "it could not be removed; trying again");
        }
    }
    Ok(())
}
