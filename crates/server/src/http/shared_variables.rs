//! Variables that the applications of an organization share.

use windlass_api::{Can, ErrorCode, SharedVariables, SharedVariablesQuery, UpdateSharedVariables};
use windlass_store::shared_variables as rows;

use super::body::Payload;
use super::params::RawParams;
use super::respond::{Answer, success};
use super::table::{Table, member_who};
use crate::auth::Ctx;
use crate::records::shared_variables as records;
use crate::service::shared_variables;
use crate::shared_variables::ORGANIZATION;

const REPLACING: &str = "Replaces all of the organization, or of one environment. The value `********` stands for the one that is there. A variable that something refers to \
    cannot be removed (409).";

pub fn routes(table: Table) -> Table {
    table
        .get(
            "/variables/shared",
            get,
            member_who::<SharedVariables>("Get shared variables", Can::DeployRead)
                .note("In a variable of an application, `${{shared.NAME}}` stands for one of them.")
                .query::<SharedVariablesQuery>(),
        )
        .put(
            "/variables/shared",
            put,
            member_who::<SharedVariables>("Update shared variables", Can::OrganizationUpdate)
                .note(REPLACING)
                .body::<UpdateSharedVariables>()
                .errors(&[ErrorCode::Conflict]),
        )
}

pub async fn get(ctx: Ctx, params: RawParams) -> Answer {
    let authority = ctx.organization(None).await?;
    let query: SharedVariablesQuery = params.parse()?;
    let environment = query.environment.as_deref().unwrap_or(ORGANIZATION);
    let all = rows::of_organization(&mut ctx.app.db.read().await?, authority.organization_id()).await?;
    let record = records::record(&ctx.app.vault, authority.may(Can::VariableRead), environment, &all).await?;
    success("Shared variables", record)
}

pub async fn put(ctx: Ctx, body: Payload) -> Answer {
    let authority = ctx.organization(None).await?;
    let input: UpdateSharedVariables = body.parse()?;
    success("Shared variables saved", shared_variables::update(&ctx.app, &authority, &input).await?)
}
