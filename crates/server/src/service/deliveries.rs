//! What code hosts send: whether it can be believed, what becomes of it, and what is kept of it.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use bytes::Bytes;
use tokio::time::Instant;
use uuid::Uuid;
use windlass_api as api;
use windlass_api::{CodeHost, Configuration, DeliveryVerdict, ErrorCode, MASK, Triggers, Wanted};
use windlass_codehost as codehost;
use windlass_codehost::{Event, PreviewRules, Reference, RepositoryKey, Rules, Sender, Verdict};
use windlass_durable::kill_point;
use windlass_store::applications::{self, Application, Candidate};
use windlass_store::deliveries::{self, Content, Delivery};
use windlass_store::organizations;

use crate::app::App;
use crate::auth::limiter::Limit;
use crate::auth::{Actor, Granted, Origin};
use crate::error::{Error, Result};
use crate::records::deliveries::delivery as record;
use crate::service::app_deliveries;
use crate::service::audit::{Action, Change, Resource};
use crate::service::deployments::{self, DeploymentRequest};
use crate::service::held_applications::hold_to_change;
use crate::service::pull_requests;
use crate::service::work::Work;

/// Applications of one repository, in all organizations together.
const MOST_CANDIDATES: i64 = 500;
/// Addresses of one repository in a delivery.
const MOST_ADDRESSES: usize = 8;
/// Refusals are answered at multiples of this time after they arrived, so that it does not tell what was compared.
const REFUSAL_GRAIN: Duration = Duration::from_millis(100);
/// Refused deliveries of one application that are remembered: strangers can send as many as they like.
const KEPT_REFUSED: i64 = 20;
/// How many earlier pushes a push is compared with.
const COMPARED: i64 = 50;
/// Longer bodies are read and hashed on a thread for it.
const SMALL: usize = 64 * 1024;
const LONGEST_NAME: usize = 300;
const LONGEST_REASON: usize = 1_000;
const MOST_HEADERS: usize = 50;

const REFUSED: &str = "No application of this repository has the secret that the delivery was signed with. Compare both with \
                       the application's webhook.";

/// Where a test can end the process.
pub const KILL_POINTS: [&str; 3] = ["delivery-verified", "delivery-judged", "delivery-stored"];

/// As it arrived; nothing of it is believed yet.
pub struct Arrived {
    /// By their names in lower case.
    pub headers: BTreeMap<String, String>,
    pub body: Bytes,
    pub origin: Origin,
}

impl Arrived {
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }
}

/// A delivery that was read, and the applications that it may be for.
struct Read {
    sender: Sender,
    candidates: Vec<Candidate>,
}

/// What became of it for one application.
enum Outcome {
    /// A deployment was queued.
    Accepted,
    /// In the words for the code host.
    Other(String),
}

/// `POST /webhook`. The message for the code host.
pub async fn receive(app: &App, arrived: Arrived) -> Result<String> {
    let began = Instant::now();
    let read = read(app, &arrived).await?;
    let proven = match &read {
        Some(read) => proven(app, read, &arrived.body).await?,
        None => Vec::new(),
    };
    let (Some(read), false) = (&read, proven.is_empty()) else {
        if let Some(message) = app_deliveries::acknowledged(app, &arrived).await? {
            return Ok(message);
        }
        return Err(refuse(app, read.as_ref(), &arrived, began).await);
    };
    kill_point::reached("delivery-verified");
    let (sender, body) = (read.sender.clone(), arrived.body.clone());
    let delivery = off_thread(app, arrived.body.len(), move || codehost::read(&sender, &body)).await?;
    let delivery = delivery.ok_or_else(|| {
        Error::new(
            ErrorCode::InvalidRequest,
            "The body is not what this code host sends. Is the webhook's own template used?",
        )
    })?;
    let content = content(&arrived, &proven, app.config.delivery_body_bytes);
    let incoming = Incoming { sender: &read.sender, delivery: &delivery, content: &content, arrived: &arrived };
    let (mut outcomes, mut failed) = (Vec::new(), None);
    for Proven { application_id, .. } in &proven {
        match take(app, *application_id, &incoming).await {
            Ok(outcome) => outcomes.extend(outcome),
            // It is not to be in the way of other applications. The code host hears of it, and can send the delivery again.
            Err(error) => failed = Some(error),
        }
    }
    if let Some(error) = failed {
        return Err(error);
    }
    Ok(told(&outcomes))
}

/// An application whose secret was used.
struct Proven {
    application_id: Uuid,
    secrets: Vec<String>,
}

