//! Looks which checks' time has come, and makes some of them at once. Organizations take turns, and what one has under way counts in its
//! turn: checks that no answer comes to hold up the others of their organization alone.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::Instant;
use uuid::Uuid;
use windlass_edge::Listen;
use windlass_store::uptime::{self as rows, Due, Uptime};
use windlass_store::{Result, certificates, domain_settings};

use super::verdict::{Visited, not_asked};
use super::visit::{Way, visit};
use crate::app::App;
use crate::edge;
use crate::engine_health::EngineState;
use crate::served_certificates::Choice;
use crate::service;

/// So late a check is made at most, if nothing is in the way.
const INTERVAL: Duration = Duration::from_secs(1);
/// Checks under way, and those of one organization.
const AT_ONCE: usize = 64;
const OF_EACH: usize = 8;
/// An organization without any has its place beyond them.
const MOST: usize = 2 * AT_ONCE;
/// Looked at in one round.
const LOOKED_AT: i64 = 500;
/// For so long it is remembered which domains have certificates, and where the edge listens.
const REMEMBERED: Duration = Duration::from_secs(5);

/// Runs until it is dropped.
pub async fn run(app: Arc<App>) {
    let mut keeper = Keeper::default();
    loop {
        // Not before it is known that another installation does not hold what this one would ask.
        if matches!(app.engine_health.seen(), EngineState::Well | EngineState::Unreachable(_))
            && let Err(error) = keeper.look(&app).await
        {
            tracing::warn!(%error, "uptime checks whose time has come could not be looked for; trying again");
        }
        keeper.rest(INTERVAL).await;
    }
}

#[derive(Default)]
pub struct Keeper {
    /// Each says whose it was when it has ended.
    checks: JoinSet<Uuid>,
    under_way: HashMap<Uuid, usize>,
    known: Option<(Instant, Arc<Known>)>,
}

/// What all checks of a round need to know.
pub struct Known {
    /// None if the edge does not say it.
    pub edge: Option<Listen>,
    pub certificates: Choice,
}

impl Known {
    pub async fn load(app: &App, edge: Option<Listen>) -> Result<Self> {
        let mut conn = app.db.read().await?;
        let settings = domain_settings::all(&mut conn).await?;
        let certificates = Choice::new(certificates::scopes(&mut conn).await?, &settings, &app.config);
        Ok(Self { edge, certificates })
    }
}

impl Keeper {
    /// One round: begins what there is room for.
    async fn look(&mut self, app: &Arc<App>) -> Result<()> {
        self.end_those_over();
        let due = self.choose(rows::due(&mut app.db.read().await?, app.now(), LOOKED_AT).await?);
        if due.is_empty() {
            return Ok(());
        }
        let known = self.known(app).await?;
        self.begin(app, &due, &known).await
    }

    /// The same at an edge that listens there, with the end of all that was begun.
    pub async fn look_at(&mut self, app: &Arc<App>, edge: Option<Listen>) -> Result<()> {
        let known = Arc::new(Known::load(app, edge).await?);
        let due = self.choose(rows::due(&mut app.db.read().await?, app.now(), LOOKED_AT).await?);
        self.begin(app, &due, &known).await?;
        while let Some(ended) = self.checks.join_next().await {
            self.note_end(ended.ok());
        }
        Ok(())
    }

    async fn begin(&mut self, app: &Arc<App>, due: &[Due], known: &Arc<Known>) -> Result<()> {
        for due in due {
            let mut work = app.begin_step().await?;
            let taken = rows::take_time(&mut work, due, app.now()).await?;
            work.commit().await?;
            let Some(uptime) = taken else { continue };
            *self.under_way.entry(due.organization_id).or_default() += 1;
            self.checks.spawn(check(app.clone(), uptime, known.clone()));
        }
        Ok(())
    }

    async fn known(&mut self, app: &App) -> Result<Arc<Known>> {
        if let Some((at, known)) = &self.known
            && at.elapsed() < REMEMBERED
        {
            return Ok(known.clone());
        }
        let edge = edge::hello(&app.config.data_dir).await.map(|hello| hello.listening());
        let edge = edge.inspect_err(|error| tracing::warn!(%error, "the edge does not say where it listens")).ok();
        let known = Arc::new(Known::load(app, edge).await?);
        self.known = Some((Instant::now(), known.clone()));
        Ok(known)
    }

    /// Until a check has ended and so leaves room, or it is time for the next look.
    async fn rest(&mut self, time: Duration) {
        if self.checks.len() < AT_ONCE {
            return tokio::time::sleep(time).await;
        }
        if let Ok(Some(ended)) = tokio::time::timeout(time, self.checks.join_next()).await {
            self.note_end(ended.ok());
        }
    }

