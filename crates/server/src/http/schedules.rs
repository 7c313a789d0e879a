//! Schedules of applications.

use std::collections::HashMap;

use windlass_api::{Can, CommandRun, CreateSchedule, ErrorCode, Schedule, Schedules, UpdateSchedule};
use windlass_store::{runs, schedules as rows};

use super::body::Payload;
use super::params::PathId;
use super::respond::{Answer, success};
use super::table::{Table, member_who};
use crate::auth::Ctx;
use crate::records::schedules as records;
use crate::service::schedules;

pub fn routes(table: Table) -> Table {
    use ErrorCode::{Conflict, NameTaken};
    table
        .get(
            "/deploy/application/{application_id}/schedules",
            list,
            member_who::<Schedules>("List schedules", Can::DeployRead),
        )
        .post(
            "/deploy/application/{application_id}/schedules",
            create,
            member_who::<Schedule>("Create schedule", Can::DeployUpdate)
                .note(
                    "Runs a command of the application again and again, which takes `variable:read` too. Previews have no schedules, and run none of their application's.",
                )
                .body::<CreateSchedule>()
                .errors(&[NameTaken, Conflict]),
        )
        .get("/deploy/schedules/{schedule_id}", get, member_who::<Schedule>("Get schedule", Can::DeployRead))
        .put(
            "/deploy/schedules/{schedule_id}",
            update,
            member_who::<Schedule>("Update schedule", Can::DeployUpdate)
                .note("It takes `variable:read` too. What is under way goes on as it was asked for.")
                .body::<UpdateSchedule>()
                .errors(&[NameTaken, Conflict]),
        )
        .delete(
            "/deploy/schedules/{schedule_id}",
            delete,
            member_who::<()>("Delete schedule", Can::DeployUpdate)
                .note("What is under way goes on.")
                .errors(&[Conflict]),
        )
        .post(
            "/deploy/schedules/{schedule_id}/run",
            run,
            member_who::<CommandRun>("Run schedule", Can::DeployUpdate)
                .note(
                    "As if its time had come, which takes `variable:read` too. Its next time stays, also of one that is not enabled. What `overlap` would skip is refused.",
                )
                .errors(&[Conflict]),
        )
}

pub async fn list(ctx: Ctx, PathId(id): PathId) -> Answer {
    let granted = ctx.application(id).await?;
    let sees_values = granted.authority().may(Can::VariableRead);
    let mut conn = ctx.app.db.read().await?;
    let newest = runs::newest_of_schedules(&mut conn, id).await?;
    let mut newest: HashMap<_, _> = newest.into_iter().map(|run| (run.schedule_id, run)).collect();
    let all = rows::of_application(&mut conn, id).await?;
    let shown = all.into_iter().map(|row| {
        let last = newest.remove(&Some(row.id));
        records::schedule(row, last, sees_values)
    });
    success("Schedules", Schedules { schedules: shown.collect() })
}

pub async fn create(ctx: Ctx, PathId(id): PathId, body: Payload) -> Answer {
    let granted = ctx.application(id).await?;
    let input: CreateSchedule = body.parse()?;
    success("Schedule created", schedules::create(&ctx.app, &granted, &input).await?)
}

pub async fn get(ctx: Ctx, PathId(id): PathId) -> Answer {
    let granted = ctx.schedule(id).await?;
    let last = runs::newest_of_schedule(&mut ctx.app.db.read().await?, id).await?;
    let sees_values = granted.authority().may(Can::VariableRead);
    success("Schedule", records::schedule(granted.row().clone(), last, sees_values))
}

pub async fn update(ctx: Ctx, PathId(id): PathId, body: Payload) -> Answer {
    let granted = ctx.schedule(id).await?;
    let input: UpdateSchedule = body.parse()?;
    success("Schedule updated", schedules::update(&ctx.app, &granted, &input).await?)
}

pub async fn delete(ctx: Ctx, PathId(id): PathId) -> Answer {
    let granted = ctx.schedule(id).await?;
    schedules::delete(&ctx.app, &granted).await?;
    success("Schedule deleted", ())
}

pub async fn run(ctx: Ctx, PathId(id): PathId) -> Answer {
    let granted = ctx.schedule(id).await?;
    success("Run queued", schedules::run_now(&ctx.app, &granted).await?)
}
