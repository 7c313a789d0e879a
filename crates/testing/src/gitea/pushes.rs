//! What a push has changed, and what Gitea tells of it.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::host::{Host, Kept};
use super::shapes;
use crate::git::Repository;

/// Of what is not there.
const NOTHING: &str = "0000000000000000000000000000000000000000";
/// Gitea's own: a delivery has no more commits.
const MOST_COMMITS: usize = 5;

/// Objects by the full names of what leads to them; branches come before tags.
pub type References = BTreeMap<String, String>;

pub fn references(git: &Repository) -> References {
    let all = git.git(&["for-each-ref", "--format=%(refname) %(objectname)", "refs/heads", "refs/tags"]);
    all.lines().filter_map(|line| line.split_once(' ')).map(|(name, object)| (name.into(), object.into())).collect()
}

/// In the order in which Gitea sends them. A branch is created before it is pushed to, a tag afterwards; that a branch is gone
/// is no push.
pub fn events(host: &Host, kept: &Kept, before: &References) -> Vec<(&'static str, Value)> {
    let after = references(&kept.git);
    let mut names: Vec<_> = before.keys().chain(after.keys()).collect();
    names.sort();
    names.dedup();
    let mut events = Vec::new();
    for name in names.into_iter().filter(|name| before.get(*name) != after.get(*name)) {
        let change = Change { host, kept, name, before: before.get(name), after: after.get(name) };
        let is_tag = name.starts_with("refs/tags/");
        match (change.before, change.after) {
            (_, None) if is_tag => events.extend([("push", change.push()), ("delete", change.delete())]),
            (_, None) => events.push(("delete", change.delete())),
            (None, _) if !is_tag => events.extend([("create", change.create()), ("push", change.push())]),
            // One that was moved is told as a new one.
            _ if is_tag => {
                let anew = Change { before: None, ..change };
                events.extend([("push", anew.push()), ("create", anew.create())]);
            }
            _ => events.push(("push", change.push())),
        }
    }
    events
}

/// Of one branch or tag.
struct Change<'a> {
    host: &'a Host,
    kept: &'a Kept,
    name: &'a str,
    before: Option<&'a String>,
    after: Option<&'a String>,
}

impl Change<'_> {
    fn push(&self) -> Value {
        let commits = self.commits();
        let shown: Vec<Value> = commits.iter().take(MOST_COMMITS).map(|hash| self.commit(hash)).collect();
        let head = self.after.map(|after| self.kept.git.git(&["rev-parse", &format!("{after}^{{commit}}")]));
        json!({
            "ref": self.name,
            "before": self.before.map_or(NOTHING, String::as_str),
            "after": self.after.map_or(NOTHING, String::as_str),
            "compare_url": self.compare_url(),
            "commits": shown,
            "total_commits": commits.len(),
            "head_commit": head.map(|head| self.commit(&head)),
            "repository": shapes::repository(self.host, self.kept),
            "pusher": shapes::user(self.host),
            "sender": shapes::user(self.host),
        })
    }

    fn create(&self) -> Value {
        json!({
            "sha": self.after,
            "ref": self.short_name(),
            "ref_type": self.kind(),
            "repository": shapes::repository(self.host, self.kept),
            "sender": shapes::user(self.host),
        })
    }

    fn delete(&self) -> Value {
        json!({
            "ref": self.short_name(),
            "ref_type": self.kind(),
            "pusher_type": "user",
            "repository": shapes::repository(self.host, self.kept),
            "sender": shapes::user(self.host),
        })
    }

    fn kind(&self) -> &'static str {
        if self.name.starts_with("refs/tags/") { "tag" } else { "branch" }
    }

    fn short_name(&self) -> &str {
        self.name.splitn(3, '/').nth(2).unwrap_or(self.name)
    }

    fn default_branch(&self) -> String {
        format!("refs/heads/{}", self.kept.git.default_branch())
    }

    /// Newest first: what came to the branch, and for a new one what the default branch does not have.
    fn commits(&self) -> Vec<String> {
        let Some(after) = self.after.filter(|_| self.kind() == "branch") else { return Vec::new() };
        let default_branch = self.default_branch();
        let since = match self.before {
            Some(before) => format!("^{before}"),
            None if self.name == default_branch => String::new(),
            None => format!("^{default_branch}"),
        };
        let arguments: Vec<&str> = ["rev-list", after, &since].into_iter().filter(|text| !text.is_empty()).collect();
        self.kept.git.git(&arguments).lines().map(str::to_owned).collect()
    }

    fn compare_url(&self) -> String {
        let base = format!("{}/", self.host.url);
        let Some(after) = self.after else { return base };
        let since = match self.before {
            Some(before) => before.clone(),
            None if self.name == self.default_branch() => return base,
            None if self.kind() == "tag" => NOTHING.to_owned(),
            None => self.kept.git.default_branch(),
        };
        format!("{base}{}/compare/{since}...{after}", self.kept.full_name)
    }

    /// With the files that it changed.
    fn commit(&self, hash: &str) -> Value {
        let mut commit = shapes::commit(self.host, self.kept, hash);
        let arguments = ["diff-tree", "-r", "-z", "--root", "--no-commit-id", "--no-renames", "--name-status", hash];
        let said = self.kept.git.git(&arguments);
        let words: Vec<&str> = said.split_terminator('\0').collect();
        for (field, letters) in [("added", "A"), ("removed", "D"), ("modified", "MT")] {
            let files = words.chunks_exact(2).filter(|pair| letters.contains(pair[0])).map(|pair| pair[1]);
            commit[field] = json!(files.collect::<Vec<_>>());
        }
        commit
    }
}
