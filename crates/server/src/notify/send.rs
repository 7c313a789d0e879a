//! One delivery of one message to its destination, and what came of it.

use std::time::{Duration, UNIX_EPOCH};

use uuid::Uuid;
use windlass_api::{SmtpSecurity, Timestamp};
use windlass_notify::{Attempt, Channel, Destination, Message, Request, SigningSecret, Url, channel, email};
use windlass_outgoing::header::{HeaderName, LOCATION, RETRY_AFTER};
use windlass_outgoing::{Answer, Call, CallError, HeaderMap, Limits, Method};
use windlass_smtp::{Credentials, Mail, Security, Sender, Server, SmtpError};
use windlass_store::memberships;
use windlass_store::notices::Notice;
use windlass_store::sealed::{PREVIOUS_SIGNING_SECRET, SIGNING_SECRET, SMTP_PASSWORD, WEBHOOK_URL};
use windlass_store::smtp_configs::{self, SmtpConfig};
use windlass_store::webhook_configs::{self, WebhookConfig};

use super::allowed;
use super::masks::Secrets;
use super::product_mail::{self, ProductMailError};
use super::queue::message_cell;
use crate::app::App;
use crate::error::{Error, Result};
use crate::records;
use crate::vault::SealedCell;

/// What is kept of an answer.
const ANSWER_BYTES: usize = 1_024;
/// What is read of it: secrets are masked before it is cut.
const READ_BYTES: usize = 8 * ANSWER_BYTES;
/// The longest that a receiver can have us wait.
const LONGEST_WAIT: Duration = Duration::from_secs(3_600);

/// What came of a delivery.
#[derive(Clone, Debug)]
pub struct Tried {
    /// Where it went, without what is secret.
    pub destination: String,
    /// Of the answer; none without one, and for mail.
    pub status: Option<u16>,
    /// Empty when nothing went wrong.
    pub problem: String,
    /// How the answer begins, without what is secret.
    pub answer: String,
    pub verdict: Verdict,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Taken,
    /// It may be taken in a while: by itself, or because a person corrects what is wrong. At least so long, if the receiver said so.
    Later(Option<Duration>),
    /// This message will never be taken; the next may be.
    Never,
    /// The receiver wants none any more.
    Gone,
}

