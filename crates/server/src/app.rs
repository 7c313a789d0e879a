//! Everything that a request may touch, in one value. There are no globals, so a test can run many servers.

use std::net::SocketAddr;
use std::sync::Arc;

use windlass_api::Timestamp;
use windlass_outgoing::{Outgoing, Settings};
use windlass_store::Db;

use crate::auth::denials::Denials;
use crate::auth::limiter::Limiter;
use crate::auth::password::{PasswordCost, Passwords};
use crate::auth::token::Token;
use crate::auth::under_way::UnderWay;
use crate::build_limits::BuildLimits;
use crate::clock::{Clock, Ids, RequestIds};
use crate::config::Config;
use crate::disk::{DatabaseDisk, Disks};
use crate::engine_health::EngineHealth;
use crate::error::{Error, Result};
use crate::figures;
use crate::firewall::Firewall;
use crate::logs::Logs;
use crate::logs::searches::Searches;
use crate::metrics::Metrics;
use crate::resolver::Resolver;
use crate::streams::Streams;
use crate::turns::Turns;
use crate::vault::Vault;
use crate::vault::unlock::Unlocked;
use crate::write_probe::{DatabaseProbe, FolderProbe};

const LOGS: &str = "Logs are followed, or logs and snapshots downloaded,";
/// Each takes a processor for some milliseconds.
const DELIVERIES_READ: usize = 2;
/// Each is at most as long as `webhook-body-kib` says; the next ones wait before they are read.
const DELIVERIES_HELD: usize = 16;
/// Each takes a processor, and a git with its memory.
const UNPACKINGS: usize = 2;
/// Calls to other servers at once; more wait.
const CALLS: usize = 32;
/// Each takes some queries of the database; more are refused.
pub const RESET_REQUESTS: usize = 32;
const EVENTS: &str = "Events are followed";

pub struct App {
    pub db: Db,
    pub disks: Disks,
    pub database_disk: DatabaseDisk,
    pub database_probe: DatabaseProbe,
    /// Of the data folder.
    pub folder_probe: FolderProbe,
    pub logs: Logs,
    /// Searches of log lines that run or wait, and how often followers hear something.
    pub searches: Searches,
    /// Followers and downloads of logs.
    pub log_streams: Arc<Streams>,
    /// Followers of events.
    pub event_streams: Arc<Streams>,
    pub config: Config,
    pub clock: Clock,
    pub started_at: Timestamp,
    pub ids: Ids,
    pub request_ids: RequestIds,
    pub passwords: Passwords,
    /// Tries to prove an identity.
    pub logins: Limiter,
    /// Mails of the installation, apart from those tries: each has room of its own.
    pub mails: Limiter,
    /// Requests for a link for a new password that are worked on.
    pub reset_requests: Arc<tokio::sync::Semaphore>,
    /// Calls to other servers.
    outgoing: tokio::sync::OnceCell<Outgoing>,
    authority_calls: tokio::sync::OnceCell<Arc<Outgoing>>,
    mail_calls: tokio::sync::OnceCell<Outgoing>,
    /// Held while an account at an authority is looked for or made.
    pub account_turn: tokio::sync::Mutex<()>,
    /// Those that are under way at once.
    pub calls: tokio::sync::Semaphore,
    /// Applications that are being pushed to.
    pub pushed_to: parking_lot::Mutex<std::collections::HashSet<uuid::Uuid>>,
    /// Pushes by git that are under way at once.
    pub pushes: Arc<tokio::sync::Semaphore>,
    /// Uploads that are unpacked at once, one for each organization; more wait.
    pub unpackings: Arc<Turns>,
    /// Repositories that are looked at before a deploy.
    pub build_plans: Arc<Turns>,
    /// Long deliveries of code hosts that are being read and checked at once.
    pub deliveries_read: Arc<tokio::sync::Semaphore>,
    /// Long deliveries that are in memory at once.
    pub deliveries_held: Arc<tokio::sync::Semaphore>,
    /// All requests.
    pub requests: Limiter,
    /// Those of known callers that are being answered.
    pub under_way: UnderWay,
    /// Refusals that are not written down yet.
    pub denials: Denials,
    pub vault: Vault,
    pub resolver: Resolver,
    /// Told after every commit that left something to do.
    pub jobs_waiting: tokio::sync::Notify,
    /// Told after a commit with which engine or edge may no longer agree.
    pub rows_changed: tokio::sync::Notify,
    /// The same for what looks which domains need a certificate.
    pub domains_changed: tokio::sync::Notify,
    /// Told after a commit with which status pages may no longer agree.
    pub uptime_changed: tokio::sync::Notify,
    /// Told after a commit that may have made something secret.
    pub secrets_changed: tokio::sync::watch::Sender<()>,
    /// Told after a commit that wrote events.
    pub events_written: tokio::sync::watch::Sender<()>,
    /// Turns true when the server is to end; answers without an end stop then.
    pub stopping: tokio::sync::watch::Sender<bool>,
    /// Links the entries of the audit chains.
    pub audit_key: [u8; 32],
    /// Walks over an audit chain that were asked for; one at a time, because each reads all of it.
    pub audit_walks: tokio::sync::Semaphore,
    pub metrics: Metrics,
    pub engine_health: EngineHealth,
    pub build_limits: BuildLimits,
    pub firewall: Firewall,
    /// What applications and the machine use, as it was measured last.
    pub figures: figures::Latest,
    /// Whether it deploys: then readiness includes the engine, and the edge unless another installation holds the containers.
    pub has_engine: bool,
    /// Where the edge finds this server, if it serves it too.
    pub address_for_edge: Option<SocketAddr>,
    /// What the first registration must present; none when only this machine can reach the server.
    pub setup_token: Token,
}

