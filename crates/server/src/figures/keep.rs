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
/// So long the clock must have gone on without a jump before anything is old by it: one that is wrong after a start of the machine is put right soon.
const STEADY_SECONDS: i64 = 3_600;
/// So much more than the time from one look to the next is a jump.
const JUMP_SECONDS: i64 = 600;
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
    steady: Steady,
}

impl Keeper {
    pub fn new(server_id: Uuid) -> Self {
        Self { server_id, newest: HashMap::new(), begin: None, coarse_until: None, steady: Steady::default() }
    }

    /// Adds the points that begin then.
    pub async fn add(&mut self, app: &App, at: i64, taken: &Taken) -> Result<()> {
        self.steady.note(at, app.config.figures_interval);
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
        if self.steady.is_for(STEADY_SECONDS) { forget(app, at).await } else { Ok(()) }
    }

    async fn first_row(&self, app: &App, starts: Range<i64>) -> Result<Option<i64>> {
        rows::first(&mut app.db.read().await?, self.server_id, FINE.seconds, starts).await
    }

    async fn make_coarse_points(&self, app: &App, time: Range<i64>) -> Result<()> {
        let mut after = Uuid::nil();
        loop {
            let mut conn = app.db.read().await?;
            let page = rows::of_server(&mut conn, self.server_id, FINE.seconds, time.clone(), after, AT_ONCE).await?;
            drop(conn);
            let is_full = page.len() as i64 == AT_ONCE;
            let page = if is_full { whole_applications(page) } else { page };
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

/// Of a full page the last application may go on in the next one, unless it is alone. What is made coarser takes the place of all that was there.
fn whole_applications(mut page: Vec<Row>) -> Vec<Row> {
    let last = page.last().map(|row| row.application_id);
    if page.first().map(|row| row.application_id) != last {
        page.retain(|row| Some(row.application_id) != last);
    }
    page
}

/// Since when the clock goes on without a jump. A server that was started knows nothing of the time before.
#[derive(Default)]
struct Steady {
    /// Two points.
    first_and_last: Option<(i64, i64)>,
}

impl Steady {
    fn note(&mut self, at: i64, interval: i64) {
        let goes_on = |last: i64| (0..=interval + JUMP_SECONDS).contains(&(at - last));
        let first = self.first_and_last.filter(|(_, last)| goes_on(*last)).map_or(at, |(first, _)| first);
        self.first_and_last = Some((first, at));
    }

    fn is_for(&self, seconds: i64) -> bool {
        self.first_and_last.is_some_and(|(first, last)| last - first >= seconds)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_application_is_cut_at_the_end_of_a_page() {
        let page = |ids: &[u128]| -> Vec<Row> {
            let row = |id: &u128| Row {
                application_id: Uuid::from_u128(*id),
                server_id: Uuid::nil(),
                start: 0,
                points: Vec::new(),
            };
            ids.iter().map(row).collect()
        };
        let left =
            |ids| whole_applications(page(ids)).iter().map(|row| row.application_id.as_u128()).collect::<Vec<_>>();
        assert_eq!(left(&[1, 1, 2, 3, 3]), [1, 1, 2]);
        assert_eq!(left(&[4, 4, 4]), [4, 4, 4], "it would never be passed");
        assert!(left(&[]).is_empty());
    }

    #[test]
    fn a_clock_is_steady_from_its_last_jump_on() {
        let mut steady = Steady::default();
        assert!(!steady.is_for(0));
        for (at, is_steady) in [
            (1_000, false),
            (1_600, true),
            // Some looks were left out.
            (2_210, true),
            (9_000, false),
            (9_590, false),
            (9_600, true),
            // Set back.
            (2_000, false),
            (2_600, true),
        ] {
            steady.note(at, 10);
            assert_eq!(steady.is_for(600), is_steady, "{at}");
        }
    }
}
