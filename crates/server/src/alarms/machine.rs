//! The machine of this server: room on its disks, its engine, and the storing of log lines.

use std::collections::BTreeMap;

use uuid::Uuid;
use windlass_api::Timestamp;
use windlass_store::Result;
use windlass_store::alarms::{self, AlarmKind};

use super::{Audience, turn};
use crate::app::App;
use crate::disk::Space;
use crate::engine_health::EngineState;

/// What passes sooner is not told.
const PATIENCE_SECONDS: i64 = 60;
/// How much more room there must be before it counts as enough again: a fifth of the limit.
const SHARE_OF_MARGIN: u64 = 5;
/// Of a reason, in characters.
const LONGEST_REASON: usize = 300;
const GIB: u64 = 1 << 30;
const LOST: &str = "lines could not be stored and are lost; the server's log says why";

/// What was seen of this machine so far.
pub struct Machine {
    server_id: Uuid,
    /// Since when something has been wrong without a break.
    wrong_since: BTreeMap<AlarmKind, Timestamp>,
    /// What is to be told, and could not be written yet.
    owed: BTreeMap<AlarmKind, Details>,
    lost_lines: LostLines,
}

/// What was given up after some tries: between two of these, the log store looks well.
#[derive(Default)]
struct LostLines {
    batches: u64,
    last: Option<Timestamp>,
}

