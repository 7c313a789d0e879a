//! Applications: making, changing, stopping and deleting them.

use uuid::Uuid;
use windlass_api as api;
use windlass_api::{
    ApplicationName, ApplicationState, Can, Changes, Configuration, CreateDeployment, ErrorCode, EventName, Given,
    RepositoryAddress, Triggers, UpdateApplication, Variables, Wanted,
};
use windlass_codehost::RepositoryKey;
use windlass_store::applications::{self, Application};
use windlass_store::organizations::Organization;

use crate::app::App;
use crate::auth::{Authority, Granted};
use crate::error::{Error, Result};
use crate::records;
use crate::records::logs::with_lines;
use crate::service::application_fields::fill;
use crate::service::audit::{Action, Change, Resource};
use crate::service::deployments::{self, DeploymentRequest};
use crate::service::domain_owners::{self, Owners};
use crate::service::held_applications::{hold_to_change, lock, lock_to_change, refuse_preview};
use crate::service::idempotency::Once;
use crate::service::variables::Touched;
use crate::service::work::Work;
use crate::service::{
    domain_choice, extension_sources, image_checks, previews, queue, removal, states, volumes, webhooks,
};

/// Of two organizations that choose the same domain in the same instant, one finds another at the next try.
const TRIES: usize = 3;

/// `POST /deploy/application`: a new application, or a new deployment of one that is there. Returns the message for the
/// caller, and the application.
pub async fn deploy(
    app: &App,
    authority: &Authority,
    input: CreateDeployment,
    once: Option<&Once>,
) -> Result<(&'static str, api::Application)> {
    let (name, repository, changes) = input.into_parts();
    let owners = claim_domain(app, authority, &changes).await?;
    let input = DeployInput { name: &name, repository: &repository, changes: &changes, owners: &owners };
    for _ in 0..TRIES {
        if let Some(done) = try_to_deploy(app, authority, &input, once).await? {
            return Ok(done);
        }
    }
    Err(domain_choice::taken(&name.label()))
}

/// The parts of the request.
pub struct DeployInput<'a> {
    pub name: &'a ApplicationName,
    pub repository: &'a RepositoryAddress,
    pub changes: &'a Changes,
    /// Of the domain that is asked for.
    pub owners: &'a Owners,
}

async fn claim_domain(app: &App, authority: &Authority, changes: &Changes) -> Result<Owners> {
    match &changes.domain {
        Given::Value(domain) => domain_owners::claim(app, domain, authority.organization_id()).await,
        Given::Absent | Given::Empty => Ok(Owners::default()),
    }
}

/// None when another organization took the domain meanwhile.
async fn try_to_deploy(
    app: &App,
    authority: &Authority,
    input: &DeployInput<'_>,
    once: Option<&Once>,
) -> Result<Option<(&'static str, api::Application)>> {
    let mut work = app.begin().await?;
    let authority = &work.hold(authority).await?;
    if let Some(record) = made_before(&mut work, authority, once).await? {
        return Ok(Some(done_before(work, record).await));
    }
    let (is_new, application) = make_or_change(&mut work, authority, input).await?;
    let Some(application) = application else { return Ok(None) };
    // Nothing was pushed to it yet.
    if is_new && &**input.repository == RepositoryAddress::PUSHED {
        states::settle(&mut work, application.id).await?;
        let message = "Application created; push to it";
        return answer(work, authority, once, application.id, message).await.map(Some);
    }
    deployments::enqueue(&mut work, &authority.actor(), &application, &DeploymentRequest::Deploy { commit: None }, &[])
        .await?;
    answer(work, authority, once, application.id, "Deployment queued").await.map(Some)
}

/// What a request with a name has made when it came before.
pub async fn made_before(
    work: &mut Work<'_>,
    authority: &Authority,
    once: Option<&Once>,
) -> Result<Option<api::Application>> {
    let Some(once) = once else { return Ok(None) };
    match once.made(work, authority).await? {
        Some(id) => read(work, authority, id).await.map(Some),
        None => Ok(None),
    }
}

/// The answer to a request that was done before: nothing is changed.
pub async fn done_before(work: Work<'_>, record: api::Application) -> (&'static str, api::Application) {
    let app = work.app;
    drop(work);
    ("This was done already; nothing was done again", with_lines(&app.logs.store, record).await)
}

