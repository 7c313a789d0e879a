//! What is left for the worker to do: the kinds of jobs, and what each is about. Their handlers are in `deploy`, `executions`,
//! `notify`, `orders`, `reports` and `runs`.

use serde::{Deserialize, Serialize};
use uuid::Uuid;
use windlass_api::Channel;
use windlass_store::applications::Application;
use windlass_store::executions::Execution;
use windlass_store::jobs::NewJob;
use windlass_store::runs::Run;

/// Makes a release and brings it to visitors.
pub const DEPLOY: &str = "deploy";
/// Brings a release that is there to visitors: it waits for no build.
pub const ROLL_OUT: &str = "roll-out";
/// Ends what a deployment has replaced, and sums up.
pub const FINISH: &str = "finish";
/// Starts again what was stopped for a deployment that is over.
pub const RESUME: &str = "resume";
/// Writes a snapshot of a volume.
pub const SNAPSHOT: &str = "snapshot";
pub const STOP: &str = "stop";
pub const DELETE: &str = "delete";
/// Carries out an extension.
pub const EXECUTION: &str = "execution";
/// The same without the container engine.
pub const MACHINE_EXECUTION: &str = "machine-execution";

/// Carries out a command run.
pub const RUN: &str = "run";

/// Tells a code host what became of a commit.
pub const REPORT: &str = "report";
/// Tells a pull request how its preview is.
pub const COMMENT: &str = "comment";
/// Takes back what was registered at a code host.
pub const UNREGISTER: &str = "unregister";

/// Sends the notices of an organization that wait for one destination.
pub const NOTICES: &str = "notices";
/// The same for mail to its members.
pub const MEMBER_MAIL: &str = "member-mail";
/// The same for mail of the installation itself.
pub const PRODUCT_MAIL: &str = "product-mail";

/// Gets a certificate for a domain.
pub const CERTIFICATE_ORDER: &str = "certificate-order";

/// The payload of [`DEPLOY`], [`ROLL_OUT`], [`FINISH`] and [`REPORT`].
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct OfDeployment {
    pub deployment_id: Uuid,
}

/// The job that carries out a deployment. It has the deployment's id, by which it can be withdrawn or cancelled.
pub fn deployment(application: &Application, deployment_id: Uuid, is_built: bool) -> NewJob {
    let kind = if is_built { ROLL_OUT } else { DEPLOY };
    NewJob { payload: of_deployment(deployment_id), ..alone(application, deployment_id, kind) }
}

/// Runs beside others of its application.
pub fn finish(application: &Application, id: Uuid, deployment_id: Uuid) -> NewJob {
    NewJob { payload: of_deployment(deployment_id), exclusive_key: None, ..alone(application, id, FINISH) }
}

/// Tells the state that the deployment has by then. It names no application: what waits for a code host keeps nothing of the
/// application waiting.
pub fn report(organization_id: Uuid, id: Uuid, deployment_id: Uuid) -> NewJob {
    NewJob {
        id,
        kind: REPORT,
        organization_id: Some(organization_id),
        application_id: None,
        payload: of_deployment(deployment_id),
        exclusive_key: Some(report_key(deployment_id)),
    }
}

/// What the reports of a deployment need for themselves.
pub fn report_key(deployment_id: Uuid) -> String {
    format!("report {deployment_id}")
}

/// The payload of [`COMMENT`]: the preview may be gone by then.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct OfPullRequest {
    pub connection_id: Uuid,
    /// Its address.
    pub repository: String,
    /// The application that there is a preview of.
    pub application_id: Uuid,
    pub pull_request: i64,
}

impl OfPullRequest {
    /// What the comments on one pull request need for themselves: there is one of each application.
    pub fn key(&self) -> String {
        format!("comment {} {}", self.application_id, self.pull_request)
    }
}

pub fn comment(organization_id: Uuid, id: Uuid, about: &OfPullRequest) -> NewJob {
    NewJob {
        id,
        kind: COMMENT,
        organization_id: Some(organization_id),
        application_id: None,
        payload: serde_json::json!(about).to_string(),
        exclusive_key: Some(about.key()),
    }
}

/// The payload of [`UNREGISTER`]: the code host's own ids.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Registered {
    pub connection_id: Uuid,
    /// Its address.
    pub repository: String,
    pub hook_id: String,
    pub deploy_key_id: String,
}

impl Registered {
    /// What an application has registered; none if it has nothing.
    pub fn of(application: &Application) -> Option<Self> {
        let has_any = !(application.hook_id.is_empty() && application.deploy_key_id.is_empty());
        application.connection_id.filter(|_| has_any).map(|connection_id| Self {
            connection_id,
            repository: application.repository.clone(),
            hook_id: application.hook_id.clone(),
            deploy_key_id: application.deploy_key_id.clone(),
        })
    }
}

/// For an application that may be gone by then.
pub fn unregister(organization_id: Uuid, id: Uuid, registered: &Registered) -> NewJob {
    NewJob {
        id,
        kind: UNREGISTER,
        organization_id: Some(organization_id),
        application_id: None,
        payload: serde_json::json!(registered).to_string(),
        exclusive_key: None,
    }
}

