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
use windlass_store::{Conn, domains, placed_orders};

use super::alarm;
use super::authority::{account, authority, directory, forget_account};
use super::kill_points::DNS_KILL_POINT;
use super::preflight::{self, Asked};
use super::problem::{Problem, ProblemKind, Result, Stopped};
use super::record;
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
/// In three hours. The largest authority allows 300 of one account.
const MOST_OF_ALL: i64 = 200;
/// Of these, for domains that have no certificate yet.
const MOST_FIRST: i64 = 100;
const MOST_OF_ORGANIZATION: i64 = 25;
const SHORT_SECONDS: i64 = 3 * 3_600;
/// Of one attempt, which holds one of a few slots.
const LONGEST: Duration = Duration::from_secs(300);
/// For so many attempts an authority that does not answer keeps what it has begun.
const MOST_KEPT: i64 = 3;

/// Does what is to be done about an order now. Its job is gone afterwards, unless something of our own did not work.
pub async fn carry_out(host: &Host, held: &Held, id: Uuid) -> Result<()> {
    kill_point::reached("order-claimed");
    let Some(order) = certificate_orders::get(&mut host.app.db.read().await?, id).await? else {
        return done(held).await;
    };
    let mut attempt = Attempt { host, app: &host.app, held, order, account_secret: None };
    let ended = match tokio::time::timeout(LONGEST, Box::pin(attempt.run())).await {
        Ok(ended) => ended,
        Err(_) => Err(Problem { words: "It took too long.".into(), kind: ProblemKind::Here }.into()),
    };
    match ended {
        Err(Stopped::Failed(problem)) => attempt.fail(problem).await,
        // The row must say so, or it would be tried again at once, for ever.
        Err(Stopped::Here(error)) => {
            tracing::error!(domain = attempt.order.domain, cause = error.cause, "{}", error.message);
            attempt.fail(Problem { words: error.message, kind: ProblemKind::Here }).await
        }
        ended => ended,
    }
}

/// Whether the order is for what still has the domain. What is the server's own is in its configuration.
async fn is_domain_of(app: &App, conn: &mut Conn, order: &CertificateOrder) -> Result<bool> {
    let is_own = app.config.own_domains().contains(&order.domain);
    match order.organization_id {
        None => Ok(is_own),
        Some(_) if is_own => Ok(false),
        Some(id) => Ok(domains::get(conn, &order.domain).await?.is_some_and(|domain| domain.organization_id == id)),
    }
}

/// There is nothing to do.
async fn done(held: &Held) -> Result<()> {
    let mut work = held.begin().await?;
    held.done(&mut work).await?;
    work.commit().await?;
    Ok(())
}

/// What of an attempt's end people are told.
#[derive(Clone, Copy)]
enum Told {
    /// With the time of the certificate in use.
    Failure(Option<Lifetime>),
    Recovery,
    Nothing,
}

struct Attempt<'a> {
    host: &'a Host,
    app: &'a App,
    held: &'a Held,
    order: CertificateOrder,
    /// The row of the account that was used.
    account_secret: Option<Uuid>,
}

