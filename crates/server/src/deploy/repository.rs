//! Where the repository of an application is, and what opens it.

use windlass_api::{Failure, RepositoryAddress, Transport};
use windlass_store::applications::Application;
use windlass_store::{connections, organizations, previews};

use super::failure::{Result, failed};
use super::git::{self, Credentials, Limits, Reference, Trust};
use crate::app::App;
use crate::code_host;
use crate::config::Config;
use crate::pushed_repository;

/// Folders of this machine are for organizations that an admin of the installation trusts with the machine.
pub async fn address(app: &App, application: &Application) -> Result<RepositoryAddress> {
    let mut conn = app.db.read().await?;
    let may_be_local = organizations::has_host_access(&mut conn, application.organization_id).await?;
    let address = RepositoryAddress::try_from(application.repository.as_str())
        .or_else(|problem| failed(Failure::RepositoryUnreachable, format!("repository: {problem}")))?;
    if address.transport() == Transport::Image {
        let problem = "There is no repository: the application is made from an image of a registry.";
        return failed(Failure::NoBuildPack, problem);
    }
    if address.transport() == Transport::Extension {
        return failed(Failure::NoBuildPack, "There is no repository: the application is made from an extension.");
    }
    if address.transport() == Transport::Push {
        return pushed(app, application);
    }
    if address.is_local() && !may_be_local {
        let problem = "repository: is a folder of the server; only organizations with host access can deploy from one";
        return failed(Failure::RepositoryUnreachable, problem);
    }
    Ok(address)
}

/// The repository that the application is pushed to.
fn pushed(app: &App, application: &Application) -> Result<RepositoryAddress> {
    let folder = pushed_repository::folder(&app.config, application.id);
    if !folder.join("HEAD").exists() {
        let problem = "Nothing was pushed to this application yet, or not to this server.";
        return failed(Failure::ReferenceNotFound, problem);
    }
    let folder = std::path::absolute(&folder).unwrap_or(folder);
    let path = folder.to_str().unwrap_or_default();
    RepositoryAddress::try_from(path).or_else(|problem| failed(Failure::RepositoryUnreachable, problem))
}

pub async fn credentials(app: &App, application: &Application, url: &RepositoryAddress) -> Result<Credentials> {
    let stored = app.vault.repository_credentials(application).await?;
    let given = |text: String| Some(text).filter(|text| !text.is_empty());
    let own = Credentials { token: given(stored.token), user: None, ssh_key: given(stored.ssh_key) };
    if own.token.is_some() {
        return Ok(own);
    }
    let (token, user) = connected(app, application, url).await?.unzip();
    Ok(Credentials { token, user, ..own })
}

/// The token of the application's connection, and the user that it goes with. Never for another host than the connection's.
async fn connected(app: &App, application: &Application, url: &RepositoryAddress) -> Result<Option<(String, String)>> {
    let Some(id) = application.connection_id else { return Ok(None) };
    let connection = connections::get(&mut app.db.read().await?, id).await?;
    let Some(connection) = connection.filter(|found| code_host::is_reached_by(found, url)) else { return Ok(None) };
    Ok(code_host::git_login(app, &connection, &application.repository).await?)
}

/// What the submodules of an application's repository may be. Those of what was pushed are no folders of this machine, and the author of a fork
/// borrows no credentials.
pub async fn trust(app: &App, application: &Application) -> Result<Trust<'static>> {
    let preview = previews::get(&mut app.db.read().await?, application.id).await?;
    let is_fork = preview.is_some_and(|preview| preview.is_fork);
    let address = RepositoryAddress::try_from(application.repository.as_str());
    let has_local_modules = !is_fork && address.is_ok_and(|address| address.is_local());
    Ok(Trust::Own { has_local_modules, lends_credentials: !is_fork })
}

/// `branch` may also be the hash of a commit. What was found before stays the same.
pub fn reference<'a>(branch: &'a str, found: &'a str) -> Reference<'a> {
    let named = Some(branch).filter(|branch| !branch.is_empty() && !git::is_whole_hash(branch));
    match (found, named) {
        ("", Some(name)) => Reference::Named(name),
        ("", None) if branch.is_empty() => Reference::DefaultBranch,
        ("", None) => Reference::Commit { hash: branch, branch: None },
        (hash, branch) => Reference::Commit { hash, branch },
    }
}

pub const fn limits(config: &Config) -> Limits {
    Limits {
        time: config.fetch_limit,
        bytes: config.fetch_bytes,
        files: config.fetch_files,
        memory: config.git_memory,
        private_targets: config.allow_private_targets,
    }
}
