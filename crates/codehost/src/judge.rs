//! Whether a verified delivery deploys an application, and if not, the reason in words for people.

use windlass_api::CodeHost;

use crate::delivery::{Change, Delivery, Event, Reference};
use crate::patterns::{is_watched, matches};
use crate::pull_request::{PullRequest, PullRequestAction, is_branch_name};

/// When an application is deployed without being asked to.
#[derive(Clone, Copy, Debug)]
pub struct Rules<'a> {
    pub auto_deploy: bool,
    /// What the application deploys: a branch, a tag or a commit; empty for the repository's default branch.
    pub branch: &'a str,
    /// Tags that are deployed as well; empty for none.
    pub tag_pattern: &'a str,
    /// Empty for everything.
    pub watch_paths: &'a [String],
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict<'a> {
    /// Because of this change.
    Deploy(&'a Change),
    /// Nothing is deployed for this reason, whatever the change was.
    Ignore { reason: String, change: Option<&'a Change> },
}

impl<'a> Verdict<'a> {
    /// What was looked at.
    pub const fn change(&self) -> Option<&'a Change> {
        match self {
            Self::Deploy(change) => Some(change),
            Self::Ignore { change, .. } => *change,
        }
    }
}

/// Messages of commits that ask for no deployment.
const SKIP_WORDS: [&str; 6] = ["[skip ci]", "[ci skip]", "[no ci]", "[skip deploy]", "[deploy skip]", "[no deploy]"];

pub fn judge<'a>(rules: &Rules<'_>, delivery: &'a Delivery) -> Verdict<'a> {
    let ignore = |reason: String| Verdict::Ignore { reason, change: None };
    let changes = match &delivery.event {
        Event::Ping => return ignore("The code host tried whether it can reach Windlass. It can.".into()),
        Event::Other(name) => return ignore(format!("Events of the kind {name} deploy nothing.")),
        Event::PullRequest(pull_request) => return ignore(about(pull_request)),
        Event::Push(changes) => changes,
    };
    let mut ignored = ignore("The push changed no branch or tag.".into());
    // The last one counts: a push that changes several references is one change for an application.
    for change in changes.iter().rev() {
        match judge_change(rules, delivery, change) {
            Ok(()) => return Verdict::Deploy(change),
            Err(reason) => ignored = Verdict::Ignore { reason, change: Some(change) },
        }
    }
    ignored
}

fn judge_change(rules: &Rules<'_>, delivery: &Delivery, change: &Change) -> Result<(), String> {
    check_reference(rules, delivery, change)?;
    if change.commit.is_none() {
        return Err(format!("It was deleted: {}. What runs goes on.", change.reference));
    }
    if !rules.auto_deploy {
        return Err("auto_deploy is off for this application.".into());
    }
    let message = change.message.to_lowercase();
    if let Some(word) = SKIP_WORDS.iter().find(|word| message.contains(**word)) {
        return Err(format!("The message of the last commit says {word}."));
    }
    match (&change.files, rules.watch_paths) {
        (_, []) | (None, _) => Ok(()),
        (Some(files), watched) if is_watched(watched, files) => Ok(()),
        (Some(files), _) => Err(format!("None of the {} changed files is in watch_paths.", files.len())),
    }
}

fn check_reference(rules: &Rules<'_>, delivery: &Delivery, change: &Change) -> Result<(), String> {
    match &change.reference {
        Reference::Branch(name) => match (rules.branch, delivery.default_branch.as_deref()) {
            // The host does not say which its default branch is: that may be the one.
            ("", None) => Ok(()),
            ("", Some(default)) if default == name => Ok(()),
            ("", Some(default)) => Err(format!("The push was to {name}; {default} is deployed.")),
            (branch, _) if branch == name => Ok(()),
            (branch, _) => Err(format!("The push was to {name}; {branch} is deployed.")),
        },
        Reference::Tag(name) => {
            let is_named = rules.branch == name || rules.branch.strip_prefix("refs/tags/") == Some(name);
            match rules.tag_pattern {
                _ if is_named => Ok(()),
                "" => Err(format!("The push was of the tag {name}; tag_pattern is empty, so no tags are deployed.")),
                pattern if matches(pattern, name) => Ok(()),
                pattern => Err(format!("The tag {name} does not fit the tag_pattern {pattern}.")),
            }
        }
    }
}

/// Its preview is judged for itself.
fn about(pull_request: &PullRequest) -> String {
    format!("It is about the pull request {}, which deploys nothing before it is merged.", pull_request.number)
}

/// Whether pull requests of an application get a preview.
#[derive(Clone, Copy, Debug)]
pub struct PreviewRules<'a> {
    pub are_on: bool,
    pub forks_allowed: bool,
    /// What the application deploys; empty for the repository's default branch.
    pub branch: &'a str,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PreviewVerdict {
    /// It is made, or brought up to date.
    Deploy,
    /// It ends, if there is one.
    End,
    /// Nothing happens to it, for this reason.
    Ignore(String),
}

