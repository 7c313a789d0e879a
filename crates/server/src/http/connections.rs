//! Connections to code hosts, and what they can reach.

use windlass_api::{
    Can, Connection, Connections, CreateConnection, ErrorCode, HostedReferences, HostedRepositories, ReferencesQuery,
    RepositoriesQuery, UpdateConnection, Whole,
};
use windlass_store::connections as rows;

use super::body::Payload;
use super::params::{PathId, RawParams};
use super::respond::{Answer, success};
use super::table::{Table, member_who};
use crate::auth::Ctx;
use crate::records::connections as records;
use crate::service::{connections, hosted};

const PAGE_SIZE: i64 = 30;

const CALLS: &str = "Asks the code host.";

pub fn routes(table: Table) -> Table {
    use ErrorCode::{CodeHostFailed, Conflict, NameTaken};
    table
        .get("/connections", list, member_who::<Connections>("List connections", Can::ConnectionRead))
        .post(
            "/connections",
            create,
            member_who::<Connection>("Create connection", Can::ConnectionCreate).body::<CreateConnection>().errors(&[
                NameTaken,
                Conflict,
                CodeHostFailed,
            ]),
        )
        .get("/connections/{connection_id}", get, member_who::<Connection>("Get connection", Can::ConnectionRead))
        .put(
            "/connections/{connection_id}",
            update,
            member_who::<Connection>("Update connection", Can::ConnectionUpdate)
                .body::<UpdateConnection>()
                .errors(&[NameTaken, CodeHostFailed]),
        )
        .delete(
            "/connections/{connection_id}",
            delete,
            member_who::<()>("Delete connection", Can::ConnectionDelete).errors(&[Conflict]),
        )
        .get(
            "/connections/{connection_id}/repositories",
            repositories,
            member_who::<HostedRepositories>("List repositories of a connection", Can::ConnectionUpdate)
                .note(CALLS)
                .query::<RepositoriesQuery>()
                .errors(&[CodeHostFailed]),
        )
        .get(
            "/connections/{connection_id}/branches",
            branches,
            member_who::<HostedReferences>("List branches of a repository", Can::ConnectionUpdate)
                .note(CALLS)
                .query::<ReferencesQuery>()
                .errors(&[CodeHostFailed]),
        )
        .get(
            "/connections/{connection_id}/tags",
            tags,
            member_who::<HostedReferences>("List tags of a repository", Can::ConnectionUpdate)
                .note(CALLS)
                .query::<ReferencesQuery>()
                .errors(&[CodeHostFailed]),
        )
}

pub async fn list(ctx: Ctx) -> Answer {
    let authority = ctx.organization(None).await?;
    let most = ctx.app.config.organization_connections;
    let all = rows::of_organization(&mut ctx.app.db.read().await?, authority.organization_id(), most).await?;
    success("Connections", Connections { connections: all.into_iter().map(records::connection).collect() })
}

pub async fn create(ctx: Ctx, body: Payload) -> Answer {
    let authority = ctx.organization(None).await?;
    let input: CreateConnection = body.parse()?;
    success("Code host connected", connections::create(&ctx.app, &authority, &input).await?)
}

pub async fn get(ctx: Ctx, PathId(id): PathId) -> Answer {
    let granted = ctx.connection(id).await?;
    success("Connection", records::connection(granted.row().clone()))
}

pub async fn update(ctx: Ctx, PathId(id): PathId, body: Payload) -> Answer {
    let granted = ctx.connection(id).await?;
    let input: UpdateConnection = body.parse()?;
    success("Connection updated", connections::update(&ctx.app, &granted, &input).await?)
}

pub async fn delete(ctx: Ctx, PathId(id): PathId) -> Answer {
    let granted = ctx.connection(id).await?;
    connections::delete(&ctx.app, &granted).await?;
    success("Connection removed", ())
}

pub async fn repositories(ctx: Ctx, PathId(id): PathId, params: RawParams) -> Answer {
    let granted = ctx.connection(id).await?;
    let query: RepositoriesQuery = params.parse()?;
    let page = page(query.page.map(Whole::get), query.page_size.map(Whole::get));
    success("Repositories", hosted::repositories(&ctx.app, granted.row(), query.search.as_deref(), page).await?)
}

pub async fn branches(ctx: Ctx, PathId(id): PathId, params: RawParams) -> Answer {
    references(ctx, id, &params, hosted::Kind::Branches).await
}

pub async fn tags(ctx: Ctx, PathId(id): PathId, params: RawParams) -> Answer {
    references(ctx, id, &params, hosted::Kind::Tags).await
}

async fn references(ctx: Ctx, id: uuid::Uuid, params: &RawParams, kind: hosted::Kind) -> Answer {
    let granted = ctx.connection(id).await?;
    let query: ReferencesQuery = params.parse()?;
    let page = page(query.page.map(Whole::get), query.page_size.map(Whole::get));
    let message = match kind {
        hosted::Kind::Branches => "Branches",
        hosted::Kind::Tags => "Tags",
    };
    success(message, hosted::references(&ctx.app, granted.row(), kind, &query.repository, page).await?)
}

fn page(number: Option<i64>, size: Option<i64>) -> hosted::PageWanted {
    let small = |number: i64| u32::try_from(number).unwrap_or(u32::MAX);
    hosted::PageWanted { number: small(number.unwrap_or(1)), size: small(size.unwrap_or(PAGE_SIZE)) }
}
