//! The rows of figures: points are added to the newest, coarser rows are made of them every ten minutes, and what is old is forgotten.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use uuid::Uuid;
use windlass_figures::{COARSE, FINE, Figures, MINUTE, Step};
use windlass_store::Result;
use windlass_store::figures::{self as rows, Row};

use super::Taken;
use crate::app::App;

/// How long points are kept, by the second and by the minute. The coarsest have a setting.
pub const FINE_SECONDS: i64 = 3_600;
pub const MINUTE_SECONDS: i64 = 86_400;
/// Of so many rows coarser ones are made at once: those of a hundred applications.
const AT_ONCE: i64 = 1_000;
const FORGOTTEN_AT_ONCE: i64 = 1_000;
/// So many applications are written in one transaction, for which others wait.
const WRITTEN_AT_ONCE: usize = 500;

/// Writes the rows of one server. No other writes these.
pub struct Keeper {
    server_id: Uuid,
    /// The row that is being filled, of each application, and when it began.
    newest: HashMap<Uuid, Figures>,
    begin: Option<i64>,
    /// Up to here coarser rows were made.
    coarse_until: Option<i64>,
}

impl Keeper {
    pub fn new(server_id: Uuid) -> Self {
        Self { server_id, newest: HashMap::new(), begin: None, coarse_until: None }
    }

    /// Adds the points that begin then.
    pub async fn add(&mut self, app: &App, at: i64, taken: &Taken) -> Result<()> {
        let begin = FINE.row_of(at);
        if self.begin != Some(begin) {
            // A server that was started within the minute goes on where it ended.
            self.newest = self.stored(app, begin).await?;
            self.begin = Some(begin);
        }
        for (id, points) in taken {
            let figures = self.newest.entry(*id).or_default();
            points.iter().for_each(|(subject, point)| figures.add(subject.clone(), at, point));
            figures.bound();
        }
        let written: BTreeMap<Uuid, &Figures> =
            taken.keys().filter_map(|id| Some((*id, self.newest.get(id)?))).collect();
        self.write(app, FINE, begin, &written).await?;
        self.make_coarser(app, at).await
    }

    async fn stored(&self, app: &App, begin: i64) -> Result<HashMap<Uuid, Figures>> {
        let (mut stored, mut after) = (HashMap::new(), Uuid::nil());
        loop {
            let mut conn = app.db.read().await?;
            let page =
                rows::of_server(&mut conn, self.server_id, FINE.seconds, begin..begin + 1, after, AT_ONCE).await?;
            let Some(last) = page.last() else { return Ok(stored) };
            after = last.application_id;
            stored.extend(page.iter().map(|row| (row.application_id, unpacked(row, FINE))));
        }
    }

    async fn write(&self, app: &App, step: Step, begin: i64, figures: &BTreeMap<Uuid, &Figures>) -> Result<()> {
        let packed: Vec<(Uuid, Vec<u8>)> =
            figures.iter().map(|(id, figures)| (*id, figures.pack(step, begin))).collect();
        for some in packed.chunks(WRITTEN_AT_ONCE) {
            let mut tx = app.db.begin().await?;
            rows::put(&mut tx, self.server_id, step.seconds, begin, some).await?;
            tx.commit().await?;
        }
        Ok(())
    }

    /// Of each ten minutes that are over. After a start those of which there are still rows are made once more, in case they were not.
    async fn make_coarser(&mut self, app: &App, at: i64) -> Result<()> {
        let over = COARSE.point_of(at);
        if self.coarse_until == Some(over) {
            return Ok(());
        }
        // A clock that was ahead and was put right has left a time that is still to come.
        let mut begin = self.coarse_until.unwrap_or_default().min(over);
        while let Some(next) = self.first_row(app, begin..over).await? {
            let time = COARSE.point_of(next)..COARSE.point_of(next) + COARSE.seconds;
            begin = time.end;
            self.make_coarse_points(app, time).await?;
        }
        self.coarse_until = Some(over);
        forget(app, at).await
    }

    async fn first_row(&self, app: &App, starts: Range<i64>) -> Result<Option<i64>> {
        rows::first(&mut app.db.read().await?, self.server_id, FINE.seconds, starts).await
    }

    async fn make_coarse_points(&self, app: &App, time: Range<i64>) -> Result<()> {
        let mut after = Uuid::nil();
        loop {
            let mut conn = app.db.read().await?;
            let mut page =
                rows::of_server(&mut conn, self.server_id, FINE.seconds, time.clone(), after, AT_ONCE).await?;
            drop(conn);
            // The last one may go on in the next page, unless it is alone.
            let last = page.last().map(|row| row.application_id);
            let is_full = page.len() as i64 == AT_ONCE;
            if is_full && page.first().map(|row| row.application_id) != last {
                page.retain(|row| Some(row.application_id) != last);
            }
            let Some(last) = page.last().map(|row| row.application_id) else { return Ok(()) };
            let mut fine: BTreeMap<Uuid, Figures> = BTreeMap::new();
            for row in &page {
                fine.entry(row.application_id).or_default().extend(unpacked(row, FINE));
            }
            for step in [MINUTE, COARSE] {
                self.join(app, step, &time, &fine).await?;
            }
            if !is_full {
                return Ok(());
            }
            after = last;
        }
    }

    /// Puts the points of a time into the rows that it is in.
    async fn join(&self, app: &App, step: Step, time: &Range<i64>, fine: &BTreeMap<Uuid, Figures>) -> Result<()> {
        let begin = step.row_of(time.start);
        let ids: Vec<Uuid> = fine.keys().copied().collect();
        let mut conn = app.db.read().await?;
        let mut stored = rows::of_applications(&mut conn, &ids, step.seconds, begin..begin + 1).await?;
        drop(conn);
        stored.retain(|row| row.server_id == self.server_id);
        let mut joined: BTreeMap<Uuid, Figures> =
            stored.iter().map(|row| (row.application_id, unpacked(row, step))).collect();
        for (id, fine) in fine {
            let figures = joined.entry(*id).or_default();
            figures.replace(time.clone(), fine.within(time.clone()).in_steps(step));
            figures.bound();
        }
        let all: BTreeMap<Uuid, &Figures> = joined.iter().map(|(id, figures)| (*id, figures)).collect();
        self.write(app, step, begin, &all).await
    }
}

/// One that nothing has written like this is as if it were not there.
pub(super) fn unpacked(row: &Row, step: Step) -> Figures {
    Figures::unpack(&row.points, step, row.start).unwrap_or_else(|error| {
        tracing::error!(%error, application = %row.application_id, start = row.start, step = step.seconds, "left out");
        Figures::default()
    })
}

/// A little at a time: others write meanwhile. Rows go when all of them is too old.
async fn forget(app: &App, now: i64) -> Result<()> {
    // Only whole intervals of ten minutes go: after a start they are made once more of what is left of them.
    let fine = COARSE.point_of(now - FINE_SECONDS - COARSE.seconds - FINE.row);
    let before = [
        (FINE, fine),
        (MINUTE, now - MINUTE_SECONDS - MINUTE.row),
        (COARSE, now - app.config.figures_seconds - COARSE.row),
    ];
    for (step, before) in before {
        loop {
            let mut tx = app.db.begin().await?;
            let some = rows::delete_before(&mut tx, step.seconds, before, FORGOTTEN_AT_ONCE).await?;
            tx.commit().await?;
            if some == 0 {
                break;
            }
        }
    }
    Ok(())
}
