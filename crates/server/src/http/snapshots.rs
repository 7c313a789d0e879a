//! Snapshots of volumes.

use axum::body::Body;
use axum::http::header;
use axum::response::IntoResponse;
use futures_util::{StreamExt, stream};
use windlass_api::{
    ApplicationDeployment, Can, ErrorCode, RestoreSnapshot, Snapshot, SnapshotState, Snapshots, VolumeName,
};
use windlass_store::{snapshots as rows, volumes};

use super::body::Payload;
use super::params::{PathId, PathIdAndText};
use super::respond::{Answer, success};
use super::table::{Table, member_who};
use crate::auth::Ctx;
use crate::error::Error;
use crate::records::volumes::snapshot as record;
use crate::service::snapshots;
use crate::snapshot_files;

/// In one answer.
const MOST: i64 = 1_000;

pub fn routes(table: Table) -> Table {
    use ErrorCode::Conflict;
    table
        .get(
            "/deploy/snapshots",
            list_all,
            member_who::<Snapshots>("List snapshots", Can::DeployRead)
                .note("All of the organization, those of deleted applications too."),
        )
        .get("/deploy/snapshots/{snapshot_id}", get, member_who::<Snapshot>("Get snapshot", Can::DeployRead))
        .get(
            "/deploy/snapshots/{snapshot_id}/download",
            download,
            member_who::<String>("Download snapshot", Can::DeployUpdate)
                .note("A tar. Its SHA-256 is in the snapshot's record.")
                .bytes()
                .errors(&[Conflict]),
        )
        .delete(
            "/deploy/snapshots/{snapshot_id}",
            delete,
            member_who::<()>("Delete snapshot", Can::DeployDelete).errors(&[Conflict]),
        )
        .get(
            "/deploy/application/{application_id}/volumes/{volume_name}/snapshots",
            list,
            member_who::<Snapshots>("List snapshots of a volume", Can::DeployRead),
        )
        .post(
            "/deploy/application/{application_id}/volumes/{volume_name}/snapshots",
            create,
            member_who::<Snapshot>("Create snapshot", Can::DeployUpdate)
                .note("It is written in the background; the record says when it is ready.")
                .errors(&[Conflict]),
        )
        .post(
            "/deploy/application/{application_id}/volumes/{volume_name}/restore",
            restore,
            member_who::<ApplicationDeployment>("Restore snapshot", Can::DeployUpdate)
                .note(
                    "A deployment of what is live, or was live last, with the volume as it was. What it held until then is a deleted volume, which can be attached again until its `removed_after`.",
                )
                .body::<RestoreSnapshot>()
                .errors(&[Conflict]),
        )
}

pub async fn list_all(ctx: Ctx) -> Answer {
    let authority = ctx.organization(None).await?;
    let all = rows::newest(&mut ctx.app.db.read().await?, authority.organization_id(), MOST).await?;
    success("Snapshots", Snapshots { snapshots: all.into_iter().map(record).collect() })
}

pub async fn list(ctx: Ctx, path: PathIdAndText<VolumeName>) -> Answer {
    let granted = ctx.application(path.id).await?;
    let mut conn = ctx.app.db.read().await?;
    let volume = volumes::by_name(&mut conn, granted.row().id, &path.text()?).await?;
    let volume = volume.ok_or_else(|| Error::not_found("volume"))?;
    let all = rows::of_volume(&mut conn, volume.id, MOST).await?;
    success("Snapshots", Snapshots { snapshots: all.into_iter().map(record).collect() })
}

pub async fn get(ctx: Ctx, PathId(id): PathId) -> Answer {
    let granted = ctx.snapshot(id).await?;
    success("Snapshot", record(granted.row().clone()))
}

pub async fn create(ctx: Ctx, path: PathIdAndText<VolumeName>) -> Answer {
    let granted = ctx.application(path.id).await?;
    success("Snapshot queued", snapshots::create(&ctx.app, &granted, &path.text()?).await?)
}

pub async fn delete(ctx: Ctx, PathId(id): PathId) -> Answer {
    let granted = ctx.snapshot(id).await?;
    snapshots::delete(&ctx.app, &granted).await?;
    success("Snapshot deleted", ())
}

pub async fn restore(ctx: Ctx, path: PathIdAndText<VolumeName>, body: Payload) -> Answer {
    let granted = ctx.application(path.id).await?;
    let input: RestoreSnapshot = body.parse()?;
    let queued = Box::pin(snapshots::restore(&ctx.app, &granted, &path.text()?, input.snapshot_id)).await?;
    success("Restore queued", queued)
}

pub async fn download(ctx: Ctx, PathId(id): PathId) -> Answer {
    let granted = ctx.snapshot(id).await?;
    let snapshot = granted.row();
    if snapshot.state != SnapshotState::Ready {
        let message = format!("The snapshot is {}, not ready.", snapshot.state.as_str());
        return Err(Error::new(ErrorCode::Conflict, message));
    }
    let open = ctx.app.log_streams.open(snapshot.organization_id, ctx.caller.user.id)?;
    let (pieces, _reading) = snapshot_files::pieces(&ctx.app.config, id).await.map_err(|error| {
        tracing::warn!(%error, snapshot = %id, "the file of a snapshot cannot be read");
        Error::new(ErrorCode::Conflict, "This server does not have the file of the snapshot (snapshot-dir).")
    })?;
    // It counts as one that is open until its last piece.
    let pieces = stream::unfold((pieces, open), async |(mut pieces, open)| {
        let piece = pieces.recv().await?;
        Some((piece, (pieces, open)))
    });
    let headers = [
        (header::CONTENT_TYPE, "application/octet-stream".to_owned()),
        (header::CONTENT_LENGTH, snapshot.size_bytes.to_string()),
        (header::CONTENT_DISPOSITION, format!("attachment; filename=\"{}-{id}.tar\"", snapshot.volume_name)),
    ];
    Ok((headers, Body::from_stream(pieces.fuse())).into_response())
}
