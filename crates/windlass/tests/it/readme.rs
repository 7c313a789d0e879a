//! What the README and the guides tell their reader to type works when it is typed: the README's commands, then those
//! of one guide, in order, into one `sh`, with a fresh data folder. No other test may use the ports 7743, 7744 and 7780 to 7782.

use std::collections::BTreeSet;
use std::fs::File;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::documents::{guides, read, root};
use crate::process::{Process, run, windlass};

const DEADLINE: Duration = Duration::from_secs(180);

/// Held by the test that uses the ports.
static PORTS: Mutex<()> = Mutex::new(());

/// In place of `curl`: does what it does, and keeps how it ended, what it was asked and what came.
const CURL: &str = r#"#!/bin/sh
kept=$(mktemp answers/XXXXXX) status=0
real-curl "$@" >"$kept.body" || status=$?
cat "$kept.body"
{ printf '%s ' "$status" "$@" | tr '\n' ' '; echo; cat "$kept.body"; } >"$kept"
rm "$kept.body"
exit "$status"
"#;

/// The guides with commands, each typed by a test below.
const TYPED: [&str; 18] = [
    "docs/access.md",
    "docs/api.md",
    "docs/code-hosts.md",
    "docs/commands.md",
    "docs/data.md",
    "docs/deploying.md",
    "docs/domains.md",
    "docs/edge.md",
    "docs/extensions.md",
    "docs/figures.md",
    "docs/https.md",
    "docs/images.md",
    "docs/logs.md",
    "docs/notifications.md",
    "docs/operating.md",
    "docs/people-and-keys.md",
    "docs/uploads.md",
    "docs/uptime.md",
];

#[test]
fn every_guide_with_commands_is_typed() {
    let with_commands: Vec<_> = guides().into_iter().filter(|guide| read(guide).contains("```sh\n")).collect();
    assert_eq!(with_commands, TYPED);
}

#[test]
fn the_readme_and_the_guide_to_access() {
    Session::after_typing("docs/access.md");
}

#[test]
fn the_readme_and_the_guide_to_the_api() {
    Session::after_typing("docs/api.md");
}

#[test]
fn the_readme_and_the_guide_to_domains() {
    Session::after_typing("docs/domains.md");
}

#[test]
fn the_readme_and_the_guide_to_code_hosts() {
    Session::after_typing("docs/code-hosts.md");
}

#[test]
fn the_readme_and_the_guide_to_commands() {
    Session::after_typing("docs/commands.md");
}

#[test]
fn the_readme_and_the_guide_to_data() {
    Session::after_typing("docs/data.md");
}

#[test]
fn the_readme_and_the_guide_to_deploying() {
    Session::after_typing("docs/deploying.md");
}

#[test]
fn the_readme_and_the_guide_to_the_edge() {
    Session::after_typing("docs/edge.md");
}

#[test]
fn the_readme_and_the_guide_to_extensions() {
    Session::after_typing("docs/extensions.md");
}

#[test]
fn the_readme_and_the_guide_to_figures() {
    Session::after_typing("docs/figures.md");
}

#[test]
fn the_readme_and_the_guide_to_https() {
    Session::after_typing("docs/https.md");
}

#[test]
fn the_readme_and_the_guide_to_images() {
    Session::after_typing("docs/images.md");
}

#[test]
fn the_readme_and_the_guide_to_logs() {
    Session::after_typing("docs/logs.md");
}

#[test]
fn the_readme_and_the_guide_to_notifications() {
    Session::after_typing("docs/notifications.md");
}

/// Beside what is typed: the metrics are those that the guide lists, and the host route is the one that it shows.
#[test]
fn the_readme_and_the_guide_to_operating() {
    let session = Session::after_typing("docs/operating.md");
    let guide = read("docs/operating.md");
    let words = guide.split('`').filter(|word| word.starts_with("windlass_"));
    let listed: BTreeSet<_> = words.map(str::to_owned).collect();
    let metrics = answers(session.folder.path()).into_iter().find(|answer| answer.asked.contains("/metrics")).unwrap();
    let types = metrics.body.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next());
    assert_eq!(listed, types.map(str::to_owned).collect());
    let route = guide.split('`').find(|text| text.starts_with("unreachable ")).unwrap();
    let said = session.said();
    assert!(said.lines().any(|line| line.trim() == route), "no {route} in:\n{said}");
}

#[test]
fn the_readme_and_the_guide_to_people_and_keys() {
    Session::after_typing("docs/people-and-keys.md");
}

#[test]
fn the_readme_and_the_guide_to_uploads() {
    Session::after_typing("docs/uploads.md");
}

#[test]
fn the_readme_and_the_guide_to_uptime() {
    Session::after_typing("docs/uptime.md");
}

/// A server as the reader starts it, and a shell beside it in which everything was typed.
struct Session {
    folder: TempDir,
    _server: Process,
    _ports: MutexGuard<'static, ()>,
}

impl Session {
    fn after_typing(guide: &str) -> Self {
        let _ports = PORTS.lock().unwrap_or_else(PoisonError::into_inner);
        let folder = folder_with_programs();
        let session = Self { _server: Process::start_as_make_does(folder.path()), folder, _ports };
        let documents = [read("README.md"), read(guide)].concat();
        let commands = typed(&documents);
        type_into_shell(session.folder.path(), &commands);
        let answers = answers(session.folder.path());
        assert!(answers.len() >= commands.matches("curl -").count(), "only {} answers", answers.len());
        for answer in answers {
            answer.check(&documents);
        }
        session
    }