impl Attempt<'_> {
    async fn run(&mut self) -> Result<()> {
        if self.app.now() < self.order.next_at {
            return done(self.held).await;
        }
        if !is_domain_of(self.app, &mut self.app.db.read().await?, &self.order).await? {
            return self.leave().await;
        }
        let Some(directory) = self.directory() else { return self.rest(DAY).await };
        if let Some(at) = self.nothing_to_order(&directory).await? {
            take_back_record(self.app, &self.order).await;
            let finished = |order: &mut CertificateOrder| {
                forget_attempt(order);
                (order.problem, order.failures, order.next_at) = (String::new(), 0, at);
            };
            return self.finish(finished, Told::Recovery).await;
        }
        let authority = authority(self.app, &directory).await?;
        let is_new = self.order.order_url.is_empty() || self.order.authority != directory;
        if is_new {
            let way = self.preflight(&authority).await?;
            self.check_budget().await?;
            take_back_record(self.app, &self.order).await;
            self.save(|order| {
                (order.way, order.token, order.key_authorization) = (way_word(way).into(), "".into(), "".into());
            })
            .await?;
        }
        let account = self.account(&authority, &directory).await?;
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

    /// The certificate that the domain is served with, if it is still good. What is ordered is for when one that was chosen ends.
    async fn in_use(&self, conn: &mut Conn) -> Result<Option<Scope>> {
        let (now, order) = (self.app.now(), &self.order);
        let all = match order.organization_id {
            Some(organization_id) => certificates::scopes_of_organization(conn, organization_id).await?,
            None => certificates::scopes_of_server(conn).await?,
        };
        let choice = Choice::new(all, &[], &self.app.config);
        Ok(choice.of(order.organization_id, &order.domain, now).filter(|one| one.is_valid_at(now)).cloned())
    }

    /// When to look again, if the domain is served with a certificate that is good for a while yet.
    async fn nothing_to_order(&self, directory: &str) -> Result<Option<Timestamp>> {
        let issued_by = &self.order.authority;
        let directory = if self.app.config.acme.directories.contains(issued_by) { issued_by } else { directory };
        let (now, order) = (self.app.now(), &self.order);
        let mut conn = self.app.db.read().await?;
        let Some(served) = self.in_use(&mut conn).await? else { return Ok(None) };
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
        // Looked at once a day at least: the certificate may be deleted, or the authority advise something else.
        Ok(match schedule::next(order.id, lifetime(&served), advice, now) {
            Next::Renew => None,
            Next::Wait(at) => Some(at.min(now.plus_seconds(DAY))),
        })
    }

    async fn advice(&self, directory: &str, chain_pem: &str) -> Result<Option<windlass_acme::Renewal>> {
        let authority = authority(self.app, directory).await?;
        let (account, _) = account(self.app, &authority, directory).await?;
        Ok(account.renewal(chain_pem).await?)
    }

    async fn account(&mut self, authority: &windlass_acme::Authority, directory: &str) -> Result<Account> {
        let (account, secret) = account(self.app, authority, directory).await?;
        self.account_secret = Some(secret);
        Ok(account)
    }

    /// Shows the edge a token of our own, and looks whether it is what answers at the domain.
    async fn preflight(&mut self, authority: &windlass_acme::Authority) -> Result<Way> {
        let domain = self.order.domain.clone();
        if domain.starts_with("*.") {
            preflight::may_issue(self.app, authority, &domain).await?;
            return Ok(Way::Dns);
        }
        let addresses = preflight::addresses(self.app, &domain).await?;
        preflight::may_issue(self.app, authority, &domain).await?;
        let token = crate::random::base64_url();
        let key_authorization = format!("{token}.windlass");
        self.show(Way::Http, &token, &key_authorization).await?;
        let asked = Asked { token: &token, key_authorization: &key_authorization };
        preflight::way(self.app, &domain, addresses, &asked).await
    }

    /// So that one organization cannot use up what an authority allows to all, nor new domains what renewals need.
    async fn check_budget(&self) -> Result<()> {
        let (now, mut conn) = (self.app.now(), self.app.db.read().await?);
        let (since, limit) = (now.plus_seconds(-SHORT_SECONDS), self.app.config.organization_orders);
        let (mut of_week, mut of_organization) = (0, 0);
        if let Some(id) = self.order.organization_id {
            let week = now.plus_seconds(-BUDGET_DAYS * DAY);
            of_week = placed_orders::count_first_of_organization(&mut conn, id, week).await?;
            of_organization = placed_orders::count_first_of_organization(&mut conn, id, since).await?;
        }
        let (first, renewals) = placed_orders::count(&mut conn, since).await?;
        let is_renewal = self.is_renewal();
        if of_week >= limit && !is_renewal {
            let words = format!(
                "{of_week} certificates were ordered for this organization within {BUDGET_DAYS} days, and organization-orders \
                 allows {limit}. It is tried again."
            );
            return Err(Problem::rate_limited(words).into());
        }
        let is_over = first >= MOST_FIRST || of_organization >= MOST_OF_ORGANIZATION;
        if first + renewals >= MOST_OF_ALL || (is_over && !is_renewal) {
            let words = "Many certificates were ordered within three hours. This one waits for its turn.";
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
        self.count_order().await?;
        kill_point::reached("order-before");
        let profile = self.app.config.acme.profile.clone();
        let placed = account.order(&self.order.domain, &profile, replaced.as_deref()).await?;
        let (url, now) = (placed.url().to_owned(), self.app.now());
        (self.order.authority, self.order.order_url, self.order.sealed_key) = (directory.to_owned(), url, None);
        (self.order.ordered_at, self.order.updated_at) = (Some(now.micros()), now);
        let mut work = self.held.begin().await?;
        certificate_orders::update(&mut work, &self.order).await?;
        certificate_orders::set_sealed_key(&mut work, self.order.id, None).await?;
        work.commit().await?;
        kill_point::reached("order-stored");
        Ok(placed)
    }

    /// Before it is placed: the authority counts it, whatever becomes of this server.
    async fn count_order(&self) -> Result<()> {
        let (id, now) = (self.app.new_id(), self.app.now());
        let mut work = self.held.begin().await?;
        placed_orders::insert(&mut work, id, self.order.organization_id, self.is_renewal(), now).await?;
        work.commit().await?;
        Ok(())
    }

    /// From the proof to the certificate, with its key.
    async fn see_through(&mut self, placed: &mut Order) -> Result<(String, String)> {
        let (mut deadline, mut pause) = (Instant::now() + LIMIT, FIRST_PAUSE);
        let mut is_told = false;
        loop {
            match placed.stage() {
                Stage::Unproven if !is_told => {
                    self.prove(placed).await?;
                    is_told = true;
                    // A record in DNS takes its time, which is not the authority's.
                    deadline = Instant::now() + LIMIT;
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
        let ways: &[Way] = match self.order.way.as_str() {
            "dns" => &[Way::Dns],
            "tls_alpn" => &[Way::TlsAlpn, Way::Http],
            _ => &[Way::Http, Way::TlsAlpn],
        };
        let Some(Wanted { way, token, key_authorization }) = placed.wanted(ways).await? else { return Ok(()) };
        self.show(way, &token, &key_authorization).await?;
        kill_point::reached("order-proof-published");
        placed.can_be_seen(way).await?;
        kill_point::reached("order-proof-told");
        Ok(())
    }

    async fn show(&mut self, way: Way, token: &str, key_authorization: &str) -> Result<()> {
        if self.order.key_authorization != key_authorization {
            take_back_record(self.app, &self.order).await;
        }
        self.save(|order| {
            (order.way, order.token, order.key_authorization) =
                (way_word(way).into(), token.into(), key_authorization.into());
        })
        .await?;
        if way == Way::Dns {
            record::show(self.app, &self.order.domain, key_authorization).await?;
            kill_point::reached(DNS_KILL_POINT);
            return Ok(());
        }
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
        certificate_orders::set_sealed_key(&mut work, self.order.id, Some(&sealed)).await?;
        work.commit().await?;
        self.order.sealed_key = Some(sealed);
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
        if !is_domain_of(self.app, &mut work, &self.order).await? {
            drop(work);
            return self.leave().await;
        }
        if certificates::is_there(&mut work, certificate.organization_id, &certificate.fingerprint).await? {
            return Err(Problem::refused("The certificate authority has issued the same certificate again.").into());
        }
        let sealed_key = self.app.vault.seal_certificate_key(&mut work, certificate.id, &checked.key_pem).await?;
        certificates::insert(&mut work, &certificate, &Material { chain_pem: checked.chain_pem, sealed_key }).await?;
        let replaced = self.order.certificate_id.replace(certificate.id);
        let proven = self.order.clone();
        forget_attempt(&mut self.order);
        (self.order.problem, self.order.failures, self.order.next_at) = (String::new(), 0, next_at);
        self.order.updated_at = now;
        certificate_orders::update(&mut work, &self.order).await?;
        alarm::tell_recovery(&mut work, &self.order).await?;
        if let Some(replaced) = replaced {
            certificates::delete(&mut work, replaced).await?;
        }
        let change = Change {
            organization_id: certificate.organization_id,
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
        take_back_record(self.app, &proven).await;
        Ok(())
    }

    /// The row says why, and when it is tried again.
    async fn fail(&mut self, problem: Problem) -> Result<()> {
        let (now, failures) = (self.app.now(), self.order.failures.saturating_add(1));
        tracing::warn!(domain = self.order.domain, problem = problem.words, "there is no certificate yet");
        take_back_record(self.app, &self.order).await;
        if let Some(secret) = self.account_secret.filter(|_| problem.kind == ProblemKind::BadAccount) {
            forget_account(self.app, secret).await?;
        }
        // What is under way at an authority that does not answer can be gone on with, for a while.
        let is_kept =
            matches!(problem.kind, ProblemKind::Unreachable | ProblemKind::RateLimited) && failures < MOST_KEPT;
        let wait = wait_seconds(problem.kind, failures);
        let in_use = self.in_use(&mut self.app.db.read().await?).await?.map(|scope| lifetime(&scope));
        let told = match alarm::is_worth_telling(problem.kind, failures, in_use, now) {
            true => Told::Failure(in_use),
            false => Told::Nothing,
        };
        let failed = |order: &mut CertificateOrder| {
            if is_kept {
                hide_proof(order);
            } else {
                forget_attempt(order);
            }
            (order.problem, order.failures, order.next_at) = (problem.words, failures, now.plus_seconds(wait));
        };
        self.finish(failed, told).await
    }

    /// The domain is not served here any more.
    async fn leave(&mut self) -> Result<()> {
        take_back_record(self.app, &self.order).await;
        let mut work = self.held.begin().await?;
        certificate_orders::delete(&mut work, self.order.id).await?;
        self.held.done(&mut work).await?;
        work.commit().await?;
        Ok(())
    }

    async fn rest(&mut self, seconds: i64) -> Result<()> {
        let at = self.app.now().plus_seconds(seconds);
        self.finish(|order| order.next_at = at, Told::Nothing).await
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
    async fn finish(&mut self, change: impl FnOnce(&mut CertificateOrder), told: Told) -> Result<()> {
        change(&mut self.order);
        self.order.updated_at = self.app.now();
        let mut work = self.held.begin().await?;
        certificate_orders::update(&mut work, &self.order).await?;
        match told {
            Told::Failure(in_use) => alarm::tell_failure(&mut work, &self.order, in_use).await?,
            Told::Recovery => alarm::tell_recovery(&mut work, &self.order).await?,
            Told::Nothing => {}
        }
        self.held.done(&mut work).await?;
        work.wake_reconciler();
        work.commit().await?;
        Ok(())
    }
}

/// What an earlier attempt has set in DNS, or this one, and is of no more use.
async fn take_back_record(app: &App, order: &CertificateOrder) {
    if order.way == way_word(Way::Dns) && !order.key_authorization.is_empty() {
        record::take_back(app, &order.domain, &order.key_authorization).await;
    }
}

/// Nothing is under way any more.
fn forget_attempt(order: &mut CertificateOrder) {
    hide_proof(order);
    order.order_url.clear();
    order.way.clear();
    order.sealed_key = None;
}

/// The edge has room for so many.
fn hide_proof(order: &mut CertificateOrder) {
    order.token.clear();
    order.key_authorization.clear();
}

/// As the row remembers it.
const fn way_word(way: Way) -> &'static str {
    match way {
        Way::Http => "http",
        Way::TlsAlpn => "tls_alpn",
        Way::Dns => "dns",
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

fn row(app: &App, organization_id: Option<Uuid>, found: Description) -> Certificate {
    crate::service::certificates::row(app, organization_id, None, found)
}
