//! What the operator does at the machine's own command line, beside a running server or without one.

use std::fs::File;
use std::io::{BufRead, Write};

use uuid::Uuid;
use windlass_api::{Email, NewPassword};
use windlass_durable::lock::{self, LockError};

use crate::app::App;
use crate::auth::token::Token;
use crate::clock::{Clock, Ids};
use crate::config::Config;
use crate::error::Error;
use crate::holder::Holder;
use crate::host::container_engine;
use crate::logs::Logs;
use crate::serve::{lock_data_dir, logs_folder, open_database, open_logs, sqlite_file};
use crate::service::adoption::{self, Adopted};
use crate::service::audit::verify::{self, Report};
use crate::service::audit::{compare, export};
use crate::service::master_key::{self, Rotated};
use crate::service::{second_factor, users};
use crate::vault::ring::KeySource;
use crate::vault::unlock::unlock_existing;

/// Sets a password and ends all of the user's sessions. Without a password a random one is made; it is returned.
pub async fn reset_password(
    config: Config,
    email: &str,
    password: Option<&str>,
    revoke_keys: bool,
) -> Result<String, String> {
    let email = Email::try_from(email).map_err(|problem| format!("email: {problem}"))?;
    let password = match password {
        Some(password) => password.to_owned(),
        None => Token::random().reveal().chars().take(20).collect(),
    };
    let password = NewPassword::try_from(password.as_str()).map_err(|problem| format!("password: {problem}"))?;
    let app = open(config).await?;
    let hash = app.passwords.hash(password.reveal()).await.map_err(in_words)?;
    users::reset_password(&app, &email, &hash, revoke_keys).await.map_err(in_words)?;
    app.db.close().await;
    Ok(password.reveal().to_owned())
}

/// Turns off the second factor of a user who has lost it.
pub async fn disable_two_factor(config: Config, email: &str) -> Result<(), String> {
    let email = Email::try_from(email).map_err(|problem| format!("email: {problem}"))?;
    let app = open(config).await?;
    second_factor::disable_by_operator(&app, &email).await.map_err(in_words)?;
    app.db.close().await;
    Ok(())
}

/// A new master key for the old one.
pub async fn rotate_key(config: Config) -> Result<Rotated, String> {
    let source = config.master_key_source();
    let _lock = lock_keys(&source)?;
    let app = open(config).await?;
    let rotated = master_key::rotate(&app, &source).await.map_err(in_words)?;
    app.db.close().await;
    Ok(rotated)
}

/// Only puts the new key beside the old one. False when there was one already.
pub async fn prepare_key(config: Config) -> Result<bool, String> {
    let source = config.master_key_source();
    let _lock = lock_keys(&source)?;
    let app = open(config).await?;
    let prepared = master_key::prepare(&app, &source).await.map_err(in_words)?;
    app.db.close().await;
    Ok(prepared)
}

/// Lets this installation hold its containers in the place of a copy of it, or become one of its own. Not beside a
/// server, which would go on with what it has read.
pub async fn adopt(config: Config, is_new: bool) -> Result<Adopted, String> {
    let _lock = lock_data_dir(&config.data_dir).map_err(|error| error.to_string())?;
    let app = open(config).await?;
    app.db.migrate().await.map_err(|error| error.to_string())?;
    let adopted = adopt_or_renew(&app, is_new).await;
    app.db.close().await;
    adopted
}

async fn adopt_or_renew(app: &App, is_new: bool) -> Result<Adopted, String> {
    let docker = container_engine(&app.config);
    docker.ping().await.map_err(|error| error.to_string())?;
    let mut conn = app.db.read().await.map_err(|error| error.to_string())?;
    let holder = Holder::of(&mut conn, &app.config.data_dir).await?;
    drop(conn);
    if is_new {
        adoption::check_that_it_is_a_copy(app, &docker, &holder).await?;
        return adoption::start_anew(app).await;
    }
    adoption::take_place(app, &docker, &holder).await
}

/// Two at once would write over each other's file.
fn lock_keys(source: &KeySource) -> Result<Option<File>, String> {
    match source {
        KeySource::File(path) => {
            let path = path.with_extension("key.lock");
            lock::take(&path).map(Some).map_err(|error| match error {
                LockError::Held(_) => "the master key is being rotated by another process".into(),
                LockError::Io(error) => format!("{} cannot be used: {error}", path.display()),
            })
        }
        KeySource::Environment(_) => Ok(None),
    }
}

/// Walks the audit chains, and compares them with a copy that was exported earlier.
pub async fn verify_audit(config: Config, copy: Option<&mut dyn BufRead>) -> Result<Report, String> {
    let known = copy.map(compare::read).transpose()?;
    let app = open(config).await?;
    let mut report = verify::verify(&app.db, &app.audit_key).await.map_err(|error| error.to_string())?;
    if let Some(known) = known {
        let broken = compare::compare(&app.db, &known).await.map_err(|error| error.to_string())?;
        report.broken.extend(broken);
    }
    app.db.close().await;
    Ok(report)
}

/// Every entry of every chain, or of one, as a line of JSON.
pub async fn export_audit(config: Config, chain: Option<Uuid>, out: &mut impl Write) -> Result<(), String> {
    let app = open(config).await?;
    let exported = export::export(&app.db, chain, out).await;
    app.db.close().await;
    exported
}

fn in_words(error: Error) -> String {
    error.cause.unwrap_or(error.message)
}

/// Boxed, because it is large, and each command holds one while it waits.
async fn open(config: Config) -> Result<Box<App>, String> {
    // Opening would create it; an operator who mistypes the folder wants to know instead.
    let file = sqlite_file(&config);
    if config.database_url.is_none() && !file.exists() {
        return Err(format!("data-dir: there is no database at {}", file.display()));
    }
    let db = open_database(&config).await.map_err(|error| error.to_string())?;
    match unlock_existing(&db, config.master_key_source()).await {
        Ok(keys) => {
            let logs = open_logs(&config).await.map_err(|error| error.to_string())?;
            let logs = Logs::open(logs, logs_folder(&config));
            Ok(Box::new(App::new(db, logs, keys, config, Clock::System, Ids::random())))
        }
        Err(error) => {
            db.close().await;
            Err(error.to_string())
        }
    }
}
