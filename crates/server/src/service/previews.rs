//! Previews: a pull request gets an application of its own, made as the application that it is for, and an end.

use uuid::Uuid;
use windlass_api as api;
use windlass_api::{
    ApplicationName, ApplicationState, Configuration, DeployPreview, ErrorCode, EventName, RepositoryAddress,
    Timestamp, Triggers, Wanted, label,
};
use windlass_store::Conn;
use windlass_store::applications::{self, Application};
use windlass_store::deployments::Deployment;
use windlass_store::previews::{self, Preview};

use crate::app::App;
use crate::auth::Granted;
use crate::ceilings::tighter;
use crate::error::{Error, Result};
use crate::records;
use crate::service::audit::{Action, Actor, Change, Resource};
use crate::service::deployments::{self, DeploymentRequest};
use crate::service::held_applications::hold_to_change;
use crate::service::shared_variables::set_variables_of;
use crate::service::work::Work;
use crate::service::{domain_choice, preview_volumes, removal, states, webhooks};
use crate::shared_variables::{PREVIEWS, SharedVariables};

/// Of the application's name in a preview's domain, so that the number and what makes it unique have their place in the label.
const LABEL_LENGTH: usize = 28;
/// The same for the name.
const NAME_LENGTH: usize = 75;
/// Those that are ended in one go.
const ENDED_AT_ONCE: i64 = 100;

/// A pull request, and what is to be fetched of it.
#[derive(Debug)]
pub struct PullRequest {
    pub number: i64,
    pub title: String,
    /// Its page at the code host.
    pub url: String,
    pub branch: String,
    pub is_fork: bool,
    /// Its branch; for a fork what the code host calls it in the application's own repository.
    pub reference: String,
}

/// What became of the wish for a preview.
pub enum Answer {
    Queued(Box<Queued>),
    /// Nothing was changed.
    Refused(String),
}

pub struct Queued {
    pub preview: Preview,
    pub deployment: Deployment,
}

/// `POST /deploy/application/{application_id}/previews`.
pub async fn deploy_by_member(
    app: &App,
    granted: &Granted<Application>,
    input: &DeployPreview,
) -> Result<api::Preview> {
    let mut work = app.begin().await?;
    let (authority, application) = hold_to_change(&mut work, granted.authority(), granted.row().id).await?;
    let wanted = PullRequest {
        number: input.pull_request.get(),
        title: input.title.as_ref().map(|title| title.to_string()).unwrap_or_default(),
        url: String::new(),
        branch: input.branch.to_string(),
        is_fork: false,
        // A branch and nothing else: among the other references are the pull requests of forks.
        reference: format!("refs/heads/{}", &*input.branch),
    };
    match deploy(&mut work, &authority.actor(), &application, wanted).await? {
        Answer::Queued(queued) => {
            let shown = previews::shown(&mut work, queued.preview.id).await?;
            let shown = shown.ok_or_else(|| Error::internal("a preview vanished while it was held"))?;
            let record = records::previews::preview(&app.config, shown)?;
            work.commit().await?;
            Ok(record)
        }
        Answer::Refused(reason) => Err(Error::new(ErrorCode::Conflict, reason)),
    }
}

/// Makes the preview of a pull request, or brings it up to date, and queues a deployment. The caller holds the organization and the
/// application.
pub async fn deploy(
    work: &mut Work<'_>,
    actor: &Actor,
    application: &Application,
    wanted: PullRequest,
) -> Result<Answer> {
    let known = previews::of_pull_request(work, application.id, wanted.number).await?;
    if let Some(reason) = refusal(work, application, &wanted, known.as_ref()).await? {
        return Ok(Answer::Refused(reason));
    }
    let (preview, row) = match known {
        None => make(work, actor, application, wanted).await?,
        Some(known) => match again(work, application, known, wanted).await? {
            Some(found) => found,
            None => return Ok(Answer::Refused("The preview is being removed. Try again in a moment.".into())),
        },
    };
    preview_volumes::make(work, actor, application.id, &row).await?;
    let request = DeploymentRequest::Deploy { commit: None };
    let deployment = deployments::enqueue(work, actor, &row, &request, &[]).await?;
    Ok(Answer::Queued(Box::new(Queued { preview, deployment })))
}

