//! What the operator does at the machine's own command line, beside a running server or without one.

use windlass_api::{Email, NewPassword};
use windlass_store::{sessions, users};

use crate::app::App;
use crate::auth::token::Token;
use crate::clock::{Clock, Ids};
use crate::config::Config;
use crate::serve::{open_database, sqlite_file};
use crate::service::audit::{self, Action, Actor, Change, Resource};

/// Sets a password and ends all of the user's sessions. Without a password a random one is made; it is returned.
pub async fn reset_password(config: Config, email: &str, password: Option<&str>) -> Result<String, String> {
    let email = Email::try_from(email).map_err(|problem| format!("email: {problem}"))?;
    let password = match password {
        Some(password) => password.to_owned(),
        None => Token::random().reveal().chars().take(20).collect(),
    };
    let password = NewPassword::try_from(password.as_str()).map_err(|problem| format!("password: {problem}"))?;
    let app = open(config).await?;
    let hash = app.passwords.hash(password.reveal()).await.map_err(|error| error.message)?;
    write(&app, &email, &hash).await?;
    app.db.close().await;
    Ok(password.reveal().to_owned())
}

async fn open(config: Config) -> Result<App, String> {
    // Opening would create it; an operator who mistypes the folder wants to know instead.
    let file = sqlite_file(&config);
    if config.database_url.is_none() && !file.exists() {
        return Err(format!("data-dir: there is no database at {}", file.display()));
    }
    let db = open_database(&config).await.map_err(|error| error.to_string())?;
    Ok(App::new(db, config, Clock::System, Ids::random()))
}

async fn write(app: &App, email: &Email, hash: &str) -> Result<(), String> {
    let in_words = |error: windlass_store::Error| error.to_string();
    let mut tx = app.db.begin().await.map_err(in_words)?;
    let found = users::by_email(&mut tx, email).await.map_err(in_words)?;
    let user = found.ok_or_else(|| format!("email: nobody is registered as {}", &**email))?.user;
    users::set_password(&mut tx, user.id, hash, app.now()).await.map_err(in_words)?;
    sessions::delete_others(&mut tx, user.id, None).await.map_err(in_words)?;
    let change = Change {
        organization_id: None,
        action: Action::Update,
        resource: Resource::User,
        resource_id: user.id,
        details: &[("changed", "password"), ("email", email)],
    };
    audit::record(&mut tx, app, &Actor::operator(), change).await.map_err(in_words)?;
    tx.commit().await.map_err(in_words)
}
