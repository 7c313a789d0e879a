//! All that a deployment is about, read from the rows.

use uuid::Uuid;
use windlass_api::{Configuration, ErrorCode, Variables};
use windlass_store::applications::{self, Application};
use windlass_store::deployments::{self, Deployment};
use windlass_store::releases::{self, Artifact, Image, Release, Site};

use crate::app::App;
use crate::error::Error;
use crate::release_services::ReleaseServices;
use crate::shared_variables;

pub struct Subject {
    pub application: Application,
    pub deployment: Deployment,
    pub release: Release,
    pub configuration: Configuration,
    pub variables: Variables,
    /// What its services are, if it has some in the place of an image.
    pub services: Option<ReleaseServices>,
    /// The application's variables, as the next release would be made with them.
    pub variables_now: Variables,
}

/// Why it cannot be read.
#[derive(Debug)]
pub enum SubjectError {
    /// Its rows went with the application.
    Gone,
    /// The database or a key is not there just now.
    Later(String),
    /// What is stored makes no sense, or cannot be opened.
    Unreadable(String),
}

impl From<windlass_store::Error> for SubjectError {
    fn from(error: windlass_store::Error) -> Self {
        Self::Later(error.to_string())
    }
}

impl From<Error> for SubjectError {
    fn from(error: Error) -> Self {
        match error.code {
            ErrorCode::Unavailable | ErrorCode::DiskFull => Self::Later(error.cause.unwrap_or(error.message)),
            _ => Self::Unreadable(error.cause.unwrap_or(error.message)),
        }
    }
}

impl Subject {
    pub async fn load(app: &App, deployment_id: Uuid) -> Result<Self, SubjectError> {
        let mut conn = app.db.read().await?;
        let deployment = deployments::get(&mut conn, deployment_id).await?.ok_or(SubjectError::Gone)?;
        let application = applications::get(&mut conn, deployment.application_id).await?.ok_or(SubjectError::Gone)?;
        let release = releases::get(&mut conn, deployment.release_id).await?.ok_or(SubjectError::Gone)?;
        let services = app.vault.release_services(&mut conn, release.id).await?;
        let now = shared_variables::of_application(&mut conn, &app.vault, &application).await;
        drop(conn);
        let configuration = read_configuration(&release.configuration)?;
        let variables = app.vault.release_variables(&release).await?;
        // Only for masking: a value that cannot be read must not keep a release from being looked after.
        let variables_now = now.unwrap_or_else(|error| {
            tracing::warn!(cause = error.cause, "the variables of an application cannot be read");
            Variables::default()
        });
        Ok(Self { application, deployment, release, configuration, variables, services, variables_now })
    }

    /// What its containers are made of. Only a release that is built has it.
    pub fn image(&self) -> Result<&Image, SubjectError> {
        match &self.release.artifact {
            Some(Artifact::Image(image)) => Ok(image),
            Some(Artifact::Site(_) | Artifact::Services(_)) | None => {
                Err(SubjectError::Unreadable(format!("the release {} has no image", self.release.id)))
            }
        }
    }

    /// What the edge serves in the place of containers, if it is such a release.
    pub fn site(&self) -> Option<&Site> {
        match &self.release.artifact {
            Some(Artifact::Site(site)) => Some(site),
            Some(Artifact::Image(_) | Artifact::Services(_)) | None => None,
        }
    }
}

pub fn read_configuration(json: &str) -> Result<Configuration, SubjectError> {
    Configuration::from_json(json).map_err(SubjectError::Unreadable)
}
