//! The log: lines on standard error, written by a thread of its own, so that a reader that reads them slowly, or not at
//! all, does not hold up the server.

use std::io::{IsTerminal, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use windlass_server::config::{LogFormat, LogLevel};

/// Lines that wait to be written; what comes beyond them is lost, and counted.
const WAITING: usize = 8192;
/// How long an end waits for the last lines.
const LAST_LINES: Duration = Duration::from_secs(1);

/// Writes what is left when it is dropped.
pub struct Log {
    lines: Option<Lines>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Clone)]
struct Lines {
    sender: SyncSender<Option<Vec<u8>>>,
    lost: Arc<AtomicU64>,
}

pub fn start(format: LogFormat, level: LogLevel) -> Log {
    let level = match level {
        LogLevel::Error => LevelFilter::ERROR,
        LogLevel::Warn => LevelFilter::WARN,
        LogLevel::Info => LevelFilter::INFO,
        LogLevel::Debug => LevelFilter::DEBUG,
        LogLevel::Trace => LevelFilter::TRACE,
    };
    let (sender, receiver) = sync_channel(WAITING);
    let lines = Lines { sender, lost: Arc::default() };
    let lost = lines.lost.clone();
    let thread = std::thread::Builder::new().name("log".into()).spawn(move || write_all(&receiver, &lost)).ok();
    // What PostgreSQL says beside its answers, such as that a table is there already, concerns neither operator nor
    // reader.
    let filter = Targets::new().with_default(level).with_target("sqlx::postgres::notice", level.min(LevelFilter::WARN));
    let subscriber = tracing_subscriber::fmt().with_max_level(level).with_writer(lines.clone());
    match format {
        LogFormat::Json => subscriber.json().finish().with(filter).init(),
        LogFormat::Text => {
            subscriber.with_ansi(std::io::stderr().is_terminal()).with_target(false).finish().with(filter).init();
        }
    }
    Log { lines: Some(lines), thread }
}

fn write_all(lines: &Receiver<Option<Vec<u8>>>, lost: &AtomicU64) {
    let mut output = std::io::stderr();
    while let Ok(Some(line)) = lines.recv() {
        // Nothing is left to do when standard error is closed.
        let _ = output.write_all(&line);
        match lost.swap(0, Ordering::Relaxed) {
            0 => {}
            lost => {
                let _ = writeln!(output, "{lost} line(s) of the log were lost: they came faster than they were taken");
            }
        }
    }
}

impl Write for Lines {
    /// Called once for every line.
    fn write(&mut self, line: &[u8]) -> std::io::Result<usize> {
        if self.sender.try_send(Some(line.to_vec())).is_err() {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Lines {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        let deadline = Instant::now() + LAST_LINES;
        if let (Some(lines), Some(thread)) = (self.lines.take(), self.thread.take()) {
            let _ = lines.sender.try_send(None);
            while !thread.is_finished() && Instant::now() < deadline {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
    }
}
