//! Over the API, and from one way of reading to the other.

use std::sync::{Arc, Mutex};
use std::task::Poll;

use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{UnixListener, UnixStream};
use tokio::task::JoinHandle;

use super::super::entry::{self, Parsed};
use super::*;
use crate::output::{Access, Output, Position};
use crate::{Docker, Error};

const LONGEST: usize = 1000;

/// Answers for one container, whose files a driver writes.
pub(super) struct FakeEngine {
    pub docker: Docker,
    pub driver: Driver,
    /// What the engine says about the container; nothing if it is gone.
    pub status: Arc<Mutex<Option<&'static str>>>,
    /// How many entries were asked for, each time.
    pub asked: Arc<Mutex<Vec<Option<usize>>>>,
    serving: JoinHandle<()>,
    folder: TempDir,
}

impl FakeEngine {
    pub fn new(most_bytes: usize, most_files: usize) -> Self {
        Self::stingy(most_bytes, most_files, 1)
    }

    /// Gives a part of what it is asked for, so that even with little output it happens that more must be asked for.
    pub fn stingy(most_bytes: usize, most_files: usize, part: usize) -> Self {
        let folder = TempDir::new().unwrap();
        let socket = folder.path().join("engine.sock");
        let listener = UnixListener::bind(&socket).unwrap();
        let driver = Driver::new(folder.path(), most_bytes, most_files);
        let status = Arc::new(Mutex::new(Some("running")));
        let asked = Arc::new(Mutex::new(Vec::new()));
        let (path, state, questions) = (driver.path.clone(), Arc::clone(&status), Arc::clone(&asked));
        let serving = tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                answer(stream, &path, &state, &questions, part).await;
            }
        });
        Self { docker: Docker::new(&socket), driver, status, asked, serving, folder }
    }

    pub async fn output(&self, access: Access, position: &Position) -> Output {
        let position = serde_json::from_str(&serde_json::to_string(position).unwrap()).unwrap();
        let output = self.docker.output("x", access, LONGEST, position).await.unwrap();
        assert_eq!(output.reads_files(), access == Access::Files);
        output
    }
}

