//! Pull requests that are not as usual: what is not clear, and what cannot be read.

use serde_json::{Value, json};
use windlass_api::CodeHost;
use windlass_codehost::{Event, PullRequest, PullRequestAction, addresses, read};
use windlass_testing::deliveries::{self, Sample};

use super::sender;

const HOSTS: [&str; 6] = ["github", "gitea", "forgejo", "gitlab", "bitbucket", "bitbucket-server"];

fn event(sample: &Sample) -> Event {
    read(&sender(&sample.headers).unwrap(), &sample.bytes()).unwrap().event
}

fn pull_request(sample: &Sample) -> PullRequest {
    match event(sample) {
        Event::PullRequest(pull_request) => pull_request,
        other => panic!("{} {}: {other:?}", sample.host, sample.name),
    }
}

/// As it was opened, with one value of its body replaced.
fn opened_with(host: &str, pointer: &str, value: Value) -> Sample {
    let mut sample = deliveries::sample(host, "pull-request-opened");
    *sample.body.pointer_mut(pointer).unwrap() = value;
    sample
}

#[test]
fn what_is_not_clear_counts_as_a_fork() {
    for host in HOSTS {
        assert!(!pull_request(&deliveries::sample(host, "pull-request-opened")).is_fork, "{host}");
        assert!(pull_request(&deliveries::sample(host, "pull-request-opened-from-fork")).is_fork, "{host}");
    }
    let unclear = [
        ("github", "/pull_request/head/repo", Value::Null),
        ("github", "/pull_request/head/repo", json!({})),
        ("github", "/pull_request/base/repo", Value::Null),
        ("github", "/pull_request/head/repo/full_name", json!("grace/shop")),
        ("github", "/pull_request/head/repo/id", json!(3)),
        ("github", "/pull_request/head", Value::Null),
        ("gitea", "/pull_request/head/repo", Value::Null),
        ("gitea", "/pull_request/head/label", json!("")),
        ("forgejo", "/pull_request/head/label", Value::Null),
        ("gitlab", "/object_attributes/source_project_id", Value::Null),
        ("gitlab", "/object_attributes/target_project_id", Value::Null),
        ("bitbucket", "/pullrequest/source/repository", Value::Null),
        ("bitbucket", "/pullrequest/source/repository", json!({})),
        ("bitbucket", "/pullrequest/source", Value::Null),
        ("bitbucket", "/pullrequest/source/repository/uuid", json!("{another}")),
        ("bitbucket", "/pullrequest/destination/repository", Value::Null),
        ("bitbucket-server", "/pullRequest/fromRef/repository", Value::Null),
        ("bitbucket-server", "/pullRequest/fromRef/repository/id", Value::Null),
    ];
    for (host, pointer, value) in unclear {
        assert!(pull_request(&opened_with(host, pointer, value)).is_fork, "{host} {pointer}");
    }
    // Both sides: an empty repository is not the same as another empty one.
    for (host, sides) in [
        ("github", ["/pull_request/head/repo", "/pull_request/base/repo"]),
        ("gitlab", ["/object_attributes/source_project_id", "/object_attributes/target_project_id"]),
        ("bitbucket", ["/pullrequest/source/repository", "/pullrequest/destination/repository"]),
    ] {
        let mut sample = deliveries::sample(host, "pull-request-opened");
        for side in sides {
            *sample.body.pointer_mut(side).unwrap() = Value::Null;
        }
        assert!(pull_request(&sample).is_fork, "{host}");
    }
}

#[test]
fn without_a_number_it_is_any_other_event() {
    for (host, pointer, kind) in [
        ("github", "/number", "pull_request"),
        ("gitea", "/number", "pull_request"),
        ("forgejo", "/number", "pull_request"),
        ("gitlab", "/object_attributes/iid", "merge_request"),
        ("bitbucket", "/pullrequest/id", "pullrequest:created"),
        ("bitbucket-server", "/pullRequest/id", "pr:opened"),
    ] {
        for number in [Value::Null, json!(0), json!(-7), json!("7"), json!(1_u64 << 32), json!(7.5)] {
            let told = event(&opened_with(host, pointer, number.clone()));
            assert_eq!(told, Event::Other(kind.to_owned()), "{host} {number}");
        }
        assert_eq!(pull_request(&opened_with(host, pointer, json!(u32::MAX))).number, u32::MAX, "{host}");
    }
}

#[test]
fn the_repository_is_the_one_that_it_is_made_for() {
    for sample in deliveries::all().iter().filter(|sample| sample.name.starts_with("pull-request-")) {
        let sender = sender(&sample.headers).unwrap();
        let found = addresses(&sender, &sample.bytes()).unwrap();
        assert!(found.iter().any(|address| address.contains("team/shop")), "{} {}", sample.host, sample.name);
        assert!(!found.iter().any(|address| address.contains("grace")), "{} {}", sample.host, sample.name);
        assert_eq!(read(&sender, &sample.bytes()).unwrap().addresses, found, "{} {}", sample.host, sample.name);
    }
}

#[test]
fn what_is_over_is_not_opened_by_late_news() {
    for (host, name) in [("gitea", "pull-request-synchronize"), ("gitlab", "pull-request-synchronize")] {
        let mut sample = deliveries::sample(host, name);
        assert_eq!(pull_request(&sample).action, PullRequestAction::Pushed);
        let pointer = if host == "gitlab" { "/object_attributes/state" } else { "/pull_request/state" };
        *sample.body.pointer_mut(pointer).unwrap() = json!("closed");
        assert_eq!(pull_request(&sample).action, PullRequestAction::Closed, "{host}");
    }
}

#[test]
fn a_branch_that_was_deleted_keeps_its_name() {
    let mut sample = deliveries::sample("gitea", "pull-request-merged");
    sample.body["pull_request"]["head"]["ref"] = json!("refs/pull/7/head");
    let told = pull_request(&sample);
    assert_eq!((&*told.source_branch, told.is_fork), ("feature/basket", false));
}

#[test]
fn times_of_bitbucket_server_are_texts_or_numbers() {
    let mut sample = opened_with("bitbucket-server", "/date", Value::Null);
    assert_eq!(pull_request(&sample).changed_at, Some(1_772_535_600));
    sample.body["pullRequest"]["updatedDate"] = json!("2026-03-03T12:00:00+0100");
    assert_eq!(pull_request(&sample).changed_at, Some(1_772_535_600));
    sample.body["pullRequest"]["updatedDate"] = json!([]);
    assert_eq!(pull_request(&sample).changed_at, None);
}

#[test]
fn references() {
    let of = |host| PullRequest::reference(7, host);
    for host in [CodeHost::GitHub, CodeHost::Gitea, CodeHost::Forgejo] {
        assert_eq!(of(host).as_deref(), Some("refs/pull/7/head"));
    }
    assert_eq!(of(CodeHost::GitLab).as_deref(), Some("refs/merge-requests/7/head"));
    assert_eq!(of(CodeHost::BitbucketServer).as_deref(), Some("refs/pull-requests/7/from"));
    assert_eq!(of(CodeHost::Bitbucket), None);
}
