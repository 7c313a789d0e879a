//! Previews of pull requests.

use windlass_api as api;
use windlass_api::Timestamp;
use windlass_store::previews::Shown;

use crate::config::Config;
use crate::error::{Error, Result};

pub fn preview(config: &Config, shown: Shown) -> Result<api::Preview> {
    let Shown { preview: row, name, domain, state, newest_id, newest_at, commit_hash } = shown;
    let newest_at = newest_at.map(Timestamp::from_micros);
    let deployed_at = newest_at.filter(|at| *at > row.deployed_at).unwrap_or(row.deployed_at);
    Ok(api::Preview {
        id: row.id,
        application_id: row.application_id,
        pull_request: u32::try_from(row.pull_request).map_err(Error::internal)?,
        title: row.title,
        pull_request_url: row.url,
        branch: row.branch,
        is_fork: row.is_fork,
        name,
        url: config.visitors_url(&domain),
        domain,
        status: state,
        deployment_id: newest_id,
        commit_hash: commit_hash.unwrap_or_default(),
        created_at: row.created_at,
        deployed_at,
        ends_at: deployed_at.plus_seconds(config.preview_seconds),
    })
}
