//! What becomes of a delivery about a pull request: its preview is deployed, or ends.

use windlass_api::{CodeHost, DeliveryVerdict, Triggers};
use windlass_codehost as codehost;
use windlass_codehost::{PreviewVerdict, PullRequestAction};
use windlass_store::applications::Application;
use windlass_store::deliveries::{self, Delivery};
use windlass_store::previews as rows;

use crate::error::{Error, Result};
use crate::service::audit::Actor;
use crate::service::previews::{self, Answer, PullRequest};
use crate::service::work::Work;

/// How many earlier deliveries a delivery is compared with.
const COMPARED: i64 = 50;

/// What the application's rules say of it.
pub struct Judged {
    pub pull_request: codehost::PullRequest,
    pub verdict: PreviewVerdict,
}

/// Does what the verdict says, unless there is a reason not to, and fills the row, which is not stored yet. The caller holds the
/// organization and the application.
pub async fn decide(
    work: &mut Work<'_>,
    application: &Application,
    judged: &Judged,
    row: &mut Delivery,
    actor: &Actor,
    is_replayed: bool,
) -> Result<()> {
    let Judged { pull_request, verdict } = judged;
    describe(row, pull_request);
    let before = deliveries::pushes(work, application.id, &row.reference, COMPARED).await?;
    let accepted: Vec<_> = before.iter().filter(|before| before.verdict == DeliveryVerdict::Accepted).collect();
    if !is_replayed && accepted.iter().any(|before| is_newer(before, row, pull_request)) {
        row.reason = "A newer delivery about this pull request was received before.".into();
        return Ok(());
    }
    match verdict {
        PreviewVerdict::Ignore(reason) => row.reason.clone_from(reason),
        PreviewVerdict::End => end(work, application, row, actor, pull_request).await?,
        PreviewVerdict::Deploy => {
            let has_it = |before: &&&Delivery| before.deployment_id.is_some() && before.commit_hash == row.commit_hash;
            let was_deployed = !row.commit_hash.is_empty() && accepted.first().filter(has_it).is_some();
            deploy(work, application, row, actor, pull_request, was_deployed && !is_replayed).await?;
        }
    }
    Ok(())
}

/// By the code host's own clock, which has seconds only: of a push and the end in the same second the end counts.
fn is_newer(before: &Delivery, row: &Delivery, pull_request: &codehost::PullRequest) -> bool {
    let was_end = before.deployment_id.is_none();
    match (before.pushed_at, row.pushed_at) {
        (Some(before), Some(this)) if before == this => was_end && pull_request.action == PullRequestAction::Pushed,
        (Some(before), Some(this)) => before > this,
        _ => false,
    }
}

fn describe(row: &mut Delivery, pull_request: &codehost::PullRequest) {
    row.reference = codehost::PullRequest::reference(pull_request.number, row.host)
        .unwrap_or_else(|| format!("refs/pull-requests/{}", pull_request.number));
    row.commit_hash = pull_request.commit.clone().unwrap_or_default();
    row.pushed_at = pull_request.changed_at;
}

async fn deploy(
    work: &mut Work<'_>,
    application: &Application,
    row: &mut Delivery,
    actor: &Actor,
    pull_request: &codehost::PullRequest,
    was_deployed: bool,
) -> Result<()> {
    let known = rows::of_pull_request(work, application.id, i64::from(pull_request.number)).await?;
    if was_deployed && known.is_some() {
        row.reason = "The last delivery about this pull request was of this commit too.".into();
        return Ok(());
    }
    // It was judged before the application was held.
    let triggers = Triggers::from_json(&application.triggers).map_err(Error::internal)?;
    if !triggers.previews || (pull_request.is_fork && !triggers.preview_forks) {
        row.reason = "Previews of such pull requests were switched off in this moment.".into();
        return Ok(());
    }
    let Some(wanted) = wanted(pull_request, row.host) else { return Ok(()) };
    match previews::deploy(work, actor, application, wanted).await? {
        Answer::Queued(queued) => {
            row.verdict = DeliveryVerdict::Accepted;
            row.reason = "A deployment of the preview was queued.".into();
            row.deployment_id = Some(queued.deployment.id);
        }
        Answer::Refused(reason) => row.reason = reason,
    }
    Ok(())
}

/// None for a fork's where the code host has no reference of it, which its rules do not let come here.
fn wanted(pull_request: &codehost::PullRequest, host: CodeHost) -> Option<PullRequest> {
    let reference = match pull_request.is_fork {
        true => codehost::PullRequest::reference(pull_request.number, host)?,
        false => format!("refs/heads/{}", pull_request.source_branch),
    };
    Some(PullRequest {
        number: i64::from(pull_request.number),
        title: pull_request.title.clone(),
        url: pull_request.url.clone(),
        branch: pull_request.source_branch.clone(),
        is_fork: pull_request.is_fork,
        reference,
    })
}

async fn end(
    work: &mut Work<'_>,
    application: &Application,
    row: &mut Delivery,
    actor: &Actor,
    pull_request: &codehost::PullRequest,
) -> Result<()> {
    let preview = rows::of_pull_request(work, application.id, i64::from(pull_request.number)).await?;
    // Accepted in either case: what was sent before it, and arrives after it, must not bring the preview back.
    row.verdict = DeliveryVerdict::Accepted;
    row.reason = match preview {
        Some(preview) => {
            previews::end(work, actor, &preview, "the pull request was closed").await?;
            "The preview is being removed.".into()
        }
        None => "The pull request was closed, and has no preview.".into(),
    };
    Ok(())
}