/// The application of this name and repository, made with the defaults if there is none. Nothing is deployed.
pub async fn ensure(
    app: &App,
    authority: &Authority,
    name: &ApplicationName,
    repository: &RepositoryAddress,
) -> Result<Uuid> {
    let (changes, owners) = (Changes::default(), Owners::default());
    let input = DeployInput { name, repository, changes: &changes, owners: &owners };
    for _ in 0..TRIES {
        let mut work = app.begin().await?;
        let authority = &work.hold(authority).await?;
        let (is_new, application) = make_or_change(&mut work, authority, &input).await?;
        let Some(application) = application else { continue };
        if is_new {
            states::settle(&mut work, application.id).await?;
            work.commit().await?;
        }
        return Ok(application.id);
    }
    Err(domain_choice::taken(&name.label()))
}

/// The application as a deploy with this body would make or change it, with everything that a deploy would refuse. Nothing is stored; so the
/// domain stays out of it, because asking for one can take it from another organization.
pub async fn as_deployed(app: &App, authority: &Authority, input: CreateDeployment) -> Result<Application> {
    let (name, repository, changes) = input.into_parts();
    let (changes, owners) = (Changes { domain: Given::Absent, ..changes }, Owners::default());
    let input = DeployInput { name: &name, repository: &repository, changes: &changes, owners: &owners };
    let mut work = app.begin().await?;
    let authority = &work.hold(authority).await?;
    let (_, application) = make_or_change(&mut work, authority, &input).await?;
    application.ok_or_else(|| domain_choice::taken(&name.label()))
}

/// Commits, and remembers the request if it has a name.
pub async fn answer(
    mut work: Work<'_>,
    authority: &Authority,
    once: Option<&Once>,
    id: Uuid,
    message: &'static str,
) -> Result<(&'static str, api::Application)> {
    if let Some(once) = once {
        once.remember(&mut work, authority, id).await?;
    }
    Ok((message, finish(work, authority, id).await?))
}

/// Whether it is new, and the application; none when another organization took the domain meanwhile.
async fn make_or_change(
    work: &mut Work<'_>,
    authority: &Authority,
    input: &DeployInput<'_>,
) -> Result<(bool, Option<Application>)> {
    refuse_local(authority.organization(), input.repository)?;
    match applications::by_name(work, authority.organization_id(), input.name).await? {
        Some(known) => Ok((false, Some(change(work, authority, known.id, input).await?))),
        None if &**input.repository == RepositoryAddress::EXTENSION => {
            let problem =
                "an application of an extension is made by POST /api/v1/extensions/{extension_id}/application";
            Err(Error::field("repository", problem))
        }
        None => Ok((true, create(work, authority, input).await?)),
    }
}

/// The server's own folders are not for every organization to read.
fn refuse_local(organization: &Organization, repository: &RepositoryAddress) -> Result<()> {
    if repository.is_local() && !organization.host_access {
        let problem = "is a folder of the server; only organizations with host access can deploy from one";
        return Err(Error::field("repository", problem));
    }
    Ok(())
}

/// None when another organization took the domain meanwhile.
pub async fn create(
    work: &mut Work<'_>,
    authority: &Authority,
    input: &DeployInput<'_>,
) -> Result<Option<Application>> {
    let app = work.app;
    let mut application = new_application(work, authority, input).await?;
    let (_, touched) = fill(work, authority, &mut application, input.changes).await?;
    let limit = app.config.organization_applications;
    if applications::count_of_organization(work, authority.organization_id()).await? >= limit {
        let message = format!("An organization can have {limit} applications. Delete one first.");
        return Err(Error::new(ErrorCode::Conflict, message));
    }
    let ids = (application.id, application.organization_id);
    application.domain = match &input.changes.domain {
        Given::Value(domain) => main_domain(work, domain, ids, input.owners).await?,
        Given::Absent | Given::Empty => domain_choice::default_for(work, app, &input.name.label(), ids).await?,
    };
    match applications::insert(work, &application).await {
        Ok(()) => {}
        Err(windlass_store::Error::Duplicate) => return Ok(None),
        Err(error) => return Err(error.into()),
    }
    record(work, authority, Action::Create, &application, "created the application", "", &touched);
    work.wake_log_readers();
    tell(work, EventName::ApplicationCreated, &application);
    volumes::apply(work, authority, &application, input.changes.volumes.as_ref()).await?;
    check_volumes(work, &application, input.changes).await?;
    image_checks::apply(work, &application, input.changes).await?;
    Ok(Some(application))
}

