//! Uploads: a folder as a tar, instead of a repository.

use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderMap, header};
use windlass_api::{Can, ErrorCode, RepositoryAddress, Upload, UploadPartQuery, UploadQuery, Whole};
use windlass_store::applications;
use windlass_store::uploads::Upload as Row;

use super::params::{PathId, RawParams};
use super::respond::{Answer, success};
use super::table::{PREFIX, Table, member_who};
use crate::auth::{Authority, Ctx, Granted};
use crate::error::{Error, Result};
use crate::service;
use crate::uploads::{self, Part};

const BEGIN: &str = "/deploy/application/upload";
const ONE: &str = "/deploy/application/upload/{upload_id}";

const UPLOADING: &str = "The body is the tar of a folder, plain or packed by gzip or zstd, and is deployed as it is. With `size`, the body is empty, and the tar \
    is sent in parts by `PATCH`. A new application that is named begins with the defaults; to set more, make it with the repository `push` first.";

const CONTINUING: &str = "The body is what follows `offset` bytes of the tar. After a cut connection, `GET` says how many were received. The last part deploys \
    the application, once; an empty one at the end tries that again.";

pub fn routes(table: Table) -> Table {
    use ErrorCode::{BodyTimeout, Conflict, NameTaken, TooLarge, UnsupportedEncoding};
    table
        .post(
            BEGIN,
            begin,
            member_who::<Upload>("Upload application", Can::DeployCreate)
                .note(UPLOADING)
                .query::<UploadQuery>()
                .errors(&[NameTaken, Conflict, TooLarge, BodyTimeout, UnsupportedEncoding]),
        )
        .get(ONE, get, member_who::<Upload>("Get upload", Can::DeployCreate))
        .patch(
            ONE,
            continue_upload,
            member_who::<Upload>("Continue upload", Can::DeployCreate)
                .note(CONTINUING)
                .query::<UploadPartQuery>()
                .errors(&[Conflict, TooLarge, BodyTimeout, UnsupportedEncoding]),
        )
        .delete(ONE, delete, member_who::<()>("Delete upload", Can::DeployCreate))
}

/// Whether requests to a route may bring a tar, which takes longer to arrive and to be unpacked than `request-seconds`.
pub fn is_long(route: &str) -> bool {
    route.strip_prefix(PREFIX).is_some_and(|path| path == BEGIN || path == ONE)
}

pub async fn begin(ctx: Ctx, params: RawParams, request: Request) -> Answer {
    let given = params.parse::<UploadQuery>();
    // An application that the caller may not know of comes before what else they say.
    let authority = match given.as_ref().ok().and_then(|given| given.application_id) {
        Some(id) => ctx.application(id).await?.authority().clone(),
        None => ctx.organization(None).await?,
    };
    let given = given?;
    let body = body_of(request)?;
    let (size, sha256) = announced(&ctx, &given)?;
    let application_id = application_of(&ctx, &authority, &given).await?;
    let (application, upload) = service::uploads::begin(&ctx.app, &authority, application_id, size, sha256).await?;
    if given.size.is_some() {
        return success("Upload begun; send its parts", uploads::look(&ctx.app, &upload).await?);
    }
    let part = Part { offset: 0, body, is_whole: true };
    success("Deployment queued", Box::pin(uploads::receive(&ctx.app, &authority, &application, upload, part)).await?)
}

/// The size, 0 if it is not known, and the hash, empty if it is not.
fn announced<'a>(ctx: &Ctx, given: &'a UploadQuery) -> Result<(i64, &'a str)> {
    let sha256: &str = given.sha256.as_ref().map_or("", |text| &**text);
    if !sha256.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err(Error::field("sha256", "must be 64 hexadecimal digits"));
    }
    let Some(size) = given.size.map(Whole::get) else { return Ok((0, sha256)) };
    if sha256.is_empty() {
        return Err(Error::field("sha256", "is required with size"));
    }
    let most = ctx.app.config.upload_bytes;
    if size.unsigned_abs() > most {
        let message = format!("size: is more than {} MiB (upload-mib)", most >> 20);
        return Err(Error::new(ErrorCode::TooLarge, message));
    }
    Ok((size, sha256))
}

async fn application_of(ctx: &Ctx, authority: &Authority, given: &UploadQuery) -> Result<uuid::Uuid> {
    match (given.application_id, &given.name) {
        (Some(id), None) => Ok(id),
        (None, Some(name)) => {
            let repository = RepositoryAddress::try_from(RepositoryAddress::PUSHED).map_err(Error::internal)?;
            Box::pin(service::applications::ensure(&ctx.app, authority, name, &repository)).await
        }
        (Some(_), Some(_)) => Err(Error::field("name", "must not be given with application_id")),
        (None, None) => Err(Error::field("application_id", "is required, or name")),
    }
}

pub async fn get(ctx: Ctx, PathId(id): PathId) -> Answer {
    let granted = ctx.upload(id).await?;
    success("Upload", uploads::look(&ctx.app, granted.row()).await?)
}

pub async fn continue_upload(ctx: Ctx, PathId(id): PathId, params: RawParams, request: Request) -> Answer {
    let granted = ctx.upload(id).await?;
    let given: UploadPartQuery = params.parse()?;
    let offset = given.offset.map_or(0, |offset| offset.get().unsigned_abs());
    let part = Part { offset, body: body_of(request)?, is_whole: false };
    if granted.row().size_bytes == 0 {
        let message = "This upload came in one request, and ends with it. Send it again.";
        return Err(Error::new(ErrorCode::Conflict, message));
    }
    let application = application(&ctx, &granted).await?;
    let (authority, upload) = (granted.authority(), granted.row().clone());
    let upload = Box::pin(uploads::receive(&ctx.app, authority, &application, upload, part)).await?;
    let message = if upload.deployment_id.is_some() { "Deployment queued" } else { "Part received" };
    success(message, upload)
}

pub async fn delete(ctx: Ctx, PathId(id): PathId) -> Answer {
    let granted = ctx.upload(id).await?;
    let application = application(&ctx, &granted).await?;
    uploads::delete(&ctx.app, granted.authority(), &application, granted.row()).await?;
    success("Upload deleted", ())
}

async fn application(ctx: &Ctx, granted: &Granted<Row>) -> Result<applications::Application> {
    let found = applications::get(&mut ctx.app.db.read().await?, granted.row().application_id).await?;
    found.ok_or_else(|| Error::not_found("upload"))
}

/// As it was sent: how a tar is packed is seen by its first bytes, so a header could only contradict them.
fn body_of(request: Request) -> Result<Body> {
    let is_packed = |headers: &HeaderMap| {
        headers.get(header::CONTENT_ENCODING).is_some_and(|value| !value.as_bytes().eq_ignore_ascii_case(b"identity"))
    };
    if is_packed(request.headers()) {
        return Err(Error::new(ErrorCode::UnsupportedEncoding, "content-encoding: an upload is taken as it is."));
    }
    Ok(request.into_body())
}
