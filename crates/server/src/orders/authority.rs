//! The certificate authorities of the configuration, and this installation's account at each.

use windlass_acme::{Account, Authority, ExternalAccount};
use windlass_durable::kill_point;
use windlass_store::sealed;

use super::problem::Result;
use crate::app::App;
use crate::config::AcmeSettings;
use crate::error::Error;

/// The authority that is asked after so many failures in a row: the first of the configuration, then the next. Beginning with the one
/// that an order is under way at.
pub fn directory(settings: &AcmeSettings, failures: i64) -> Option<&str> {
    let count = i64::try_from(settings.directories.len()).ok().filter(|count| *count > 0)?;
    let index = usize::try_from(failures.max(0) % count).ok()?;
    settings.directories.get(index).map(String::as_str)
}

pub async fn authority(app: &App, directory: &str) -> Result<Authority> {
    let url = directory.parse().map_err(|error| Error::internal(format!("{directory}: {error}")))?;
    Ok(Authority::new(url, app.authority_calls().await?))
}

/// The account of this installation, made if there is none yet.
pub async fn account(app: &App, authority: &Authority, directory: &str) -> Result<Account> {
    let name = secret_name(directory);
    let known = sealed::instance_secret(&mut app.db.read().await?, &name).await?;
    if let Some(known) = known {
        let credentials = app.vault.authority_account(&known).await?;
        return Ok(authority.account(&credentials).await?);
    }
    let settings = &app.config.acme;
    let external = settings
        .key_id
        .as_ref()
        .zip(settings.key.as_ref())
        .map(|(key_id, key)| ExternalAccount { key_id: key_id.clone(), key: key.reveal().to_vec() });
    let (account, credentials) = authority.register(settings.email.as_deref(), external.as_ref()).await?;
    kill_point::reached("order-account-made");
    let mut work = app.begin_step().await?;
    let id = app.new_id();
    let value = app.vault.seal_authority_account(&mut work, id, &credentials).await?;
    match sealed::insert_instance_secret(&mut work, id, &name, &value).await {
        Ok(()) => work.commit().await?,
        // Another server was quicker. This account orders what is under way here, and is forgotten.
        Err(windlass_store::Error::Duplicate) => {}
        Err(error) => return Err(error.into()),
    }
    Ok(account)
}

/// The next order makes another.
pub async fn forget_account(app: &App, directory: &str) -> Result<()> {
    let mut work = app.begin_step().await?;
    sealed::delete_instance_secret(&mut work, &secret_name(directory)).await?;
    work.commit().await?;
    Ok(())
}

fn secret_name(directory: &str) -> String {
    format!("acme account {directory}")
}
