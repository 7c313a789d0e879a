//! One attempt to get a certificate for a domain. It begins where the last one ended: what an authority has to be told, and what it has
//! answered, is in the row before the next step depends on it.

use std::time::Duration;

use tokio::time::{Instant, sleep};
use uuid::Uuid;
use windlass_acme::{Account, Order, Request, Stage, Wanted, Way};
use windlass_api::Timestamp;
use windlass_certificate::{Checked, Description};
use windlass_durable::kill_point;
use windlass_store::certificate_orders::{self, CertificateOrder};
use windlass_store::certificates::{self, Certificate, Material, Scope};
use windlass_store::domains;

use super::authority::{account, authority, directory, forget_account};
use super::preflight::{self, Asked};
use super::problem::{Problem, ProblemKind, Result, Stopped};
use super::schedule::{self, DAY, Lifetime, Next, wait_seconds};
use crate::app::App;
use crate::error::Error;
use crate::host::Host;
use crate::jobs::Held;
use crate::served_certificates::Choice;
use crate::service::audit::{Action, Actor, Change, Resource};

/// How long an authority may take to look at a proof, or to sign.
const LIMIT: Duration = Duration::from_secs(90);
const FIRST_PAUSE: Duration = Duration::from_millis(250);
const LONGEST_PAUSE: Duration = Duration::from_secs(4);
/// How long the orders of an organization count.
const BUDGET_DAYS: i64 = 7;
/// Of all organizations, in three hours. The largest authority allows 300.
const MOST_OF_ALL: i64 = 100;
const ALL_SECONDS: i64 = 3 * 3_600;

/// Does what is to be done about an order now. Its job is gone afterwards, unless something of our own did not work.
pub async fn carry_out(host: &Host, held: &Held, id: Uuid) -> Result<()> {
    kill_point::reached("order-claimed");
    let Some(order) = certificate_orders::get(&mut host.app.db.read().await?, id).await? else {
        return done(held).await;
    };
    let mut attempt = Attempt { host, app: &host.app, held, order };
    match attempt.run().await {
        Err(Stopped::Failed(problem)) => attempt.fail(problem).await,
        ended => ended,
    }
}

/// There is nothing to do.
async fn done(held: &Held) -> Result<()> {
    let mut work = held.begin().await?;
    held.done(&mut work).await?;
    work.commit().await?;
    Ok(())
}

struct Attempt<'a> {
    host: &'a Host,
    app: &'a App,
    held: &'a Held,
    order: CertificateOrder,
}