pub fn judge_preview(
    rules: &PreviewRules<'_>,
    delivery: &Delivery,
    pull_request: &PullRequest,
    host: CodeHost,
) -> PreviewVerdict {
    // Also when previews were turned off since: none is to stay behind.
    if pull_request.action == PullRequestAction::Closed {
        return PreviewVerdict::End;
    }
    let checked = check_wish(rules, pull_request)
        .and_then(|()| check_target(rules, delivery, pull_request))
        .and_then(|()| check_source(rules, pull_request, host));
    match checked {
        Ok(()) => PreviewVerdict::Deploy,
        Err(reason) => PreviewVerdict::Ignore(reason),
    }
}

fn check_wish(rules: &PreviewRules<'_>, pull_request: &PullRequest) -> Result<(), String> {
    if let PullRequestAction::Other(word) = &pull_request.action {
        return Err(format!("An event of the kind {word} does not change its commits."));
    }
    if !rules.are_on {
        return Err("Previews are off for this application: set previews.".into());
    }
    Ok(())
}

fn check_target(rules: &PreviewRules<'_>, delivery: &Delivery, pull_request: &PullRequest) -> Result<(), String> {
    let target = &pull_request.target_branch;
    let deployed = Some(rules.branch).filter(|branch| !branch.is_empty()).or(delivery.default_branch.as_deref());
    match deployed {
        Some(deployed) if deployed != target => Err(format!("It is for the branch {target}; {deployed} is deployed.")),
        // Without a name the host does not say which its default branch is: that may be the one.
        _ => Ok(()),
    }
}