type Details = Vec<(&'static str, String)>;

/// What one look has shown.
enum Seen {
    Well(Details),
    Wrong(Details),
    /// Neither: what was told stays as it is.
    Unknown,
}

impl Machine {
    /// The machine of the server with this id.
    pub fn new(server_id: Uuid) -> Self {
        Self { server_id, wrong_since: BTreeMap::new(), owed: BTreeMap::new(), lost_lines: LostLines::default() }
    }

    pub async fn look(&mut self, app: &App) {
        let now = app.now();
        let mut well = BTreeMap::new();
        let logs = self.lost_lines.seen(app.logs.lost_batches(), app.logs.looked_for_problem().await, now);
        let [data_disk, engine_disk] = disks_seen(app).await;
        let all = [
            (AlarmKind::DataDisk, data_disk),
            (AlarmKind::EngineDisk, engine_disk),
            (AlarmKind::Engine, engine_seen(app.engine_health.seen())),
            (AlarmKind::Logs, logs),
        ];
        for (kind, seen) in all {
            match seen {
                Seen::Well(details) => {
                    self.wrong_since.remove(&kind);
                    well.insert(kind, details);
                }
                Seen::Wrong(details) => {
                    let since = self.wrong_since.entry(kind).or_insert(now);
                    // The clock was set back: since then at the latest.
                    *since = now.min(*since);
                    if since.plus_seconds(patience_seconds(kind)) <= now {
                        self.owed.insert(kind, details);
                    }
                }
                Seen::Unknown => {}
            }
        }
        if let Err(error) = self.tell(app, well).await {
            tracing::warn!(%error, "what is wrong with this machine could not be written down; trying again in some seconds");
        }
    }

    /// What was wrong for long while the database took no changes is told, even if it is well again.
    async fn tell(&mut self, app: &App, well: BTreeMap<AlarmKind, Details>) -> Result<()> {
        let told = alarms::of_subject(&mut app.db.read().await?, self.server_id).await?;
        while let Some((kind, details)) = self.owed.first_key_value() {
            let kind = *kind;
            if !told.contains(&kind) {
                self.write(app, kind, true, details).await?;
            }
            self.owed.remove(&kind);
        }
        for (kind, details) in well {
            if told.contains(&kind) {
                self.write(app, kind, false, &details).await?;
            }
        }
        Ok(())
    }

    async fn write(&self, app: &App, kind: AlarmKind, is_wrong: bool, details: &Details) -> Result<()> {
        let server = self.server_id.to_string();
        let details = details.iter().map(|(name, value)| (*name, value.as_str()));
        let details: Vec<_> = details.chain([("server", server.as_str())]).collect();
        let mut work = app.begin_step().await?;
        if turn(&mut work, kind, self.server_id, is_wrong, Audience::Operators, &details).await? {
            work.commit().await?;
        }
        Ok(())
    }
}

/// A disk does not fill up and empty again by itself within a moment.
const fn patience_seconds(kind: AlarmKind) -> i64 {
    match kind {
        AlarmKind::DataDisk | AlarmKind::EngineDisk => 0,
        AlarmKind::Engine
        | AlarmKind::Logs
        | AlarmKind::Application
        | AlarmKind::Certificate
        | AlarmKind::UploadedCertificate => PATIENCE_SECONDS,
    }
}

impl LostLines {
    fn seen(&mut self, batches: u64, problem: Option<String>, now: Timestamp) -> Seen {
        if batches > self.batches {
            (self.batches, self.last) = (batches, Some(now));
        }
        // The clock was set back.
        self.last = self.last.map(|last| last.min(now));
        let is_losing = self.last.is_some_and(|last| last.plus_seconds(PATIENCE_SECONDS) > now);
        match problem {
            Some(problem) => Seen::Wrong(vec![("reason", reason(&problem))]),
            None if is_losing => Seen::Wrong(vec![("reason", LOST.to_owned())]),
            None => Seen::Well(Vec::new()),
        }
    }
}

async fn disks_seen(app: &App) -> [Seen; 2] {
    let data = app.disks.space(&app.config.data_dir).await;
    let engine = match app.engine_health.folder() {
        Some(folder) => app.disks.space(&folder).await,
        None => None,
    };
    // One disk is told of once.
    let engine = engine.filter(|engine| data.is_none_or(|data| data.disk_id != engine.disk_id));
    let percent = app.config.disk_low_percent;
    [disk_seen(data, "data folder", percent), disk_seen(engine, "container engine", percent)]
}

fn disk_seen(space: Option<Space>, of: &str, percent: u64) -> Seen {
    let Some(space) = space.filter(|space| space.whole > 0 && percent > 0) else { return Seen::Unknown };
    let details = vec![("disk", of.to_owned()), ("free", in_gib(space.free)), ("size", in_gib(space.whole))];
    let has = |percent: u64| u128::from(space.free) * 100 >= u128::from(space.whole) * u128::from(percent);
    let enough = percent + (percent / SHARE_OF_MARGIN).max(1);
    match (has(percent), has(enough)) {
        (false, _) => Seen::Wrong(details),
        (true, true) => Seen::Well(details),
        (true, false) => Seen::Unknown,
    }
}

fn engine_seen(state: EngineState) -> Seen {
    match state {
        EngineState::Well => Seen::Well(Vec::new()),
        EngineState::Unreachable(problem) => Seen::Wrong(vec![("reason", reason(&problem))]),
        EngineState::NotAsked | EngineState::HeldByAnother { .. } => Seen::Unknown,
    }
}

fn reason(problem: &str) -> String {
    problem.chars().take(LONGEST_REASON).collect()
}

fn in_gib(bytes: u64) -> String {
    let tenths = u128::from(bytes) * 10 / u128::from(GIB);
    format!("{}.{} GiB", tenths / 10, tenths % 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(free: u64, percent: u64) -> &'static str {
        match disk_seen(Some(Space { free, whole: 1_000, disk_id: 1 }), "data folder", percent) {
            Seen::Well(_) => "well",
            Seen::Wrong(_) => "wrong",
            Seen::Unknown => "unknown",
        }
    }

    #[test]
    fn a_disk_is_low_below_the_limit_and_well_a_little_above_it() {
        let all = [(99, "wrong"), (100, "unknown"), (119, "unknown"), (120, "well")];
        for (free, expected) in all {
            assert_eq!(seen(free, 10), expected, "{free}");
        }
        assert_eq!((seen(9, 1), seen(19, 1), seen(20, 1)), ("wrong", "unknown", "well"));
        assert_eq!((seen(0, 0), seen(1_000, 0)), ("unknown", "unknown"), "it was switched off");
        assert!(matches!(disk_seen(None, "data folder", 10), Seen::Unknown));
    }

    #[test]
    fn sizes_are_rounded_down() {
        assert_eq!(
            (in_gib(0), in_gib(GIB - 1), in_gib(GIB * 5 / 2)),
            ("0.0 GiB".into(), "0.9 GiB".into(), "2.5 GiB".into())
        );
    }
}