/// Why there can be no such preview.
async fn refusal(
    work: &mut Work<'_>,
    application: &Application,
    wanted: &PullRequest,
    known: Option<&Preview>,
) -> Result<Option<String>> {
    let config = &work.app.config;
    if application.repository == RepositoryAddress::PUSHED {
        return Ok(Some("Previews need a repository; this application is pushed to.".into()));
    }
    if application.repository == RepositoryAddress::IMAGE {
        return Ok(Some("Previews need a repository; this application is made from an image.".into()));
    }
    if application.repository == RepositoryAddress::EXTENSION {
        return Ok(Some("Previews need a repository; this application is made from an extension.".into()));
    }
    if of(work, application).await?.is_some() {
        return Ok(Some("A preview has no previews of its own.".into()));
    }
    if let Some(known) = known {
        // What ran with secrets, and what it has written, is not for a stranger's code to be found.
        if known.is_fork != wanted.is_fork {
            let reason = "The pull request has a preview of commits of another repository. Remove that preview first.";
            return Ok(Some(reason.into()));
        }
        return preview_volumes::refusal(work, application, Some(known.id)).await;
    }
    let limit = config.application_previews;
    let others = previews::of_application(work, application.id).await?;
    if others.len() >= limit {
        return Ok(Some(format!(
            "{} has {limit} previews already (application-previews). Remove one, or close a pull request.",
            application.name
        )));
    }
    // Strangers are not to take all of them.
    let limit = limit.div_ceil(2);
    if wanted.is_fork && others.iter().filter(|other| other.is_fork).count() >= limit {
        return Ok(Some(format!(
            "{} has {limit} previews of forks already, half of application-previews. Remove one, or close a pull request.",
            application.name
        )));
    }
    let limit = config.organization_applications;
    if applications::count_of_organization(work, application.organization_id).await? >= limit {
        return Ok(Some(format!(
            "An organization can have {limit} applications, previews among them. Delete one first."
        )));
    }
    preview_volumes::refusal(work, application, None).await
}

/// The preview that the pull request has, as its application is now. None when it is being removed.
async fn again(
    work: &mut Work<'_>,
    application: &Application,
    known: Preview,
    wanted: PullRequest,
) -> Result<Option<(Preview, Application)>> {
    let row = applications::lock(work, known.id).await?.filter(|row| row.wanted != Wanted::Deleted);
    let Some(mut row) = row else { return Ok(None) };
    configure(work, application, &mut row, &wanted).await?;
    row.updated_at = work.app.now();
    applications::update(work, &row).await?;
    work.wake_log_readers();
    let about = states::subject(&row, None);
    work.tell(EventName::ApplicationUpdated, about, &[("application", &row.name)]);
    let keep = |new: String, old: String| if new.is_empty() { old } else { new };
    let preview = Preview {
        title: keep(wanted.title, known.title),
        url: keep(wanted.url, known.url),
        branch: wanted.branch,
        deployed_at: work.app.now(),
        ..known
    };
    previews::update(work, &preview).await?;
    Ok(Some((preview, row)))
}

