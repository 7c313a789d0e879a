//! remove: everything that an application has on the engine, then its rows.

use windlass_durable::kill_point;
use windlass_runtime::Error;
use windlass_store::jobs::Job;
use windlass_store::{applications, releases};

use super::attempt::{begin_work, check_held};
use super::failure::Result;
use super::git::cache;
use super::stop::retire_all;
use crate::engine::Engine;

pub async fn remove(engine: &Engine, job: &Job) -> Result<()> {
    retire_all(engine, job).await?;
    kill_point::reached("remove-containers-gone");
    // Not in the head of the loop, which would keep the connection until its end.
    let images = releases::images_of(&mut engine.app.db.read().await?, job.application_id).await?;
    for image in images {
        check_held(engine, job).await?;
        match engine.docker.remove_image(&image).await {
            // Somebody else runs it. It has our label and soon no row, so it is removed when they have done with it.
            Err(Error::Conflict { message }) => tracing::warn!(image, message, "an image is still in use"),
            removed => removed?,
        }
    }
    kill_point::reached("remove-images-gone");
    if let Err(error) = cache::forget(&engine.repositories_dir(), job.application_id).await {
        tracing::warn!(%error, "what was fetched of a repository could not be removed; that is tried again later");
    }
    // A little at a time: others write meanwhile.
    while !engine.app.logs.store.delete_some(job.application_id).await? {
        check_held(engine, job).await?;
    }
    let mut tx = begin_work(engine, job).await?;
    applications::delete(&mut tx, job.application_id).await?;
    tx.commit().await?;
    kill_point::reached("remove-rows-gone");
    engine.routes.publish(&engine.app.db).await?;
    Ok(())
}
