//! The commit that a deploy would fetch, or the image that it would take, for a request that asks before it deploys: one question to the
//! repository's server, or to the registry.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;
use windlass_api::{BuildPack, Configuration, Failure, RepositoryAddress, Variables};
use windlass_store::applications::Application;
use windlass_store::extension_sources;

use super::build_plan::words_for_caller;
use super::failure::{Interruption, Result, failed};
use super::git::{self, Source};
use super::repository;
use crate::app::App;
use crate::registries;
use crate::shared_variables;
use crate::turns::Turn;

/// A request waits for the answer; a deploy has more time.
const LONGEST: Duration = Duration::from_secs(10);
const LATER: &str = "This cannot be found out just now. Try again in a moment.";

/// The hash, or why it cannot be known, in words for the caller.
pub async fn ask(
    app: &Arc<App>,
    application: Application,
    turn: crate::error::Result<Turn>,
) -> std::result::Result<String, String> {
    let turn = turn.map_err(|busy| busy.message)?;
    let (app, (answer, asked)) = (app.clone(), oneshot::channel());
    // What git leaves is removed also when the client is gone.
    tokio::spawn(async move {
        let _ = answer.send(ask_in_words(&app, &application).await);
        drop(turn);
    });
    asked.await.unwrap_or_else(|_| Err(LATER.to_owned()))
}

async fn ask_in_words(app: &App, application: &Application) -> std::result::Result<String, String> {
    match ask_repository(app, application).await {
        Ok(hash) => Ok(hash),
        Err(Interruption::Failed(Failure::TimedOut, _)) => {
            let seconds = limit(app).as_secs();
            let is_image = application.repository == RepositoryAddress::IMAGE;
            let who = if is_image { "registry" } else { "repository's server" };
            Err(format!("The {who} did not answer within {seconds} seconds. A deploy has more time."))
        }
        Err(Interruption::Failed(_, words)) => match variables(app, application).await {
            Ok(variables) => Err(words_for_caller(&variables, &words)),
            Err(_) => Err(LATER.to_owned()),
        },
        Err(_) => Err(LATER.to_owned()),
    }
}

async fn variables(app: &App, application: &Application) -> crate::error::Result<Variables> {
    shared_variables::of_application(&mut app.db.read().await?, &app.vault, application).await
}

async fn ask_repository(app: &App, application: &Application) -> Result<String> {
    let configuration =
        Configuration::from_json(&application.configuration).or_else(|problem| failed(Failure::Internal, problem))?;
    if configuration.build_pack == BuildPack::Image {
        let image = registries::image_of(&configuration)?;
        return registries::newest_digest(app, application.organization_id, &image, limit(app)).await;
    }
    if application.repository == RepositoryAddress::EXTENSION {
        // A deploy takes the text that is in use: a newer one is an update, which is asked for by itself.
        let source = extension_sources::in_use(&mut app.db.read().await?, application.id).await?;
        return Ok(source.map(|source| source.content_hash).unwrap_or_default());
    }
    let url = repository::address(app, application).await?;
    let credentials = repository::credentials(app, application, &url).await?;
    let reference = repository::reference(&configuration.branch, "");
    let mut limits = repository::limits(&app.config);
    limits.time = limit(app);
    let trust = repository::trust(app, application).await?;
    let folder = app.config.data_dir.join("work").join(format!("newest-{}", app.new_id()));
    let source = Source { url: &url, reference, credentials: &credentials, trust };
    Ok(git::newest(&source, &folder, &limits).await?)
}

fn limit(app: &App) -> Duration {
    app.config.fetch_limit.min(app.config.request_limit / 2).min(LONGEST)
}