/// A notice that was tried, or why it cannot be.
pub(super) enum Sending {
    /// To the address that this configuration has, if it is a webhook.
    Tried(Tried, Option<Box<WebhookConfig>>),
    /// Its destination is switched off or gone.
    Off,
    /// The installation has no mail server any more.
    NoServer(&'static str),
    /// Those who would hear it may not (any more), or its link works no more.
    Withheld(&'static str),
}

/// Fails when this server cannot send anything at the moment.
pub(super) async fn send(app: &App, notice: &Notice) -> Result<Sending> {
    let message = message(app, notice).await?;
    match (notice.organization_id, notice.channel.webhook()) {
        (Some(organization_id), Some(kind)) => {
            let mut conn = app.db.read().await?;
            let stored = webhook_configs::get(&mut conn, organization_id, kind).await?;
            let Some(config) = stored.filter(|config| config.is_active) else { return Ok(Sending::Off) };
            if let Some(reason) = allowed::withheld_from_channel(&mut conn, &config, notice).await? {
                return Ok(Sending::Withheld(reason));
            }
            drop(conn);
            let tried = send_to_webhook(app, &config, &message, notice.id).await?;
            Ok(Sending::Tried(tried, Some(Box::new(config))))
        }
        (Some(organization_id), None) => send_to_member(app, organization_id, notice, &message).await,
        (None, _) => send_product_mail(app, notice, &message).await,
    }
}

async fn message(app: &App, notice: &Notice) -> Result<Message> {
    let text = match &notice.sealed_message {
        Some(sealed) => app.vault.open_text(message_cell(notice.id), sealed).await?,
        None => notice.message.clone(),
    };
    serde_json::from_str(&text).map_err(|error| Error::internal(format!("a stored message cannot be read: {error}")))
}

/// To the address of a configuration, whether or not it is active. `id` is the same in each try of the same message.
pub async fn send_to_webhook(app: &App, config: &WebhookConfig, message: &Message, id: Uuid) -> Result<Tried> {
    let url = app.vault.open_text(SealedCell { column: WEBHOOK_URL, row: config.id }, &config.sealed_url).await?;
    let secrets = signing_secrets(app, config).await?;
    let destination = records::masked_url(&url);
    let tried = |verdict, problem: String| Tried {
        destination: destination.clone(),
        status: None,
        problem,
        answer: String::new(),
        verdict,
    };
    let parsed = Url::parse(&url);
    let (Ok(url), Some(channel)) = (parsed, channel(config.kind.as_str())) else {
        let problem = "The address cannot be read. Save it again.".to_owned();
        return Ok(tried(Verdict::Later(None), problem));
    };
    let attempt = Attempt { id: id.to_string(), timestamp: app.now().micros() / 1_000_000 };
    let to = Destination { url, secrets };
    let request = match (channel.request)(message, &to, &attempt) {
        Ok(request) => request,
        Err(bad) => return Ok(tried(Verdict::Later(None), bad.to_string())),
    };
    let masks = Secrets::of(&to.url, &request.headers);
    match post(app, channel, request, message, &to).await? {
        Ok(answer) => {
            let (verdict, problem) = judged(&answer, app.now());
            let is_whole = answer.body.len() < READ_BYTES;
            let shown = masks.shown(&answer.body, is_whole, ANSWER_BYTES);
            Ok(Tried { status: Some(answer.status.as_u16()), answer: shown, ..tried(verdict, problem) })
        }
        Err(problem) => Ok(tried(Verdict::Later(None), problem)),
    }
}

/// The answer, or what went wrong. A receiver that cannot read the message gets it once more in a simpler form, if its channel has one.
async fn post(
    app: &App,
    channel: &Channel,
    request: Request,
    message: &Message,
    to: &Destination,
) -> Result<std::result::Result<Answer, String>> {
    let answer = match post_once(app, request).await? {
        Ok(answer) => answer,
        failed => return Ok(failed),
    };
    let simpler = {
        let said = String::from_utf8_lossy(&answer.body);
        (channel.simpler)(message, to, answer.status.as_u16(), &said)
    };
    match simpler {
        Some(simpler) => post_once(app, simpler).await,
        None => Ok(Ok(answer)),
    }
}

async fn post_once(app: &App, request: Request) -> Result<std::result::Result<Answer, String>> {
    let mut headers = HeaderMap::new();
    for (name, value) in request.headers {
        let Ok(value) = value.parse() else {
            return Ok(Err("The address has a character that cannot be sent.".to_owned()));
        };
        headers.insert(HeaderName::from_static(name), value);
    }
    let limits = Limits { time: app.config.notice_limit, answer_bytes: READ_BYTES };
    let call = Call { method: Method::POST, url: request.url, headers, body: request.body.into(), limits };
    Ok(app.outgoing().await?.send_for_status(call).await.map_err(|error| words(&error)))
}

/// The newest, and the one before as long as it signs too.
async fn signing_secrets(app: &App, config: &WebhookConfig) -> Result<Vec<SigningSecret>> {
    let is_valid = config.previous_secret_until.is_some_and(|until| until > app.now().micros());
    let stored = [
        (SIGNING_SECRET, config.sealed_secret.as_deref()),
        (PREVIOUS_SIGNING_SECRET, config.sealed_previous_secret.as_deref().filter(|_| is_valid)),
    ];
    let mut secrets = Vec::new();
    for (column, sealed) in stored {
        if let Some(sealed) = sealed {
            let text = app.vault.open_text(SealedCell { column, row: config.id }, sealed).await?;
            secrets.push(SigningSecret::parse(&text).map_err(Error::internal)?);
        }
    }
    Ok(secrets)
}

/// What an answer means, and how a person hears of it.
fn judged(answer: &Answer, now: Timestamp) -> (Verdict, String) {
    let status = answer.status.as_u16();
    let said = |what: &str| format!("It answered {status}: {what}.");
    let to = answer.headers.get(LOCATION).and_then(|to| Url::parse(to.to_str().ok()?).ok());
    match status {
        200..=299 => (Verdict::Taken, String::new()),
        300..=399 => {
            let host = to.as_ref().and_then(Url::host_str).map(|host| format!(" to {host}")).unwrap_or_default();
            let what = format!("a redirect{host}. Redirects are not followed; save the address that it leads to");
            (Verdict::Later(None), said(&what))
        }
        401 | 403 => (Verdict::Later(None), said("the address, or a token in it, is not valid (any more)")),
        404 => (Verdict::Later(None), said("there is nothing at this address (any more)")),
        410 => (Verdict::Gone, said("the address is gone for good")),
        400 | 413 | 415 | 422 => (Verdict::Never, said("it does not take this message")),
        429 => (Verdict::Later(retry_after(answer, now)), said("too many messages")),
        503 => (Verdict::Later(retry_after(answer, now)), said("it takes none at the moment")),
        500..=599 => (Verdict::Later(None), said("something is wrong there")),
        _ => (Verdict::Later(None), said("it did not take the message")),
    }
}

/// In seconds or as a date; bounded.
fn retry_after(answer: &Answer, now: Timestamp) -> Option<Duration> {
    let text = answer.headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    let seconds = text.parse().ok().or_else(|| {
        let format = &time::format_description::well_known::Rfc2822;
        let at = time::OffsetDateTime::parse(text, format).ok()?.unix_timestamp();
        u64::try_from(at - now.micros() / 1_000_000).ok()
    })?;
    Some(Duration::from_secs(seconds).min(LONGEST_WAIT))
}

fn words(error: &CallError) -> String {
    match error {
        CallError::PrivateAddress { .. } => {
            format!("{error} The operator can allow that with the setting allow-private-targets.")
        }
        _ => error.to_string(),
    }
}

/// By the mail server of the organization.
async fn send_to_member(app: &App, organization_id: Uuid, notice: &Notice, message: &Message) -> Result<Sending> {
    let mut conn = app.db.read().await?;
    let stored = smtp_configs::of_organization(&mut conn, organization_id).await?;
    let Some(config) = stored.filter(|config| config.is_active) else { return Ok(Sending::Off) };
    if !memberships::has_email(&mut conn, organization_id, &notice.recipient).await? {
        return Ok(Sending::Off);
    }
    if let Some(reason) = allowed::withheld_from_member(&mut conn, &config, notice).await? {
        return Ok(Sending::Withheld(reason));
    }
    drop(conn);
    Ok(Sending::Tried(send_mail(app, &config, &notice.recipient, message, notice.id).await?, None))
}

/// Through the mail server of an organization, whether or not it is active.
pub async fn send_mail(app: &App, config: &SmtpConfig, to: &str, message: &Message, id: Uuid) -> Result<Tried> {
    let password = match &config.sealed_password {
        Some(sealed) => Some(app.vault.open_text(SealedCell { column: SMTP_PASSWORD, row: config.id }, sealed).await?),
        None => None,
    };
    let server = Server {
        host: config.host.clone(),
        port: u16::try_from(config.port).unwrap_or_default(),
        security: match config.security {
            SmtpSecurity::None => Security::None,
            SmtpSecurity::Starttls => Security::Starttls,
            SmtpSecurity::Tls => Security::Tls,
        },
        credentials: password.map(|password| Credentials { user: config.username.clone(), password }),
    };
    let limits = windlass_smtp::Limits { step: app.config.notice_limit, whole: app.config.notice_limit * 2 };
    let sent = windlass_smtp::send(&server, &mail(app, config, to, message, id), limits, app.outgoing().await?).await;
    let destination = format!("{}:{}", config.host, config.port);
    Ok(match sent {
        Ok(sent) => taken(destination, sent.answer.to_string()),
        Err(error) => refused(destination, &error),
    })
}

fn mail(app: &App, config: &SmtpConfig, to: &str, message: &Message, id: Uuid) -> Mail {
    let written = email::rendered(message);
    let domain = config.from_email.rsplit('@').next().unwrap_or("localhost");
    let now = Duration::from_micros(u64::try_from(app.now().micros()).unwrap_or_default());
    Mail {
        from: Sender { name: config.from_name.clone(), address: config.from_email.clone() },
        to: vec![to.to_owned()],
        subject: written.subject,
        text: written.text,
        html: Some(written.html),
        message_id: format!("{id}@{domain}"),
        date: UNIX_EPOCH + now,
    }
}

fn taken(destination: String, answer: String) -> Tried {
    Tried { destination, status: None, problem: String::new(), answer, verdict: Verdict::Taken }
}

fn refused(destination: String, error: &SmtpError) -> Tried {
    let verdict = match error {
        // About this mail; anything else is about the server, or how it is spoken to.
        SmtpError::BadMail { .. }
        | SmtpError::BadAddress { .. }
        | SmtpError::AllRecipientsRefused { .. }
        | SmtpError::MessageRefused { .. }
            if !error.is_temporary() =>
        {
            Verdict::Never
        }
        _ => Verdict::Later(None),
    };
    let problem = match error {
        SmtpError::Connection(error) => words(error),
        _ => error.to_string(),
    };
    Tried { destination, status: None, problem, answer: String::new(), verdict }
}

async fn send_product_mail(app: &App, notice: &Notice, message: &Message) -> Result<Sending> {
    if !product_mail::is_of_use(app, message).await? {
        return Ok(Sending::Withheld("its link was used, withdrawn or replaced before it could be sent"));
    }
    let destination = "the mail server of the installation".to_owned();
    Ok(match product_mail::send(app, &notice.recipient, message, notice.id).await {
        Ok(sent) => Sending::Tried(taken(destination, sent.answer.to_string()), None),
        Err(ProductMailError::NoServer) => Sending::NoServer("the installation has no mail server any more"),
        Err(ProductMailError::Smtp(error)) => Sending::Tried(refused(destination, &error), None),
        Err(ProductMailError::Machine(problem)) => {
            let verdict = Verdict::Later(None);
            Sending::Tried(Tried { destination, status: None, problem, answer: String::new(), verdict }, None)
        }
    })
}

#[cfg(test)]
mod tests {
    use windlass_outgoing::{Bytes, StatusCode};

    use super::*;

    fn answer(status: u16, headers: &[(HeaderName, &str)]) -> Answer {
        let headers = headers.iter().map(|(name, value)| (name.clone(), value.parse().unwrap())).collect();
        Answer { status: StatusCode::from_u16(status).unwrap(), headers, body: Bytes::new() }
    }

    #[test]
    fn what_answers_mean() {
        let verdict = |status| judged(&answer(status, &[]), Timestamp::from_micros(0)).0;
        assert_eq!((verdict(200), verdict(204), verdict(410)), (Verdict::Taken, Verdict::Taken, Verdict::Gone));
        assert_eq!((verdict(400), verdict(413), verdict(422)), (Verdict::Never, Verdict::Never, Verdict::Never));
        for status in [100, 301, 308, 401, 403, 404, 408, 429, 500, 502, 503] {
            assert_eq!(verdict(status), Verdict::Later(None), "{status}");
        }
        let redirect = answer(302, &[(LOCATION, "https://elsewhere.example/secret")]);
        let (_, problem) = judged(&redirect, Timestamp::from_micros(0));
        assert!(problem.contains("redirect to elsewhere.example") && !problem.contains("secret"), "{problem}");
    }

    #[test]
    fn a_receiver_can_say_how_long_to_wait() {
        let now = Timestamp::from_micros(1_445_412_470_000_000);
        let wait = |text| judged(&answer(429, &[(RETRY_AFTER, text)]), now).0;
        assert_eq!(wait("90"), Verdict::Later(Some(Duration::from_secs(90))));
        assert_eq!(wait("Wed, 21 Oct 2015 07:28:00 GMT"), Verdict::Later(Some(Duration::from_secs(10))));
        assert_eq!(wait("90000"), Verdict::Later(Some(LONGEST_WAIT)));
        assert_eq!((wait("soon"), wait("-1")), (Verdict::Later(None), Verdict::Later(None)));
    }
}
