//! Sends one mail of Windlass itself, by the mail server of the settings.

use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use uuid::Uuid;
use windlass_api::{SmtpSecurity, Timestamp};
use windlass_notify::{Message, email};
use windlass_smtp::{Credentials, Limits, Mail, Security, Sender, Sent, Server, SmtpError};

use crate::app::App;
use crate::config::MailServer;
use crate::error::{self, Error};
use crate::service::account_links;

/// So that a person who waits for an answer still gets one: `request-seconds` is longer unless it is set otherwise.
const LIMITS: Limits = Limits { step: Duration::from_secs(10), whole: Duration::from_secs(20) };

#[derive(Debug)]
pub enum ProductMailError {
    /// None is set (any more).
    NoServer,
    /// This machine cannot call other servers securely, and why.
    Machine(String),
    Smtp(SmtpError),
}

impl ProductMailError {
    fn of_machine(error: Error) -> Self {
        Self::Machine(error.cause.unwrap_or(error.message))
    }
}

impl fmt::Display for ProductMailError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoServer => f.write_str("No mail server is set."),
            Self::Machine(reason) => f.write_str(reason),
            Self::Smtp(error) => error.fmt(f),
        }
    }
}

/// `id` is the mail's own in each try, by which mailboxes notice one that comes twice.
pub async fn send(app: &App, to: &str, message: &Message, id: Uuid) -> Result<Sent, ProductMailError> {
    let server = app.config.mail.server().ok_or(ProductMailError::NoServer)?;
    let outgoing = app.mail_calls().await.map_err(ProductMailError::of_machine)?;
    let mail = written(&server, to, message, id, app.now());
    windlass_smtp::send(&called(&server), &mail, LIMITS, outgoing).await.map_err(ProductMailError::Smtp)
}

/// Whether its link, if it has one, can still be opened.
pub async fn is_of_use(app: &App, message: &Message) -> error::Result<bool> {
    match &message.link {
        Some(link) => account_links::works(app, &link.url).await,
        None => Ok(true),
    }
}

fn written(server: &MailServer<'_>, to: &str, message: &Message, id: Uuid, now: Timestamp) -> Mail {
    let rendered = email::rendered(message);
    let domain = server.from.email.rsplit('@').next().unwrap_or_default();
    Mail {
        from: Sender { name: server.from.name.clone(), address: server.from.email.to_string() },
        to: vec![to.to_owned()],
        subject: rendered.subject,
        text: rendered.text,
        html: Some(rendered.html),
        message_id: format!("{id}@{domain}"),
        date: time_of(now),
    }
}

fn called(server: &MailServer<'_>) -> Server {
    let credentials = server
        .login
        .map(|(user, password)| Credentials { user: user.to_owned(), password: password.reveal().to_owned() });
    let security = match server.security {
        SmtpSecurity::None => Security::None,
        SmtpSecurity::Starttls => Security::Starttls,
        SmtpSecurity::Tls => Security::Tls,
    };
    Server { host: server.host.to_string(), port: server.port, security, credentials }
}

fn time_of(now: Timestamp) -> SystemTime {
    UNIX_EPOCH + Duration::from_micros(now.micros().max(0).unsigned_abs())
}