impl App {
    pub fn new(db: Db, logs: Logs, keys: Unlocked, config: Config, clock: Clock, ids: Ids) -> Self {
        let metrics = Metrics::new(db.clone());
        Self {
            passwords: Passwords::new(config.parallel_logins, PasswordCost::default()),
            logins: Limiter::default(),
            mails: Limiter::default(),
            reset_requests: Arc::new(tokio::sync::Semaphore::new(RESET_REQUESTS)),
            outgoing: tokio::sync::OnceCell::new(),
            authority_calls: tokio::sync::OnceCell::new(),
            mail_calls: tokio::sync::OnceCell::new(),
            account_turn: tokio::sync::Mutex::default(),
            calls: tokio::sync::Semaphore::new(CALLS),
            pushed_to: parking_lot::Mutex::default(),
            build_plans: Turns::new("Looking at a repository", config.parallel_build_plans),
            unpackings: Turns::new("Unpacking an upload", UNPACKINGS),
            pushes: Arc::new(tokio::sync::Semaphore::new(config.parallel_pushes)),
            deliveries_read: Arc::new(tokio::sync::Semaphore::new(DELIVERIES_READ)),
            deliveries_held: Arc::new(tokio::sync::Semaphore::new(DELIVERIES_HELD)),
            requests: Limiter::default(),
            under_way: UnderWay::default(),
            denials: Denials::default(),
            vault: keys.vault,
            resolver: Resolver::default(),
            jobs_waiting: tokio::sync::Notify::new(),
            rows_changed: tokio::sync::Notify::new(),
            domains_changed: tokio::sync::Notify::new(),
            uptime_changed: tokio::sync::Notify::new(),
            secrets_changed: tokio::sync::watch::Sender::new(()),
            events_written: tokio::sync::watch::Sender::new(()),
            stopping: tokio::sync::watch::Sender::new(false),
            audit_key: keys.audit_key,
            audit_walks: tokio::sync::Semaphore::new(1),
            engine_health: EngineHealth::default(),
            build_limits: BuildLimits::default(),
            firewall: Firewall::default(),
            figures: figures::Latest::default(),
            has_engine: false,
            address_for_edge: None,
            setup_token: Token::random(),
            db,
            disks: Disks::default(),
            database_disk: DatabaseDisk::default(),
            database_probe: DatabaseProbe::default(),
            folder_probe: FolderProbe::default(),
            logs,
            searches: Searches::default(),
            log_streams: Streams::new(LOGS, config.log_followers, &config, metrics.log_followers.clone()),
            event_streams: Streams::new(EVENTS, config.event_followers, &config, metrics.event_followers.clone()),
            metrics,
            config,
            started_at: clock.now(),
            clock,
            ids,
            request_ids: RequestIds::default(),
        }
    }

    /// What calls other servers. Made when it is first needed, because it reads the machine's root certificates.
    pub async fn outgoing(&self) -> Result<&Outgoing> {
        let settings = Settings { allow_private: self.config.allow_private_targets, extra_roots: None };
        self.outgoing.get_or_try_init(|| Outgoing::new(settings)).await.map_err(Error::internal)
    }

    /// What calls certificate authorities. The operator has named them, so they may be at private addresses.
    pub async fn authority_calls(&self) -> Result<Arc<Outgoing>> {
        let settings = Settings { allow_private: true, extra_roots: self.config.acme.roots_file.clone() };
        let made = self.authority_calls.get_or_try_init(async || Outgoing::new(settings).await.map(Arc::new));
        made.await.cloned().map_err(Error::internal)
    }

    /// What calls the mail server of the settings, which may be at a private address for the same reason.
    pub async fn mail_calls(&self) -> Result<&Outgoing> {
        let settings = Settings { allow_private: true, extra_roots: self.config.mail.roots_file.clone() };
        self.mail_calls.get_or_try_init(|| Outgoing::new(settings)).await.map_err(Error::internal)
    }

    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    pub fn new_id(&self) -> uuid::Uuid {
        self.ids.next(self.now())
    }
}
