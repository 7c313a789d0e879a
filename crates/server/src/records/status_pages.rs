//! The status page of an organization.

use windlass_api as api;
use windlass_api::{StatusPageApplication, Text, Timestamp};
use windlass_store::status_pages::{PageApplication, StatusPage};

use crate::error::{Error, Result};

pub fn status_page(row: StatusPage, all: Vec<PageApplication>) -> Result<api::StatusPage> {
    let application = |row: PageApplication| {
        let name = Text::try_from(row.name.as_str()).map_err(Error::internal)?;
        Ok(StatusPageApplication { application_id: row.application_id, name })
    };
    Ok(api::StatusPage {
        organization_id: row.organization_id,
        enabled: row.enabled,
        title: row.title,
        domain: row.domain,
        applications: all.into_iter().map(application).collect::<Result<_>>()?,
        updated_at: Some(row.updated_at).filter(|updated| *updated > Timestamp::from_micros(0)),
    })
}
