//! site: files that the edge serves without a container, made of a folder of the tree or of an image.

use std::io::{self, Read};
use std::path::Path;
use std::time::Duration;

use bytes::{Buf, Bytes};
use tokio::sync::mpsc;
use windlass_api::{DeploymentKind, DeploymentState, Failure, LogStep};
use windlass_durable::kill_point;
use windlass_edge::rules::RuleProblem;
use windlass_store::releases::{self, Site};

use super::attempt::Attempt;
use super::ceiling;
use super::failure::{Interruption, Result, failed};
use super::helper::Helper;
use super::pack::ServedFolder;
use super::restore::restored_volumes;
use super::start::make_again;
use crate::sites::{Draft, DraftError, Made, SiteLimits};

/// Pieces of an archive on their way from the engine.
const PIECES: usize = 16;
/// Of a site's rules; a hostile site has thousands.
const MOST_RULE_PROBLEMS: usize = 10;
const MIB: u64 = 1024 * 1024;

pub async fn of_folder(attempt: &Attempt<'_>, tree: &Path, served: &ServedFolder) -> Result<Site> {
    let (tree, folder) = (tree.to_owned(), served.path.clone());
    let made = make(attempt, move |draft| draft.add_folder(&tree, &folder)).await?;
    accepted(attempt, made, served).await
}

pub async fn of_image(attempt: &Attempt<'_>, image: &str, served: &ServedFolder) -> Result<Site> {
    let helper = Helper::of_image(attempt, image).await?;
    let made = copy_out(attempt, &helper, &served.path).await;
    attempt.held.check().await?;
    helper.remove(attempt.host).await?;
    accepted(attempt, made?, served).await
}

async fn copy_out(attempt: &Attempt<'_>, helper: &Helper, path: &Path) -> Result<Made> {
    let (pieces, received) = mpsc::channel(PIECES);
    let folder = path.to_string_lossy();
    let path = folder.clone();
    let reading = async move {
        let read = async {
            let mut archive = attempt.host.archive(&helper.name, &path).await?;
            while let Some(piece) = archive.chunk().await? {
                if pieces.send(Ok(piece)).await.is_err() {
                    break;
                }
            }
            Ok::<_, windlass_runtime::Error>(())
        };
        let read = read.await;
        if let Err(error) = &read {
            // What has come so far must not be taken for the whole.
            let _ = pieces.send(Err(io::Error::other(error.to_string()))).await;
        }
        read
    };
    let writing = make(attempt, |draft| draft.add_tar(Pieces { received, rest: Bytes::new() }));
    let (read, made) = tokio::join!(reading, writing);
    match read {
        Err(error) if error.is_missing_file() => failed(
            Failure::NoBuildPack,
            format!("output_path: the image that was built has no folder {folder} whose files could be served"),
        ),
        // The helper, or the image, was removed by another program.
        Err(error @ windlass_runtime::Error::NotFound { .. }) => Err(Interruption::Later(error.to_string())),
        Err(error) => Err(error.into()),
        Ok(()) => made,
    }
}

/// Pieces of an archive, for a thread that may wait for them.
struct Pieces {
    received: mpsc::Receiver<io::Result<Bytes>>,
    rest: Bytes,
}

impl Read for Pieces {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.rest.is_empty() {
            match self.received.blocking_recv() {
                Some(piece) => self.rest = piece?,
                None => return Ok(0),
            }
        }
        let length = self.rest.len().min(buffer.len());
        self.rest.copy_to_slice(&mut buffer[..length]);
        Ok(length)
    }
}

/// A site of what is added to the draft.
async fn make(
    attempt: &Attempt<'_>,
    add: impl FnOnce(&mut Draft) -> std::result::Result<(), DraftError> + Send + 'static,
) -> Result<Made> {
    ceiling::refuse_beyond(attempt, 0).await?;
    let (sites, application_id, limits) =
        (attempt.host.sites.clone(), attempt.application.id, attempt.host.app.config.site_limits);
    let name = format!("{}-{}", attempt.deployment.id, attempt.held.job.fence);
    let making = tokio::task::spawn_blocking(move || {
        let mut draft = sites.draft(application_id, &name, limits)?;
        add(&mut draft)?;
        draft.finish()
    });
    match making.await {
        Ok(made) => made.map_err(|error| problem(error, limits, attempt.host.app.config.build_limit)),
        Err(error) => failed(Failure::Internal, error),
    }
}

