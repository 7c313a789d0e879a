//! What Windlass itself writes to people by mail: links, and what has happened to their account. Without a mail server nothing is written.

use windlass_api::{ErrorCode, Timestamp};
use windlass_notify::{Link, Map, Message, Mood};
use windlass_store::audit::INSTANCE_CHAIN;
use windlass_store::users::User;

use crate::app::App;
use crate::auth::Admin;
use crate::error::{Error, Result};
use crate::notify::{self, ProductMail, product_mail};
use crate::service::audit::{Action, Actor, Change, Resource};
use crate::service::tries::count_mail_of;
use crate::service::work::Work;

/// A mail with a link. Who opens it proves that mails to the address reach them.
pub struct LinkMail<'a> {
    pub to: &'a str,
    pub title: &'a str,
    pub lines: &'a [&'a str],
    /// What the link does, in a few words.
    pub label: &'a str,
    pub url: &'a str,
    /// When the link ends; the mail is of no use after that.
    pub expires_at: Timestamp,
}

/// For what cannot be done without.
pub fn require_server(app: &App) -> Result<()> {
    if app.config.mail.is_set() {
        return Ok(());
    }
    let message = "This Windlass has no mail server, so it can send no link. Ask its operator.";
    Err(Error::new(ErrorCode::NoMailServer, message))
}

/// Sends a mail to an admin of the installation at once, and says what went wrong.
pub async fn send_test(admin: &Admin) -> Result<()> {
    let (app, user) = (&admin.app, &admin.caller.user);
    require_server(app)?;
    count_mail_of(app, user.id)?;
    let line = format!(
        "{} has sent it to see whether the mail server of {} works. It does.",
        user.username,
        app.config.public_url()
    );
    let message = message(app.now(), "A test mail", &[&line]);
    let turn = app.calls.acquire().await.map_err(Error::internal)?;
    let sent = Box::pin(product_mail::send(app, &user.email, &message, app.new_id())).await;
    drop(turn);
    let summary = match &sent {
        Ok(_) => "sent themselves a test mail".to_owned(),
        Err(error) => format!("tried to send themselves a test mail: {error}"),
    };
    let mut work = app.begin_own(&admin.caller).await?;
    let change = Change {
        organization_id: None,
        action: Action::Access,
        resource: Resource::Instance,
        resource_id: INSTANCE_CHAIN,
        summary: &summary,
        details: &[],
    };
    work.record(&admin.caller.actor(), &change);
    work.commit().await?;
    sent.map(drop).map_err(|error| Error::new(ErrorCode::MailFailed, error.to_string()))
}

/// Queues a mail with a link, in the transaction that makes the link. Nothing where there is no mail server.
pub async fn send_link(work: &mut Work<'_>, mail: &LinkMail<'_>) -> Result<()> {
    let mut message = message(work.app.now(), mail.title, mail.lines);
    message.link = Some(Link { label: mail.label.to_owned(), url: mail.url.to_owned() });
    send(work, mail.to, &message, Some(mail.expires_at)).await
}

/// Tells users what has happened to their own account, in the transaction in which it happens.
pub async fn tell(work: &mut Work<'_>, user: &User, title: &str, lines: &[&str]) -> Result<()> {
    let message = message(work.app.now(), title, lines);
    send(work, &user.email, &message, None).await
}

/// The same of what an attacker would do unnoticed.
pub async fn tell_of_change(work: &mut Work<'_>, user: &User, title: &str, actor: &Actor) -> Result<()> {
    let (url, now) = (work.app.config.public_url(), work.app.now());
    let by = match actor.origin() {
        Some(origin) => format!("from the address {}", origin.address),
        None => "by the operator of the server".to_owned(),
    };
    let lines = [
        format!("This is about your account {} at {url}. It was done {by}, at {now}.", user.email),
        "If it was not you: set a new password, end your other sessions, revoke the API keys that you do not know, and tell \
         the operator of the server."
            .to_owned(),
    ];
    tell(work, user, title, &lines.each_ref().map(String::as_str)).await
}

async fn send(work: &mut Work<'_>, to: &str, message: &Message, expires_at: Option<Timestamp>) -> Result<()> {
    if work.app.config.mail.is_set() {
        notify::queue_mail(work, &ProductMail { to, message, expires_at }).await?;
    }
    Ok(())
}

fn message(now: Timestamp, title: &str, lines: &[&str]) -> Message {
    Message {
        title: title.to_owned(),
        mood: Mood::Plain,
        lines: lines.iter().map(|line| (*line).to_owned()).collect(),
        facts: Vec::new(),
        quoted: None,
        link: None,
        organization: String::new(),
        at: now.to_string(),
        event: None,
        data: Map::new(),
    }
}
