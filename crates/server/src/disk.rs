//! Room on disks, and whether the database finds some on its own.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::watch::{self, Receiver};
use windlass_api::Timestamp;
use windlass_store::Kind;

/// Less is as good as nothing: SQLite writes every change twice.
const LEAST_BYTES: u64 = 1024 * 1024;
/// How long a refused change counts when no other change follows. PostgreSQL's disk cannot be looked at, and a server
/// that stayed unready would never be sent the change that shows that there is room again.
const REFUSAL_SECONDS: i64 = 30;
/// A disk of this machine answers at once.
const ASK_LIMIT: Duration = Duration::from_secs(2);

/// What the last changes showed.
#[derive(Default)]
pub struct DatabaseDisk(Mutex<Option<Timestamp>>);

impl DatabaseDisk {
    /// A change found no room.
    pub fn found_no_room(&self, now: Timestamp) {
        *self.last_refusal() = Some(now);
    }

    /// A change found room.
    pub fn found_room(&self) {
        *self.last_refusal() = None;
    }

    /// Whether the next change would fail for lack of room, as far as that can be known without making one.
    pub async fn is_full(&self, kind: Kind, disks: &Disks, data_dir: &Path, now: Timestamp) -> bool {
        match kind {
            _ if self.refused_lately(now) => true,
            Kind::Sqlite => disks.space(data_dir).await.is_some_and(|space| space.free < LEAST_BYTES),
            Kind::Postgres => false,
        }
    }

    fn refused_lately(&self, now: Timestamp) -> bool {
        self.last_refusal().is_some_and(|last| last.plus_seconds(REFUSAL_SECONDS) > now)
    }

    fn last_refusal(&self) -> MutexGuard<'_, Option<Timestamp>> {
        self.0.lock()
    }
}

/// In bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Space {
    pub free: u64,
    pub whole: u64,
    /// The same for folders of one disk.
    pub disk_id: u64,
}

/// Asks the kernel how much room there is. A disk on another machine that is away keeps the thread that asks for as long as it is away: so
/// the others wait for a short time only, and no second thread asks about a folder before the first has an answer.
#[derive(Clone)]
pub struct Disks {
    ask: Arc<Ask>,
    limit: Duration,
    under_way: Arc<Mutex<HashMap<PathBuf, Receiver<Answer>>>>,
}

type Ask = dyn Fn(&Path) -> Option<Space> + Send + Sync;
/// None as long as there is none. One that has no room to tell of is not a full one.
type Answer = Option<Option<Space>>;

impl Default for Disks {
    fn default() -> Self {
        Self::asking(ASK_LIMIT, statvfs)
    }
}

impl Disks {
    /// Another way to ask, and how long callers wait for it.
    pub fn asking(limit: Duration, ask: impl Fn(&Path) -> Option<Space> + Send + Sync + 'static) -> Self {
        Self { ask: Arc::new(ask), limit, under_way: Arc::default() }
    }

    /// The disk that a folder is on; none when it does not tell, or not in time.
    pub async fn space(&self, folder: &Path) -> Option<Space> {
        let mut answer = self.answer_to_come(folder)?;
        let answered = tokio::time::timeout(self.limit, answer.wait_for(Option::is_some)).await.ok()?.ok()?;
        answered.flatten()
    }

    /// That of the thread that asks already, or of a new one.
    fn answer_to_come(&self, folder: &Path) -> Option<Receiver<Answer>> {
        let mut under_way = self.under_way.lock();
        if let Some(answer) = under_way.get(folder) {
            return Some(answer.clone());
        }
        let (tell, answer) = watch::channel(None);
        let (ask, all, path) = (self.ask.clone(), self.under_way.clone(), folder.to_owned());
        // None of the runtime's own threads: those must end before the server can.
        let thread = std::thread::Builder::new().name("disk".to_owned());
        let answering = move || {
            let space = ask(&path);
            all.lock().remove(&path);
            tell.send_replace(Some(space));
        };
        thread.spawn(answering).ok()?;
        under_way.insert(folder.to_owned(), answer.clone());
        Some(answer)
    }
}

fn statvfs(folder: &Path) -> Option<Space> {
    let disk = rustix::fs::statvfs(folder).ok()?;
    let (free, whole) = (disk.f_bavail * disk.f_frsize, disk.f_blocks * disk.f_frsize);
    Some(Space { free, whole, disk_id: disk.f_fsid })
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc;
    use std::time::Instant;

    use super::*;

    const SPACE: Space = Space { free: 1, whole: 2, disk_id: 3 };

    #[tokio::test]
    async fn a_folder_has_room() {
        let space = Disks::default().space(Path::new("/")).await.unwrap();
        assert!(space.whole > 0 && space.free <= space.whole);
        assert_eq!(Disks::default().space(Path::new("/there/is/no/such/folder")).await, None);
    }

    #[tokio::test]
    async fn a_disk_that_hangs_takes_one_thread_and_little_time() {
        let (go_on, gate) = mpsc::channel::<()>();
        let (gate, asked) = (Mutex::new(gate), Arc::new(AtomicUsize::new(0)));
        let counted = asked.clone();
        let disks = Disks::asking(Duration::from_millis(500), move |folder| {
            if folder == Path::new("/hangs") {
                counted.fetch_add(1, Ordering::SeqCst);
                // Until there is something to take, or the test has ended.
                let _ = gate.lock().recv();
            }
            Some(SPACE)
        });
        for _ in 0..3 {
            assert_eq!(disks.space(Path::new("/hangs")).await, None);
            assert_eq!(disks.space(Path::new("/well")).await, Some(SPACE), "another one is asked all the same");
        }
        assert_eq!(asked.load(Ordering::SeqCst), 1);
        go_on.send(()).unwrap();
        drop(go_on);
        let deadline = Instant::now() + Duration::from_secs(30);
        while disks.space(Path::new("/hangs")).await.is_none() {
            assert!(Instant::now() < deadline, "it is not asked again");
        }
    }
}
