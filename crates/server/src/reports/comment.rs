//! comment: a pull request says how its preview is, in one comment that is changed each time.

use windlass_api::{CodeHost, DeploymentState, LogStep};
use windlass_codehost::api::{Api, ApiError, Comment, CommentId};
use windlass_durable::kill_point;
use windlass_store::connections::{self, Connection};
use windlass_store::deployments::{self, Deployment};
use windlass_store::logs::LogLine;
use windlass_store::previews::{self, Preview, Shown};
use windlass_store::{Conn, applications};

use crate::app::App;
use crate::code_host::{Failed, PullFor, api, full_name, send};
use crate::error::Error;
use crate::jobs::Held;
use crate::service::queue::OfPullRequest;

/// Where the comment is looked for after a crash, or when the preview was made again.
const MOST_PAGES: usize = 10;
/// Of a commit's hash.
const SHORT: usize = 12;

/// Tells what is now. Jobs that were queued for earlier states find nothing to do.
pub async fn comment(app: &App, held: &Held, about: &OfPullRequest) -> Result<(), Failed> {
    let subject = subject(app, about).await.map_err(Error::from)?;
    let told = match &subject {
        Some(subject) => tell(app, about, subject).await?,
        None => None,
    };
    let mut work = held.begin().await.map_err(Error::from)?;
    if let (Some(id), Some(Subject { preview: Some((preview, _)), text, .. })) = (told, &subject) {
        previews::set_comment(&mut work, preview.id, &id.0, text).await.map_err(Error::from)?;
    }
    held.done(&mut work).await.map_err(Error::from)?;
    work.commit().await.map_err(Error::from)?;
    Ok(())
}

/// What is to be said, and where.
struct Subject {
    connection: Connection,
    full_name: String,
    /// None when it has ended.
    preview: Option<(Preview, Option<Deployment>)>,
    text: String,
}

/// None when there is no code host to be told.
async fn subject(app: &App, about: &OfPullRequest) -> windlass_store::Result<Option<Subject>> {
    let mut conn = app.db.read().await?;
    let connection = connections::get(&mut conn, about.connection_id).await?;
    let found = connection.and_then(|connection| {
        let name = full_name(&connection, &about.repository)?;
        Some((connection, name))
    });
    let Some((connection, full_name)) = found else { return Ok(None) };
    let name = applications::get(&mut conn, about.application_id).await?.map(|application| application.name);
    let title = format!("Preview of {}", name.as_deref().unwrap_or("an application"));
    let preview = of_pull_request(&mut conn, about).await?;
    let said = match &preview {
        Some((shown, deployment)) => state(app, shown, deployment.as_ref()),
        None => "It was removed.".to_owned(),
    };
    let text = format!("**{title}**\n\n{said}\n\n{}", mark(about));
    let preview = preview.map(|(shown, deployment)| (shown.preview, deployment));
    Ok(Some(Subject { connection, full_name, preview, text }))
}

async fn of_pull_request(
    conn: &mut Conn,
    about: &OfPullRequest,
) -> windlass_store::Result<Option<(Shown, Option<Deployment>)>> {
    let preview = previews::of_pull_request(conn, about.application_id, about.pull_request).await?;
    let Some(preview) = preview else { return Ok(None) };
    let Some(shown) = previews::shown(conn, preview.id).await? else { return Ok(None) };
    let deployment = match shown.newest_id {
        Some(id) => deployments::get(conn, id).await?,
        None => None,
    };
    Ok(Some((shown, deployment)))
}

/// The line by which the comment is found again.
fn mark(about: &OfPullRequest) -> String {
    format!("Windlass preview {}", about.application_id)
}

fn state(app: &App, shown: &Shown, deployment: Option<&Deployment>) -> String {
    let commit: String = shown.commit_hash.as_deref().unwrap_or_default().chars().take(SHORT).collect();
    let commit = if commit.is_empty() { "The newest commit".to_owned() } else { format!("Commit {commit}") };
    let address = app.config.visitors_url(&shown.domain);
    match deployment.map(|deployment| (deployment.state, deployment)) {
        Some((DeploymentState::Deployed, _)) | None => format!("{commit} is at {address}"),
        Some((DeploymentState::Failed, failed)) => {
            // As code: what a stranger's repository holds can be in it, and must mention and link nothing.
            let reason = failed.reason.lines().next().unwrap_or_default().replace('`', "'");
            format!("{commit} could not be deployed: {}: `{reason}`", failed.failure)
        }
        Some((DeploymentState::Cancelled, _)) => format!("The deployment of {} was cancelled.", commit.to_lowercase()),
        Some(_) => format!("{commit} is being deployed. It will be at {address}"),
    }
}

