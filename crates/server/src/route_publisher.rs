//! What the edge serves, as the rows have it. The whole table is told each time, so that nothing can be forgotten.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Mutex;
use uuid::Uuid;
use windlass_acme::{AcmeError, Proof};
use windlass_api::{ApplicationState, Redirect, Timestamp, Wanted, is_local_name};
use windlass_edge::Drained;
use windlass_edge::control::client::{CallError, Client};
use windlass_edge::control::{Code, Drain};
use windlass_edge::routes::{
    self as edge, Challenge, FilesSpec, HoldSpec, HttpsPolicy, Limits, Notice, Owner, PrivateKey, RedirectSpec, Route,
    RouteSet, Serves, ServiceSpec, TargetsSpec,
};
use windlass_edge::stats::ServiceStats;
use windlass_store::application_domains::{self, ApplicationDomain};
use windlass_store::applications::{self, Routed, RoutedInstance};
use windlass_store::containers::socket_address;
use windlass_store::{
    Conn, certificate_orders, certificates, domain_settings, installations, status_pages as status_page_rows,
};

use crate::access::AccessByApplication;
use crate::app::App;
use crate::own_address::OwnAddress;
use crate::served_certificates::{Choice, MOST_CERTIFICATES, Served};
use crate::sites::Sites;
use crate::{local_certificates, own_address, status_pages};

/// How long an edge that is being replaced or restarted may take until it listens again.
const EDGE_LIMIT: Duration = Duration::from_secs(15);
const PAUSE: Duration = Duration::from_millis(100);
/// For how long a browser that was served over https comes back over https alone.
const HSTS_DAYS: u64 = 30;
const SECONDS_PER_DAY: u64 = 24 * 3_600;
/// The edge refuses a table with more, and each is there for a moment.
const MOST_PROOFS: i64 = 5_000;
const MICROS_PER_DAY: i64 = 24 * 3_600 * 1_000_000;

