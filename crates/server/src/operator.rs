//! What the operator does at the machine's own command line, beside a running server or without one.

use windlass_api::{Email, NewPassword};

use crate::app::App;
use crate::auth::token::Token;
use crate::clock::{Clock, Ids};
use crate::config::Config;
use crate::error::Error;
use crate::serve::{open_database, sqlite_file};
use crate::service::users;

/// Sets a password and ends all of the user's sessions. Without a password a random one is made; it is returned.
pub async fn reset_password(config: Config, email: &str, password: Option<&str>) -> Result<String, String> {
    let email = Email::try_from(email).map_err(|problem| format!("email: {problem}"))?;
    let password = match password {
        Some(password) => password.to_owned(),
        None => Token::random().reveal().chars().take(20).collect(),
    };
    let password = NewPassword::try_from(password.as_str()).map_err(|problem| format!("password: {problem}"))?;
    let app = open(config).await?;
    let in_words = |error: Error| error.cause.unwrap_or(error.message);
    let hash = app.passwords.hash(password.reveal()).await.map_err(in_words)?;
    users::reset_password(&app, &email, &hash).await.map_err(in_words)?;
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