/// Where notices go: the payload of [`NOTICES`], [`MEMBER_MAIL`] and [`PRODUCT_MAIL`].
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Destination {
    /// None for mail of the installation itself.
    pub organization_id: Option<Uuid>,
    pub channel: Channel,
    /// Of a mail of an organization; empty for every other channel. For a mail of the installation the id of its notice.
    pub recipient: String,
}

impl Destination {
    /// As the rows of its notices name it.
    pub fn name(&self) -> String {
        let organization = self.organization_id.map_or_else(|| "-".to_owned(), |id| id.to_string());
        format!("{organization} {} {}", self.channel.as_str(), self.recipient)
    }

    /// There is one job at a time for each destination, so its notices are sent one after another.
    pub fn key(&self) -> String {
        format!("notices {}", self.name())
    }
}

/// Sends what waits when it runs.
pub fn notices(id: Uuid, destination: &Destination) -> NewJob {
    NewJob {
        id,
        kind: match (destination.organization_id, destination.channel) {
            (None, _) => PRODUCT_MAIL,
            (Some(_), Channel::Email) => MEMBER_MAIL,
            (Some(_), _) => NOTICES,
        },
        organization_id: destination.organization_id,
        application_id: None,
        payload: serde_json::json!(destination).to_string(),
        exclusive_key: Some(destination.key()),
    }
}

/// The payload of [`CERTIFICATE_ORDER`].
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct OfCertificateOrder {
    pub order_id: Uuid,
}

/// Does what is to be done about the order when the job runs. That of the server itself has no organization.
pub fn certificate_order(organization_id: Option<Uuid>, id: Uuid, order_id: Uuid) -> NewJob {
    NewJob {
        id,
        kind: CERTIFICATE_ORDER,
        organization_id,
        application_id: None,
        payload: serde_json::json!({ "order_id": order_id }).to_string(),
        exclusive_key: Some(certificate_order_key(order_id)),
    }
}

/// There is one attempt at a time for each domain.
pub fn certificate_order_key(order_id: Uuid) -> String {
    format!("certificate-order {order_id}")
}

/// The payload of [`SNAPSHOT`].
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct OfSnapshot {
    pub snapshot_id: Uuid,
}

pub fn snapshot(application: &Application, snapshot_id: Uuid) -> NewJob {
    let payload = serde_json::json!({ "snapshot_id": snapshot_id }).to_string();
    NewJob { payload, ..alone(application, snapshot_id, SNAPSHOT) }
}

/// The payload of [`EXECUTION`].
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct OfExecution {
    pub execution_id: Uuid,
}

/// What the jobs of an installation need for themselves.
pub fn installation_key(installation_id: Uuid) -> String {
    format!("installation {installation_id}")
}

/// The job that carries out an execution. It has the execution's id, by which it can be withdrawn or cancelled. There is one at a time
/// for each installation, and for what leaves none one of an extension for each organization.
pub fn execution(execution: &Execution, needs_engine: bool) -> NewJob {
    let alone = || format!("extension {} {}", execution.extension_id, execution.organization_id);
    NewJob {
        id: execution.id,
        kind: if needs_engine { EXECUTION } else { MACHINE_EXECUTION },
        organization_id: Some(execution.organization_id),
        application_id: None,
        payload: serde_json::json!({ "execution_id": execution.id }).to_string(),
        exclusive_key: Some(execution.installation_id.map_or_else(alone, installation_key)),
    }
}

/// The payload of [`RUN`].
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct OfRun {
    pub run_id: Uuid,
}

/// The job that carries out a run. It has the run's id, by which it can be withdrawn or cancelled. It names no application: a command
/// that takes long keeps nothing of the application waiting. Those of a schedule run one after another.
pub fn run(run: &Run) -> NewJob {
    NewJob {
        id: run.id,
        kind: RUN,
        organization_id: Some(run.organization_id),
        application_id: None,
        payload: serde_json::json!({ "run_id": run.id }).to_string(),
        exclusive_key: run.schedule_id.map(|id| format!("schedule {id}")),
    }
}

pub fn resume(application: &Application, id: Uuid) -> NewJob {
    alone(application, id, RESUME)
}

pub fn stop(application: &Application, id: Uuid) -> NewJob {
    alone(application, id, STOP)
}

pub fn delete(application: &Application, id: Uuid) -> NewJob {
    alone(application, id, DELETE)
}

/// A job that needs the application for itself.
fn alone(application: &Application, id: Uuid, kind: &'static str) -> NewJob {
    NewJob {
        id,
        kind,
        organization_id: Some(application.organization_id),
        application_id: Some(application.id),
        payload: "{}".into(),
        exclusive_key: Some(format!("application {}", application.id)),
    }
}

fn of_deployment(deployment_id: Uuid) -> String {
    serde_json::json!({ "deployment_id": deployment_id }).to_string()
}
