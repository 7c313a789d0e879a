//! Everything that a request may touch, in one value. There are no globals, so a test can run many servers.

use windlass_api::Timestamp;
use windlass_store::Db;

use crate::auth::limiter::Limiter;
use crate::auth::password::Passwords;
use crate::auth::token::Token;
use crate::clock::{Clock, Ids, RequestIds};
use crate::config::Config;
use crate::metrics::Metrics;

pub struct App {
    pub db: Db,
    pub config: Config,
    pub clock: Clock,
    pub ids: Ids,
    pub request_ids: RequestIds,
    pub passwords: Passwords,
    pub logins: Limiter,
    pub metrics: Metrics,
    /// What the first registration must present; none when only this machine can reach the server.
    pub setup_token: Option<Token>,
}

impl App {
    pub fn new(db: Db, config: Config, clock: Clock, ids: Ids) -> Self {
        Self {
            passwords: Passwords::new(config.parallel_logins),
            logins: Limiter::default(),
            metrics: Metrics::new(db.clone()),
            setup_token: config.is_reachable_from_outside().then(Token::random),
            db,
            config,
            clock,
            ids,
            request_ids: RequestIds::default(),
        }
    }

    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    pub fn new_id(&self) -> uuid::Uuid {
        self.ids.next(self.now())
    }
}