    fn end_those_over(&mut self) {
        while let Some(ended) = self.checks.try_join_next() {
            self.note_end(ended.ok());
        }
    }

    fn note_end(&mut self, organization_id: Option<Uuid>) {
        let Some(organization_id) = organization_id else {
            // One that ended badly does not say whose it was.
            if self.checks.is_empty() {
                self.under_way.clear();
            }
            return;
        };
        if let Some(count) = self.under_way.get_mut(&organization_id) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                self.under_way.remove(&organization_id);
            }
        }
    }

    /// Those that there is room for, in their turn.
    fn choose(&self, mut due: Vec<Due>) -> Vec<Due> {
        let mut under_way = self.under_way.clone();
        let begun =
            |under_way: &HashMap<Uuid, usize>, due: &Due| under_way.get(&due.organization_id).copied().unwrap_or(0);
        due.sort_by_key(|due| {
            let before = i64::try_from(begun(&self.under_way, due)).unwrap_or(i64::MAX);
            (due.turn.saturating_add(before), due.next_at)
        });
        let (mut chosen, mut count) = (Vec::new(), self.checks.len());
        for due in due {
            let own = begun(&under_way, &due);
            let has_room = if own == 0 { count < MOST } else { count < AT_ONCE && own < OF_EACH };
            if has_room {
                count += 1;
                *under_way.entry(due.organization_id).or_default() += 1;
                chosen.push(due);
            }
        }
        chosen
    }
}

async fn check(app: Arc<App>, uptime: Uptime, known: Arc<Known>) -> Uuid {
    let (organization_id, application_id) = (uptime.organization_id, uptime.application_id);
    if let Err(error) = try_check(&app, uptime, &known).await {
        tracing::warn!(%error, application = %application_id, "an uptime check came to nothing; the next one is made in its time");
    }
    organization_id
}

async fn try_check(app: &App, uptime: Uptime, known: &Known) -> Result<()> {
    let before = rows::situation(&mut app.db.read().await?, uptime.application_id).await?;
    // It is gone.
    let Some(before) = before else { return Ok(()) };
    let visited = match (&known.edge, not_asked(&before, &app.engine_health.seen())) {
        (_, Some(verdict)) => Visited::NotAsked(verdict),
        (None, None) => Visited::CannotTell("the edge does not say where it listens".to_owned()),
        (Some(edge), None) => {
            let way = Way { edge, certificates: &known.certificates };
            visit(app, &uptime, &before.domain, &way).await
        }
    };
    service::uptime::conclude(app, &uptime, &before, &visited).await
}

#[cfg(test)]
mod tests {
    use super::*;

    fn due(organization: u128, application: u128, turn: i64) -> Due {
        Due {
            application_id: Uuid::from_u128(application),
            organization_id: Uuid::from_u128(organization),
            next_at: i64::try_from(application).unwrap(),
            turn,
        }
    }

    fn numbers(chosen: &[Due]) -> Vec<u128> {
        chosen.iter().map(|due| due.application_id.as_u128()).collect()
    }

    #[test]
    fn organizations_take_turns() {
        let all = vec![due(1, 10, 1), due(1, 11, 2), due(2, 20, 1), due(3, 30, 1), due(3, 31, 2)];
        assert_eq!(numbers(&Keeper::default().choose(all)), [10, 20, 30, 11, 31]);
    }

    #[test]
    fn what_is_under_way_counts() {
        let mut keeper = Keeper::default();
        keeper.under_way.insert(Uuid::from_u128(1), 2);
        let all = vec![due(1, 10, 1), due(2, 20, 1), due(2, 21, 2), due(2, 22, 3)];
        assert_eq!(numbers(&keeper.choose(all)), [20, 21, 10, 22]);
        keeper.under_way.insert(Uuid::from_u128(1), OF_EACH);
        assert_eq!(numbers(&keeper.choose(vec![due(1, 10, 1), due(2, 20, 1)])), [20]);
    }

    #[tokio::test]
    async fn an_organization_without_a_check_finds_room() {
        let mut keeper = Keeper::default();
        for _ in 0..AT_ONCE {
            keeper.checks.spawn(std::future::pending());
        }
        keeper.under_way.insert(Uuid::from_u128(1), 1);
        assert_eq!(numbers(&keeper.choose(vec![due(1, 10, 1), due(2, 20, 1), due(2, 21, 2)])), [20]);
    }
}
