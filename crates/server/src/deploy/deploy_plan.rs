//! What the next deploy would change, for a request that asks before it deploys: the live release beside the application as it is now.
//! What it would build is another question, which [`super::build_plan`] answers.

use std::collections::BTreeMap;
use std::sync::Arc;

use windlass_api::{
    ArtifactKind, Configuration, DeployEffect, DeployPlan, Gapless, ReleaseChange, Variables, VolumeOrigin,
};
use windlass_store::applications::Application;
use windlass_store::containers::{self, Container, Purpose, Stage};
use windlass_store::releases::{self, Release};
use windlass_store::volumes::{self, Volume};

use super::gap::{self, Known};
use super::newest_commit;
use crate::app::App;
use crate::error::{Error, Result};
use crate::mounts;
use crate::records::applications::ApplicationViewer;
use crate::records::effects;
use crate::records::releases::{Contents, changes};
use crate::shared_variables;
use crate::subject::SubjectError;
use crate::turns::Turn;

const LIMITS: [&str; 3] = ["memory_mb", "cpu_millis", "pids"];

/// Without a turn the repository is not asked, and the rest of the answer stands.
pub async fn make(
    app: &Arc<App>,
    viewer: &ApplicationViewer<'_>,
    application: &Application,
    turn: Result<Turn>,
) -> Result<DeployPlan> {
    let newest = newest_commit::ask(app, application.clone(), turn).await;
    let mut conn = app.db.read().await?;
    let release = releases::current_of(&mut conn, &[application.id]).await?.pop();
    let containers = containers::of_application(&mut conn, application.id).await?;
    let volumes = volumes::of_application(&mut conn, application.id).await?;
    let variables = shared_variables::of_application(&mut conn, &app.vault, application).await?;
    drop(conn);
    let live = Live { application, release, containers, volumes, variables };
    let (newest_commit_hash, commit_problem) = match newest {
        Ok(hash) => (hash, String::new()),
        Err(problem) => (String::new(), problem),
    };
    let mut plan = live.plan()?;
    (plan.newest_commit_hash, plan.commit_problem) = (newest_commit_hash, commit_problem);
    if let Some(release) = &live.release {
        plan.changes = live.changes(viewer, release, &plan.newest_commit_hash).await?;
        plan.effect = match effects::farthest(&plan.changes) {
            DeployEffect::Build => DeployEffect::Build,
            _ if !plan.commit_problem.is_empty() => DeployEffect::Unknown,
            effect => effect,
        };
    }
    let outlook = live.foresee(&plan)?;
    (plan.is_gapless, plan.gap) = (outlook.is_gapless, outlook.gap);
    Ok(plan)
}

/// What a deploy would find.
struct Live<'a> {
    application: &'a Application,
    /// The live one, or of a stopped application the one that was live last.
    release: Option<Release>,
    containers: Vec<Container>,
    volumes: Vec<Volume>,
    /// Of the application, as the next release would be made with them.
    variables: Variables,
}

impl Live<'_> {
    /// Without what is compared.
    fn plan(&self) -> Result<DeployPlan> {
        let text = |text: fn(&Release) -> &String| self.release.as_ref().map(text).cloned().unwrap_or_default();
        Ok(DeployPlan {
            live_deployment_id: self.application.live_deployment_id.map(|id| id.to_string()).unwrap_or_default(),
            release_id: self.release.as_ref().map(|release| release.id.to_string()).unwrap_or_default(),
            branch: self.configuration()?.branch,
            commit_hash: text(|release| &release.commit_hash),
            commit_author: text(|release| &release.commit_author),
            commit_message: text(|release| &release.commit_message),
            newest_commit_hash: String::new(),
            commit_problem: String::new(),
            changes: Vec::new(),
            effect: DeployEffect::First,
            is_gapless: Gapless::Yes,
            gap: String::new(),
        })
    }

    fn configuration(&self) -> Result<Configuration> {
        Configuration::from_json(&self.application.configuration).map_err(Error::internal)
    }

    /// Without a newest commit none is compared.
    async fn changes(
        &self,
        viewer: &ApplicationViewer<'_>,
        release: &Release,
        newest: &str,
    ) -> Result<Vec<ReleaseChange>> {
        let mut before = Contents::asked_of(viewer.vault, release).await?;
        let mut after = Contents::asked_of_next(self.configuration()?, &self.variables);
        if !newest.is_empty() {
            before.set_commit(&release.commit_hash);
            after.set_commit(newest);
        }
        (before.volumes, after.volumes) = self.volumes()?;
        changes(viewer, &self.variables, &before, &after)
    }

    /// Where the live containers have volumes, and where the next ones would. Those of services are the compose file's to change, and without containers
    /// there is nothing to compare with.
    fn volumes(&self) -> Result<(BTreeMap<String, String>, BTreeMap<String, String>)> {
        let own: Vec<&Volume> = self.volumes.iter().filter(|volume| volume.origin != VolumeOrigin::Compose).collect();
        let serves =
            |row: &&Container| row.purpose == Purpose::App && row.stage == Stage::Live && row.service.is_empty();
        let serving: Vec<&Container> = self.containers.iter().filter(serves).collect();
        let mut before = BTreeMap::new();
        for row in &serving {
            for mounted in mounts::of_container(row).map_err(|error| unreadable(&error))? {
                // One that was deleted has no name any more.
                let known = own.iter().find(|volume| volume.id == mounted.volume_id);
                before.insert(known.map_or(mounted.engine_name, |volume| volume.name.clone()), mounted.path);
            }
        }
        let after = own.iter().filter(|_| !serving.is_empty());
        Ok((before, after.map(|volume| (volume.name.clone(), volume.path.clone())).collect()))
    }

    fn foresee(&self, plan: &DeployPlan) -> Result<gap::Outlook> {
        let configuration = self.configuration()?;
        let live = match &self.release {
            Some(release) if release.is_site() => ArtifactKind::Site,
            Some(release) if release.main_service().is_some() => ArtifactKind::Services,
            Some(_) => ArtifactKind::Image,
            None => ArtifactKind::None,
        };
        let known = Known {
            configuration: &configuration,
            live,
            main_service: self.release.as_ref().and_then(Release::main_service),
            effect: plan.effect,
            changes_limits: plan.changes.iter().any(|change| LIMITS.contains(&change.field.as_str())),
            containers: &self.containers,
            volumes: &self.volumes,
        };
        gap::foresee(&known).map_err(|error| unreadable(&error))
    }
}

fn unreadable(error: &SubjectError) -> Error {
    Error::internal(format!("{error:?}"))
}
