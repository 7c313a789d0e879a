//! Folders that are sent as a tar: received into a file, in one request or in several, unpacked into a commit of the application's own
//! repository, and deployed as if that had been pushed.

mod archive;
mod import;
mod part_file;
mod room;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use http_body_util::BodyExt;
use uuid::Uuid;
use windlass_api as api;
use windlass_api::ErrorCode;
use windlass_durable::kill_point;
use windlass_store::applications::Application;
use windlass_store::uploads::{self as rows, Upload};

use crate::app::App;
use crate::auth::Authority;
use crate::config::Config;
use crate::error::{Error, Result};
use crate::pushed_repository::{Repository, UPLOADS};
use crate::pushes::{self, Alone};
use crate::service::uploads as service;
use archive::Head;
use part_file::PartFile;

/// Where a test can end the process.
pub const KILL_POINTS: [&str; 4] = ["upload-received", "upload-stored", "upload-named", "upload-queued"];

/// A client that sends nothing for so long has gone.
const SILENCE: Duration = Duration::from_secs(30);
/// After so many bytes it is looked again whether there is room.
const BETWEEN_LOOKS: u64 = 8 << 20;

/// How long one request may take: to arrive, to wait for its turn, and to be unpacked.
pub fn longest(config: &Config) -> Duration {
    config.upload_limit * 3 + config.request_limit
}

/// What a request brings.
pub struct Part {
    /// How many bytes come before it.
    pub offset: u64,
    pub body: Body,
    /// It is all there is: nothing is kept of one that does not arrive.
    pub is_whole: bool,
}

/// Takes a part. With the last one the application is deployed, also when the client is gone by then.
pub async fn receive(
    app: &Arc<App>,
    authority: &Authority,
    application: &Application,
    upload: Upload,
    part: Part,
) -> Result<api::Upload> {
    let receiving =
        Receiving { app: app.clone(), authority: authority.clone(), application: application.clone(), upload };
    let task = tokio::spawn(async move {
        let is_whole = part.is_whole;
        let received = receiving.take(part).await;
        if is_whole && received.is_err() {
            receiving.delete().await;
        }
        received
    });
    task.await.map_err(Error::internal)?
}

struct Receiving {
    app: Arc<App>,
    authority: Authority,
    application: Application,
    upload: Upload,
}

impl Receiving {
    async fn take(&self, part: Part) -> Result<api::Upload> {
        let busy = "Another request is bringing a part of this upload. Look at its offset, then go on.";
        let config = &self.app.config;
        let file = PartFile::open(config, self.upload.id).await.map_err(no_room)?;
        let mut file = file.ok_or_else(|| Error::new(ErrorCode::Conflict, busy))?;
        // Read again: the request that had the file until now may have brought the rest.
        let (organization_id, id, now) = (self.upload.organization_id, self.upload.id, self.app.now());
        let known = rows::of_organization(&mut self.app.db.read().await?, organization_id, id, now).await?;
        let known = match known {
            Some(known) if known.deployment_id.is_none() => known,
            over => {
                self.remove_file().await;
                let known = over.ok_or_else(|| Error::not_found("upload"))?;
                return Ok(service::record(&known, known.size_bytes.unsigned_abs()));
            }
        };
        if part.offset != file.bytes {
            let message = format!("offset: {} bytes were received so far; go on from there.", file.bytes);
            return Err(Error::new(ErrorCode::Conflict, message));
        }
        let taken = self.append(&mut file, part).await;
        file.keep().await.map_err(no_room)?;
        taken?;
        if self.upload.size_bytes > 0 && file.bytes < self.upload.size_bytes.unsigned_abs() {
            return Ok(service::record(&known, file.bytes));
        }
        kill_point::reached("upload-received");
        self.complete(&file).await
    }