async fn make(
    work: &mut Work<'_>,
    actor: &Actor,
    application: &Application,
    wanted: PullRequest,
) -> Result<(Preview, Application)> {
    let now = work.app.now();
    let mut row = new_row(work, actor, application, wanted.number).await?;
    configure(work, application, &mut row, &wanted).await?;
    applications::insert(work, &row).await?;
    let preview = Preview {
        id: row.id,
        application_id: application.id,
        pull_request: wanted.number,
        title: wanted.title,
        url: wanted.url,
        branch: wanted.branch,
        is_fork: wanted.is_fork,
        comment_id: String::new(),
        commented: String::new(),
        created_at: now,
        deployed_at: now,
        ended_at: None,
    };
    previews::insert(work, &preview).await?;
    let change = Change {
        organization_id: Some(row.organization_id),
        action: Action::Create,
        resource: Resource::Application,
        resource_id: row.id,
        summary: &format!("created the preview {}", row.name),
        details: &[
            ("name", &row.name),
            ("domain", &row.domain),
            ("preview_of", &application.id.to_string()),
            ("pull_request", &preview.pull_request.to_string()),
            ("fork", if preview.is_fork { "yes" } else { "" }),
        ],
    };
    work.record(actor, &change);
    work.wake_log_readers();
    let about = states::subject(&row, None);
    work.tell(EventName::ApplicationCreated, about, &[("application", &row.name)]);
    Ok((preview, row))
}

/// The application of a new preview, with nothing of the other's in it yet. Deliveries do not find it.
async fn new_row(work: &mut Work<'_>, actor: &Actor, application: &Application, number: i64) -> Result<Application> {
    let (app, now, id) = (work.app, work.app.now(), work.app.new_id());
    let name = free_name(work, application, number, id).await?;
    let label: String = label(&application.name).chars().take(LABEL_LENGTH).collect();
    let label = format!("{}-pr-{number}", label.trim_end_matches('-'));
    Ok(Application {
        id,
        organization_id: application.organization_id,
        user_id: actor.user_id().unwrap_or(application.user_id),
        name,
        repository: application.repository.clone(),
        repository_key: String::new(),
        domain: domain_choice::default_for(work, app, &label, (id, application.organization_id)).await?,
        connection_id: None,
        hook_id: String::new(),
        deploy_key_id: String::new(),
        deploy_key: String::new(),
        configuration: Configuration::default().to_json().map_err(Error::internal)?,
        triggers: Triggers { auto_deploy: false, ..Triggers::default() }.to_json().map_err(Error::internal)?,
        refers_to_shared: false,
        sealed_variables: Vec::new(),
        sealed_credentials: None,
        sealed_webhook: app.vault.seal_webhook_secrets(work, id, &webhooks::new_secrets()).await?,
        labels: "[]".into(),
        wanted: Wanted::Running,
        live_deployment_id: None,
        held_until: None,
        status_id: app.new_id(),
        state: ApplicationState::Deploying,
        state_changed_at: now,
        created_at: now,
        updated_at: now,
    })
}

/// The application's name and the number; with the end of the id, which is random, where another application has that.
async fn free_name(conn: &mut Conn, application: &Application, number: i64, id: Uuid) -> Result<String> {
    let name: String = application.name.chars().take(NAME_LENGTH).collect();
    let name = format!("{}-pr-{number}", name.trim_end());
    let is_taken = applications::by_name(conn, application.organization_id, &name).await?.is_some();
    let id = id.simple().to_string();
    let name = if is_taken { format!("{name}-{}", &id[id.len() - 8..]) } else { name };
    ApplicationName::try_from(name.as_str()).map_err(Error::internal)?;
    Ok(name)
}

/// What the preview is made with, as the application is now.
async fn configure(
    work: &mut Work<'_>,
    application: &Application,
    row: &mut Application,
    wanted: &PullRequest,
) -> Result<()> {
    let vault = &work.app.vault;
    let variables = vault.application_variables(application).await?;
    let mut shared = SharedVariables::of(vault, application.organization_id);
    let variables = shared.of_preview(work, &variables, wanted.is_fork).await?;
    let credentials = vault.repository_credentials(application).await?;
    row.configuration = configuration(work.app, application, &wanted.reference)?;
    row.connection_id = application.connection_id;
    set_variables_of(work, row, &variables).await?;
    row.sealed_credentials = vault.seal_repository_credentials(work, row.id, &credentials).await?;
    Ok(())
}

