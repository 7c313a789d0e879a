//! The records of Gitea's API. What says nothing about a repository or a user, such as the ways to merge, is left out.

use serde_json::{Value, json};

use super::Gitea;
use super::host::{Host, Kept};

/// The same everywhere: nothing that is tested depends on it.
pub const CREATED: &str = "2026-11-16T15:23:41Z";

pub fn user(host: &Host) -> Value {
    user_named(host, Gitea::USER)
}

pub fn user_named(host: &Host, user: &str) -> Value {
    json!({
        "id": if user == Gitea::USER { 1 } else { 2 },
        "login": user,
        "login_name": "",
        "source_id": 0,
        "full_name": "",
        "email": format!("{user}@example.com"),
        "avatar_url": format!("{}/avatars/ccd3d34373b378a78210d41c6fd112b7", host.url),
        "html_url": format!("{}/{user}", host.url),
        "language": "",
        "is_admin": false,
        "last_login": "0001-01-01T00:00:00Z",
        "created": CREATED,
        "restricted": false,
        "active": false,
        "visibility": "public",
        "username": user,
    })
}

pub fn repository(host: &Host, kept: &Kept) -> Value {
    let (url, full_name) = (&host.url, &kept.full_name);
    let is_empty = kept.git.git(&["for-each-ref", "--count=1"]).is_empty();
    let mut shape = json!({
        "id": kept.id,
        "owner": user_named(host, kept.owner()),
        "name": kept.name(),
        "full_name": full_name,
        "description": "",
        "empty": is_empty,
        "private": kept.is_private,
        "fork": kept.parent.is_some(),
        "template": false,
        "mirror": false,
        "size": 25,
        "language": "",
        "languages_url": format!("{url}/api/v1/repos/{full_name}/languages"),
        "html_url": format!("{url}/{full_name}"),
        "url": format!("{url}/api/v1/repos/{full_name}"),
        "link": "",
        "ssh_url": format!("git@localhost:{full_name}.git"),
        "clone_url": kept.git.url(),
        "original_url": "",
        "website": "",
        "default_branch": kept.git.default_branch(),
        "archived": false,
        "created_at": CREATED,
        "updated_at": CREATED,
        "archived_at": "1970-01-01T00:00:00Z",
        "permissions": { "admin": true, "push": true, "pull": true },
        "has_code": true,
        "internal": false,
        "object_format_name": "sha1",
        "topics": [],
        "licenses": [],
    });
    if let Some(parent) = &kept.parent {
        shape["parent"] = repository(host, parent);
    }
    shape
}

/// As it is in lists; a delivery has what it changed as well.
pub fn commit(host: &Host, kept: &Kept, hash: &str) -> Value {
    let format = "--format=%an%x00%ae%x00%cn%x00%ce%x00%cI%x00%B";
    let said = kept.git.git(&["show", "--no-patch", format, hash]);
    let mut parts = said.splitn(6, '\0');
    let mut next = || parts.next().unwrap_or_default().to_owned();
    let mut person = || json!({ "name": next(), "email": next(), "username": "" });
    let (author, committer) = (person(), person());
    let (timestamp, message) = (next().replace("+00:00", "Z"), next());
    json!({
        "id": hash,
        "message": format!("{}\n", message.trim_end()),
        "url": format!("{}/{}/commit/{hash}", host.url, kept.full_name),
        "author": author,
        "committer": committer,
        "verification": null,
        "timestamp": timestamp,
        "added": null,
        "removed": null,
        "modified": null,
    })
}

pub fn branch(host: &Host, kept: &Kept, name: &str, hash: &str) -> Value {
    json!({
        "name": name,
        "commit": commit(host, kept, hash),
        "protected": false,
        "required_approvals": 0,
        "enable_status_check": false,
        "status_check_contexts": [],
        "user_can_push": true,
        "user_can_merge": true,
        "effective_branch_protection_name": "",
    })
}

/// The object is the tag itself if it is an annotated one.
pub fn tag(host: &Host, kept: &Kept, name: &str, object: &str, hash: &str) -> Value {
    let (url, full_name) = (&host.url, &kept.full_name);
    let commit = commit(host, kept, hash);
    json!({
        "name": name,
        "message": commit["message"].as_str().map(str::trim_end),
        "id": object,
        "commit": {
            "url": format!("{url}/api/v1/repos/{full_name}/git/commits/{hash}"),
            "sha": hash,
            "created": commit["timestamp"],
        },
        "zipball_url": format!("{url}/{full_name}/archive/{name}.zip"),
        "tarball_url": format!("{url}/{full_name}/archive/{name}.tar.gz"),
    })
}

/// The secret is never shown.
pub fn hook(id: u64, given: &Value, events: &[String]) -> Value {
    json!({
        "id": id,
        "type": given["type"],
        "branch_filter": given["branch_filter"].as_str().unwrap_or_default(),
        "config": { "content_type": given["config"]["content_type"], "url": given["config"]["url"] },
        "events": events,
        "authorization_header": "",
        "active": given["active"].as_bool().unwrap_or_default(),
        "updated_at": CREATED,
        "created_at": CREATED,
    })
}

pub fn status(host: &Host, kept: &Kept, id: u64, commit: &str, given: &Value) -> Value {
    let text = |name: &str| given[name].as_str().unwrap_or_default();
    json!({
        "id": id,
        "status": text("state"),
        "target_url": text("target_url"),
        "description": text("description"),
        "url": format!("{}/api/v1/repos/{}/statuses/{commit}", host.url, kept.full_name),
        "context": text("context"),
        "creator": user(host),
        "created_at": CREATED,
        "updated_at": CREATED,
    })
}

pub fn key(host: &Host, kept: &Kept, id: u64, given: &Value) -> Value {
    json!({
        "id": id,
        "key_id": id,
        "key": given["key"],
        "url": format!("{}/api/v1/repos/{}/keys/{id}", host.url, kept.full_name),
        "title": given["title"],
        "fingerprint": "SHA256:M3+edkP/cVpW6e670P+WNfbzDfYwGRy/OI5LQbfJwb8",
        "created_at": CREATED,
        "read_only": given["read_only"].as_bool().unwrap_or_default(),
    })
}