/// None when it is not what a code host sends.
async fn read(app: &App, arrived: &Arrived) -> Result<Option<Read>> {
    let Some(sender) = Sender::of(|name| arrived.header(name)) else { return Ok(None) };
    let (body, reader) = (arrived.body.clone(), sender.clone());
    let addresses = off_thread(app, arrived.body.len(), move || codehost::addresses(&reader, &body)).await?;
    let Some(addresses) = addresses else { return Ok(None) };
    let mut keys: Vec<_> =
        addresses.iter().take(MOST_ADDRESSES).filter_map(|address| RepositoryKey::of(address)).collect();
    keys.sort_unstable();
    keys.dedup();
    let keys: Vec<_> = keys.iter().map(RepositoryKey::as_str).collect();
    let candidates = match keys.is_empty() {
        true => Vec::new(),
        false => applications::of_repository(&mut app.db.read().await?, &keys, MOST_CANDIDATES).await?,
    };
    Ok(Some(Read { sender, candidates }))
}

/// Those of the candidates whose secret the sender knows.
async fn proven(app: &App, read: &Read, body: &Bytes) -> Result<Vec<Proven>> {
    let mut candidates = Vec::new();
    for candidate in &read.candidates {
        let id = candidate.id;
        match secrets_of(app, candidate, read.sender.host).await {
            Ok(secrets) => candidates.push(Proven { application_id: id, secrets }),
            // It is not to be in the way of other applications.
            Err(error) => {
                tracing::warn!(cause = error.cause, application = %id, "a secret of deliveries cannot be read");
            }
        }
    }
    let (sender, body) = (read.sender.clone(), body.clone());
    let length = body.len().saturating_mul(candidates.len());
    off_thread(app, length, move || {
        let knows = |secret: &String| sender.is_proven_by(secret, &body);
        candidates.into_iter().filter(|candidate| candidate.secrets.iter().any(knows)).collect()
    })
    .await
}

/// What a delivery for this application can be signed with.
async fn secrets_of(app: &App, candidate: &Candidate, host: CodeHost) -> Result<Vec<String>> {
    let own = app.vault.webhook_secrets_of(candidate.id, &candidate.sealed_webhook).await?;
    let mut secrets: Vec<String> = own.valid(app.now()).map(str::to_owned).collect();
    if host == CodeHost::GitHub {
        secrets.extend(app_deliveries::secret_of(app, candidate).await);
    }
    Ok(secrets)
}

/// What takes long is done on a thread for it, few at a time: strangers can ask for it.
pub(super) async fn off_thread<T: Send + 'static>(
    app: &App,
    length: usize,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T> {
    if length <= SMALL {
        return Ok(work());
    }
    let slot = app.deliveries_read.clone().acquire_owned().await.map_err(Error::internal)?;
    // The slot is free when the work is done, not when its client stops waiting.
    let done = tokio::task::spawn_blocking(move || {
        let _slot = slot;
        work()
    });
    done.await.map_err(Error::internal)
}

/// The same answer, whatever it was: no such repository, no secret, or a wrong one.
async fn refuse(app: &App, read: Option<&Read>, arrived: &Arrived, began: Instant) -> Error {
    let limit = Limit::a_minute(app.config.webhook_failures);
    let refusal = match app.logins.try_address("delivery", arrived.origin.address, limit, app.now()) {
        Ok(()) => {
            if let Some(read) = read
                && let Err(error) = remember_refused(app, read, arrived).await
            {
                tracing::warn!(cause = ?error.cause, "a refused delivery was not written down");
            }
            Error::new(ErrorCode::InvalidSignature, REFUSED)
        }
        Err(seconds) => {
            let message =
                format!("Too many deliveries that no secret fits. Wait {seconds} seconds before the next one.");
            Error::rate_limited(message, seconds)
        }
    };
    let grains = began.elapsed().as_millis() / REFUSAL_GRAIN.as_millis() + 1;
    tokio::time::sleep_until(began + REFUSAL_GRAIN * u32::try_from(grains).unwrap_or(u32::MAX)).await;
    refusal
}

