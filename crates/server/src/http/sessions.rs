//! Where the caller is logged in.

use windlass_store::sessions as rows;

use super::params::PathId;
use super::respond::{Answer, success};
use crate::auth::Ctx;
use crate::records;
use crate::service::sessions;

pub async fn list(ctx: Ctx) -> Answer {
    let found = rows::of_user(&mut ctx.app.db.read().await?, ctx.user.id, ctx.app.now()).await?;
    let found: Vec<_> = found.into_iter().map(|row| records::session(row, ctx.session_id)).collect();
    success("Sessions", found)
}

pub async fn revoke(ctx: Ctx, PathId(id): PathId) -> Answer {
    sessions::end(&ctx, id).await?;
    success("Session revoked", ())
}