impl Attempt<'_> {
    async fn run(&mut self) -> Result<()> {
        if self.app.now() < self.order.next_at {
            return done(self.held).await;
        }
        let found = domains::get(&mut self.app.db.read().await?, &self.order.domain).await?;
        if found.is_none_or(|domain| domain.organization_id != self.order.organization_id) {
            return self.leave().await;
        }
        let Some(directory) = self.directory() else { return self.rest(DAY).await };
        if let Some(at) = self.nothing_to_order(&directory).await? {
            return self.finish(|order| order.next_at = at).await;
        }
        let authority = authority(self.app, &directory).await?;
        let is_new = self.order.order_url.is_empty() || self.order.authority != directory;
        if is_new {
            let way = self.preflight(&authority).await?;
            self.check_budget().await?;
            self.save(|order| {
                (order.way, order.token, order.key_authorization) = (way_word(way).into(), "".into(), "".into());
            })
            .await?;
        }
        let account = account(self.app, &authority, &directory).await?;
        let mut placed = self.place(&account, &directory, is_new).await?;
        let (chain_pem, key_pem) = self.see_through(&mut placed).await?;
        self.keep(&account, chain_pem, key_pem).await
    }

    /// The authority that an order is under way at, or the one whose turn it is.
    fn directory(&self) -> Option<String> {
        let settings = &self.app.config.acme;
        let is_under_way = !self.order.order_url.is_empty() && settings.directories.contains(&self.order.authority);
        match is_under_way {
            true => Some(self.order.authority.clone()),
            false => directory(settings, self.order.failures).map(str::to_owned),
        }
    }

    /// When to look again, if the domain is served with a certificate that is good for a while yet.
    async fn nothing_to_order(&self, directory: &str) -> Result<Option<Timestamp>> {
        let (now, order) = (self.app.now(), &self.order);
        let mut conn = self.app.db.read().await?;
        let all = certificates::scopes_of_organization(&mut conn, order.organization_id).await?;
        let choice = Choice::new(all);
        let Some(served) = choice.of(order.organization_id, &order.domain, now).filter(|one| one.is_valid_at(now))
        else {
            return Ok(None);
        };
        let advice = match order.certificate_id == Some(served.id) {
            true => certificates::material(&mut conn, served.id).await?.map(|material| material.chain_pem),
            false => None,
        };
        drop(conn);
        let advice = match advice {
            // Without an answer the certificate's own time decides.
            Some(chain_pem) => self.advice(directory, &chain_pem).await.unwrap_or_default(),
            None => None,
        };
        Ok(match schedule::next(order.id, lifetime(served), advice, now) {
            Next::Renew => None,
            Next::Wait(at) => Some(at),
        })
    }

    async fn advice(&self, directory: &str, chain_pem: &str) -> Result<Option<windlass_acme::Renewal>> {
        let authority = authority(self.app, directory).await?;
        let account = account(self.app, &authority, directory).await?;
        Ok(account.renewal(chain_pem).await?)
    }

    /// Shows the edge a token of our own, and looks whether it is what answers at the domain.
    async fn preflight(&mut self, authority: &windlass_acme::Authority) -> Result<Way> {
        let domain = self.order.domain.clone();
        let addresses = preflight::addresses(self.app, &domain).await?;
        preflight::may_issue(self.app, authority, &domain).await?;
        let token = crate::random::base64_url();
        let key_authorization = format!("{token}.windlass");
        self.show(Way::Http, &token, &key_authorization).await?;
        let asked = Asked { token: &token, key_authorization: &key_authorization };
        preflight::way(self.app, &domain, addresses, &asked).await
    }

    /// So that one organization cannot use up what an authority allows to all.
    async fn check_budget(&self) -> Result<()> {
        let (now, mut conn) = (self.app.now(), self.app.db.read().await?);
        let limit = self.app.config.organization_orders;
        let week = now.plus_seconds(-BUDGET_DAYS * DAY);
        let own = certificate_orders::count_ordered(&mut conn, Some(self.order.organization_id), week).await?;
        if own >= limit && !self.is_renewal() {
            let words = format!(
                "The organization has ordered {own} certificates within {BUDGET_DAYS} days, and can order {limit} \
                 (organization-orders). It is tried again."
            );
            return Err(Problem::rate_limited(words).into());
        }
        let all = certificate_orders::count_ordered(&mut conn, None, now.plus_seconds(-ALL_SECONDS)).await?;
        if all >= MOST_OF_ALL {
            let words = format!("{all} certificates were ordered within three hours. This one waits for its turn.");
            return Err(Problem::rate_limited(words).into());
        }
        Ok(())
    }

    fn is_renewal(&self) -> bool {
        self.order.certificate_id.is_some()
    }

    /// The order at the authority: the one that was placed before, or a new one.
    async fn place(&mut self, account: &Account, directory: &str, is_new: bool) -> Result<Order> {
        if !is_new {
            match account.ordered(&self.order.order_url).await {
                Ok(placed) => return Ok(placed),
                Err(windlass_acme::AcmeError::OrderGone(_) | windlass_acme::AcmeError::Refused(_)) => {}
                Err(error) => return Err(error.into()),
            }
        }
        let replaced = match self.order.certificate_id {
            Some(id) => certificates::material(&mut self.app.db.read().await?, id).await?.map(|one| one.chain_pem),
            None => None,
        };
        kill_point::reached("order-before");
        let profile = self.app.config.acme.profile.clone();
        let placed = account.order(&self.order.domain, &profile, replaced.as_deref()).await?;
        let (url, now) = (placed.url().to_owned(), self.app.now());
        self.save(|order| {
            (order.authority, order.order_url, order.sealed_key) = (directory.to_owned(), url, None);
            order.ordered_at = Some(now.micros());
        })
        .await?;
        kill_point::reached("order-stored");
        Ok(placed)
    }

    /// From the proof to the certificate, with its key.
    async fn see_through(&mut self, placed: &mut Order) -> Result<(String, String)> {
        let (deadline, mut pause) = (Instant::now() + LIMIT, FIRST_PAUSE);
        let mut is_told = false;
        loop {
            match placed.stage() {
                Stage::Unproven if !is_told => {
                    self.prove(placed).await?;
                    is_told = true;
                }
                Stage::Unproven | Stage::Signing => {}
                Stage::Proven => {
                    let request = self.request().await?;
                    placed.sign(&request.request_der).await?;
                    kill_point::reached("order-signed");
                }
                Stage::Issued => {
                    let key_pem = self.request().await?.key_pem;
                    if let Some(chain_pem) = placed.certificate().await? {
                        return Ok((chain_pem, key_pem));
                    }
                }
                Stage::Ended => return Err(placed.refusal().await.into()),
            }
            if Instant::now() >= deadline {
                let words = format!("The certificate authority has not decided within {} s.", LIMIT.as_secs());
                return Err(Problem { words, kind: ProblemKind::Unreachable }.into());
            }
            sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
            placed.look().await?;
        }
    }

    /// Lets every edge show what the authority looks for, and tells it so.
    async fn prove(&mut self, placed: &mut Order) -> Result<()> {
        let ways = match self.order.way.as_str() {
            "tls_alpn" => [Way::TlsAlpn, Way::Http],
            _ => [Way::Http, Way::TlsAlpn],
        };
        let Some(Wanted { way, token, key_authorization }) = placed.wanted(&ways).await? else { return Ok(()) };
        self.show(way, &token, &key_authorization).await?;
        kill_point::reached("order-proof-published");
        placed.can_be_seen(way).await?;
        kill_point::reached("order-proof-told");
        Ok(())
    }

    async fn show(&mut self, way: Way, token: &str, key_authorization: &str) -> Result<()> {
        self.save(|order| {
            (order.way, order.token, order.key_authorization) =
                (way_word(way).into(), token.into(), key_authorization.into());
        })
        .await?;
        self.host.routes.publish(self.app).await.map_err(|error| Error::internal(error.to_string()))?;
        self.host.wait_for_other_edges().await?;
        Ok(())
    }

    /// What is to be signed. Its key is in the row before the authority hears of it: it may sign, and the server be gone.
    async fn request(&mut self) -> Result<Request> {
        let domain = self.order.domain.clone();
        if let Some(sealed) = &self.order.sealed_key {
            let key_pem = self.app.vault.certificate_order_key(self.order.id, sealed).await?;
            return Ok(Request::with_key(&domain, &key_pem)?);
        }
        let request = Request::new(&domain)?;
        let mut work = self.held.begin().await?;
        let sealed = self.app.vault.seal_certificate_order_key(&mut work, self.order.id, &request.key_pem).await?;
        self.order.sealed_key = Some(sealed);
        certificate_orders::update(&mut work, &self.order).await?;
        work.commit().await?;
        kill_point::reached("order-key-stored");
        Ok(request)
    }

    /// The certificate is served from then on. One that it replaces is gone.
    async fn keep(&mut self, account: &Account, chain_pem: String, key_pem: String) -> Result<()> {
        let now = self.app.now();
        let checked = check(chain_pem, key_pem, now).await?;
        if !checked.description.names.contains(&self.order.domain) {
            let words =
                format!("The certificate authority has issued a certificate that is not for {}.", self.order.domain);
            return Err(Problem::refused(words).into());
        }
        let advice = account.renewal(&checked.chain_pem).await.unwrap_or_default();
        let certificate = row(self.app, self.order.organization_id, checked.description);
        let next_at = match schedule::next(self.order.id, lifetime(&certificate.scope()), advice, now) {
            Next::Wait(at) => at,
            // It asks for a renewal of what it has just issued.
            Next::Renew => now.plus_seconds(DAY),
        };
        let mut work = self.held.begin().await?;
        let sealed_key = self.app.vault.seal_certificate_key(&mut work, certificate.id, &checked.key_pem).await?;
        certificates::insert(&mut work, &certificate, &Material { chain_pem: checked.chain_pem, sealed_key }).await?;
        let replaced = self.order.certificate_id.replace(certificate.id);
        forget_attempt(&mut self.order);
        (self.order.problem, self.order.failures, self.order.next_at) = (String::new(), 0, next_at);
        self.order.updated_at = now;
        certificate_orders::update(&mut work, &self.order).await?;
        if let Some(replaced) = replaced {
            certificates::delete(&mut work, replaced).await?;
        }
        let change = Change {
            organization_id: Some(certificate.organization_id),
            action: Action::Create,
            resource: Resource::Certificate,
            resource_id: certificate.id,
            summary: &format!("obtained a certificate for {}", self.order.domain),
            details: &[
                ("names", &self.order.domain),
                ("issuer", &certificate.issuer),
                ("fingerprint", &certificate.fingerprint),
                ("not_after", &certificate.not_after.to_string()),
            ],
        };
        work.record(&Actor::Server, &change);
        self.held.done(&mut work).await?;
        work.wake_reconciler();
        work.commit().await?;
        kill_point::reached("order-issued");
        tracing::info!(domain = self.order.domain, "has a certificate until {}", certificate.not_after);
        if let Err(error) = self.host.routes.publish(self.app).await {
            tracing::warn!(%error, "the edge was not told of a new certificate yet; the reconciler tells it");
        }
        Ok(())
    }

    /// The row says why, and when it is tried again.
    async fn fail(&mut self, problem: Problem) -> Result<()> {
        let (now, failures) = (self.app.now(), self.order.failures.saturating_add(1));
        tracing::warn!(domain = self.order.domain, problem = problem.words, "there is no certificate yet");
        if let Some(directory) = self.directory().filter(|_| problem.kind == ProblemKind::BadAccount) {
            forget_account(self.app, &directory).await?;
        }
        // What is under way at an authority that does not answer can be gone on with.
        let is_kept = matches!(problem.kind, ProblemKind::Unreachable | ProblemKind::RateLimited);
        let wait = wait_seconds(problem.kind, failures);
        self.finish(|order| {
            if !is_kept {
                forget_attempt(order);
            }
            (order.problem, order.failures, order.next_at) = (problem.words, failures, now.plus_seconds(wait));
        })
        .await
    }

    /// The domain is not served here any more. What was ordered for it still counts for a week.
    async fn leave(&mut self) -> Result<()> {
        let (now, id) = (self.app.now(), self.order.id);
        let until = self.order.ordered_at.map(|at| Timestamp::from_micros(at).plus_seconds(BUDGET_DAYS * DAY));
        if let Some(until) = until.filter(|until| now < *until) {
            return self
                .finish(|order| {
                    forget_attempt(order);
                    order.next_at = until;
                })
                .await;
        }
        let mut work = self.held.begin().await?;
        certificate_orders::delete(&mut work, id).await?;
        self.held.done(&mut work).await?;
        work.commit().await?;
        Ok(())
    }

    async fn rest(&mut self, seconds: i64) -> Result<()> {
        let at = self.app.now().plus_seconds(seconds);
        self.finish(|order| order.next_at = at).await
    }

    async fn save(&mut self, change: impl FnOnce(&mut CertificateOrder)) -> Result<()> {
        change(&mut self.order);
        self.order.updated_at = self.app.now();
        let mut work = self.held.begin().await?;
        certificate_orders::update(&mut work, &self.order).await?;
        work.commit().await?;
        Ok(())
    }

    /// Saves it, and nothing is left to do for now.
    async fn finish(&mut self, change: impl FnOnce(&mut CertificateOrder)) -> Result<()> {
        change(&mut self.order);
        self.order.updated_at = self.app.now();
        let mut work = self.held.begin().await?;
        certificate_orders::update(&mut work, &self.order).await?;
        self.held.done(&mut work).await?;
        work.wake_reconciler();
        work.commit().await?;
        Ok(())
    }
}

