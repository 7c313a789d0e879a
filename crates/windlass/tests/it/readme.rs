//! What the README tells its reader to type works when it is typed: all of its commands, in order, into one `sh`, with a fresh data
//! folder. No other test may use the ports 7780 to 7782.

use std::fs::File;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::process::{Process, run};

const DEADLINE: Duration = Duration::from_secs(180);

/// In place of `curl`: does what it does, and keeps how it ended, what it was asked and what came.
const CURL: &str = r#"#!/bin/sh
kept=$(mktemp answers/XXXXXX) status=0
real-curl "$@" >"$kept.body" || status=$?
cat "$kept.body"
{ printf '%s ' "$status" "$@" | tr '\n' ' '; echo; cat "$kept.body"; } >"$kept"
rm "$kept.body"
exit "$status"
"#;

#[test]
fn what_the_readme_tells_to_type_works() {
    let readme = std::fs::read_to_string(root().join("README.md")).unwrap();
    let folder = folder_with_programs();
    // What the example stands on, for an engine that cannot pull it.
    assert!(run(&mut Command::new(root().join("scripts/base-image"))).status.success());
    let _server = Process::start_as_make_does(folder.path());
    type_into_shell(folder.path(), &typed(&readme));
    let answers = answers(folder.path());
    assert!(answers.len() > 60, "only {} answers", answers.len());
    for answer in answers {
        answer.check(&readme);
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// The README's commands as they are typed. All of them but these:
/// - `make ...`: `make run` is what this test does by itself, with the binary that cargo has built for it; `make demo` is another
///   server on the same ports; `make test` is where this runs.
/// - Following logs has no end: it is given two seconds, after which `curl` says 28.
fn typed(readme: &str) -> String {
    let blocks = readme.split("```sh\n").skip(1).filter_map(|rest| rest.split("\n```").next());
    let lines = blocks.filter(|block| !block.starts_with("make ")).flat_map(str::lines).map(|line| {
        if line.contains("/follow\"") {
            let command = line.split("  #").next().unwrap_or_default();
            format!("{command} --max-time 2 || test $? = 28\n")
        } else {
            format!("{line}\n")
        }
    });
    lines.collect()
}

/// A folder like the one that the reader is in, with what the commands name: the examples, and programs to be found before others.
fn folder_with_programs() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let [bin, answers] = ["bin", "answers"].map(|name| folder.path().join(name));
    for new in [&bin, &answers] {
        std::fs::create_dir(new).unwrap();
    }
    assert!(run(Command::new("cp").arg("-r").arg(root().join("examples")).arg(folder.path())).status.success());
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
    fn check(&self, readme: &str) {
        let Self { status, asked, body } = self;
        let has_envelope = asked.contains("/api/v1/") && !asked.contains("/follow") && !asked.contains("/download");
        // Until the application is deployed, curl is refused.
        let may_fail = asked.contains("/follow") || asked.starts_with("-sf ");
        assert!(status == "0" || may_fail, "{status}: curl {asked}: {body}");
        // What is refused is shown in the README, word for word.
        let is_shown_error = body.starts_with("{\"status\":\"error\"") && readme.contains(body.trim_end());
        assert!(!has_envelope || body.starts_with("{\"status\":\"success\"") || is_shown_error, "curl {asked}: {body}");
    }
}
