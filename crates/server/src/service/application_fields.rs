//! The fields of an application as a request wants them. The application itself is not written yet; what depends on a field, such as the
//! hook of a connection, is changed with it.

use windlass_api::{Can, Changes, Configuration, Given, GivenId, Triggers};
use windlass_store::applications::Application;

use crate::auth::Authority;
use crate::error::{Error, Result};
use crate::service::application_changes::{
    configure, fit_to_source, set_credentials, set_triggers, set_variables, touches_credentials, touches_variables,
};
use crate::service::shared_variables::{Referring, check_references, set_variables_of};
use crate::service::variables::Touched;
use crate::service::work::Work;
use crate::service::{connections, deploy_keys, image_checks, previews, removal};

/// Configuration, variables and credentials as the request wants them; not written yet. The names of the fields that
/// differ from before, and which variables.
pub async fn fill(
    work: &mut Work<'_>,
    authority: &Authority,
    application: &mut Application,
    changes: &Changes,
) -> Result<(Vec<String>, Touched)> {
    let before = Configuration::from_json(&application.configuration).map_err(Error::internal)?;
    let mut configuration = before.clone();
    configure(&mut configuration, changes)?;
    fit_to_source(&mut configuration, &application.repository, changes)?;
    work.app.config.ceilings.check(&before.settings, &configuration.settings)?;
    application.configuration = configuration.to_json().map_err(Error::internal)?;
    let mut changed = configuration.differences(&before);
    changed.extend(fill_triggers(work, authority, application, changes).await?);
    changed.extend(fill_connection(work, authority, application, changes).await?);
    let environments = [before.environment.as_str(), &configuration.environment];
    let (fields, touched) = fill_variables(work, authority, application, changes, environments).await?;
    changed.extend(fields);
    changed.extend(fill_credentials(work, application, changes).await?);
    Ok((changed, touched))
}

/// What was registered through another connection is taken back.
async fn fill_connection(
    work: &mut Work<'_>,
    authority: &Authority,
    application: &mut Application,
    changes: &Changes,
) -> Result<Option<String>> {
    let wanted = match &changes.connection_id {
        Given::Absent => return Ok(None),
        Given::Empty => None,
        Given::Value(GivenId(id)) => Some(*id),
    };
    if wanted == application.connection_id {
        return Ok(None);
    }
    if let Some(id) = wanted {
        // Its token reads whatever the application prints.
        authority.require(work.app, Can::ConnectionUpdate)?;
        connections::check_use(work, application, id).await?;
    }
    if !application.deploy_key_id.is_empty() {
        deploy_keys::forget(work, application).await?;
    }
    removal::unregister(work, application).await?;
    application.hook_id.clear();
    application.connection_id = wanted;
    Ok(Some("connection_id".into()))
}

async fn fill_triggers(
    work: &mut Work<'_>,
    authority: &Authority,
    application: &mut Application,
    changes: &Changes,
) -> Result<Vec<String>> {
    let before = Triggers::from_json(&application.triggers).map_err(Error::internal)?;
    let mut triggers = before.clone();
    set_triggers(&mut triggers, changes);
    image_checks::refuse_without_image(application, &triggers)?;
    if triggers.preview_forks && !before.preview_forks {
        authority.require(work.app, Can::DeployForks)?;
    }
    if before.preview_forks && !triggers.preview_forks {
        previews::end_forks(work, &authority.actor(), application).await?;
    }
    application.triggers = triggers.to_json().map_err(Error::internal)?;
    Ok(triggers.differences(&before))
}

/// In another environment they may refer to other values.
async fn fill_variables(
    work: &mut Work<'_>,
    authority: &Authority,
    application: &mut Application,
    changes: &Changes,
    [environment_before, environment]: [&str; 2],
) -> Result<(Vec<String>, Touched)> {
    if !touches_variables(changes) && environment == environment_before {
        return Ok((Vec::new(), Touched::default()));
    }
    let before = work.app.vault.application_variables(application).await?;
    let mut variables = before.clone();
    if touches_variables(changes) {
        set_variables(&mut variables, changes)?;
    }
    let old = Referring { environment: environment_before, variables: &before };
    check_references(work, authority, old, Referring { environment, variables: &variables }).await?;
    let changed = variables.differences(&before);
    if !changed.is_empty() {
        set_variables_of(work, application, &variables).await?;
    }
    Ok((changed, Touched::between(&before, &variables)))
}

async fn fill_credentials(
    work: &mut Work<'_>,
    application: &mut Application,
    changes: &Changes,
) -> Result<Vec<String>> {
    if !touches_credentials(changes) {
        return Ok(Vec::new());
    }
    // A key that the caller brings takes the place of one that was made here.
    if changes.repository_ssh_key != Given::Absent {
        deploy_keys::forget(work, application).await?;
    }
    let vault = &work.app.vault;
    let before = vault.repository_credentials(application).await?;
    let mut credentials = before.clone();
    set_credentials(&mut credentials, changes);
    let changed = credentials.differences(&before);
    if !changed.is_empty() {
        application.sealed_credentials = vault.seal_repository_credentials(work, application.id, &credentials).await?;
    }
    Ok(changed)
}