/// So that members see why nothing was deployed. Nothing of what was said is kept, because nothing proves it; and nothing at all if
/// the repository has applications of several organizations, which are not to hear of each other.
async fn remember_refused(app: &App, read: &Read, arrived: &Arrived) -> Result<()> {
    let Some(first) = read.candidates.first() else { return Ok(()) };
    if read.candidates.iter().any(|other| other.organization_id != first.organization_id) {
        return Ok(());
    }
    let mut work = app.begin_step().await?;
    let Some(application) = applications::lock(&mut work, first.id).await? else { return Ok(()) };
    let row = Delivery {
        verdict: DeliveryVerdict::Refused,
        reason: "It was not signed with this application's secret.".into(),
        event: String::new(),
        delivery_id: String::new(),
        ..new_row(app, application.id, &read.sender, arrived.origin.address, arrived.body.len())
    };
    deliveries::insert(&mut work, &row, &Content { headers: "{}".into(), body: Vec::new() }).await?;
    deliveries::forget_old_refused(&mut work, application.id, KEPT_REFUSED).await?;
    work.commit().await?;
    Ok(())
}

fn new_row(app: &App, application_id: Uuid, sender: &Sender, address: IpAddr, bytes: usize) -> Delivery {
    Delivery {
        id: app.new_id(),
        application_id,
        host: sender.host,
        event: plain(&sender.event, LONGEST_NAME),
        delivery_id: sender.delivery_id.clone(),
        verdict: DeliveryVerdict::Ignored,
        reason: String::new(),
        reference: String::new(),
        before_hash: String::new(),
        commit_hash: String::new(),
        pushed_at: None,
        sender: String::new(),
        deployment_id: None,
        replay_of: None,
        ip_address: address.to_string(),
        body_bytes: i64::try_from(bytes).unwrap_or(i64::MAX),
        created_at: app.now(),
    }
}

/// A delivery that can be believed.
struct Incoming<'a> {
    sender: &'a Sender,
    delivery: &'a codehost::Delivery,
    content: &'a Content,
    arrived: &'a Arrived,
}

/// Verdict, deployment and what is kept of the delivery are one transaction: after a crash there is all of it, or nothing and the
/// code host sends it again. None when the application is gone.
async fn take(app: &App, application_id: Uuid, incoming: &Incoming<'_>) -> Result<Option<Outcome>> {
    let Incoming { sender, delivery, content, arrived } = incoming;
    let Some(application) = applications::get(&mut app.db.read().await?, application_id).await? else {
        return Ok(None);
    };
    let judged = judge(app, &application, sender.host, delivery).await?;
    let mut work = app.begin_step().await?;
    if judged.pull_request.is_some() {
        // It can make an application.
        organizations::lock(&mut work, application.organization_id).await?;
    }
    let application = applications::lock(&mut work, application_id).await?;
    let Some(application) = application.filter(|found| found.wanted != Wanted::Deleted) else { return Ok(None) };
    if !sender.delivery_id.is_empty()
        && deliveries::is_known(&mut work, application.id, sender.host, &sender.delivery_id).await?
    {
        return Ok(Some(Outcome::Other("This delivery was received before.".into())));
    }
    let mut row = new_row(app, application.id, sender, arrived.origin.address, arrived.body.len());
    let actor = Actor::Push { origin: arrived.origin.clone() };
    let outcome = decide(&mut work, &application, &judged, &mut row, &actor, Again::No).await?;
    deliveries::insert(&mut work, &row, content).await?;
    deliveries::forget_old(&mut work, application.id, app.config.kept_deliveries).await?;
    kill_point::reached("delivery-judged");
    work.commit().await?;
    kill_point::reached("delivery-stored");
    Ok(Some(outcome))
}

/// Whether a member has asked for a delivery to be looked at again.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Again {
    Yes,
    No,
}

/// What the application's rules say of a delivery.
struct Judged {
    sender: String,
    /// What was looked at.
    change: Option<codehost::Change>,
    /// Why nothing is deployed; none if something is.
    reason: Option<String>,
    /// If it is about one. Then the above is empty.
    pull_request: Option<pull_requests::Judged>,
}

/// Before the transaction: a long list of files takes its time.
async fn judge(app: &App, application: &Application, host: CodeHost, delivery: &codehost::Delivery) -> Result<Judged> {
    let triggers = Triggers::from_json(&application.triggers).map_err(Error::internal)?;
    let configuration = Configuration::from_json(&application.configuration).map_err(Error::internal)?;
    let delivery = delivery.clone();
    if let Event::PullRequest(pull_request) = &delivery.event {
        let (are_on, forks_allowed) = (triggers.previews, triggers.preview_forks);
        let rules = PreviewRules { are_on, forks_allowed, branch: &configuration.branch };
        let verdict = codehost::judge_preview(&rules, &delivery, pull_request, host);
        let pull_request = Some(pull_requests::Judged { pull_request: pull_request.clone(), verdict });
        return Ok(Judged { sender: delivery.sender.clone(), change: None, reason: None, pull_request });
    }
    let length = if triggers.watch_paths.is_empty() { 0 } else { SMALL + 1 };
    off_thread(app, length, move || {
        let rules = Rules {
            auto_deploy: triggers.auto_deploy,
            branch: &configuration.branch,
            tag_pattern: &triggers.tag_pattern,
            watch_paths: &triggers.watch_paths,
        };
        let verdict = codehost::judge(&rules, &delivery);
        let change = verdict.change().cloned();
        let reason = match verdict {
            Verdict::Ignore { reason, .. } => Some(reason),
            Verdict::Deploy(_) => None,
        };
        Judged { sender: delivery.sender.clone(), change, reason, pull_request: None }
    })
    .await
}