/// The comment's id, if one says it now.
async fn tell(app: &App, about: &OfPullRequest, subject: &Subject) -> Result<Option<CommentId>, Failed> {
    let Subject { connection, full_name, preview, text } = subject;
    if preview.as_ref().is_some_and(|(preview, _)| preview.commented == *text) {
        return Ok(None);
    }
    let api = api(app, connection, full_name, PullFor::Job).await?;
    let number = u64::try_from(about.pull_request).unwrap_or_default();
    let place = Place { app, api: &api, full_name, number, account: &connection.account };
    kill_point::reached("comment-before");
    let known = preview.as_ref().map(|(preview, _)| preview.comment_id.clone()).filter(|id| !id.is_empty());
    let told = place.write(known.map(CommentId), &mark(about), text, preview.is_some()).await;
    if let (Err(failed), Some((preview, Some(deployment)))) = (&told, preview)
        && !failed.is_temporary()
    {
        note(app, preview, deployment, failed).await;
    }
    kill_point::reached("comment-sent");
    told
}

/// A pull request at a code host.
struct Place<'a> {
    app: &'a App,
    api: &'a Api,
    full_name: &'a str,
    number: u64,
    /// Whose comments are Windlass' own.
    account: &'a str,
}

impl Place<'_> {
    /// Changes the comment that is there. If there is none it is made, unless there is nothing to say any more.
    async fn write(
        &self,
        known: Option<CommentId>,
        mark: &str,
        text: &str,
        may_create: bool,
    ) -> Result<Option<CommentId>, Failed> {
        if let Some(id) = known
            && let Some(id) = self.change(&id, text).await?
        {
            return Ok(Some(id));
        }
        if let Some(id) = self.find(mark).await?
            && let Some(id) = self.change(&id, text).await?
        {
            return Ok(Some(id));
        }
        if !may_create {
            return Ok(None);
        }
        let ask = self.api.create_comment(self.full_name, self.number, text).map_err(Failed::Api)?;
        send(self.app, ask).await.map(Some)
    }

    /// None when it is not there any more, was changed by another user, or may not be changed.
    async fn change(&self, id: &CommentId, text: &str) -> Result<Option<CommentId>, Failed> {
        let ask = self.api.update_comment(self.full_name, self.number, id, text).map_err(Failed::Api)?;
        match send(self.app, ask).await {
            Ok(id) => Ok(Some(id)),
            Err(Failed::Api(
                ApiError::NotFound | ApiError::Forbidden { .. } | ApiError::Refused { status: 409, .. },
            )) => Ok(None),
            Err(failed) => Err(failed),
        }
    }

    /// The line by which it is found is there for all to copy. Bitbucket's own tokens are no account's.
    fn is_own(&self, comment: &Comment) -> bool {
        comment.author.eq_ignore_ascii_case(self.account) || self.api.host() == CodeHost::Bitbucket
    }

    async fn find(&self, mark: &str) -> Result<Option<CommentId>, Failed> {
        let mut page = Some(1);
        for _ in 0..MOST_PAGES {
            let Some(number) = page else { return Ok(None) };
            let ask = self.api.comments(self.full_name, self.number, number).map_err(Failed::Api)?;
            let found = send(self.app, ask).await?;
            if let Some(comment) =
                found.items.into_iter().find(|comment| self.is_own(comment) && comment.body.contains(mark))
            {
                return Ok(Some(comment.id));
            }
            page = found.next;
        }
        Ok(None)
    }
}

/// So that a member who looks for the comment sees why there is none.
async fn note(app: &App, preview: &Preview, deployment: &Deployment, failed: &Failed) {
    let text = format!("The comment at the pull request could not be written: {}", failed.words());
    let line = LogLine::note(app.now(), LogStep::Report, text);
    app.logs.note(preview.id, deployment.id, line).await;
}