/// Nothing is under way any more.
fn forget_attempt(order: &mut CertificateOrder) {
    for text in [&mut order.order_url, &mut order.way, &mut order.token, &mut order.key_authorization] {
        text.clear();
    }
    order.sealed_key = None;
}

/// As the row remembers it.
const fn way_word(way: Way) -> &'static str {
    match way {
        Way::Http => "http",
        Way::TlsAlpn => "tls_alpn",
    }
}

fn lifetime(certificate: &Scope) -> Lifetime {
    Lifetime { not_before: certificate.not_before, not_after: certificate.not_after }
}

async fn check(chain_pem: String, key_pem: String, now: Timestamp) -> Result<Checked> {
    let now = now.micros() / 1_000_000;
    let checked = tokio::task::spawn_blocking(move || windlass_certificate::check(&chain_pem, &key_pem, now));
    let checked = checked.await.map_err(|error| Error::internal(error.to_string()))?;
    let unusable = |problem: windlass_certificate::Problem| {
        Problem::refused(format!("The certificate authority has issued what cannot be served: it {}.", problem.words))
    };
    Ok(checked.map_err(unusable)?)
}

fn row(app: &App, organization_id: Uuid, found: Description) -> Certificate {
    crate::service::certificates::row(app, organization_id, None, found)
}
