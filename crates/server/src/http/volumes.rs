//! Volumes of applications.

use windlass_api::{AttachVolume, Can, ErrorCode, NewVolume, UpdateVolume, Volume, VolumeName, Volumes};
use windlass_store::volumes as rows;

use super::body::Payload;
use super::params::{PathId, PathIdAndText};
use super::respond::{Answer, success};
use super::table::{Table, member_who};
use crate::auth::Ctx;
use crate::records::volumes as records;
use crate::service::volumes;

/// Of an organization in one answer.
const MOST: i64 = 1_000;

const WHEN: &str = "Containers have it when they are next made, as by a deploy or a restart.";

pub fn routes(table: Table) -> Table {
    use ErrorCode::{Conflict, NameTaken};
    table
        .get(
            "/deploy/volumes",
            list_all,
            member_who::<Volumes>("List volumes", Can::DeployRead).note(
                "All of the organization, at most 1000: those of deleted applications too, and those that wait to be removed.",
            ),
        )
        .post(
            "/deploy/volumes/{volume_id}/attach",
            attach,
            member_who::<Volume>("Attach volume", Can::DeployUpdate)
                .note("One that was deleted, or whose application was, becomes a volume of an application.")
                .body::<AttachVolume>()
                .errors(&[NameTaken, Conflict]),
        )
        .delete(
            "/deploy/volumes/{volume_id}",
            discard,
            member_who::<()>("Discard volume", Can::DeployDelete)
                .note("Any of the organization, also one whose application was deleted. It can be attached again until `removed_after`.")
                .errors(&[Conflict]),
        )
        .get(
            "/deploy/application/{application_id}/volumes",
            list,
            member_who::<Volumes>("List volumes of an application", Can::DeployRead),
        )
        .post(
            "/deploy/application/{application_id}/volumes",
            create,
            member_who::<Volume>("Create volume", Can::DeployUpdate)
                .note(WHEN)
                .body::<NewVolume>()
                .errors(&[NameTaken, Conflict]),
        )
        .put(
            "/deploy/application/{application_id}/volumes/{volume_name}",
            update,
            member_who::<Volume>("Update volume", Can::DeployUpdate)
                .note(WHEN)
                .body::<UpdateVolume>()
                .errors(&[NameTaken, Conflict]),
        )
        .delete(
            "/deploy/application/{application_id}/volumes/{volume_name}",
            delete,
            member_who::<()>("Delete volume", Can::DeployDelete)
                .note("It can be attached again until `removed_after`. A container that has it keeps it until it is replaced.")
                .errors(&[Conflict]),
        )
}

pub async fn list_all(ctx: Ctx) -> Answer {
    let authority = ctx.organization(None).await?;
    let all = rows::of_organization(&mut ctx.app.db.read().await?, authority.organization_id(), MOST).await?;
    success("Volumes", shown(&ctx, all))
}

pub async fn list(ctx: Ctx, PathId(id): PathId) -> Answer {
    let granted = ctx.application(id).await?;
    let all = rows::of_application(&mut ctx.app.db.read().await?, granted.row().id).await?;
    success("Volumes", shown(&ctx, all))
}

fn shown(ctx: &Ctx, all: Vec<rows::Volume>) -> Volumes {
    let grace = ctx.app.config.volume_grace_seconds;
    Volumes { volumes: all.into_iter().map(|row| records::volume(row, grace)).collect() }
}

pub async fn create(ctx: Ctx, PathId(id): PathId, body: Payload) -> Answer {
    let granted = ctx.application(id).await?;
    let input: NewVolume = body.parse()?;
    success(
        "Volume created; the next deploy or restart brings it into the container",
        volumes::create(&ctx.app, &granted, &input).await?,
    )
}

pub async fn update(ctx: Ctx, path: PathIdAndText<VolumeName>, body: Payload) -> Answer {
    let granted = ctx.application(path.id).await?;
    let input: UpdateVolume = body.parse()?;
    success("Volume updated", volumes::update(&ctx.app, &granted, &path.text()?, &input).await?)
}

pub async fn delete(ctx: Ctx, path: PathIdAndText<VolumeName>) -> Answer {
    let granted = ctx.application(path.id).await?;
    volumes::delete(&ctx.app, &granted, &path.text()?).await?;
    success("Volume deleted; it can be attached again until it is removed", ())
}

pub async fn attach(ctx: Ctx, PathId(id): PathId, body: Payload) -> Answer {
    let granted = ctx.volume(id).await?;
    let input: AttachVolume = body.parse()?;
    success("Volume attached", volumes::attach(&ctx.app, &granted, &input).await?)
}

pub async fn discard(ctx: Ctx, PathId(id): PathId) -> Answer {
    let granted = ctx.volume(id).await?;
    volumes::discard(&ctx.app, &granted).await?;
    success("Volume deleted; it can be attached again until it is removed", ())
}