    fn said(&self) -> String {
        String::from_utf8_lossy(&std::fs::read(self.folder.path().join("said")).unwrap()).into_owned()
    }
}

/// What was typed has started processes of its own, which must not be there when the next guide is typed.
impl Drop for Session {
    fn drop(&mut self) {
        for data_dir in
            ["data", "site"].map(|name| self.folder.path().join(name)).iter().filter(|folder| folder.exists())
        {
            run(windlass().arg("stop").arg("--data-dir").arg(data_dir));
        }
    }
}

/// The commands as they are typed. All of them but these:
/// - `make run` is what this test does by itself, with the binary that cargo has built for it.
/// - Following logs has no end: it is given two seconds, after which `curl` says 28.
fn typed(documents: &str) -> String {
    let blocks = documents.split("```sh\n").skip(1).filter_map(|rest| rest.split("\n```").next());
    let lines = blocks.flat_map(str::lines).filter(|line| !line.starts_with("make ")).map(|line| {
        if line.contains("/follow\"") {
            let command = line.split("  #").next().unwrap_or_default();
            format!("{command} --max-time 2 || test $? = 28\n")
        } else {
            format!("{line}\n")
        }
    });
    lines.collect()
}

/// A folder like the one that the reader is in, with what the commands name: examples and scripts, and programs to be
/// found before others.
fn folder_with_programs() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let [bin, answers] = ["bin", "answers"].map(|name| folder.path().join(name));
    for new in [&bin, &answers] {
        std::fs::create_dir(new).unwrap();
    }
    let copied = ["examples", "scripts"].map(|name| root().join(name));
    assert!(run(Command::new("cp").arg("-r").args(copied).arg(folder.path())).status.success());
    symlink(env!("CARGO_BIN_EXE_windlass"), bin.join("windlass")).unwrap();
    let path = std::env::var_os("PATH").unwrap();
    let curl = std::env::split_paths(&path).map(|folder| folder.join("curl")).find(|file| file.exists());
    symlink(curl.expect("curl is installed"), bin.join("real-curl")).unwrap();
    std::fs::write(bin.join("curl"), CURL).unwrap();
    std::fs::set_permissions(bin.join("curl"), std::fs::Permissions::from_mode(0o755)).unwrap();
    folder
}

/// Each command must succeed. `sh` is the plain one of the system, which knows nothing that only bash does.
fn type_into_shell(folder: &Path, commands: &str) {
    let [script, said] = ["typed", "said"].map(|name| folder.join(name));
    std::fs::write(&script, commands).unwrap();
    let output = File::create(&said).unwrap();
    let path = std::env::var("PATH").unwrap();
    let mut shell = Command::new("sh");
    shell.args(["-eux", "typed"]).current_dir(folder).stdin(Stdio::null());
    shell.env("PATH", format!("{}:{path}", folder.join("bin").display()));
    let mut shell = shell.stdout(output.try_clone().unwrap()).stderr(output).spawn().unwrap();
    let deadline = Instant::now() + DEADLINE;
    let status = loop {
        if let Some(status) = shell.try_wait().unwrap() {
            break Some(status);
        }
        if Instant::now() > deadline {
            shell.kill().unwrap();
            shell.wait().unwrap();
            break None;
        }
        std::thread::sleep(Duration::from_millis(50));
    };
    let said = std::fs::read(&said).unwrap();
    let end = String::from_utf8_lossy(&said[said.len().saturating_sub(3_000)..]).into_owned();
    assert!(status.is_some_and(|status| status.success()), "{status:?} after:\n{end}");
}

/// One call of `curl`.
struct Answer {
    status: String,
    asked: String,
    body: String,
}

fn answers(folder: &Path) -> Vec<Answer> {
    let files = std::fs::read_dir(folder.join("answers")).unwrap();
    let texts = files.map(|file| String::from_utf8(std::fs::read(file.unwrap().path()).unwrap()).unwrap());
    let answer = |text: String| {
        let (head, body) = text.split_once('\n').unwrap();
        let (status, asked) = head.split_once(' ').unwrap();
        Answer { status: status.to_owned(), asked: asked.to_owned(), body: body.to_owned() }
    };
    texts.map(answer).collect()
}

impl Answer {
    fn check(&self, documents: &str) {
        let Self { status, asked, body } = self;
        let has_envelope = asked.contains("/api/v1/") && !asked.contains("/follow") && !asked.contains("/download");
        // Until an application is deployed, or a server ready, curl is refused.
        let may_fail = asked.contains("/follow") || asked.starts_with("-sf ");
        assert!(status == "0" || may_fail, "{status}: curl {asked}: {body}");
        if status != "0" {
            return;
        }
        // What is refused is shown to the reader, word for word.
        let is_shown_error = body.starts_with("{\"status\":\"error\"") && documents.contains(body.trim_end());
        assert!(!has_envelope || body.starts_with("{\"status\":\"success\"") || is_shown_error, "curl {asked}: {body}");
    }
}