/// Queues a deployment, or finds a reason not to. Fills the row, which is not stored yet.
async fn decide(
    work: &mut Work<'_>,
    application: &Application,
    judged: &Judged,
    row: &mut Delivery,
    actor: &Actor,
    again: Again,
) -> Result<Outcome> {
    row.sender = plain(&judged.sender, LONGEST_NAME);
    if let Some(judged) = &judged.pull_request {
        pull_requests::decide(work, application, judged, row, actor, again == Again::Yes).await?;
        row.reason = plain(&row.reason, LONGEST_REASON);
        return Ok(if row.deployment_id.is_some() { Outcome::Accepted } else { Outcome::Other(row.reason.clone()) });
    }
    if let Some(change) = &judged.change {
        describe(row, change);
    }
    let reason = match &judged.reason {
        Some(reason) => Some(reason.clone()),
        None if application.wanted == Wanted::Stopped => Some("The application is stopped.".into()),
        None if again == Again::No => older(work, row).await?,
        None => None,
    };
    if let Some(reason) = reason {
        row.reason = plain(&reason, LONGEST_REASON);
        return Ok(Outcome::Other(row.reason.clone()));
    }
    let configuration = Configuration::from_json(&application.configuration).map_err(Error::internal)?;
    let request = DeploymentRequest::Deploy { commit: pinned(&configuration, row) };
    let deployment = deployments::enqueue(work, actor, application, &request, &[]).await?;
    row.verdict = DeliveryVerdict::Accepted;
    row.reason = "A deployment was queued.".into();
    row.deployment_id = Some(deployment.id);
    Ok(Outcome::Accepted)
}

/// So much of it as is kept, without what a database or a reader could stumble over.
fn plain(text: &str, most: usize) -> String {
    text.chars().take(most).map(|c| if c.is_control() { ' ' } else { c }).collect()
}

fn describe(row: &mut Delivery, change: &codehost::Change) {
    row.reference = match &change.reference {
        Reference::Branch(name) => format!("refs/heads/{name}"),
        Reference::Tag(name) => format!("refs/tags/{name}"),
    };
    row.before_hash = change.before.clone().unwrap_or_default();
    row.commit_hash = change.commit.clone().unwrap_or_default();
    row.pushed_at = change.pushed_at;
}

/// The commit of a tag. A branch is fetched as it is by then: whichever order pushes arrive in, the newest commit is what is deployed.
fn pinned(configuration: &Configuration, row: &Delivery) -> Option<String> {
    let tag = row.reference.strip_prefix("refs/tags/")?;
    (configuration.branch != tag).then(|| row.commit_hash.clone())
}

/// Why a push need not be deployed: it was already, or a later one was.
async fn older(work: &mut Work<'_>, row: &Delivery) -> Result<Option<String>> {
    let pushes = deliveries::pushes(work, row.application_id, &row.reference, COMPARED).await?;
    let accepted = pushes.iter().find(|push| push.verdict == DeliveryVerdict::Accepted);
    let (Some(newest), Some(accepted)) = (pushes.first(), accepted) else { return Ok(None) };
    if accepted.commit_hash == row.commit_hash {
        return Ok(Some("The last push was of this commit too.".into()));
    }
    let is_older = match (row.pushed_at, accepted.pushed_at) {
        // The host's own clock knows best.
        (Some(this), Some(other)) if this != other => this < other,
        _ => {
            let follows = row.before_hash == newest.commit_hash;
            !follows && pushes.iter().any(|later| later.before_hash == row.commit_hash)
        }
    };
    Ok(is_older.then(|| "A newer push was received before this one.".to_owned()))
}