fn configuration(app: &App, application: &Application, reference: &str) -> Result<String> {
    let mut configuration = Configuration::from_json(&application.configuration).map_err(Error::internal)?;
    reference.clone_into(&mut configuration.branch);
    PREVIEWS.clone_into(&mut configuration.environment);
    let settings = &mut configuration.settings;
    (settings.replicas, settings.kept_releases, settings.snapshot_before_deploy) = (1, 1, false);
    settings.memory_mb = tighter(settings.memory_mb, app.config.preview_memory_mb);
    settings.cpu_millis = tighter(settings.cpu_millis, app.config.preview_cpu_millis);
    configuration.to_json().map_err(Error::internal)
}

/// The preview that an application is, if it is one.
pub async fn of(conn: &mut Conn, application: &Application) -> Result<Option<Preview>> {
    Ok(previews::get(conn, application.id).await?)
}

/// `DELETE /deploy/previews/{preview_id}`.
pub async fn end_by_member(app: &App, granted: &Granted<Preview>) -> Result<()> {
    let mut work = app.begin().await?;
    let authority = work.hold(granted.authority()).await?;
    if !end(&mut work, &authority.actor(), granted.row(), "it was removed").await? {
        return Err(Error::not_found("preview"));
    }
    work.commit().await?;
    Ok(())
}

/// Everything of it is removed. False when another had ended it before, and nothing changed.
pub async fn end(work: &mut Work<'_>, actor: &Actor, preview: &Preview, reason: &str) -> Result<bool> {
    let now = work.app.now();
    let row = applications::lock(work, preview.id).await?.filter(|row| row.wanted != Wanted::Deleted);
    let Some(row) = row else { return Ok(false) };
    if !previews::end(work, preview.id, now).await? {
        return Ok(false);
    }
    preview_volumes::delete(work, actor, &row).await?;
    removal::remove(work, actor, &row, "removed the preview", &format!("the preview has ended: {reason}")).await?;
    states::comment(work, &row, preview).await?;
    Ok(true)
}

/// Those of an application that is being deleted. The caller holds it.
pub async fn end_all(work: &mut Work<'_>, actor: &Actor, application: &Application) -> Result<()> {
    for preview in previews::of_application(work, application.id).await? {
        end(work, actor, &preview, "its application was deleted").await?;
    }
    Ok(())
}

/// Those of forks, which are no longer allowed. The caller holds the application.
pub async fn end_forks(work: &mut Work<'_>, actor: &Actor, application: &Application) -> Result<()> {
    for preview in previews::of_application(work, application.id).await?.iter().filter(|preview| preview.is_fork) {
        end(work, actor, preview, "previews of forks are not allowed any more").await?;
    }
    Ok(())
}

/// Those that were not deployed for long. How many they were.
pub async fn end_idle(app: &App) -> Result<u64> {
    let before = app.now().plus_seconds(-app.config.preview_seconds);
    let idle = previews::idle(&mut app.db.read().await?, before, ENDED_AT_ONCE).await?;
    let mut ended = 0;
    for preview in idle {
        match end_if_idle(app, &preview, before).await {
            Ok(true) => ended += 1,
            Ok(false) => {}
            // It is not to be in the way of the others.
            Err(error) => {
                tracing::warn!(cause = ?error.cause, preview = %preview.id, "an idle preview was not removed");
            }
        }
    }
    Ok(ended)
}

/// False when it was deployed meanwhile, or is being removed.
async fn end_if_idle(app: &App, preview: &Preview, before: Timestamp) -> Result<bool> {
    let mut work = app.begin_step().await?;
    applications::lock(&mut work, preview.application_id).await?;
    applications::lock(&mut work, preview.id).await?;
    if !previews::is_idle(&mut work, preview.id, before).await? {
        return Ok(false);
    }
    let days = app.config.preview_seconds / 86_400;
    end(&mut work, &Actor::Server, preview, &format!("it was not deployed for {days} days")).await?;
    work.commit().await?;
    Ok(true)
}