fn problem(error: DraftError, limits: SiteLimits, time: Duration) -> Interruption {
    let (class, words) = match error {
        DraftError::TimedOut => {
            let words =
                format!("copying the files took more than {} s, the limit that build-seconds sets", time.as_secs());
            (Failure::TimedOut, words)
        }
        DraftError::TooLarge => {
            let words = format!(
                "the site has more than {} MiB, the limit that site-mib sets. Leave files out, or ask the operator.",
                limits.bytes / MIB
            );
            (Failure::CeilingReached, words)
        }
        DraftError::TooManyFiles => {
            let words = format!(
                "the site has more than {} files and folders, the limit that site-files sets. Leave some out, or ask the operator.",
                limits.files
            );
            (Failure::CeilingReached, words)
        }
        DraftError::Empty => {
            let words =
                "there is no file to serve. Set base_path to the folder of the site, or have the build write files.";
            (Failure::NoBuildPack, words.to_owned())
        }
        DraftError::Io(error) => {
            let is_full = matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded);
            let class = if is_full { Failure::DiskFull } else { Failure::Internal };
            (class, format!("the files of the site: {error}"))
        }
    };
    Interruption::Failed(class, words)
}

/// Unless the organization has too much with it.
async fn accepted(attempt: &Attempt<'_>, made: Made, served: &ServedFolder) -> Result<Site> {
    let bytes = i64::try_from(made.cost).unwrap_or(i64::MAX);
    if let Err(refusal) = ceiling::refuse_beyond(attempt, bytes).await {
        remove_unused(attempt, &made.name).await?;
        return Err(refusal);
    }
    kill_point::reached("deploy-built");
    log_made(attempt, &made).await;
    Ok(Site { name: made.name, single_page: served.single_page, bytes })
}

async fn log_made(attempt: &Attempt<'_>, made: &Made) {
    let (files, mib) = (made.files, made.bytes as f64 / MIB as f64);
    attempt.log.note(format!("Made a site, which is served without a container: {mib:.1} MiB, files: {files}.")).await;
    if !made.has_page {
        attempt.log.note("There is no index.html: visitors of / get the page for what is not found.").await;
    }
    if made.passed_over_count > 0 {
        let names: Vec<String> = made.passed_over.iter().map(|name| name.escape_debug().to_string()).collect();
        let more = made.passed_over_count - names.len();
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let words = "Not in it: links that lead elsewhere, what is no file, and paths that are too long";
        attempt.log.note(format!("{words}: {}{more}.", names.join(", "))).await;
    }
    for RuleProblem { file, line, words } in made.rule_problems.iter().take(MOST_RULE_PROBLEMS) {
        attempt.log.note(format!("Not followed: line {line} of {file}: {words}.")).await;
    }
    let more = made.rule_problems.len().saturating_sub(MOST_RULE_PROBLEMS);
    if more > 0 {
        attempt.log.note(format!("Not followed either: {more} more lines.")).await;
    }
}

/// Before the switch to a site: it is there, and what needs a container is not asked for.
pub async fn prepare(attempt: &mut Attempt<'_>, site: &Site) -> Result<()> {
    attempt.log.enter(LogStep::Start);
    attempt.advance(DeploymentState::Deploying).await?;
    match attempt.host.sites.has(attempt.application.id, &site.name).await {
        Ok(true) => {}
        Ok(false) => return Err(site_missing(attempt).await?),
        Err(error) => return Err(Interruption::Later(format!("the files of the site cannot be looked at: {error}"))),
    }
    refuse_restores(attempt).await?;
    let configuration = &attempt.configuration;
    if !configuration.pre_run_command.is_empty() || !configuration.post_run_command.is_empty() {
        attempt.log.note("The commands before and after the run are not run: a site has no container.").await;
    }
    Ok(())
}

/// A release that is being made is made again. Any other fails, and is kept: another server may have its files.
async fn site_missing(attempt: &Attempt<'_>) -> Result<Interruption> {
    if let Some(again) = make_again(attempt, "the files of the release").await? {
        return Ok(again);
    }
    let words = "the files of this release are not in site-dir. Deploy it anew; several servers need one folder that all reach.";
    Ok(Interruption::Failed(Failure::ImageMissing, words.to_owned()))
}

/// A site has no volumes, so nothing can be brought back with it. A new release goes on without the restore that it took over from a
/// deployment that it supersedes.
async fn refuse_restores(attempt: &mut Attempt<'_>) -> Result<()> {
    if restored_volumes(&attempt.deployment)?.is_empty() {
        return Ok(());
    }
    if !matches!(attempt.deployment.kind, DeploymentKind::Deploy | DeploymentKind::Redeploy) {
        return failed(Failure::VolumeUnusable, "this release is a site, which has no volumes to bring data back to");
    }
    attempt.log.note("No data is brought back: this release is a site, which has no volumes.").await;
    attempt.deployment.restores = "[]".to_owned();
    Ok(())
}

/// The site of a release that will not be live, unless another one has it.
pub async fn remove_unused(attempt: &Attempt<'_>, name: &str) -> Result<()> {
    let (host, application_id) = (attempt.host, attempt.application.id);
    if releases::has_site(&mut host.app.db.read().await?, application_id, name, attempt.release.id).await? {
        return Ok(());
    }
    if let Err(error) = host.sites.remove(application_id, name).await {
        tracing::warn!(%error, "the files of a site could not be removed; that is tried again later");
    }
    Ok(())
}
