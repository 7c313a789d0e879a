//! What a connection can reach at its code host.

use windlass_api as api;
use windlass_api::ConnectionKind;
use windlass_codehost::api::{Page, RefName, Repository};
use windlass_store::connections::Connection;

use crate::app::App;
use crate::code_host::{self, PullFor, of_field, of_input};
use crate::error::Result;

/// For one page of what is searched for.
const MOST_CALLS: usize = 5;

/// Which part of a list.
#[derive(Clone, Copy, Debug)]
pub struct PageWanted {
    /// From 1.
    pub number: u32,
    pub size: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Branches,
    Tags,
}

/// Of an app, a page is what all places where it is installed have on their pages of that number.
pub async fn repositories(
    app: &App,
    connection: &Connection,
    search: Option<&str>,
    page: PageWanted,
) -> Result<api::HostedRepositories> {
    let hosts = code_host::listing(app, connection).await?;
    let (mut repositories, mut next) = (Vec::new(), Some(page.number));
    // Where a code host cannot search, what does not fit is left out of its pages.
    for _ in 0..MOST_CALLS {
        let Some(number) = next.filter(|_| repositories.is_empty()) else { break };
        next = None;
        for host in &hosts {
            let ask = match connection.kind {
                ConnectionKind::Token => host.repositories(search, number, page.size),
                ConnectionKind::GithubApp => host.installation_repositories(search, number, page.size),
            };
            let ask = ask.map_err(|error| of_input("workspace", error))?;
            let found: Page<Repository> = code_host::ask(app, connection.organization_id, ask).await?;
            repositories.extend(found.items.into_iter().map(repository));
            next = next.max(found.next);
        }
    }
    Ok(api::HostedRepositories { repositories, next_page: next.map(i64::from) })
}

pub async fn references(
    app: &App,
    connection: &Connection,
    kind: Kind,
    repository: &str,
    page: PageWanted,
) -> Result<api::HostedReferences> {
    let host = code_host::api(app, connection, repository, PullFor::Member).await;
    let host = host.map_err(|failed| of_field("repository", failed))?;
    let ask = match kind {
        Kind::Branches => host.branches(repository, page.number, page.size),
        Kind::Tags => host.tags(repository, page.number, page.size),
    };
    let found: Page<RefName> =
        code_host::ask(app, connection.organization_id, ask.map_err(|error| of_input("repository", error))?).await?;
    let next_page = found.next.map(i64::from);
    Ok(api::HostedReferences { references: found.items.into_iter().map(reference).collect(), next_page })
}

fn repository(found: Repository) -> api::HostedRepository {
    api::HostedRepository {
        full_name: found.full_name,
        clone_url: found.clone_url,
        ssh_url: found.ssh_url,
        web_url: found.web_url,
        default_branch: found.default_branch.unwrap_or_default(),
        is_private: found.is_private,
    }
}

fn reference(found: RefName) -> api::HostedReference {
    api::HostedReference { name: found.name, commit_hash: found.commit }
}
