//! Log lines as a file, a page at a time: the longest log takes no more memory than a page of it.

use std::fmt::Write as _;
use std::io;
use std::time::Instant;

use axum::body::{Body, Bytes};
use axum::http::header;
use axum::response::IntoResponse;
use futures_util::{StreamExt, stream};
use uuid::Uuid;
use windlass_api::Timestamp;
use windlass_store::applications::Application;
use windlass_store::logs::{Of, Page, Query, Stored};

use super::{deployed, filter};
use crate::auth::Ctx;
use crate::error::{Error, Result};
use crate::http::params::{PathId, RawParams};
use crate::http::respond::Answer;
use crate::logs::follow::Followed;
use crate::logs::searches::may_still_read;
use crate::streams::OpenStream;

/// Lines that are read at once.
const LINES: usize = 1_000;
/// Of an application's name, in the name of the file.
const MOST_CHARACTERS: usize = 60;

pub async fn download(ctx: Ctx, PathId(id): PathId, params: RawParams) -> Answer {
    let deployment_id = filter::named(&params)?;
    let granted = ctx.application(id).await?;
    let of = filter::of(&ctx, id, deployment_id).await?;
    file(ctx, granted.row(), of, &params).await
}

pub async fn download_of_deployment(ctx: Ctx, PathId(id): PathId, params: RawParams) -> Answer {
    let (_, application) = deployed(&ctx, id).await?;
    file(ctx, &application, Of::Deployment(id), &params).await
}

async fn file(ctx: Ctx, application: &Application, of: Of, params: &RawParams) -> Answer {
    let query = filter::query(of, params).await?;
    let open = ctx.app.log_streams.open(application.organization_id, ctx.caller.user.id)?;
    let name = file_name(&application.name, ctx.app.now());
    let download = Download::begin(ctx, open, application.id, query).await?;
    let headers = [
        (header::CONTENT_TYPE, "text/plain; charset=utf-8".to_owned()),
        (header::CONTENT_DISPOSITION, format!("attachment; filename=\"{name}\"")),
    ];
    // The layer that packs answers asks once more after the end, which an unfolded stream alone does not allow.
    let parts = stream::unfold(download, Download::part).fuse();
    Ok((headers, Body::from_stream(parts)).into_response())
}

struct Download {
    ctx: Ctx,
    application_id: Uuid,
    query: Query,
    /// The last line that was sent, or looked at and left out.
    cursor: i64,
    /// The newest line when this was asked for: a file has an end, however much is printed meanwhile.
    last: i64,
    /// When to look again whether the caller may still read.
    next_look: Instant,
    first: String,
    open: OpenStream,
}

impl Download {
    /// With its first page read: what goes wrong until then can be answered properly.
    async fn begin(ctx: Ctx, open: OpenStream, application_id: Uuid, query: Query) -> Result<Self> {
        let store = &ctx.app.logs.store;
        let head = store.next_seq(application_id).await?;
        let cursor = store.first_seq(application_id).await?.unwrap_or(head) - 1;
        let next_look = Instant::now() + ctx.app.searches.heartbeat;
        let first = String::new();
        let mut download = Self { ctx, application_id, query, cursor, last: head - 1, next_look, first, open };
        if download.cursor < download.last {
            download.first = download.read().await?;
        }
        Ok(download)
    }

    /// An error cuts the connection, so that no client takes half of a file for the whole.
    async fn part(mut self) -> Option<(io::Result<Bytes>, Self)> {
        let mut text = std::mem::take(&mut self.first);
        while text.is_empty() && self.cursor < self.last {
            match self.read().await {
                Ok(read) => text = read,
                Err(error) => {
                    tracing::warn!(
                        cause = error.cause,
                        message = error.message,
                        "a download of log lines was broken off"
                    );
                    self.cursor = self.last;
                    return Some((Err(io::Error::other("the lines could not be read")), self));
                }
            }
        }
        (!text.is_empty()).then(|| (Ok(text.into()), self))
    }

    /// The lines of the next page, of which there may be none.
    async fn read(&mut self) -> Result<String> {
        if Instant::now() >= self.next_look {
            self.look_again().await?;
        }
        let (app, is_search) = (&self.ctx.app, !self.query.filter.is_empty());
        let bounds = app.searches.bounds(self.open.organization_id, is_search, LINES, app.config.search_limit).await;
        let page = app.logs.store.after(&self.query, self.cursor, bounds).await?;
        let end = self.end(&page);
        let mut text = self.removed(&page, end).await?;
        self.cursor = end;
        write(&mut text, page.lines.iter().take_while(|line| line.seq <= self.last));
        Ok(text)
    }

    /// The last line that a page accounts for. Where every line is wanted, those behind its last one were removed if
    /// there are none.
    fn end(&self, page: &Page) -> i64 {
        let last = page.lines.last().filter(|_| self.is_everything()).map(|line| line.seq);
        page.next.or(last).map_or(self.last, |end| end.min(self.last))
    }

    fn is_everything(&self) -> bool {
        self.query.of == Of::Application(self.application_id) && self.query.filter.is_empty()
    }

    async fn look_again(&mut self) -> Result<()> {
        self.next_look = Instant::now() + self.ctx.app.searches.heartbeat;
        match may_still_read(&self.ctx, Followed::Application(self.application_id)).await {
            true => Ok(()),
            false => Err(Error::not_found("application")),
        }
    }

    /// A line about those that were removed before they could be sent. Where only some lines are wanted it is not known
    /// which these were, and all that are gone count.
    async fn removed(&mut self, page: &Page, end: i64) -> Result<String> {
        let begin = match page.lines.first() {
            Some(line) if self.is_everything() => line.seq.min(end + 1),
            _ => end + 1,
        };
        let removed = self.ctx.app.logs.store.removed_between(self.application_id, self.cursor, begin).await?;
        if removed == 0 {
            return Ok(String::new());
        }
        // They may have gone with their application.
        self.look_again().await?;
        match self.ctx.app.logs.store.next_seq(self.application_id).await? > self.last {
            true => Ok(format!("[{removed} lines were removed while this was sent]\n")),
            false => Err(Error::not_found("application")),
        }
    }
}

fn write<'a>(text: &mut String, lines: impl Iterator<Item = &'a Stored>) {
    for Stored { line, .. } in lines {
        let service = if line.service.is_empty() { String::new() } else { format!("{} | ", line.service) };
        let (stream, step) = (line.stream.as_str(), line.step.as_str());
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{} {stream:<8} {step:<8} {service}{}", line.at, line.text);
    }
}

/// Plain letters only: what a name may hold differs from system to system.
fn file_name(application: &str, now: Timestamp) -> String {
    let is_plain = |c: &char| c.is_ascii_alphanumeric() || *c == '_';
    let plain: String = application.chars().map(|c| if is_plain(&c) { c } else { '-' }).take(MOST_CHARACTERS).collect();
    let name = match plain.trim_matches('-') {
        "" => "application",
        name => name,
    };
    format!("{name}-{}.log", now.to_string().split('T').next().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files_are_safe() {
        let name = |application: &str| file_name(application, Timestamp::from_micros(1_767_225_600_000_000));
        assert_eq!(name("Shop 1"), "Shop-1-2026-01-01.log");
        assert_eq!(name("../etc/\"x\"\r\n"), "etc--x-2026-01-01.log");
        assert_eq!(name("東京"), "application-2026-01-01.log");
        assert_eq!(name(&"a".repeat(500)).len(), 60 + "-2026-01-01.log".len());
    }
}