/// What is kept: no header that proves who sent it, and no secret.
fn content(arrived: &Arrived, proven: &[Proven], most: usize) -> Content {
    let secrets: Vec<&String> = proven.iter().flat_map(|one| &one.secrets).collect();
    let masked = |text: &str| secrets.iter().fold(text.to_owned(), |text, secret| text.replace(secret.as_str(), MASK));
    let shown = arrived.headers.iter().filter(|(name, _)| is_shown(name)).take(MOST_HEADERS);
    let shown: BTreeMap<&str, String> = shown
        .map(|(name, value)| (name.as_str(), masked(&value.chars().take(LONGEST_NAME).collect::<String>())))
        .collect();
    let body = match arrived.body.len() <= most {
        true => masked(&String::from_utf8_lossy(&arrived.body)).into_bytes(),
        false => Vec::new(),
    };
    Content { headers: serde_json::to_string(&shown).unwrap_or_else(|_| "{}".into()), body }
}

/// Only those that code hosts use to describe a delivery.
fn is_shown(name: &str) -> bool {
    let is_secret = name.contains("signature") || name.contains("token") || name.contains("secret");
    let is_known = name.starts_with("x-git")
        || name.starts_with("x-forgejo")
        || name.starts_with("x-gogs")
        || name.starts_with("x-hook")
        || name.starts_with("x-event")
        || name.starts_with("x-request")
        || name.starts_with("x-attempt")
        || name.starts_with("webhook-")
        || matches!(name, "content-type" | "content-length" | "user-agent" | "idempotency-key");
    is_known && !is_secret
}

/// For the code host's own log of deliveries.
fn told(outcomes: &[Outcome]) -> String {
    let queued = outcomes.iter().filter(|outcome| matches!(outcome, Outcome::Accepted)).count();
    let mut reasons: Vec<&str> = Vec::new();
    for outcome in outcomes {
        if let Outcome::Other(reason) = outcome
            && !reasons.contains(&reason.as_str())
        {
            reasons.push(reason);
        }
    }
    let ignored = reasons.join(" ");
    match (queued, ignored.is_empty()) {
        (0, _) => format!("Nothing was deployed. {ignored}").trim_end().to_owned(),
        (1, true) => "A deployment was queued.".to_owned(),
        (1, false) => format!("A deployment was queued. Other applications were not deployed: {ignored}"),
        (queued, true) => format!("{queued} deployments were queued."),
        (queued, false) => format!("{queued} deployments were queued. Other applications were not deployed: {ignored}"),
    }
}

/// Looks at a delivery again, with the application as it is now.
pub async fn replay(app: &App, granted: &Granted<Delivery>) -> Result<api::Delivery> {
    let original = granted.row();
    let mut conn = app.db.read().await?;
    let gone = || Error::not_found("delivery");
    let content = deliveries::content(&mut conn, original.id).await?.ok_or_else(gone)?;
    let application = applications::get(&mut conn, original.application_id).await?.ok_or_else(gone)?;
    drop(conn);
    if content.body.is_empty() {
        let message = "What this delivery said was not kept, because it was refused or too long. Redeploy instead.";
        return Err(Error::new(ErrorCode::Conflict, message));
    }
    let headers: BTreeMap<String, String> = serde_json::from_str(&content.headers).map_err(Error::internal)?;
    let sender = Sender::of(|name| headers.get(name).map(String::as_str));
    let delivery = sender.as_ref().and_then(|sender| codehost::read(sender, &content.body));
    let (Some(sender), Some(delivery)) = (sender, delivery) else {
        // A secret that stood in it was masked.
        let message = "What this delivery said cannot be read any more. Have the code host send it again, or redeploy.";
        return Err(Error::new(ErrorCode::Conflict, message));
    };
    let judged = judge(app, &application, sender.host, &delivery).await?;
    let mut work = app.begin().await?;
    let (authority, application) = hold_to_change(&mut work, granted.authority(), original.application_id).await?;
    let address = original.ip_address.parse().map_err(Error::internal)?;
    let mut row = Delivery {
        replay_of: Some(original.id),
        body_bytes: original.body_bytes,
        ..new_row(app, application.id, &sender, address, 0)
    };
    let actor = authority.actor();
    decide(&mut work, &application, &judged, &mut row, &actor, Again::Yes).await?;
    deliveries::insert(&mut work, &row, &content).await?;
    deliveries::forget_old(&mut work, application.id, app.config.kept_deliveries).await?;
    let change = Change {
        organization_id: Some(application.organization_id),
        action: Action::Create,
        resource: Resource::Delivery,
        resource_id: row.id,
        summary: &format!("replayed a delivery for {}", application.name),
        details: &[
            ("application", &application.name),
            ("application_id", &application.id.to_string()),
            ("replay_of", &original.id.to_string()),
        ],
    };
    work.record(&actor, &change);
    work.commit().await?;
    Ok(record(row))
}
