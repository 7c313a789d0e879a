//! What was told to people, and what became of it.

use std::collections::HashSet;

use windlass_api::{Can, ErrorCode, EventName, Notice, NoticeDetails, Notices, NoticesQuery, Whole};
use windlass_store::notices::{self as rows, Filter};

use super::params::{PathId, RawParams};
use super::respond::{Answer, success};
use super::table::{Table, member_who};
use crate::auth::{Authority, Ctx};
use crate::records::notices as records;
use crate::service::notices;

const PAGE_SIZE: i64 = 20;

pub fn routes(table: Table) -> Table {
    table
        .get(
            "/notification/notices",
            list,
            member_who::<Notices>("List notices", Can::WebhookRead).query::<NoticesQuery>(),
        )
        .get(
            "/notification/notices/{notice_id}",
            get,
            member_who::<NoticeDetails>("Get notice", Can::WebhookUpdate)
                .note("With the tries to deliver it, and what was answered."),
        )
        .post(
            "/notification/notices/{notice_id}/send",
            send_again,
            member_who::<Notice>("Send notice again", Can::WebhookUpdate)
                .note("With the same id. One that waits for its next try is tried now. It counts as a test of its channel.")
                .errors(&[ErrorCode::Conflict]),
        )
}

pub async fn list(ctx: Ctx, params: RawParams) -> Answer {
    let query = params.parse::<NoticesQuery>()?;
    let authority = ctx.organization(query.id).await?;
    let limit = query.limit.map_or(PAGE_SIZE, Whole::get);
    let filter = Filter {
        channel: query.channel,
        state: query.state,
        application_id: query.application_id,
        hidden: hidden(&authority),
    };
    let mut conn = ctx.app.db.read().await?;
    // One more, to know whether there is a next page.
    let mut page = rows::page(&mut conn, authority.organization_id(), &filter, query.before, limit + 1).await?;
    let has_more = page.len() as i64 > limit;
    page.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
    let next_cursor = page.last().map(|last| last.id).filter(|_| has_more);
    let notices = page.into_iter().map(|row| records::notice(row, &authority)).collect();
    success("Notices", Notices { notices, next_cursor })
}

/// What the caller may not hear of.
fn hidden(authority: &Authority) -> Vec<Can> {
    let needed: HashSet<Can> = EventName::ALL.iter().map(|name| name.needs()).collect();
    needed.into_iter().filter(|needed| !authority.may(*needed)).collect()
}

pub async fn get(ctx: Ctx, PathId(id): PathId) -> Answer {
    let granted = ctx.notice(id).await?;
    let attempts = rows::attempts(&mut ctx.app.db.read().await?, id).await?;
    let notice = records::notice(granted.row().clone(), granted.authority());
    success("Notice", NoticeDetails { notice, attempts: attempts.into_iter().map(records::attempt).collect() })
}

pub async fn send_again(ctx: Ctx, PathId(id): PathId) -> Answer {
    let granted = ctx.notice(id).await?;
    success("Notice is sent again", notices::send_again(&ctx.app, &granted).await?)
}
