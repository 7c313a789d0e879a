//! The certificate authorities of the configuration, and this installation's account at each.

use uuid::Uuid;
use windlass_acme::{Account, Authority, ExternalAccount};
use windlass_durable::kill_point;
use windlass_store::sealed;

use super::problem::Result;
use crate::app::App;
use crate::config::AcmeSettings;
use crate::error::Error;

/// The authority that is asked after so many failures in a row: the first of the configuration, then the next.
pub fn directory(settings: &AcmeSettings, failures: i64) -> Option<&str> {
    let count = i64::try_from(settings.directories.len()).ok().filter(|count| *count > 0)?;
    let index = usize::try_from(failures.max(0) % count).ok()?;
    settings.directories.get(index).map(String::as_str)
}

pub async fn authority(app: &App, directory: &str) -> Result<Authority> {
    let url = directory.parse().map_err(|error| Error::internal(format!("{directory}: {error}")))?;
    Ok(Authority::new(url, app.authority_calls().await?))
}

/// The account of this installation, made if there is none yet, and the row that it is in.
pub async fn account(app: &App, authority: &Authority, directory: &str) -> Result<(Account, Uuid)> {
    let name = secret_name(directory);
    // One at a time: where an authority wants a key of its own site, it may be good for one account.
    let _turn = app.account_turn.lock().await;
    if let Some(found) = stored(app, authority, &name).await? {
        return Ok(found);
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
    let value = app.vault.seal_instance_secret(&mut work, id, &credentials).await?;
    match sealed::insert_instance_secret(&mut work, id, &name, &value).await {
        Ok(()) => work.commit().await?,
        // Another server has stored its account first. That one is used, so that every server can read the order.
        Err(windlass_store::Error::Duplicate) => {
            drop(work);
            return stored(app, authority, &name).await?.ok_or_else(|| Error::internal("an account vanished").into());
        }
        Err(error) => return Err(error.into()),
    }
    Ok((account, id))
}

async fn stored(app: &App, authority: &Authority, name: &str) -> Result<Option<(Account, Uuid)>> {
    let Some(known) = sealed::instance_secret(&mut app.db.read().await?, name).await? else { return Ok(None) };
    let credentials = app.vault.instance_secret(&known).await?;
    Ok(Some((authority.account(&credentials).await?, known.id)))
}

/// The next order makes another. One that was stored meanwhile stays.
pub async fn forget_account(app: &App, secret: Uuid) -> Result<()> {
    let mut work = app.begin_step().await?;
    sealed::delete_instance_secret(&mut work, secret).await?;
    work.commit().await?;
    Ok(())
}

fn secret_name(directory: &str) -> String {
    format!("acme account {directory}")
}
