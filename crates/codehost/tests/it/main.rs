//! What is understood of everything that code hosts send.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a failure here is a failed test")]

mod api;
mod properties;
mod pull_requests;

use std::fmt::Write;

use windlass_codehost::{Change, Event, PullRequest, RepositoryKey, Sender, read};
use windlass_testing::deliveries::{self, Sample};

fn sender(headers: &[(String, String)]) -> Option<Sender> {
    Sender::of(|name| headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str()))
}

/// Every sample of a host in a few lines.
fn understood(host: &str) -> String {
    let mut text = String::new();
    for sample in deliveries::all().iter().filter(|sample| sample.host == host) {
        describe(&mut text, sample);
    }
    text
}

fn describe(text: &mut String, sample: &Sample) {
    let sender = sender(&sample.headers).unwrap();
    assert_eq!(sender.host.as_str(), sample.host, "{}", sample.name);
    let delivery = read(&sender, &sample.bytes()).unwrap();
    let mut keys: Vec<_> = delivery.addresses.iter().filter_map(|address| RepositoryKey::of(address)).collect();
    keys.dedup();
    let keys: Vec<_> = keys.iter().map(RepositoryKey::as_str).collect();
    let default = delivery.default_branch.as_deref().unwrap_or("?");
    writeln!(text, "{}: {} {} by {:?}", sample.name, sender.event, sender.delivery_id, delivery.sender).unwrap();
    writeln!(text, "  {} default {default}", keys.join(" ")).unwrap();
    match &delivery.event {
        Event::Ping => writeln!(text, "  ping").unwrap(),
        Event::Other(name) => writeln!(text, "  other: {name}").unwrap(),
        Event::PullRequest(pull_request) => describe_pull_request(text, pull_request),
        Event::Push(changes) => changes.iter().for_each(|change| describe_change(text, change)),
    }
}

fn describe_change(text: &mut String, change: &Change) {
    let short = |hash: &Option<String>| hash.as_ref().map_or_else(|| "none".to_owned(), |hash| hash[..8].to_owned());
    let (before, after) = (short(&change.before), short(&change.commit));
    let files = match &change.files {
        None => "files not known".to_owned(),
        Some(files) => files.join(" "),
    };
    let message = change.message.lines().next().unwrap_or_default();
    writeln!(text, "  {}: {before} to {after} {message:?}, {files}, pushed {:?}", change.reference, change.pushed_at)
        .unwrap();
}

fn describe_pull_request(text: &mut String, told: &PullRequest) {
    let PullRequest { number, action, title, url, source_branch, target_branch, commit, is_fork, changed_at } = told;
    let from = if *is_fork { format!("{source_branch} of a fork") } else { source_branch.clone() };
    let commit = commit.as_ref().map_or("a commit not known", |hash| &hash[..8]);
    writeln!(text, "  pull request {number} {action:?}: {from} at {commit} to {target_branch}").unwrap();
    writeln!(text, "  {title:?} {url} changed {changed_at:?}").unwrap();
}

#[test]
fn deliveries_of_every_host() {
    for host in ["github", "gitlab", "gitea", "forgejo", "bitbucket", "bitbucket-server"] {
        insta::with_settings!({ prepend_module_to_snapshot => false, omit_expression => true }, {
            insta::assert_snapshot!(host, understood(host));
        });
    }
}

#[test]
fn every_scheme_is_proven_by_its_own_secret_and_bytes_only() {
    for sample in deliveries::all() {
        let bytes = sample.bytes();
        let signed = sender(&sample.signed("the secret", &bytes)).unwrap();
        assert!(signed.is_proven_by("the secret", &bytes), "{} {}", sample.host, sample.name);
        assert!(!signed.is_proven_by("another secret", &bytes), "{} {}", sample.host, sample.name);
        // GitLab's token proves who sends, not what.
        let is_signed = sample.host != "gitlab";
        assert_eq!(!signed.is_proven_by("the secret", &bytes[1..]), is_signed, "{} {}", sample.host, sample.name);
        let unsigned = sender(&sample.headers).unwrap();
        assert!(!unsigned.is_proven_by("the secret", &bytes), "{} {}", sample.host, sample.name);
    }
}

#[test]
fn forms_and_what_is_neither() {
    for host in ["github", "gitea"] {
        let mut sample = deliveries::sample(host, "push-branch");
        let plain = read(&sender(&sample.headers).unwrap(), &sample.bytes()).unwrap();
        sample.set_header("content-type", "application/x-www-form-urlencoded");
        let form = format!("payload={}", percent(&sample.body.to_string())).into_bytes();
        // GitHub signs the form, Gitea what is in it.
        let signed = if host == "github" { form.clone() } else { sample.bytes() };
        let sender = sender(&sample.signed("the secret", &signed)).unwrap();
        assert!(sender.is_proven_by("the secret", &form), "{host}");
        assert_eq!(read(&sender, &form), Some(plain), "{host}");
        for body in ["", "{", "null", "[]", "7", "payload=", "other=1"] {
            assert_eq!(read(&sender, body.as_bytes()), None, "{body}");
        }
    }
    let sample = deliveries::sample("github", "push-branch");
    let (sender, bytes) = (sender(&sample.headers).unwrap(), sample.bytes());
    assert_eq!(read(&sender, &bytes[..bytes.len() - 1]), None, "cut off");
}

fn percent(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}