    async fn append(&self, file: &mut PartFile, part: Part) -> Result<()> {
        let most = self.most_bytes();
        let announced = axum::body::HttpBody::size_hint(&part.body).lower();
        if file.bytes.saturating_add(announced) > most {
            return Err(self.too_large(most));
        }
        room::check(&self.app, announced).await?;
        let limit = self.app.config.upload_limit;
        let writing = self.write(file, part.body, most);
        tokio::time::timeout(limit, writing).await.map_err(|_| {
            let message = format!("The part did not arrive within {} seconds (upload-seconds).", limit.as_secs());
            Error::new(ErrorCode::BodyTimeout, message)
        })?
    }

    async fn write(&self, file: &mut PartFile, mut body: Body, most: u64) -> Result<()> {
        let cut_off = || Error::new(ErrorCode::InvalidRequest, "The body ended before it was complete.");
        let silent = |_| {
            let message = format!("Nothing arrived for {} seconds.", SILENCE.as_secs());
            Error::new(ErrorCode::BodyTimeout, message)
        };
        let mut next_look = file.bytes + BETWEEN_LOOKS;
        while let Some(frame) = tokio::time::timeout(SILENCE, body.frame()).await.map_err(silent)? {
            let Ok(piece) = frame.map_err(|_| cut_off())?.into_data() else { continue };
            if file.bytes + piece.len() as u64 > most {
                return Err(self.too_large(most));
            }
            if file.bytes >= next_look {
                next_look = file.bytes + BETWEEN_LOOKS;
                room::check(&self.app, piece.len() as u64).await?;
            }
            file.write(&piece).await.map_err(no_room)?;
        }
        Ok(())
    }

    /// Of the whole tar.
    fn most_bytes(&self) -> u64 {
        let most = self.app.config.upload_bytes;
        match self.upload.size_bytes {
            0 => most,
            size => most.min(size.unsigned_abs()),
        }
    }

    fn too_large(&self, most: u64) -> Error {
        let message = match self.upload.size_bytes {
            0 => format!("The body is larger than {} MiB (upload-mib).", most >> 20),
            size => format!("offset: with this part there would be more than the {size} bytes of the upload."),
        };
        Error::new(ErrorCode::TooLarge, message)
    }

    /// What is refused for its content would be refused again, so it is deleted at once: it would count for `user-uploads` until it expires.
    async fn complete(&self, file: &PartFile) -> Result<api::Upload> {
        let completed = self.deploy(file).await;
        if let Err(error) = &completed
            && matches!(error.code, ErrorCode::InvalidRequest | ErrorCode::TooLarge)
        {
            self.delete().await;
        }
        completed
    }

    /// What takes a processor is done in turns, so that an organization with many uploads does not keep the others waiting.
    async fn deploy(&self, file: &PartFile) -> Result<api::Upload> {
        let (app, application_id) = (&self.app, self.application.id);
        let _alone = Alone::with(app, application_id)?;
        let ids = (self.upload.organization_id, self.authority.user_id());
        let turn = app.unpackings.wait(ids.0, ids.1, app.config.upload_limit).await?;
        let tar = self.checked_tar().await?;
        let repository = Repository::open(&app.config, application_id).await.map_err(Error::internal)?;
        let commit = self.commit_of(&repository, tar).await?;
        drop(turn);
        kill_point::reached("upload-stored");
        let deployed = self.point_and_queue(&repository, file.bytes, &commit).await;
        if let Err(error) = repository.tidy().await {
            tracing::warn!(%error, "a repository that was uploaded to could not be tidied up");
        }
        deployed
    }

    async fn checked_tar(&self) -> Result<std::fs::File> {
        let hashed = part_file::hashed(&self.app.config, self.upload.id).await;
        let (hash, tar) = hashed.map_err(|error| match error.kind() {
            // It was deleted meanwhile.
            io::ErrorKind::NotFound => Error::not_found("upload"),
            _ => Error::internal(error),
        })?;
        if !self.upload.sha256.is_empty() && self.upload.sha256 != hash {
            let problem = format!("is not that of what was received, which is {hash}. Upload all of it again");
            return Err(Error::field("sha256", problem));
        }
        Ok(tar)
    }

