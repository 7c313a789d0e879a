//! Keys with which applications read their repositories over ssh, made here.

use windlass_api as api;
use windlass_api::{ConnectionKind, ErrorCode, RepositoryAddress, Transport};
use windlass_codehost::SshKeyPair;
use windlass_codehost::api::KeyId;
use windlass_store::applications::Application;

use crate::app::App;
use crate::auth::Granted;
use crate::code_host::{self, Failed, PullFor};
use crate::error::{Error, Result};
use crate::random;
use crate::service::connections::at_code_host;
use crate::service::held_applications::{hold_to_change, refuse_preview, write_change};
use crate::service::queue::{self, Registered};
use crate::service::work::Work;

pub fn get(application: &Application) -> Result<api::DeployKey> {
    if application.deploy_key.is_empty() {
        return Err(Error::not_found("deploy key"));
    }
    Ok(record(application))
}

/// Makes a key, adds it at the code host if the application has a connection, and uses it from the next deploy on.
pub async fn create(app: &App, granted: &Granted<Application>) -> Result<api::DeployKey> {
    check_transport(granted.row())?;
    refuse_preview(&mut app.db.read().await?, granted.row()).await?;
    let comment = format!("windlass {}", granted.row().id);
    let pair = SshKeyPair::of(&random::bytes(), random::bytes(), &comment);
    let pair = pair.ok_or_else(|| Error::internal("no key could be made"))?;
    let key_id = register(app, granted.row(), &pair.public).await?;
    let stored = store(app, granted, pair, key_id.clone().unwrap_or_default()).await;
    if stored.is_err()
        && let Some(id) = key_id
    {
        // No row knows of it.
        let _ = unregister(app, granted.row(), id).await;
    }
    stored
}

async fn store(app: &App, granted: &Granted<Application>, pair: SshKeyPair, key_id: String) -> Result<api::DeployKey> {
    let mut work = app.begin().await?;
    let (authority, mut application) = hold_to_change(&mut work, granted.authority(), granted.row().id).await?;
    let mut credentials = app.vault.repository_credentials(&application).await?;
    if application.deploy_key.is_empty() && !credentials.ssh_key.is_empty() {
        let message = format!("{} has a repository_ssh_key of its own. Remove that first.", application.name);
        return Err(Error::new(ErrorCode::Conflict, message));
    }
    forget(&mut work, &mut application).await?;
    credentials.ssh_key = pair.private;
    application.sealed_credentials =
        app.vault.seal_repository_credentials(&mut work, application.id, &credentials).await?;
    (application.deploy_key, application.deploy_key_id) = (pair.public, key_id);
    write_change(&mut work, &authority, &mut application, "made a deploy key for", &[]).await?;
    work.commit().await?;
    Ok(record(&application))
}

pub async fn delete(app: &App, granted: &Granted<Application>) -> Result<()> {
    let mut work = app.begin().await?;
    let (authority, mut application) = hold_to_change(&mut work, granted.authority(), granted.row().id).await?;
    get(&application)?;
    forget(&mut work, &mut application).await?;
    write_change(&mut work, &authority, &mut application, "removed the deploy key of", &[]).await?;
    work.commit().await?;
    Ok(())
}

/// The key that was made here is of no more use: it is taken back at the code host, and no longer what the application is fetched
/// with. Not written yet.
pub async fn forget(work: &mut Work<'_>, application: &mut Application) -> Result<()> {
    if application.deploy_key.is_empty() {
        return Ok(());
    }
    if let Some(registered) = Registered::of(application).filter(|registered| !registered.deploy_key_id.is_empty()) {
        let registered = Registered { hook_id: String::new(), ..registered };
        let job = queue::unregister(application.organization_id, work.app.new_id(), &registered);
        work.enqueue(&job).await?;
    }
    let vault = &work.app.vault;
    let mut credentials = vault.repository_credentials(application).await?;
    credentials.ssh_key.clear();
    application.sealed_credentials = vault.seal_repository_credentials(work, application.id, &credentials).await?;
    application.deploy_key.clear();
    application.deploy_key_id.clear();
    Ok(())
}

fn check_transport(application: &Application) -> Result<()> {
    let address = RepositoryAddress::try_from(application.repository.as_str()).map_err(Error::internal)?;
    if address.transport() != Transport::Ssh {
        let message = format!(
            "{} is not fetched over ssh, so a key would be of no use. Use a connection, or a repository_token.",
            application.name
        );
        return Err(Error::new(ErrorCode::Conflict, message));
    }
    Ok(())
}

/// The code host's id of the key; none without a connection.
async fn register(app: &App, application: &Application, public_key: &str) -> Result<Option<String>> {
    let Some((connection, full_name)) = at_code_host(app, application).await? else { return Ok(None) };
    if connection.kind == ConnectionKind::GithubApp {
        let message = format!(
            "The GitHub App of the connection {} may not add keys. Give {} the https address of the repository, which the app \
             fetches, or take its connection away and add the key by hand.",
            connection.name, application.name
        );
        return Err(Error::new(ErrorCode::Conflict, message));
    }
    let host = code_host::api(app, &connection, &full_name, PullFor::Member).await?;
    let title = format!("Windlass: {}", application.name);
    let ask = host.create_deploy_key(&full_name, &title, public_key).map_err(Failed::Api)?;
    Ok(Some(code_host::ask(app, application.organization_id, ask).await?.0))
}

async fn unregister(app: &App, application: &Application, id: String) -> Result<()> {
    let Some((connection, full_name)) = at_code_host(app, application).await? else { return Ok(()) };
    let host = code_host::api(app, &connection, &full_name, PullFor::Job).await?;
    let ask = host.delete_deploy_key(&full_name, &KeyId(id)).map_err(Failed::Api)?;
    Ok(code_host::send(app, ask).await?)
}

fn record(application: &Application) -> api::DeployKey {
    api::DeployKey { public_key: application.deploy_key.clone(), is_registered: !application.deploy_key_id.is_empty() }
}