fn check_source(rules: &PreviewRules<'_>, pull_request: &PullRequest, host: CodeHost) -> Result<(), String> {
    if pull_request.is_fork && !rules.forks_allowed {
        return Err("It comes from a fork, and preview_forks is off for this application.".into());
    }
    if pull_request.is_fork && PullRequest::reference(pull_request.number, host).is_none() {
        return Err(
            "It comes from a fork, and this code host does not give its commits in the repository itself.".into()
        );
    }
    if !is_branch_name(&pull_request.source_branch) {
        return Err("The branch that it comes from has a name that git refuses.".into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: Rules<'_> = Rules { auto_deploy: true, branch: "main", tag_pattern: "", watch_paths: &[] };

    fn push(reference: Reference) -> Change {
        let hash = Some("a".repeat(40));
        Change { reference, before: hash.clone(), commit: hash, message: "Fix".into(), files: None, pushed_at: None }
    }

    fn branch(name: &str) -> Change {
        push(Reference::Branch(name.into()))
    }

    fn told(rules: &Rules<'_>, event: Event) -> String {
        let delivery =
            Delivery { addresses: Vec::new(), default_branch: Some("main".into()), sender: String::new(), event };
        match judge(rules, &delivery) {
            Verdict::Deploy(change) => format!("deploy {}", change.reference),
            Verdict::Ignore { reason, .. } => reason,
        }
    }

    const PREVIEWS: PreviewRules<'_> = PreviewRules { are_on: true, forks_allowed: false, branch: "main" };

    fn pull_request(action: PullRequestAction) -> PullRequest {
        PullRequest {
            number: 7,
            action,
            title: "Basket page".into(),
            url: String::new(),
            source_branch: "feature/basket".into(),
            target_branch: "main".into(),
            commit: None,
            is_fork: false,
            changed_at: None,
        }
    }

    fn opened() -> PullRequest {
        pull_request(PullRequestAction::Opened)
    }

    fn previewed(rules: &PreviewRules<'_>, default_branch: Option<&str>, told: &PullRequest) -> String {
        previewed_by(CodeHost::Gitea, rules, default_branch, told)
    }

    fn previewed_by(
        host: CodeHost,
        rules: &PreviewRules<'_>,
        default_branch: Option<&str>,
        told: &PullRequest,
    ) -> String {
        let delivery = Delivery {
            addresses: Vec::new(),
            default_branch: default_branch.map(str::to_owned),
            sender: String::new(),
            event: Event::PullRequest(told.clone()),
        };
        match judge_preview(rules, &delivery, told, host) {
            PreviewVerdict::Deploy => "deploy".into(),
            PreviewVerdict::End => "end".into(),
            PreviewVerdict::Ignore(reason) => reason,
        }
    }

    #[test]
    fn previews_follow_pull_requests() {
        let off = PreviewRules { are_on: false, ..PREVIEWS };
        let one = |rules: &PreviewRules<'_>, action| previewed(rules, Some("main"), &pull_request(action));
        assert_eq!(one(&PREVIEWS, PullRequestAction::Opened), "deploy");
        assert_eq!(one(&PREVIEWS, PullRequestAction::Pushed), "deploy");
        assert_eq!(one(&PREVIEWS, PullRequestAction::Closed), "end");
        assert_eq!(one(&off, PullRequestAction::Closed), "end", "none stays behind");
        assert_eq!(one(&off, PullRequestAction::Opened), "Previews are off for this application: set previews.");
        let labeled = "An event of the kind labeled does not change its commits.";
        for rules in [PREVIEWS, off] {
            assert_eq!(one(&rules, PullRequestAction::Other("labeled".into())), labeled);
        }
    }

    #[test]
    fn previews_are_of_pull_requests_for_the_branch_that_is_deployed() {
        let of_default = PreviewRules { branch: "", ..PREVIEWS };
        let next = PullRequest { target_branch: "next".into(), ..opened() };
        let ignored = "It is for the branch next; main is deployed.";
        assert_eq!(previewed(&PREVIEWS, Some("next"), &next), ignored);
        assert_eq!(previewed(&of_default, Some("main"), &next), ignored);
        assert_eq!(previewed(&of_default, Some("next"), &next), "deploy");
        assert_eq!(previewed(&of_default, None, &next), "deploy", "it may be the default branch");
        assert_eq!(previewed(&PREVIEWS, None, &next), ignored);
        let closed = PullRequest { action: PullRequestAction::Closed, ..next };
        assert_eq!(previewed(&PREVIEWS, None, &closed), "end");
    }

    #[test]
    fn previews_of_forks_and_of_odd_branches() {
        let fork = PullRequest { is_fork: true, ..opened() };
        let allowed = PreviewRules { forks_allowed: true, ..PREVIEWS };
        let off = "It comes from a fork, and preview_forks is off for this application.";
        assert_eq!(previewed(&PREVIEWS, None, &fork), off);
        assert_eq!(previewed(&allowed, None, &fork), "deploy");
        let by_bitbucket = |rules: &PreviewRules<'_>, told| previewed_by(CodeHost::Bitbucket, rules, None, told);
        assert_eq!(by_bitbucket(&PREVIEWS, &fork), off);
        assert!(by_bitbucket(&allowed, &fork).ends_with("does not give its commits in the repository itself."));
        assert_eq!(by_bitbucket(&PREVIEWS, &opened()), "deploy");
        for source_branch in ["", "-x", "a..b", "a\nb", "a b", "a.lock", &"a".repeat(501)] {
            let odd = PullRequest { source_branch: source_branch.into(), ..opened() };
            let refused = "The branch that it comes from has a name that git refuses.";
            assert_eq!(previewed(&PREVIEWS, None, &odd), refused, "{source_branch}");
        }
    }

    #[test]
    fn branches_and_tags() {
        let one = |rules: &Rules<'_>, change: Change| told(rules, Event::Push(vec![change]));
        assert_eq!(one(&RULES, branch("main")), "deploy the branch main");
        assert_eq!(one(&RULES, branch("Main")), "The push was to Main; main is deployed.");
        assert_eq!(one(&Rules { branch: "", ..RULES }, branch("main")), "deploy the branch main");
        assert_eq!(one(&Rules { branch: "", ..RULES }, branch("next")), "The push was to next; main is deployed.");
        let tag = || push(Reference::Tag("v1".into()));
        assert_eq!(one(&Rules { branch: "v1", ..RULES }, tag()), "deploy the tag v1");
        assert_eq!(one(&Rules { tag_pattern: "v*", ..RULES }, tag()), "deploy the tag v1");
        assert_eq!(one(&Rules { tag_pattern: "r*", ..RULES }, tag()), "The tag v1 does not fit the tag_pattern r*.");
        assert!(one(&RULES, tag()).starts_with("The push was of the tag v1; tag_pattern is empty"));
    }

    #[test]
    fn reasons_not_to_deploy() {
        let one = |rules: &Rules<'_>, change: Change| told(rules, Event::Push(vec![change]));
        let deleted = Change { commit: None, ..branch("main") };
        assert_eq!(one(&RULES, deleted), "It was deleted: the branch main. What runs goes on.");
        assert_eq!(
            one(&Rules { auto_deploy: false, ..RULES }, branch("main")),
            "auto_deploy is off for this application."
        );
        let skipped = Change { message: "Docs [Skip CI]".into(), ..branch("main") };
        assert_eq!(one(&RULES, skipped), "The message of the last commit says [skip ci].");
        let watch = [String::from("web")];
        let watching = Rules { watch_paths: &watch, ..RULES };
        let changed = |file: &str| Change { files: Some(vec![file.into()]), ..branch("main") };
        assert_eq!(one(&watching, changed("web/a")), "deploy the branch main");
        assert_eq!(one(&watching, changed("api/a")), "None of the 1 changed files is in watch_paths.");
        assert_eq!(one(&watching, branch("main")), "deploy the branch main", "not known which files");
        assert_eq!(told(&RULES, Event::Push(Vec::new())), "The push changed no branch or tag.");
        assert!(told(&RULES, Event::Ping).ends_with("It can."));
        assert_eq!(told(&RULES, Event::Other("issues".into())), "Events of the kind issues deploy nothing.");
        let about = "It is about the pull request 7, which deploys nothing before it is merged.";
        assert_eq!(told(&RULES, Event::PullRequest(opened())), about);
        assert_eq!(told(&RULES, Event::Push(vec![branch("main"), branch("next")])), "deploy the branch main");
    }
}