    async fn commit_of(&self, repository: &Repository, tar: std::fs::File) -> Result<String> {
        repository.clean_up().await.map_err(Error::internal)?;
        repository.forget_uploads().await.map_err(Error::internal)?;
        if repository.is_full().await {
            let message = "There is no room for more: the repository of the application is full (push-mib). Upload to a new application.";
            return Err(Error::new(ErrorCode::Conflict, message));
        }
        let imported = import::import(&self.app, repository, self.upload.id, self.head(), tar).await;
        if imported.is_err() {
            repository.clean_up().await.map_err(Error::internal)?;
            repository.forget_uploads().await.map_err(Error::internal)?;
        }
        imported
    }

    /// As a branch, and as a deployment of it; or as neither.
    async fn point_and_queue(&self, repository: &Repository, bytes: u64, commit: &str) -> Result<api::Upload> {
        let branch = pushes::branch_of(&self.application, repository).await.map_err(Error::internal)?;
        let before = repository.commit(&branch).await;
        repository.point(&branch, commit).await.map_err(Error::internal)?;
        repository.forget_uploads().await.map_err(Error::internal)?;
        kill_point::reached("upload-named");
        let deployed = service::deploy(&self.app, &self.authority, &self.upload, bytes, commit).await;
        kill_point::reached("upload-queued");
        match deployed.is_ok() {
            true => self.remove_file().await,
            false => repository.put_back(&branch, commit, before.as_deref()).await,
        }
        deployed
    }

    /// The same for the same upload, however often it is completed: then the commit is the same too.
    fn head(&self) -> Head {
        let user = &self.authority.caller().user;
        let printable = |text: &str| -> String {
            let text: String = text.chars().filter(|c| !c.is_control() && !matches!(c, '<' | '>')).collect();
            text.trim().to_owned()
        };
        Head {
            reference: format!("{UPLOADS}/{}", self.upload.id),
            author: printable(&user.username),
            email: printable(&user.email),
            seconds: self.upload.created_at.micros() / 1_000_000,
            message: format!("Upload of {}", self.application.name),
        }
    }

    async fn delete(&self) {
        if let Err(error) = service::delete_failed(&self.app, self.upload.id).await {
            tracing::warn!(cause = error.cause, upload = %self.upload.id, "an upload could not be deleted yet");
        }
        self.remove_file().await;
    }

    /// A failure is not the caller's: the hourly sweep removes what is left.
    async fn remove_file(&self) {
        remove_file(&self.app.config, self.upload.id).await;
    }
}

async fn remove_file(config: &Config, id: Uuid) {
    if let Err(error) = part_file::remove(config, id).await {
        tracing::warn!(%error, upload = %id, "the file of an upload could not be removed yet");
    }
}

fn no_room(error: io::Error) -> Error {
    let message = match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "The server has no room for uploads left. Try again later."
        }
        _ => "The server cannot store uploads. Try again later.",
    };
    Error::unavailable(message, error)
}

/// The upload, and how much of it was received.
pub async fn look(app: &App, upload: &Upload) -> Result<api::Upload> {
    let received = match upload.deployment_id {
        Some(_) => upload.size_bytes.unsigned_abs(),
        None => part_file::received(&app.config, upload.id).await.map_err(Error::internal)?,
    };
    Ok(service::record(upload, received))
}

/// The row first: a part that still arrives finds none, and is answered 404.
pub async fn delete(app: &App, authority: &Authority, application: &Application, upload: &Upload) -> Result<()> {
    service::delete(app, authority, application, upload).await?;
    remove_file(&app.config, upload.id).await;
    Ok(())
}

/// Removes the files of those that are complete, were forgotten, or have expired. The rows are read last, because each comes before its
/// file. Nothing is written to the database: its disk may be full, because of these files.
pub async fn sweep(app: &App) -> Result<()> {
    let found = part_file::all(&app.config).await.map_err(Error::internal)?;
    if found.is_empty() {
        return Ok(());
    }
    let open = rows::all_open(&mut app.db.read().await?, app.now()).await?;
    for id in found.difference(&open) {
        remove_file(&app.config, *id).await;
    }
    Ok(())
}
