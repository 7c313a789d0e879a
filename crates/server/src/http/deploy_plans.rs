//! What the next deploy of an application would change.

use windlass_api::{Can, DeployPlan};

use super::params::PathId;
use super::respond::{Answer, success};
use super::table::{Table, member_who};
use crate::auth::Ctx;
use crate::deploy::deploy_plan;

const PLANNING: &str = "Compares the live release with the application as it is now, and asks the repository for its newest commit. Nothing is stored or \
    fetched. `POST /deploy/application/preview` says what would be built.";

pub fn routes(table: Table) -> Table {
    table.get(
        "/deploy/application/{application_id}/plan",
        plan,
        member_who::<DeployPlan>("Plan deploy", Can::DeployRead).note(PLANNING),
    )
}

pub async fn plan(ctx: Ctx, PathId(id): PathId) -> Answer {
    let granted = ctx.application(id).await?;
    let authority = granted.authority();
    let turn = ctx.app.build_plans.take(authority.organization_id(), authority.user_id());
    let viewer = authority.application_viewer(&ctx.app);
    success("Deploy plan", deploy_plan::make(&ctx.app, &viewer, granted.row(), turn).await?)
}
