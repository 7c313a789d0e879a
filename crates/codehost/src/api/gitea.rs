//! Gitea and Forgejo, where they differ from GitHub.

use serde_json::json;
use windlass_api::CodeHost;

use super::Api;
use super::exchange::Ask;
use super::github::{read_hook_id, read_repositories, under};
use super::names::RepositoryName;
use super::paging::Part;
use super::records::{HookId, Page, Repository};

/// The search that it has finds the public repositories of all accounts.
pub(super) fn repositories(api: &Api, search: &str, part: Part) -> Ask<Page<Repository>> {
    api.list("/user/repos", &[], part, read_repositories).matching(search)
}

pub(super) fn create_hook(api: &Api, name: &RepositoryName, url: &str, secret: &str) -> Ask<HookId> {
    let kind = if api.host() == CodeHost::Forgejo { "forgejo" } else { "gitea" };
    // Only `delete` tells that a branch is gone. Whether certificates are checked is a setting of the server, and the default.
    let body = json!({
        "type": kind,
        "active": true,
        "events": ["push", "delete", "pull_request"],
        "branch_filter": "*",
        "config": { "url": url, "content_type": "json", "secret": secret },
    });
    api.post(&under(name, "/hooks"), &body, read_hook_id)
}