#[derive(Debug, thiserror::Error)]
pub enum RoutesError {
    #[error(transparent)]
    Database(#[from] windlass_store::Error),
    #[error("the edge did not take it: {0}")]
    Edge(#[from] CallError),
}

/// Tells one edge.
pub struct Routes {
    data_dir: PathBuf,
    /// Requests that may wait for one application.
    most_waiting: u32,
    sites: Sites,
    /// What was told last. Held while telling, so that an older table never follows a newer one.
    told: Mutex<Option<Told>>,
}

/// A table that an edge process took.
struct Told {
    pid: u32,
    /// How often that process had changed its table then. More since means that it serves another one by now.
    changes: u64,
    table: RouteSet,
}

impl Routes {
    pub fn new(data_dir: PathBuf, most_waiting: u32, sites: Sites) -> Self {
        Self { data_dir, most_waiting, sites, told: Mutex::default() }
    }

    /// When it returns, visitors are sent where the rows of this moment say.
    pub async fn publish(&self, app: &App) -> Result<(), RoutesError> {
        let mut told = self.told.lock().await;
        let mut conn = app.db.read().await?;
        let before = told.as_ref().map(|told| &told.table);
        let Prepared { table, local_names, server } = prepare(app, &mut conn, self, before).await?;
        if told.is_none() && server.is_none() && table.routes.is_empty() && !applications::are_any(&mut conn).await? {
            // Without applications and installations the operator may use the edge by hand.
            return Ok(());
        }
        drop(conn);
        let known = before.map(|table| table.certificates.as_slice()).unwrap_or_default();
        let mut wanted = with_local_certificates(app, table, local_names, known).await;
        if let Some(address) = server {
            own_address::add_route(app, &mut wanted, &address);
        }
        let wanted = wanted.with_version();
        let retries = Retries::new();
        // Taken: when telling is given up in the middle, it is not known what the edge was told.
        let before = told.take();
        let (pid, changes) = loop {
            match self.tell(&wanted, before.as_ref()).await {
                Err(error) if retries.are_left_for(&error).await => {}
                told => break told?,
            }
        };
        *told = Some(Told { pid, changes, table: wanted });
        Ok(())
    }

    /// Which process knows it now, and how often it has changed its table.
    async fn tell(&self, wanted: &RouteSet, told: Option<&Told>) -> Result<(u32, u64), CallError> {
        let mut client = Client::connect(&self.data_dir).await?;
        let hello = client.hello().await?;
        let is_served =
            told.is_some_and(|told| (told.pid, told.changes) == (hello.pid, hello.changes) && told.table == *wanted);
        if is_served {
            return Ok((hello.pid, hello.changes));
        }
        if told.is_some_and(|told| told.pid == hello.pid && told.changes != hello.changes) {
            tracing::warn!(
                "the routes of the edge were changed by another process; putting back those of the applications"
            );
        }
        Ok((hello.pid, client.apply(wanted.clone()).await?.changes))
    }

    /// How many requests to an application have waited because it was held, since the edge was started. 0 when the edge does
    /// not answer: it is a figure for people, and no reason to stop anything.
    pub async fn held_requests(&self, application_id: Uuid) -> u64 {
        let stats = async { Client::connect(&self.data_dir).await?.stats().await };
        let Ok(stats) = stats.await.inspect_err(|error| tracing::warn!(%error, "the edge did not tell its figures"))
        else {
            return 0;
        };
        let is_of_application = |service: &&ServiceStats| application_of(&service.name) == Some(application_id);
        stats.services.iter().filter(is_of_application).map(|service| service.figures.held).sum()
    }

    /// Waits until the last request in a target that is no longer routed is over, or the deadline is.
    pub async fn drain(&self, service: String, address: SocketAddr, deadline: Duration) -> Result<Drained, CallError> {
        let deadline_ms = u64::try_from(deadline.as_millis()).unwrap_or(u64::MAX);
        let drain = Drain { service, address, deadline_ms };
        let retries = Retries::new();
        loop {
            let drained = async { Client::connect(&self.data_dir).await?.drain(drain.clone()).await };
            match drained.await {
                Err(error) if retries.are_left_for(&error).await => {}
                // It was started again since, and has nothing of that service in it.
                Err(CallError::Refused(refusal)) if refusal.code == Code::UnknownService => {
                    return Ok(Drained::default());
                }
                drained => return drained,
            }
        }
    }
}

/// An edge may be handing over, or be started again after a crash: both pass.
struct Retries {
    ends: tokio::time::Instant,
}

impl Retries {
    fn new() -> Self {
        Self { ends: tokio::time::Instant::now() + EDGE_LIMIT }
    }

    /// Waits a moment if it is worth trying again.
    async fn are_left_for(&self, error: &CallError) -> bool {
        let are_left = is_temporary(error) && tokio::time::Instant::now() < self.ends;
        if are_left {
            tokio::time::sleep(PAUSE).await;
        }
        are_left
    }
}

/// Whether the same call may succeed a moment later.
fn is_temporary(error: &CallError) -> bool {
    match error {
        CallError::Unreachable(_) => true,
        CallError::Refused(refusal) => matches!(refusal.code, Code::Busy | Code::HandedOver | Code::TakenBack),
        CallError::NotUnderstood(_) => false,
    }
}

/// What the rows say.
struct Prepared {
    table: RouteSet,
    /// Names in it that no certificate authority issues for.
    local_names: Vec<String>,
    /// Where the server itself is to be served.
    server: Option<OwnAddress>,
}

async fn prepare(
    app: &App,
    conn: &mut Conn,
    routes: &Routes,
    before: Option<&RouteSet>,
) -> windlass_store::Result<Prepared> {
    let mut set = RouteSet { owner: Owner::Server, ..RouteSet::default() };
    let mut encryption = Encryption::load(app, conn).await?;
    let mut added: HashMap<Uuid, Vec<ApplicationDomain>> = HashMap::new();
    for domain in application_domains::routed(conn).await? {
        added.entry(domain.application_id).or_default().push(domain);
    }
    let mut all_access = AccessByApplication::load(conn).await?;
    for application in applications::routed(conn).await? {
        let name = application.id.to_string();
        let https = encryption.serve(Some(application.organization_id), &application.domain);
        set.routes.push(Route { https, ..Route::new(&application.domain, &name) });
        let main = application.main_service();
        let mut others = BTreeSet::new();
        for domain in added.remove(&application.id).unwrap_or_default() {
            let leads_elsewhere = !domain.service.is_empty() && domain.service != main;
            others.extend(leads_elsewhere.then(|| domain.service.clone()));
            add_domain(&mut set, &mut encryption, &application, domain, &main);
        }
        let access = all_access.take(application.id);
        let (limits, access) = (access.limits(), access.spec());
        for service in std::iter::once(&main).chain(&others) {
            let name = edge_service_name(application.id, service, &main);
            let serves = serves(&application, service, &main, routes, limits);
            set.services.push(ServiceSpec { name, serves, access_log: false, access: access.clone() });
        }
    }
    for domain in installations::routed(conn).await? {
        let name = domain.id.to_string();
        let https = encryption.serve(Some(domain.organization_id), &domain.domain);
        set.routes.push(Route { https, ..Route::new(&domain.domain, &name) });
        set.services.push(ServiceSpec { name, serves: serves_installed(&domain), access_log: false, access: None });
    }
    for page in status_page_rows::on(conn).await? {
        let https = encryption.serve(Some(page.organization_id), &page.domain);
        let name = status_pages::service_name(page.organization_id);
        set.routes.push(Route { https, ..Route::new(&page.domain, &name) });
        set.services.push(status_pages::service(name, &routes.data_dir, page.edition));
    }
    let server = app.config.host_at_edge().map(|host| {
        let https = encryption.serve(None, &host);
        OwnAddress { host: host.to_string(), https }
    });
    leave_out_doubles(&mut set);
    let known = before.map(|table| table.certificates.as_slice()).unwrap_or_default();
    set.certificates = encryption.served.load(app, conn, known).await?;
    let known = before.map(|table| table.proofs.as_slice()).unwrap_or_default();
    (set.challenges, set.proofs) = shown_to_authorities(conn, known).await?;
    let mut local_names: Vec<String> = encryption.local_names.into_iter().collect();
    // There are not certificates for any number of them.
    local_names.sort_by_key(|name| server.as_ref().is_none_or(|server| server.host != *name));
    Ok(Prepared { table: set, local_names, server })
}

/// After all others, as far as the edge takes more. Without them these names are served over http.
async fn with_local_certificates(
    app: &App,
    mut set: RouteSet,
    names: Vec<String>,
    known: &[Arc<edge::Certificate>],
) -> RouteSet {
    match local_certificates::certificates(app, names, known).await {
        Ok(made) => {
            let room = MOST_CERTIFICATES.saturating_sub(set.certificates.len());
            set.certificates.extend(made.into_iter().take(room));
        }
        Err(error) => tracing::error!(cause = error.cause, "no certificates were made for names of this machine"),
    }
    set
}

/// A domain that became another application's while the rows were read may be there twice, and the edge would refuse the whole table. The
/// next time it is there once.
fn leave_out_doubles(set: &mut RouteSet) {
    let mut seen = HashSet::new();
    set.routes.retain(|route| {
        let is_new = seen.insert((route.host.clone(), route.path.clone()));
        if !is_new {
            tracing::warn!(host = route.host, path = route.path, "a domain was met twice; the second is left out");
        }
        is_new
    });
}

/// Visitors of a domain beside the main one are served, or sent there.
fn add_domain(
    set: &mut RouteSet,
    encryption: &mut Encryption,
    application: &Routed,
    added: ApplicationDomain,
    main: &str,
) {
    let mut https = encryption.serve(Some(application.organization_id), &added.domain);
    let permanent = match added.redirect {
        // They would be sent where they are.
        _ if added.domain == application.domain => None,
        Redirect::None => None,
        Redirect::Permanent => Some(true),
        Redirect::Temporary => Some(false),
    };
    let service = match permanent {
        None => edge_service_name(application.id, &added.service, main),
        Some(permanent) => {
            // Who comes over http is not sent to where there is no https.
            if !encryption.can_serve(application.organization_id, &application.domain) {
                https = HttpsPolicy::default();
            }
            let redirect = RedirectSpec { host: application.domain.clone(), permanent };
            let name = added.id.to_string();
            set.services.push(ServiceSpec {
                name: name.clone(),
                serves: Serves::Redirect(redirect),
                access_log: false,
                access: None,
            });
            name
        }
    };
    set.routes.push(Route { host: added.domain, path: added.path, service, https });
}

type Shown = (Vec<Challenge>, Vec<Arc<edge::Certificate>>);

/// What proves to certificate authorities that domains are served here. A proof that the edge has already stays as it is.
async fn shown_to_authorities(conn: &mut Conn, before: &[Arc<edge::Certificate>]) -> windlass_store::Result<Shown> {
    let mut shown = Shown::default();
    for proof in certificate_orders::proofs(conn, MOST_PROOFS).await? {
        let certificate_orders::Proof { id, domain: host, way, token, key_authorization } = proof;
        if way != "tls_alpn" {
            shown.0.push(Challenge { host, token, key_authorization });
            continue;
        }
        let name = format!("{id}-{token}");
        let known = before.iter().find(|known| known.id == name).cloned();
        match known.map_or_else(|| new_proof(name, host, &key_authorization), Ok) {
            Ok(proof) => shown.1.push(proof),
            Err(error) => tracing::error!(%error, order = %id, "no proof could be made"),
        }
    }
    Ok(shown)
}

fn new_proof(id: String, host: String, key_authorization: &str) -> Result<Arc<edge::Certificate>, AcmeError> {
    let Proof { chain_pem, key_pem } = windlass_acme::tls_alpn(&host, key_authorization)?;
    Ok(Arc::new(edge::Certificate { id, hosts: vec![host], chain_pem, key_pem: PrivateKey::new(key_pem) }))
}

/// Which domains are served over https, and with what.
struct Encryption {
    now: Timestamp,
    choice: Choice,
    /// Domains whose visitors may come over http as well.
    by_both_ways: HashSet<(Uuid, String)>,
    served: Served,
    /// Those that no certificate authority issues for.
    local_names: BTreeSet<String>,
}

impl Encryption {
    async fn load(app: &App, conn: &mut Conn) -> windlass_store::Result<Self> {
        let settings = domain_settings::all(conn).await?;
        let choice = Choice::new(certificates::scopes(conn).await?, &settings, &app.config);
        let by_both_ways = settings.into_iter().filter(|settings| !settings.https_only);
        let by_both_ways = by_both_ways.map(|settings| (settings.organization_id, settings.domain)).collect();
        Ok(Self { now: app.now(), choice, by_both_ways, served: Served::default(), local_names: BTreeSet::new() })
    }

    /// Whether a domain has a certificate that is valid now.
    fn can_serve(&self, organization_id: Uuid, domain: &str) -> bool {
        let certificate = self.choice.of(Some(organization_id), domain, self.now);
        certificate.is_some_and(|certificate| certificate.is_valid_at(self.now))
    }

    /// Notes the certificate of a domain. Visitors are sent to https as long as they can come in there without a warning, and
    /// browsers are not told to stay there for longer.
    fn serve(&mut self, organization_id: Option<Uuid>, domain: &str) -> HttpsPolicy {
        let Some(certificate) = self.choice.of(organization_id, domain, self.now) else {
            if is_local_name(domain) {
                self.local_names.insert(domain.to_owned());
            }
            return HttpsPolicy::default();
        };
        self.served.add(certificate, domain);
        let is_both = organization_id.is_some_and(|id| self.by_both_ways.contains(&(id, domain.to_owned())));
        if !certificate.is_valid_at(self.now) || is_both {
            return HttpsPolicy::default();
        }
        let days_left = (certificate.not_after.micros() - self.now.micros()) / MICROS_PER_DAY;
        let days = u64::try_from(days_left).unwrap_or_default().min(HSTS_DAYS);
        HttpsPolicy { redirect: true, hsts_seconds: days * SECONDS_PER_DAY }
    }
}

fn serves_installed(domain: &installations::Routed) -> Serves {
    let port = u16::try_from(domain.port).ok();
    let address = domain.address.as_deref().zip(port).and_then(|(address, port)| socket_address(address, port));
    match address {
        Some(address) => {
            Serves::Targets(TargetsSpec { addresses: vec![address], health: None, limits: Default::default() })
        }
        None => Serves::Page(Notice::Starting),
    }
}

/// What the edge answers visitors of an application, or of one of its services, with.
fn serves(application: &Routed, service: &str, main: &str, routes: &Routes, limits: Limits) -> Serves {
    if application.wanted != Wanted::Running {
        return Serves::Page(Notice::Stopped);
    }
    if let Some(until) = application.held_until {
        let until_ms = u64::try_from(until / 1000).unwrap_or_default();
        return Serves::Held(HoldSpec { most_waiting: routes.most_waiting, until_ms });
    }
    // A live site is well unless its files are gone.
    if let Some(site) = application.site.as_deref().filter(|site| !site.is_empty())
        && application.state != ApplicationState::Failed
    {
        let folder = routes.sites.folder(application.id, site);
        return Serves::Files(FilesSpec::of(folder, application.single_page.unwrap_or_default()));
    }
    let addresses = targets(application, service);
    match application.state {
        _ if !addresses.is_empty() => Serves::Targets(TargetsSpec { addresses, health: None, limits }),
        ApplicationState::Failed => Serves::Page(Notice::Failed),
        // The live release has no such service, or does not say where it listens.
        _ if service != main && !application.instances.is_empty() => Serves::Page(Notice::Failed),
        _ => Serves::Page(Notice::Starting),
    }
}

/// All live instances, also one that does not run just now: the edge passes it over as long as it takes no connection,
/// and it comes back at the same address.
fn targets(application: &Routed, service: &str) -> Vec<SocketAddr> {
    let port = |instance: &RoutedInstance| match service {
        "" => application.port,
        _ => Some(instance.port).filter(|port| *port > 0),
    };
    let socket = |instance: &RoutedInstance| {
        let port = u16::try_from(port(instance)?).ok()?;
        socket_address(&instance.address, port)
    };
    application.instances.iter().filter(|instance| instance.service == service).filter_map(socket).collect()
}

/// By which name the edge knows an application, or a service of it that is not the one of the main domain.
pub fn edge_service_name(application_id: Uuid, service: &str, main: &str) -> String {
    match service {
        "" => application_id.to_string(),
        _ if service == main => application_id.to_string(),
        _ => format!("{application_id}/{service}"),
    }
}

/// Whose service that is, by the edge's name of it. None for what is no application's.
pub fn application_of(edge_service_name: &str) -> Option<Uuid> {
    edge_service_name.split('/').next().and_then(|id| id.parse().ok())
}

#[cfg(test)]
mod tests {
    use windlass_store::certificates::Scope;

    use super::*;

    const OURS: Uuid = Uuid::from_u128(1);
    const DAY: i64 = MICROS_PER_DAY;

    /// With a certificate for two domains that is valid from day 10 to day 100.
    fn told_at(now: i64, domain: &str) -> (HttpsPolicy, Vec<String>) {
        let certificate = Scope {
            id: Uuid::from_u128(2),
            organization_id: Some(OURS),
            names: "shop.example.org both.example.org".into(),
            not_before: Timestamp::from_micros(10 * DAY),
            not_after: Timestamp::from_micros(100 * DAY),
        };
        let choice = Choice::with_base([certificate], &[], None);
        let by_both_ways = HashSet::from([(OURS, "both.example.org".to_owned())]);
        let now = Timestamp::from_micros(now);
        let mut encryption =
            Encryption { now, choice, by_both_ways, served: Served::default(), local_names: BTreeSet::new() };
        let policy = encryption.serve(Some(OURS), domain);
        (policy, encryption.served.take(Uuid::from_u128(2)))
    }

    #[test]
    fn visitors_are_sent_to_https_while_it_can_be_trusted() {
        let served = vec!["shop.example.org".to_owned()];
        let for_days = |days| HttpsPolicy { redirect: true, hsts_seconds: days * SECONDS_PER_DAY };
        assert_eq!(told_at(20 * DAY, "shop.example.org"), (for_days(30), served.clone()));
        assert_eq!(told_at(95 * DAY, "shop.example.org"), (for_days(5), served.clone()));
        assert_eq!(told_at(100 * DAY - 1, "shop.example.org"), (for_days(0), served.clone()));
        for unusable in [9 * DAY, 100 * DAY] {
            assert_eq!(told_at(unusable, "shop.example.org"), (HttpsPolicy::default(), served.clone()));
        }
        assert_eq!(told_at(20 * DAY, "other.example.org"), (HttpsPolicy::default(), Vec::new()));
        let both = "both.example.org".to_owned();
        assert_eq!(told_at(20 * DAY, &both), (HttpsPolicy::default(), vec![both.clone()]));
    }
}