impl Drop for FakeEngine {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn answer(
    mut stream: UnixStream,
    path: &Path,
    status: &Mutex<Option<&'static str>>,
    asked: &Mutex<Vec<Option<usize>>>,
    part: usize,
) {
    let mut request = [0; 1024];
    let length = stream.read(&mut request).await.unwrap();
    let request = String::from_utf8_lossy(&request[..length]);
    let status = *status.lock().unwrap();
    let (code, body) = match status {
        _ if request.contains("/version") => (200, br#"{"Version":"1","ApiVersion":"1.41","Arch":"amd64"}"#.to_vec()),
        None => (404, br#"{"message":"No such container: x"}"#.to_vec()),
        Some(status) if request.contains("/json HTTP") => (200, description(path, status).into_bytes()),
        Some(_) => {
            let tail = request.split_once("&tail=").map(|(_, rest)| rest.split([' ', '&']).next().unwrap());
            let tail = tail.map(|tail| tail.parse().unwrap());
            asked.lock().unwrap().push(tail);
            (200, frames(&Driver::contents(path), tail.unwrap_or(usize::MAX) / part))
        }
    };
    let head = format!("HTTP/1.1 {code} X\r\nContent-Length: {}\r\n\r\n", body.len());
    // The reader may have seen enough of the answer.
    let _ = stream.write_all(&[head.as_bytes(), &body].concat()).await;
}

fn description(path: &Path, status: &str) -> String {
    serde_json::json!({
        "Id": "x", "Name": "/x", "Image": "i", "RestartCount": 0, "LogPath": path,
        "State": {
            "Status": status, "OOMKilled": false, "Pid": 0, "ExitCode": 0, "Error": "", "StartedAt": "", "FinishedAt": "",
        },
        "Config": {}, "NetworkSettings": {},
        "HostConfig": { "LogConfig": { "Type": "json-file", "Config": {} } },
    })
    .to_string()
}

fn frames(contents: &[u8], tail: usize) -> Vec<u8> {
    let entries = lines_of(contents);
    let mut frames = Vec::new();
    for line in &entries[entries.len().saturating_sub(tail)..] {
        let mut text = Vec::new();
        let Parsed::Entry(entry) = entry::parse(line, &mut text) else { panic!("{line:?}") };
        let (seconds, rest) = (entry.at.div_euclid(1_000_000_000), entry.at.rem_euclid(1_000_000_000));
        let whole = moment(seconds * 1_000_000_000).format(&time::format_description::well_known::Rfc3339).unwrap();
        let bytes = [format!("{}.{rest:09}Z ", whole.trim_end_matches('Z')).as_bytes(), &text].concat();
        frames.extend([1 + u8::from(entry.stream == Stream::Stderr), 0, 0, 0]);
        frames.extend(u32::try_from(bytes.len()).unwrap().to_be_bytes());
        frames.extend(bytes);
    }
    frames
}

fn lines_of(contents: &[u8]) -> Vec<&[u8]> {
    contents.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).collect()
}

pub(super) async fn all(output: &mut Output) -> (Vec<String>, Vec<Gap>, Position) {
    let (mut lines, mut gaps) = (Vec::new(), Vec::new());
    loop {
        let portion = output.read(1 << 20).await.unwrap();
        lines.extend(texts(&portion));
        gaps.extend(portion.gap);
        if portion.is_end {
            return (lines, gaps, portion.position);
        }
    }
}

#[tokio::test]
async fn a_reader_asks_for_little_and_for_more_if_that_was_not_enough() {
    let mut engine = FakeEngine::new(1 << 20, 1000);
    let mut output = engine.output(Access::Engine, &Position::default()).await;
    let asked = Arc::clone(&engine.asked);
    let asked = || std::mem::take(&mut *asked.lock().unwrap());
    engine.driver.number(0..1);
    assert_eq!(all(&mut output).await.0, numbered(0..1));
    assert_eq!(asked(), [None]);
    // The only entry that there is: it is known to be the first.
    assert_eq!(all(&mut output).await.0, numbered(0..0));
    assert_eq!(asked(), [Some(1000)]);
    engine.driver.number(1..500);
    assert_eq!(all(&mut output).await.0, numbered(1..500));
    assert_eq!(asked(), [Some(1000)]);
    engine.driver.number(500..2000);
    assert_eq!(all(&mut output).await.0, numbered(500..2000));
    assert_eq!(asked(), [Some(1996)]);
    engine.driver.number(2000..10_000);
    assert_eq!(all(&mut output).await.0, numbered(2000..10_000));
    assert_eq!(asked(), [Some(6000), Some(48_000)]);
    assert_eq!(all(&mut output).await.0, numbered(0..0));
    assert_eq!(asked(), [Some(32_000)]);
    assert_eq!(all(&mut output).await.0, numbered(0..0));
    assert_eq!(asked(), [Some(1000)]);
}

#[tokio::test]
async fn an_answer_is_read_in_portions_and_its_end_is_not_the_end() {
    let mut engine = FakeEngine::new(1 << 20, 5);
    engine.driver.number(0..100);
    let mut output = engine.output(Access::Engine, &Position::default()).await;
    assert_eq!(output.read(1).await.unwrap().lines.len(), 1);
    engine.driver.number(100..101);
    let portion = output.read(1 << 20).await.unwrap();
    assert_eq!((texts(&portion), portion.is_end), (numbered(1..100), false));
    let portion = output.read(1 << 20).await.unwrap();
    assert_eq!((texts(&portion), portion.is_end), (numbered(100..101), true));
}

#[tokio::test]
async fn what_the_engine_has_removed_is_a_gap() {
    for access in [Access::Files, Access::Engine] {
        let mut engine = FakeEngine::new(1000, 3);
        engine.driver.number(0..5);
        let position = all(&mut engine.output(access, &Position::default()).await).await.2;
        engine.driver.number(5..200);
        let kept = lines_of(&Driver::contents(&engine.driver.path)).len() as i64;
        for access in [Access::Files, Access::Engine] {
            let (lines, gaps, _) = all(&mut engine.output(access, &position).await).await;
            assert_eq!((lines, gaps), (numbered(200 - kept..200), vec![missing(4, 200 - kept).unwrap()]));
        }
    }
}

#[tokio::test]
async fn an_unfinished_line_is_given_out_when_its_container_has_ended() {
    for access in [Access::Files, Access::Engine] {
        let mut engine = FakeEngine::new(1000, 3);
        engine.driver.log(Stream::Stdout, 1000, "begun");
        engine.driver.log(Stream::Stderr, 2000, "other\n");
        let mut output = engine.output(access, &Position::default()).await;
        let portion = output.read(1000).await.unwrap();
        assert_eq!((texts(&portion), portion.is_end), (vec!["other".to_owned()], false));
        assert!(output.read(1000).await.unwrap().is_end, "it may go on");
        *engine.status.lock().unwrap() = Some("exited");
        for access in [Access::Files, Access::Engine] {
            let (lines, gaps, _) = all(&mut engine.output(access, &portion.position).await).await;
            assert_eq!((lines, gaps), (vec!["begun".to_owned()], vec![]));
        }
        assert_eq!(all(&mut output).await.0, ["begun"]);
        assert_eq!(all(&mut output).await.0, numbered(0..0));
    }
}

#[tokio::test]
async fn a_clock_that_is_set_back_does_no_harm() {
    for access in [Access::Files, Access::Engine] {
        let mut engine = FakeEngine::new(1000, 4);
        let mut output = engine.output(access, &Position::default()).await;
        engine.driver.number(1000..1010);
        assert_eq!(all(&mut output).await.0, numbered(1000..1010));
        engine.driver.number(0..5);
        assert_eq!(all(&mut output).await.0, numbered(0..5));
        engine.driver.number(5..8);
        let (lines, _, position) = all(&mut output).await;
        assert_eq!(lines, numbered(5..8));
        engine.driver.number(8..10);
        for access in [Access::Engine, Access::Files] {
            let (lines, gaps, position) = all(&mut engine.output(access, &position).await).await;
            assert_eq!((lines, gaps), (numbered(8..10), vec![]));
            assert_eq!(all(&mut engine.output(Access::Files, &position).await).await.0, numbered(0..0));
        }
        // What was read last is gone, and the clock has not caught up.
        engine.driver.number(10..200);
        let kept = lines_of(&Driver::contents(&engine.driver.path)).len() as i64;
        for access in [Access::Engine, Access::Files] {
            let (lines, gaps, position) = all(&mut engine.output(access, &position).await).await;
            assert_eq!((lines, gaps), (numbered(200 - kept..200), vec![missing(7, 200 - kept).unwrap()]), "{access:?}");
            assert_eq!(all(&mut engine.output(Access::Engine, &position).await).await.0, numbered(0..0));
        }
    }
}

#[tokio::test]
async fn of_a_container_that_is_gone_all_is_read_first() {
    let mut engine = FakeEngine::new(1000, 3);
    engine.driver.number(0..30);
    let mut output = engine.output(Access::Files, &Position::default()).await;
    output.read(1).await.unwrap();
    engine.driver.number(30..35);
    engine.driver.log(Stream::Stdout, 40_000, "last");
    for entry in std::fs::read_dir(engine.folder.path()).unwrap() {
        let path = entry.unwrap().path();
        if path.to_string_lossy().contains(".log") {
            std::fs::remove_file(path).unwrap();
        }
    }
    *engine.status.lock().unwrap() = None;
    let portion = output.read(1 << 20).await.unwrap();
    assert_eq!((texts(&portion), portion.is_end), ([numbered(1..35), vec!["last".to_owned()]].concat(), false));
    for _ in 0..2 {
        let result = output.read(1 << 20).await;
        assert!(matches!(result, Err(Error::NotFound { .. })), "{result:?}");
    }
    let result = engine.docker.output("x", Access::Files, LONGEST, portion.position).await;
    assert!(matches!(result.map(drop), Err(Error::NotFound { .. })));
}

#[tokio::test]
async fn without_files_the_engine_is_asked() {
    let engine = FakeEngine::new(1000, 3);
    std::fs::remove_file(&engine.driver.path).unwrap();
    let mut output = engine.docker.output("x", Access::Files, LONGEST, Position::default()).await.unwrap();
    assert!(!output.reads_files());
    assert!(output.read(1000).await.unwrap().is_end);
    assert_eq!(*engine.asked.lock().unwrap(), [None]);
}

#[tokio::test]
async fn a_read_that_was_given_up_is_made_again() {
    for access in [Access::Files, Access::Engine] {
        let mut engine = FakeEngine::new(1 << 20, 3);
        engine.driver.number(0..50);
        let mut output = engine.output(access, &Position::default()).await;
        let mut lines = Vec::new();
        for _ in 0..10 {
            // Seldom it is done by then.
            if let Some(portion) = begin(Box::pin(output.read(1))).await {
                lines.extend(texts(&portion.unwrap()));
            }
        }
        lines.extend(all(&mut output).await.0);
        assert_eq!(lines, numbered(0..50));
    }
}

/// Looks at a future once and then gives it up.
async fn begin<F: Future + Unpin>(mut future: F) -> Option<F::Output> {
    std::future::poll_fn(|cx| match std::pin::Pin::new(&mut future).poll(cx) {
        Poll::Ready(value) => Poll::Ready(Some(value)),
        Poll::Pending => Poll::Ready(None),
    })
    .await
}
