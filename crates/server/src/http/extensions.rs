//! Extensions.

use windlass_api::{
    Can, CreateExtension, ErrorCode, Extension, ExtensionExecution, ExtensionOrder, ExtensionPlan, Extensions,
    ExtensionsQuery, ForkExtension, Pagination, RunExtension, SortDirection, UpdateExtension, Whole,
};
use windlass_store::extensions::{self as rows, Filter};

use super::body::Payload;
use super::params::{Params, PathText};
use super::respond::{Answer, success};
use super::table::{Table, member_who};
use crate::auth::Ctx;
use crate::auth::resources::ExtensionName;
use crate::error::Error;
use crate::records::executions::with_lines;
use crate::records::extensions as records;
use crate::service::{executions, extensions, plans};

const PAGE_SIZE: i64 = 12;

const NAMED: &str = "`extension_id` is what people call the extension by, or its `id`.";
const CHECKED: &str = "Everything that is wrong with the text is told at once, each with line, column, path and fix.";

pub fn routes(table: Table) -> Table {
    working_with(looking_at(table))
}

fn looking_at(table: Table) -> Table {
    table
        .get(
            "/extensions",
            list,
            member_who::<Extensions>("List extensions", Can::ExtensionRead)
                .note("Those that come with Windlass, and the organization's own.")
                .query::<ExtensionsQuery>(),
        )
        .get(
            "/extensions/categories",
            categories,
            member_who::<Vec<String>>("List extension categories", Can::ExtensionRead),
        )
        .get(
            "/extensions/by-extension-id/{extension_id}",
            get,
            member_who::<Extension>("Get extension by extension id", Can::ExtensionRead).note(NAMED),
        )
        .get(
            "/extensions/{extension_id}",
            get,
            member_who::<Extension>("Get extension", Can::ExtensionRead).note(NAMED),
        )
        .post(
            "/extensions/{extension_id}/plan",
            plan,
            member_who::<ExtensionPlan>("Plan extension", Can::ExtensionRead)
                .note("What running it with these values would do. Nothing is changed.")
                .body::<RunExtension>()
                .errors(&[ErrorCode::Conflict]),
        )
}

fn working_with(table: Table) -> Table {
    use ErrorCode::{Conflict, NameTaken};
    table
        .post(
            "/extensions",
            create,
            member_who::<Extension>("Create extension", Can::ExtensionCreate)
                .note(CHECKED)
                .body::<CreateExtension>()
                .errors(&[NameTaken, Conflict]),
        )
        .put(
            "/extensions/{extension_id}",
            update,
            member_who::<Extension>("Update extension", Can::ExtensionCreate)
                .note("Only the organization's own. What is installed stays as it is until it is updated.")
                .body::<UpdateExtension>()
                .errors(&[Conflict]),
        )
        .delete(
            "/extensions/{extension_id}",
            delete,
            member_who::<()>("Delete extension", Can::ExtensionDelete)
                .note("Only the organization's own. What was run stays listed.")
                .errors(&[Conflict]),
        )
        .post(
            "/extensions/{extension_id}/fork",
            fork,
            member_who::<Extension>("Fork extension", Can::ExtensionCreate)
                .note("The fork is the organization's own. It has the id of its text, unless that is taken. Forks can be forked.")
                .body::<ForkExtension>()
                .errors(&[NameTaken, Conflict]),
        )
        .post(
            "/extensions/{extension_id}/run",
            run,
            member_who::<ExtensionExecution>("Run extension", Can::ExtensionRun)
                .note("The answer comes when the execution is stored; follow it by its id. Steps that change the machine need `extension:host` as well.")
                .body::<RunExtension>()
                .errors(&[Conflict]),
        )
}

pub async fn list(ctx: Ctx, Params(query): Params<ExtensionsQuery>) -> Answer {
    let authority = ctx.organization(None).await?;
    let (number, size) = (query.page.map_or(1, Whole::get), query.page_size.map_or(PAGE_SIZE, Whole::get));
    let filter = Filter {
        category: query.category.as_deref().map(str::to_owned),
        extension_type: query.r#type.as_deref().map(str::to_owned),
        search: query.search.as_deref().map(str::to_owned),
    };
    let order = query.sort_by.unwrap_or(ExtensionOrder::Name);
    let direction = query.sort_direction.unwrap_or(SortDirection::Ascending);
    let mut conn = ctx.app.db.read().await?;
    let part = ((number - 1) * size, size);
    let (page, count) = rows::page(&mut conn, authority.organization_id(), &filter, (order, direction), part).await?;
    let extensions = records::all_listed(&mut conn, page).await?;
    success("Extensions", Extensions { extensions, pagination: Pagination::new(number, size, count) })
}

pub async fn categories(ctx: Ctx) -> Answer {
    let authority = ctx.organization(None).await?;
    let categories = rows::categories(&mut ctx.app.db.read().await?, authority.organization_id()).await?;
    success("Extension categories", categories)
}

pub async fn get(ctx: Ctx, PathText(name): PathText<ExtensionName>) -> Answer {
    let granted = ctx.extension(&name).await?;
    let record = records::full(&mut ctx.app.db.read().await?, granted.row().clone()).await?;
    success("Extension", record.ok_or_else(|| Error::not_found("extension"))?)
}

pub async fn plan(ctx: Ctx, PathText(name): PathText<ExtensionName>, body: Payload) -> Answer {
    let granted = ctx.extension(&name).await?;
    let input: RunExtension = body.parse()?;
    success("What would be done", plans::plan(&ctx.app, &granted, &input).await?)
}

pub async fn create(ctx: Ctx, body: Payload) -> Answer {
    let authority = ctx.organization(None).await?;
    let input: CreateExtension = body.parse()?;
    success("Extension created", extensions::create(&ctx.app, &authority, input).await?)
}

pub async fn update(ctx: Ctx, PathText(name): PathText<ExtensionName>, body: Payload) -> Answer {
    let granted = ctx.extension(&name).await?;
    let input: UpdateExtension = body.parse()?;
    success("Extension updated", extensions::update(&ctx.app, &granted, input).await?)
}

pub async fn delete(ctx: Ctx, PathText(name): PathText<ExtensionName>) -> Answer {
    let granted = ctx.extension(&name).await?;
    extensions::delete(&ctx.app, &granted).await?;
    success("Extension deleted", ())
}

pub async fn fork(ctx: Ctx, PathText(name): PathText<ExtensionName>, body: Payload) -> Answer {
    let granted = ctx.extension(&name).await?;
    let input: ForkExtension = body.parse()?;
    success("Extension forked", extensions::fork(&ctx.app, &granted, input).await?)
}

pub async fn run(ctx: Ctx, PathText(name): PathText<ExtensionName>, body: Payload) -> Answer {
    let granted = ctx.extension(&name).await?;
    let input: RunExtension = body.parse()?;
    let execution = executions::run(&ctx.app, &granted, &input).await?;
    success("Extension execution started", with_lines(&ctx.app.logs.store, execution).await)
}
