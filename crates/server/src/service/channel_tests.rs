//! Sends something now, to see whether a channel works.

use tokio::sync::SemaphorePermit;
use windlass_api::{ChannelTest, TestSmtp, TestWebhook};
use windlass_notify::{Link, Message, Mood};
use windlass_store::{smtp_configs, webhook_configs};

use crate::app::App;
use crate::auth::Authority;
use crate::auth::limiter::Limit;
use crate::error::{Error, Result};
use crate::notify::{Tried, send_mail, send_to_webhook};
use crate::service::audit::{Action, Change, Resource};

/// To the address that is stored, active or not.
pub async fn webhook(app: &App, authority: &Authority, input: &TestWebhook) -> Result<ChannelTest> {
    let (kind, organization_id) = (input.r#type, authority.organization_id());
    let stored = webhook_configs::get(&mut app.db.read().await?, organization_id, kind).await?;
    let what = || Error::not_found(&format!("webhook configuration: {}", kind.as_str()));
    let config = stored.ok_or_else(what)?;
    count(app, authority)?;
    let change = Change {
        organization_id: Some(organization_id),
        action: Action::Access,
        resource: Resource::Webhook,
        resource_id: config.id,
        summary: &format!("tested the {} webhook", kind.as_str()),
        details: &[("type", kind.as_str())],
    };
    let _turn = turn(app).await?;
    record(app, authority, &change).await?;
    let tried = send_to_webhook(app, &config, &message(app, authority, kind.as_str()), app.new_id()).await?;
    Ok(answer(tried))
}

/// By the mail server that is stored, active or not.
pub async fn smtp(app: &App, authority: &Authority, input: &TestSmtp) -> Result<ChannelTest> {
    let organization_id = authority.organization_id();
    let stored = smtp_configs::of_organization(&mut app.db.read().await?, organization_id).await?;
    let config = stored.ok_or_else(|| Error::not_found("SMTP configuration"))?;
    count(app, authority)?;
    let change = Change {
        organization_id: Some(organization_id),
        action: Action::Access,
        resource: Resource::Smtp,
        resource_id: config.id,
        summary: &format!("tested the mail server {}", config.host),
        details: &[("host", &config.host)],
    };
    let _turn = turn(app).await?;
    record(app, authority, &change).await?;
    let own = authority.caller().user.email.clone();
    let to = input.to.as_deref().unwrap_or(&own);
    let tried = send_mail(app, &config, to, &message(app, authority, "email"), app.new_id()).await?;
    Ok(answer(tried))
}

/// It is others' servers that are called. What is sent again counts too.
pub(super) fn count(app: &App, authority: &Authority) -> Result<()> {
    let (name, limit) = (format!("notice tests {}", authority.user_id()), Limit::a_minute(app.config.notice_tests));
    app.requests.try_once(&name, limit, app.now()).map_err(|seconds| {
        let message = format!("You have tested channels, or sent notices again, too often. Wait {seconds} seconds.");
        Error::rate_limited(message, seconds)
    })
}

/// One of those that other calls for members take too: a test that is not answered keeps it.
async fn turn(app: &App) -> Result<SemaphorePermit<'_>> {
    let turn = tokio::time::timeout(app.config.notice_limit, app.calls.acquire()).await;
    let busy = || Error::unavailable("Too many other servers are being called. Try again in a moment.", "all turns");
    turn.ok().and_then(std::result::Result::ok).ok_or_else(busy)
}

async fn record(app: &App, authority: &Authority, change: &Change<'_>) -> Result<()> {
    let mut work = app.begin().await?;
    let authority = work.hold(authority).await?;
    work.record(&authority.actor(), change);
    work.commit().await?;
    Ok(())
}

fn message(app: &App, authority: &Authority, channel: &str) -> Message {
    let public_url = app.config.public_url();
    let data = [("channel", channel), ("organization_id", &authority.organization_id().to_string())];
    Message {
        title: "A test of Windlass".to_owned(),
        mood: Mood::Plain,
        lines: vec!["A member has asked for it. What you read this in works.".to_owned()],
        facts: Vec::new(),
        quoted: None,
        link: Some(Link { label: "Open Windlass".to_owned(), url: public_url }),
        organization: authority.organization().name.clone(),
        at: app.now().to_string(),
        event: Some("test".to_owned()),
        data: data.into_iter().map(|(name, value)| (name.to_owned(), value.into())).collect(),
    }
}

fn answer(tried: Tried) -> ChannelTest {
    ChannelTest {
        is_delivered: tried.problem.is_empty(),
        problem: tried.problem,
        status: tried.status,
        answer: tried.answer,
    }
}
