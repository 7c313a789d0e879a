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
use crate::service::tries::{count_mail_of, may_mail};
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

/// What has happened to an account, and its user is told: what an attacker would do unnoticed.
#[derive(Clone, Copy)]
pub enum News<'a> {
    LoginFromNewPlace,
    PasswordChanged,
    PasswordReset,
    SecondFactorOn,
    SecondFactorOff,
    RecoveryCodesRenewed,
    RecoveryCodeUsed { left: i64 },
    EmailAskedFor { email: &'a str },
    EmailChanged,
}

impl News<'_> {
    /// Each is counted for itself, so that one of which there are many hides no other.
    const fn kind(self) -> &'static str {
        match self {
            Self::LoginFromNewPlace => "login from new place",
            Self::PasswordChanged => "password changed",
            Self::PasswordReset => "password reset",
            Self::SecondFactorOn => "second factor on",
            Self::SecondFactorOff => "second factor off",
            Self::RecoveryCodesRenewed => "recovery codes renewed",
            Self::RecoveryCodeUsed { .. } => "recovery code used",
            Self::EmailAskedFor { .. } => "email asked for",
            Self::EmailChanged => "email changed",
        }
    }

    fn title(self) -> String {
        let title = match self {
            Self::LoginFromNewPlace => "Your account was logged in to from a new place",
            Self::PasswordChanged => "Your password was changed",
            Self::PasswordReset => "Your password was changed by a link",
            Self::SecondFactorOn => "Your second factor was turned on",
            Self::SecondFactorOff => "Your second factor was turned off",
            Self::RecoveryCodesRenewed => "Your recovery codes were renewed",
            Self::RecoveryCodeUsed { left } => return format!("A recovery code was used; {left} are left"),
            Self::EmailAskedFor { .. } => "Another e-mail address was asked for",
            Self::EmailChanged => "Your e-mail address was changed",
        };
        title.to_owned()
    }

    fn more(self) -> Option<String> {
        let Self::EmailAskedFor { email } = self else { return None };
        Some(format!("It becomes {email} when the link is opened that was sent there. A new password ends that link."))
    }
}

/// Tells users what has happened to their own account, in the transaction in which it happens: at most so often an hour. The audit log
/// has all of it.
pub async fn tell(work: &mut Work<'_>, user: &User, news: News<'_>, actor: &Actor) -> Result<()> {
    let app = work.app;
    if !app.config.mail.is_set() || !may_mail(app, user.id, news.kind()) {
        return Ok(());
    }
    let (url, now) = (app.config.public_url(), app.now());
    let by = match actor.origin() {
        Some(origin) => format!("from the address {}", origin.address),
        None => "by the operator of the server".to_owned(),
    };
    let about = format!("This is about your account {} at {url}. It was done {by}, at {now}.", user.email);
    let advice = "If it was not you: set a new password, end your other sessions, revoke the API keys that you do not know, and tell \
                  the operator of the server.";
    let lines: Vec<String> = [Some(about), news.more(), Some(advice.to_owned())].into_iter().flatten().collect();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    send(work, &user.email, &message(now, &news.title(), &lines), None).await
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
