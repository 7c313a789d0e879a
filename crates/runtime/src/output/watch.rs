//! Waiting until a file is written to. The kernel tells, so that a silent container costs nothing.

use std::collections::HashMap;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;

use std::thread::JoinHandle;

use parking_lot::Mutex;
use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use rustix::fs::inotify::{self, CreateFlags, Reader, WatchFlags};
use rustix::io::{Errno, write};
use tokio::sync::Notify;

/// Of what the kernel has to tell at once; each event takes some 16 bytes.
const BUFFER: usize = 4096;

/// All files that are waited for. A thread of its own hears of them.
pub(crate) struct FileWatch {
    inotify: Arc<OwnedFd>,
    waiting: Arc<Waiting>,
    /// Written to when the thread is to end.
    stop: Arc<OwnedFd>,
    telling: JoinHandle<()>,
}

/// By the kernel's number of each watch.
type Waiting = Mutex<HashMap<i32, Arc<Notify>>>;

impl FileWatch {
    pub(crate) fn new() -> io::Result<Self> {
        let inotify = Arc::new(inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC)?);
        let stop = Arc::new(eventfd(0, EventfdFlags::CLOEXEC)?);
        let waiting = Arc::new(Waiting::default());
        let thread = std::thread::Builder::new().name("log-files".into());
        let telling = thread.spawn({
            let (inotify, stop, waiting) = (inotify.clone(), stop.clone(), waiting.clone());
            move || while is_told(&inotify, &stop) && tell(&inotify, &waiting) {}
        })?;
        Ok(Self { inotify, waiting, stop, telling })
    }

    /// From now on, for what happens to it next. It ends with the first event, so that a container that prints much is told of once.
    pub(super) fn watch(self: &Arc<Self>, file: &Path) -> io::Result<Watched> {
        if self.telling.is_finished() {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        // A file that is removed while it is held open has changed attributes: it has a name less.
        let flags = WatchFlags::MODIFY | WatchFlags::MOVE_SELF | WatchFlags::ATTRIB | WatchFlags::ONESHOT;
        let told = Arc::new(Notify::new());
        // Held while it is added, so that no event comes before it is known for whom.
        let mut waiting = self.waiting.lock();
        let number = inotify::add_watch(&*self.inotify, file, flags)?;
        waiting.insert(number, told.clone());
        drop(waiting);
        Ok(Watched { watch: self.clone(), number, told })
    }
}

impl Drop for FileWatch {
    fn drop(&mut self) {
        let _ = write(&*self.stop, &1_u64.to_ne_bytes());
    }
}

/// Waits until the kernel has something to tell; false if it is time to end.
fn is_told(inotify: &OwnedFd, stop: &OwnedFd) -> bool {
    loop {
        let mut ready = [PollFd::new(inotify, PollFlags::IN), PollFd::new(stop, PollFlags::IN)];
        match poll(&mut ready, None) {
            Ok(_) => return ready[1].revents().is_empty(),
            Err(Errno::INTR) => {}
            Err(_) => return false,
        }
    }
}

/// Passes on what the kernel tells. After a failure it is false: no file can be waited for from then on, and readers look by
/// themselves again.
fn tell(inotify: &OwnedFd, waiting: &Waiting) -> bool {
    let mut buffer = [MaybeUninit::uninit(); BUFFER];
    let mut events = Reader::new(inotify, &mut buffer);
    loop {
        match events.next() {
            Ok(event) => {
                if let Some(told) = waiting.lock().remove(&event.wd()) {
                    told.notify_one();
                }
            }
            Err(Errno::INTR) => {}
            Err(problem) => return problem == Errno::WOULDBLOCK,
        }
    }
}

/// A file that is waited for, until this is dropped.
pub struct Watched {
    watch: Arc<FileWatch>,
    number: i32,
    told: Arc<Notify>,
}

impl Watched {
    /// Returns when something was written to the file, or when it was renamed or removed.
    pub async fn changed(&self) {
        self.told.notified().await;
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        let mut waiting = self.watch.waiting.lock();
        // Another one may wait for the same file by now, and the kernel gives both the same number.
        if waiting.get(&self.number).is_some_and(|told| Arc::ptr_eq(told, &self.told)) {
            waiting.remove(&self.number);
            let _ = inotify::remove_watch(&*self.watch.inotify, self.number);
        }
    }
}
