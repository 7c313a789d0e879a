//! What a real Gitea 1.25.4 answered, as it was recorded.

use std::fmt::Write;

use serde_json::Value;
use windlass_api::CodeHost;
use windlass_codehost::api::{ApiAnswer, ApiError};

use super::{Tried, all, answer_of, api, fixture, snapshot};

fn recording(name: &str) -> Value {
    serde_json::from_str(&fixture(&format!("gitea/{name}.json"))).unwrap()
}

fn recorded(name: &str) -> ApiAnswer {
    let recording = recording(name);
    answer_of(&recording["status"], &recording["response_headers"], &recording["response_body"])
}

fn operation(name: &str) -> Tried {
    all(CodeHost::Gitea).into_iter().find(|tried| tried.name == name).unwrap()
}

/// Operations, and the recordings of the same.
const SAME: [(&str, &str); 14] = [
    ("account", "user"),
    ("repositories", "user-repos-page-1"),
    ("repository", "repo-private"),
    ("branches", "branches"),
    ("tags", "tags"),
    ("create_hook", "hook-create"),
    ("hooks", "hooks-list"),
    ("delete_hook", "hook-delete"),
    ("set_status", "status-create-pending"),
    ("create_deploy_key", "key-create"),
    ("delete_deploy_key", "key-delete"),
    ("comments", "comment-list"),
    ("create_comment", "comment-create"),
    ("update_comment", "comment-edit"),
];

#[test]
fn what_is_sent_is_what_was_recorded_and_the_answer_is_understood() {
    let mut text = String::new();
    for (name, recorded_as) in SAME {
        let (tried, recording) = (operation(name), recording(recorded_as));
        let path = |text: &str| text.split('?').next().unwrap().to_owned();
        assert_eq!(tried.request.method, recording["method"], "{name}");
        let recorded_path = format!("http://127.0.0.1:3917{}", path(recording["path"].as_str().unwrap()));
        assert_eq!(path(&tried.request.url), recorded_path, "{name}");
        check_fields(name, &tried.request.body, &recording["request_body"]);
        writeln!(text, "{name}: {}", (tried.read)(&recorded(recorded_as)).unwrap()).unwrap();
    }
    snapshot("api-answers-gitea", &text);
}

/// Every field that the server took then is sent.
fn check_fields(name: &str, body: &[u8], recorded: &Value) {
    let sent: Value = serde_json::from_slice(body).unwrap_or(Value::Null);
    for (field, value) in recorded.as_object().into_iter().flatten() {
        assert_eq!(sent[field].is_string(), value.is_string(), "{name}: {field}");
        assert!(!sent[field].is_null(), "{name}: {field}");
    }
}

#[test]
fn pages() {
    let api = api(CodeHost::Gitea);
    let repositories = |page: u32, name: &str| {
        let found = api.repositories(None, page, 2).unwrap().read(&recorded(name)).unwrap();
        (found.items.len(), found.next)
    };
    assert_eq!(repositories(1, "user-repos-page-1"), (2, Some(2)));
    assert_eq!(repositories(29, "user-repos-last-page"), (2, None));
    assert_eq!(repositories(999, "user-repos-past-the-end"), (0, None));
    let branches = api.branches("windlass/app", 2, 1).unwrap().read(&recorded("branches-page")).unwrap();
    assert_eq!((branches.items[0].name.as_str(), branches.next), ("ümlaut/東京", Some(3)));
    let empty = api.branches("windlass/empty", 1, 50).unwrap().read(&recorded("branches-empty-repo")).unwrap();
    assert_eq!((empty.items.len(), empty.next), (0, None), "null is an empty list");
    assert!(api.hooks("windlass/app", 1).unwrap().read(&recorded("hooks-list-empty")).unwrap().items.is_empty());
}

/// There are no links with tags, only the number of all.
#[test]
fn pages_of_tags() {
    let api = api(CodeHost::Gitea);
    let next = |page: u32, size: u32, name: &str| {
        api.tags("windlass/app", page, size).unwrap().read(&recorded(name)).unwrap().next
    };
    assert_eq!(next(1, 1, "tags-page"), Some(2));
    assert_eq!(next(2, 1, "tags-page"), Some(3));
    assert_eq!(next(3, 1, "tags-page"), None, "three of three");
    assert_eq!(next(1, 50, "tags"), None);
    assert_eq!(next(1, 50, "tags-page"), Some(2), "a server that gives one at a time, whatever is asked for");
}

#[test]
fn failures() {
    let failure = |operation_name: &str, name: &str| (operation(operation_name).read)(&recorded(name)).unwrap_err();
    assert_eq!(failure("account", "auth-wrong-token-401"), ApiError::BadToken);
    assert_eq!(failure("repository", "repo-unknown-404"), ApiError::NotFound);
    assert_eq!(failure("repository", "repo-after-rename-old-name-301"), ApiError::Moved);
    // These are for good, though the server says that it failed.
    assert_eq!(failure("set_status", "status-create-unknown-sha-500"), ApiError::NotFound);
    assert_eq!(failure("create_comment", "comment-create-unknown-issue-500"), ApiError::NotFound);
    assert_eq!(failure("update_comment", "comment-edit-unknown-404"), ApiError::NotFound);
    let text: String = [
        ("set_status", "auth-small-scope-write-403"),
        ("create_hook", "hook-create-no-permission-public-403"),
        ("create_hook", "hook-create-bad-url-422"),
        ("create_deploy_key", "key-create-same-again-422"),
    ]
    .map(|(operation, name)| format!("{}\n", failure(operation, name)))
    .concat();
    snapshot("api-failures-gitea", &text);
}

#[test]
fn what_is_gone_is_deleted() {
    assert_eq!((operation("delete_hook").read)(&recorded("hook-delete-unknown-404")).unwrap(), "()");
    assert_eq!((operation("delete_deploy_key").read)(&recorded("key-delete")).unwrap(), "()");
}

#[test]
fn an_empty_repository() {
    let found = api(CodeHost::Gitea).repository("windlass/empty").unwrap().read(&recorded("repo-empty")).unwrap();
    assert_eq!((found.full_name.as_str(), found.is_private), ("windlass/empty", false));
}