async fn new_application(work: &mut Work<'_>, authority: &Authority, input: &DeployInput<'_>) -> Result<Application> {
    let (app, now, id) = (work.app, work.app.now(), work.app.new_id());
    Ok(Application {
        id,
        organization_id: authority.organization_id(),
        user_id: authority.user_id(),
        name: input.name.to_string(),
        repository: input.repository.to_string(),
        repository_key: RepositoryKey::of(input.repository).map(|key| key.as_str().to_owned()).unwrap_or_default(),
        domain: String::new(),
        connection_id: None,
        hook_id: String::new(),
        deploy_key_id: String::new(),
        deploy_key: String::new(),
        configuration: Configuration::default().to_json().map_err(Error::internal)?,
        triggers: Triggers::default().to_json().map_err(Error::internal)?,
        refers_to_shared: false,
        sealed_variables: app.vault.seal_application_variables(work, id, &Variables::default()).await?,
        sealed_webhook: app.vault.seal_webhook_secrets(work, id, &webhooks::new_secrets()).await?,
        sealed_credentials: None,
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

/// The application that has the name already, with what the request wants to be different.
async fn change(work: &mut Work<'_>, authority: &Authority, id: Uuid, input: &DeployInput<'_>) -> Result<Application> {
    let mut application = lock_to_change(work, authority, id).await?;
    if application.repository != **input.repository {
        let message = format!(
            "name: there is an application {} already, of another repository. Choose another name.",
            application.name
        );
        return Err(Error::new(ErrorCode::NameTaken, message));
    }
    extension_sources::check_given(work, &application, input.changes).await?;
    let (mut changed, touched) = fill(work, authority, &mut application, input.changes).await?;
    if volumes::apply(work, authority, &application, input.changes.volumes.as_ref()).await? {
        changed.push("volumes".into());
    }
    check_volumes(work, &application, input.changes).await?;
    image_checks::apply(work, &application, input.changes).await?;
    if input.changes.domain.value().is_some_and(|domain| **domain != *application.domain) {
        changed.push("domain".into());
    }
    if !changed.is_empty() {
        refuse_preview(work, &application).await?;
        require_to_change(work.app, authority, &application.name, &changed)?;
        let before = move_to(work, &mut application, &input.changes.domain, input.owners).await?;
        write_moved(work, &mut application, before).await?;
        let fields = changed.join(", ");
        record(work, authority, Action::Update, &application, "changed the application", &fields, &touched);
    }
    Ok(application)
}

/// Deploying an application again as it is takes `deploy:create` alone, so a program that always sends the same request
/// needs no more.
fn require_to_change(app: &App, authority: &Authority, name: &str, changed: &[String]) -> Result<()> {
    authority.require(app, Can::DeployUpdate).map_err(|refusal| {
        let fields = changed.join(", ");
        let message = format!("{} It is needed because the request changes {name}: {fields}.", refusal.message);
        Error { message, ..refusal }
    })
}

/// Takes effect at the next deploy, but for the name and the domain.
pub async fn update(app: &App, granted: &Granted<Application>, input: UpdateApplication) -> Result<api::Application> {
    let unchanged_since = input.unchanged_since;
    let (name, repository, changes) = input.into_parts();
    let owners = claim_domain(app, granted.authority(), &changes).await?;
    let mut work = app.begin().await?;
    let (authority, mut application) = hold_to_change(&mut work, granted.authority(), granted.row().id).await?;
    if unchanged_since.is_some_and(|since| since != application.updated_at) {
        let message = "unchanged_since: the application was changed meanwhile. Read it again, then decide.";
        return Err(Error::new(ErrorCode::Conflict, message));
    }
    refuse_preview(&mut work, &application).await?;
    if repository.is_some_and(|repository| *repository != *application.repository) {
        let problem = "cannot change; make another application for another repository";
        return Err(Error::field("repository", problem));
    }
    extension_sources::check_given(&mut work, &application, &changes).await?;
    let (_, touched) = fill(&mut work, &authority, &mut application, &changes).await?;
    volumes::apply(&mut work, &authority, &application, changes.volumes.as_ref()).await?;
    check_volumes(&mut work, &application, &changes).await?;
    image_checks::apply(&mut work, &application, &changes).await?;
    let mut names = changes.names();
    if let Some(name) = name {
        names.insert(0, "name");
        rename(&mut work, &mut application, &name).await?;
    }
    if names.is_empty() {
        return Err(Error::field("name", "give it or another field to change"));
    }
    let before = move_to(&mut work, &mut application, &changes.domain, &owners).await?;
    write_moved(&mut work, &mut application, before).await?;
    let fields = names.join(", ");
    record(&mut work, &authority, Action::Update, &application, "changed the application", &fields, &touched);
    finish(work, &authority, application.id).await
}

async fn rename(work: &mut Work<'_>, application: &mut Application, name: &ApplicationName) -> Result<()> {
    let other = applications::by_name(work, application.organization_id, name).await?;
    if other.is_some_and(|other| other.id != application.id) {
        let message = format!("name: there is an application {} already. Choose another name.", &**name);
        return Err(Error::new(ErrorCode::NameTaken, message));
    }
    application.name = name.to_string();
    windlass_store::volumes::set_application_name(work, application.id, name).await?;
    Ok(())
}

/// What the request changes must fit to the volumes that the application has then.
async fn check_volumes(work: &mut Work<'_>, application: &Application, changes: &Changes) -> Result<()> {
    if changes.volumes.is_some() || changes.replicas.is_some() {
        volumes::check(work, application, "replicas").await?;
    }
    Ok(())
}

/// The domain that was asked for, if it is free to have.
async fn main_domain(
    work: &mut Work<'_>,
    domain: &api::HostName,
    (application_id, organization_id): (Uuid, Uuid),
    owners: &Owners,
) -> Result<String> {
    let wanted =
        domain_choice::Wanted { domain, path: "/", application_id: Some(application_id), organization_id, owners };
    let app = work.app;
    domain_choice::check(work, app, &wanted).await?;
    Ok(domain.to_string())
}

/// Another domain, if the request has one; the default one, if it is empty. The one before, if that is another.
async fn move_to(
    work: &mut Work<'_>,
    application: &mut Application,
    domain: &Given<api::HostName>,
    owners: &Owners,
) -> Result<Option<String>> {
    let (app, ids) = (work.app, (application.id, application.organization_id));
    let chosen = match domain {
        Given::Absent => return Ok(None),
        Given::Value(domain) => main_domain(work, domain, ids, owners).await?,
        Given::Empty => {
            let name = ApplicationName::try_from(application.name.as_str()).map_err(Error::internal)?;
            domain_choice::default_for(work, app, &name.label(), ids).await?
        }
    };
    let before = std::mem::replace(&mut application.domain, chosen);
    Ok(Some(before).filter(|before| *before != application.domain))
}

/// Stores the application, and gives up the domain that it had before.
async fn write_moved(work: &mut Work<'_>, application: &mut Application, before: Option<String>) -> Result<()> {
    let app = work.app;
    write(work, application).await?;
    match before {
        Some(before) => domain_choice::give_up(work, app, application, &before).await,
        None => Ok(()),
    }
}

/// Stores what engine, edge or readers of logs may have to follow.
pub async fn write(work: &mut Work<'_>, application: &mut Application) -> Result<()> {
    store(work, application).await?;
    work.wake_reconciler();
    work.wake_log_readers();
    Ok(())
}

/// Names are unique in the organization, which is held: what is there already can only be the domain.
async fn store(work: &mut Work<'_>, application: &mut Application) -> Result<()> {
    application.updated_at = work.app.now();
    applications::update(work, application).await.map_err(|error| match error {
        windlass_store::Error::Duplicate => domain_choice::taken(&application.domain),
        other => other.into(),
    })?;
    tell(work, EventName::ApplicationUpdated, application);
    Ok(())
}

pub async fn set_labels(app: &App, granted: &Granted<Application>, labels: &[String]) -> Result<api::Application> {
    let mut work = app.begin().await?;
    let (authority, mut application) = hold_to_change(&mut work, granted.authority(), granted.row().id).await?;
    if labels.iter().any(|label| label.contains(',')) {
        return Err(Error::field("labels", "must not contain a comma, which separates labels in a search"));
    }
    application.labels = serde_json::to_string(labels).map_err(Error::internal)?;
    // Labels change nothing that runs: reading all routes anew for each would slow down those who label many.
    store(&mut work, &mut application).await?;
    let none = Touched::default();
    record(&mut work, &authority, Action::Update, &application, "labelled the application", "labels", &none);
    finish(work, &authority, application.id).await
}

/// The message for the caller, and the application.
pub async fn stop(app: &App, granted: &Granted<Application>) -> Result<(&'static str, api::Application)> {
    let mut work = app.begin().await?;
    let (authority, application) = hold_to_change(&mut work, granted.authority(), granted.row().id).await?;
    if application.wanted == Wanted::Stopped {
        let record = read(&mut work, &authority, application.id).await?;
        drop(work);
        return Ok(("Application is stopped already", with_lines(&app.logs.store, record).await));
    }
    let job = queue::stop(&application, app.new_id());
    removal::end(&mut work, &application, Wanted::Stopped, &job, "the application was stopped").await?;
    let none = Touched::default();
    record(&mut work, &authority, Action::Update, &application, "stopped the application", "", &none);
    Ok(("Application is being stopped", finish(work, &authority, application.id).await?))
}

/// It stays visible until everything of it is gone. `name` is the caller's proof that they mean this one.
/// Volumes stay unless each is named.
pub async fn delete(app: &App, granted: &Granted<Application>, name: &str, with_volumes: &[String]) -> Result<()> {
    let mut work = app.begin().await?;
    let authority = work.hold(granted.authority()).await?;
    let application = lock(&mut work, &authority, granted.row().id).await?;
    if application.name != name {
        let problem = "is not the application's name; nothing was deleted";
        return Err(Error::field("name", problem));
    }
    if application.wanted == Wanted::Deleted {
        return Ok(());
    }
    let actor = authority.actor();
    volumes::delete_named(&mut work, &actor, &application, with_volumes).await?;
    previews::end_all(&mut work, &actor, &application).await?;
    match previews::of(&mut work, &application).await? {
        Some(preview) => previews::end(&mut work, &actor, &preview, "it was deleted").await.map(drop)?,
        None => {
            removal::remove(&mut work, &actor, &application, "deleted the application", "the application was deleted")
                .await?;
        }
    }
    work.commit().await?;
    Ok(())
}

/// Commits, and answers with the application.
async fn finish(mut work: Work<'_>, authority: &Authority, id: Uuid) -> Result<api::Application> {
    let app = work.app;
    let record = read(&mut work, authority, id).await?;
    work.commit().await?;
    Ok(with_lines(&app.logs.store, record).await)
}

async fn read(work: &mut Work<'_>, authority: &Authority, id: Uuid) -> Result<api::Application> {
    let viewer = authority.application_viewer(work.app);
    let row = applications::of_organization(work, authority.organization_id(), id).await?;
    let row = row.ok_or_else(|| Error::not_found("application"))?;
    records::applications::application(work, &viewer, &row).await
}

fn tell(work: &mut Work<'_>, name: EventName, application: &Application) {
    work.tell(name, states::subject(application, None), &[("application", &application.name)]);
}

/// The audit entry of a change.
pub fn record(
    work: &mut Work<'_>,
    authority: &Authority,
    action: Action,
    application: &Application,
    verb: &str,
    fields: &str,
    touched: &Touched,
) {
    // Only the names of fields and variables: among their values are secrets.
    let variables = touched.details();
    let mut details = vec![("name", application.name.as_str()), ("domain", &application.domain), ("fields", fields)];
    details.extend(variables.iter().map(|(name, names)| (*name, names.as_str())));
    let change = Change {
        organization_id: Some(application.organization_id),
        action,
        resource: Resource::Application,
        resource_id: application.id,
        summary: &format!("{verb} {}", application.name),
        details: &details,
    };
    work.record(&authority.actor(), &change);
}
