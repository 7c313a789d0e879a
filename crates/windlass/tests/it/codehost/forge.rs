//! A Gitea as its user sees it, whether it is a real one or what stands in for it: its API, and git.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;
use windlass_testing::gitea::Gitea;
use windlass_testing::testapp;

const LIMIT: Duration = Duration::from_secs(30);

#[derive(Clone, Debug)]
pub struct Forge {
    /// Without a slash at the end.
    pub url: String,
    pub user: String,
    pub token: String,
}

impl Forge {
    pub fn of(gitea: &Gitea) -> Self {
        Self { url: gitea.url().to_owned(), user: Gitea::USER.to_owned(), token: Gitea::TOKEN.to_owned() }
    }

    /// Status and answer. HTTP/1.0, so that the answer comes in one piece and ends with the connection.
    pub fn call(&self, method: &str, path: &str, body: &Value) -> (u16, Value) {
        let authority = self.url.strip_prefix("http://").expect("an address without encryption");
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let head = format!(
            "{method} /api/v1{path} HTTP/1.0\r\nhost: {authority}\r\nauthorization: token {}\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n",
            self.token,
            body.len()
        );
        let mut stream = TcpStream::connect(authority).expect("a connection");
        stream.set_read_timeout(Some(LIMIT)).expect("a time limit");
        stream.write_all((head + &body).as_bytes()).expect("a request");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        let (head, body) = answer.split_once("\r\n\r\n").expect("a body");
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
        (status, serde_json::from_str(body).unwrap_or_default())
    }

    fn list(&self, path: &str) -> Vec<Value> {
        let (status, answer) = self.call("GET", path, &Value::Null);
        assert_eq!(status, 200, "{path}: {answer}");
        answer.as_array().cloned().unwrap_or_default()
    }

    /// An empty one that only its user can see.
    pub fn private_repository(&self, name: &str) -> Checkout {
        let body = json!({ "name": name, "private": true, "default_branch": "main" });
        let (status, repository) = self.call("POST", "/user/repos", &body);
        assert_eq!((status, &repository["private"]), (201, &json!(true)), "{repository}");
        Checkout::new(self, repository["full_name"].as_str().expect("a name"))
    }

    /// The addresses that a repository's webhooks call.
    pub fn hooks(&self, full_name: &str) -> Vec<String> {
        let hooks = self.list(&format!("/repos/{full_name}/hooks"));
        hooks.iter().map(|hook| hook["config"]["url"].as_str().expect("an address").to_owned()).collect()
    }

    /// Those of a commit, oldest first. Gitea lists them by the second.
    pub fn statuses(&self, full_name: &str, commit: &str) -> Vec<Value> {
        let mut statuses = self.list(&format!("/repos/{full_name}/statuses/{commit}"));
        statuses.sort_by_key(|status| status["id"].as_u64());
        statuses
    }

    /// A pull request of one of the repository's own branches to `main`. Its number.
    pub fn open_pull_request(&self, full_name: &str, branch: &str) -> u64 {
        let body = json!({ "head": branch, "base": "main", "title": format!("Merge {branch}") });
        let (status, opened) = self.call("POST", &format!("/repos/{full_name}/pulls"), &body);
        assert_eq!(status, 201, "{opened}");
        opened["number"].as_u64().expect("a number")
    }

    pub fn close_pull_request(&self, full_name: &str, number: u64) {
        let path = format!("/repos/{full_name}/pulls/{number}");
        let (status, closed) = self.call("PATCH", &path, &json!({ "state": "closed" }));
        assert_eq!((status, &closed["state"]), (201, &json!("closed")), "{closed}");
    }

    /// The texts of a pull request's comments, oldest first.
    pub fn comments(&self, full_name: &str, number: u64) -> Vec<String> {
        let comments = self.list(&format!("/repos/{full_name}/issues/{number}/comments"));
        comments.iter().map(|comment| comment["body"].as_str().expect("a text").to_owned()).collect()
    }

    /// Their words alone; a word that was said again counts once.
    pub fn states(&self, full_name: &str, commit: &str) -> Vec<String> {
        let statuses = self.statuses(full_name, commit);
        let mut words: Vec<String> =
            statuses.iter().map(|status| status["status"].as_str().expect("a word").to_owned()).collect();
        words.dedup();
        words
    }
}

/// A repository as one of its developers has it.
pub struct Checkout {
    pub full_name: String,
    folder: TempDir,
    remote: String,
}

impl Checkout {
    fn new(forge: &Forge, full_name: &str) -> Self {
        let authority = forge.url.strip_prefix("http://").expect("an address without encryption");
        let remote = format!("http://{}:{}@{authority}/{full_name}.git", forge.user, forge.token);
        let folder = tempfile::tempdir().expect("a folder");
        let checkout = Self { full_name: full_name.to_owned(), folder, remote };
        checkout.git(&["init", "--quiet", "--initial-branch=main", "."]);
        checkout
    }

    /// The application in this version; the commit's hash.
    pub fn push(&self, version: &str) -> String {
        self.push_with("", version)
    }

    /// The same with more lines in its Dockerfile.
    pub fn push_with(&self, lines: &str, version: &str) -> String {
        self.push_to("main", lines, version)
    }

    /// The same to a branch.
    pub fn push_to(&self, branch: &str, lines: &str, version: &str) -> String {
        for (name, content) in [("Dockerfile", &*testapp::dockerfile(lines)), ("version", version)] {
            std::fs::write(self.folder.path().join(name), content).expect("a file");
        }
        self.git(&["add", "."]);
        self.git(&["commit", "--quiet", "--message", version]);
        self.push_reference(&format!("HEAD:refs/heads/{branch}"));
        self.git(&["rev-parse", "HEAD"])
    }

    pub fn push_reference(&self, reference: &str) {
        self.git(&["push", "--quiet", &self.remote, reference]);
    }

    /// What it says. It knows nothing of the machine that it runs on.
    pub fn git(&self, arguments: &[&str]) -> String {
        let mut git = Command::new("git");
        git.current_dir(&self.folder).env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
        git.env("HOME", self.folder.path()).env("GIT_TERMINAL_PROMPT", "0").env("GIT_CONFIG_NOSYSTEM", "1");
        for role in ["AUTHOR", "COMMITTER"] {
            git.env(format!("GIT_{role}_NAME"), "Ada Dev").env(format!("GIT_{role}_EMAIL"), "ada@example.com");
        }
        let output = git.args(arguments).output().expect("git starts");
        assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }
}
