//! A job that this worker holds, as it is passed down to every step that works on it.

use std::sync::Arc;

use serde::de::DeserializeOwned;
use uuid::Uuid;
use windlass_store::jobs::{self, Job};
use windlass_store::{Error, Result, applications};

use super::Outcome;
use crate::app::App;
use crate::service::work::Work;

#[derive(Clone)]
pub struct Held {
    pub app: Arc<App>,
    pub job: Job,
}

impl Held {
    /// What only its handler understands.
    pub fn payload<T: DeserializeOwned>(&self) -> std::result::Result<T, Outcome> {
        let unreadable = |error| Outcome::Failed(format!("its payload cannot be read: {error}"));
        serde_json::from_str(&self.job.payload).map_err(unreadable)
    }

    /// The application that the job is about. One without is about an application that does not exist.
    pub fn application_id(&self) -> Uuid {
        self.job.application_id.unwrap_or_default()
    }

    /// A transaction of the worker that holds the job, in which no other changes the application. It fails with [`Error::Lost`] for
    /// every other worker.
    ///
    /// Always in this order, the application and then the job, and before anything else: so do callers of the API, and two that wait
    /// for each other would never go on.
    pub async fn begin(&self) -> Result<Work<'_>> {
        let mut work = self.app.begin_step().await?;
        if let Some(id) = self.job.application_id {
            applications::lock(&mut work, id).await?.ok_or(Error::Lost)?;
        }
        jobs::hold(&mut work, &self.job).await?;
        Ok(work)
    }

    /// Whether the job is still this worker's to do. The engine knows no fences, so a step that is about to destroy something asks.
    pub async fn check(&self) -> Result<()> {
        let mut tx = self.app.db.begin().await?;
        jobs::hold(&mut tx, &self.job).await
    }

    /// Whether the job is to be called off.
    pub async fn is_cancel_requested(&self) -> Result<bool> {
        jobs::is_cancel_requested(&mut self.app.db.read().await?, self.job.id).await
    }

    /// Nothing is left to do once this transaction is committed.
    pub async fn done(&self, work: &mut Work<'_>) -> Result<()> {
        jobs::delete(work, &self.job).await
    }
}
