//! remove: everything that an application has on the engine, then its rows.

use std::collections::BTreeSet;

use windlass_api::EventName;
use windlass_durable::kill_point;
use windlass_runtime::Error;
use windlass_store::{application_domains, applications, releases};

use super::failure::{Interruption, Result};
use super::git::cache;
use super::network;
use super::stop::end_all;
use crate::host::Host;
use crate::jobs::Held;
use crate::pushed_repository;
use crate::service::{domain_choice, states};

pub async fn remove(host: &Host, held: &Held) -> Result<()> {
    end_all(host, held).await?;
    kill_point::reached("remove-containers-gone");
    // Not in the head of the loop, which would keep the connection until its end.
    let images = releases::images_of(&mut host.app.db.read().await?, held.application_id()).await?;
    for image in images {
        held.check().await?;
        match host.remove_image(&image).await {
            // Another program runs it. It has our label and soon no row, so it is removed once that has ended.
            Err(Error::Conflict { message }) => tracing::warn!(image, message, "an image is still in use"),
            removed => removed?,
        }
    }
    kill_point::reached("remove-images-gone");
    if let Err(error) = cache::forget(&host.repositories_dir(), held.application_id()).await {
        tracing::warn!(%error, "what was fetched of a repository could not be removed; that is tried again later");
    }
    if let Err(error) = pushed_repository::forget(&host.app.config, held.application_id()).await {
        tracing::warn!(%error, "what was pushed to a deleted application could not be removed");
    }
    if let Err(error) = host.sites.forget(held.application_id()).await {
        tracing::warn!(%error, "the sites of a deleted application could not be removed; that is tried again later");
    }
    // A little at a time: others write meanwhile.
    while !host.app.logs.store.delete_some(held.application_id()).await? {
        held.check().await?;
    }
    let mut work = held.begin().await?;
    let application = applications::get(&mut work, held.application_id()).await?.ok_or(Interruption::Lost)?;
    let added = application_domains::of_application(&mut work, application.id).await?;
    applications::delete(&mut work, application.id).await?;
    // In order, as others do who give up some of them at the same time.
    let names: BTreeSet<String> =
        added.into_iter().map(|added| added.domain).chain([application.domain.clone()]).collect();
    for domain in names {
        domain_choice::give_up(&mut work, &host.app, &application, &domain).await?;
    }
    let about = states::subject(&application, None);
    work.tell(EventName::ApplicationDeleted, about, &[("application", &application.name)]);
    work.commit().await?;
    kill_point::reached("remove-rows-gone");
    host.routes.publish(&host.app).await?;
    // The rows are gone, so this job has nothing left to try again; the reconciler does.
    if let Err(problem) = network::remove_unused(host).await {
        tracing::warn!(?problem, "networks that are not used any more could not be removed; that is tried again later");
    }
    Ok(())
}
