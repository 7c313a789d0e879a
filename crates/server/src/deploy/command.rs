//! A user's command before or after a release becomes live: in a container of its own, made of the release's image.

use std::time::Duration;

use windlass_api::Failure;
use windlass_durable::kill_point;
use windlass_runtime::{Creation, State};
use windlass_store::containers::Purpose;
use windlass_store::deployments::{self, PostRun};

use super::container::{NewContainer, row, specification};
use super::failure::{Result, failed};
use super::network;
use crate::host::Host;
use crate::jobs::Held;
use crate::logs::work_log::Log;
use crate::mounts::Mounted;
use crate::subject::Subject;

const LIMIT: Duration = Duration::from_secs(600);

/// The exit code. A command that has begun is never begun again: after a crash its end is waited for, or looked up.
pub async fn run(
    host: &Host,
    held: &Held,
    subject: &Subject,
    purpose: Purpose,
    mounts: &[Mounted],
    log: &Log,
) -> Result<i64> {
    let (what, text) = match purpose {
        Purpose::PostRun => ("post-run", &subject.configuration.post_run_command),
        Purpose::PreRun | Purpose::App | Purpose::Service | Purpose::Run => {
            ("pre-run", &subject.configuration.pre_run_command)
        }
    };
    let network = network::of_application(host, &subject.application).await?;
    let container = row(host, held, &subject.deployment, &network, &NewContainer::command(purpose, mounts)).await?;
    let mut specification = specification(host, &network, &container, subject)?;
    // The one shell there is, and it is what the user asked for.
    specification.command = Some(vec!["/bin/sh".into(), "-c".into(), text.clone()]);
    log.note(format!("Running the {what} command: {text}")).await;
    kill_point::reached("command-stored");
    let state = match host.create_container(&specification).await? {
        Creation::Created(_) => State::Created,
        Creation::Exists(found) => found.state,
    };
    kill_point::reached("command-created");
    if purpose == Purpose::PostRun {
        let mut tx = held.begin().await?;
        deployments::set_post_run(&mut tx, subject.deployment.id, PostRun::Begun).await?;
        tx.commit().await?;
    }
    kill_point::reached("command-begun");
    if state == State::Created {
        host.start_container(&container.name).await?;
    }
    kill_point::reached("command-started");
    host.collector.begin(&container.name).await?;
    let ended = async {
        let code = host.wait_for_container(&container.name).await?;
        // Before whatever is said about its end.
        host.read_to_end(&container.name).await?;
        Ok(code)
    };
    let Ok(ended) = tokio::time::timeout(LIMIT, ended).await else {
        return failed(Failure::TimedOut, format!("the {what} command took more than {} s", LIMIT.as_secs()));
    };
    kill_point::reached("command-ended");
    ended
}
