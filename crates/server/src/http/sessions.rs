//! Where the caller is logged in.

use windlass_api::{ErrorCode, Session};
use windlass_store::sessions as rows;

use super::params::PathId;
use super::respond::{Answer, success};
use super::table::{Table, user};
use crate::auth::Login;
use crate::records;
use crate::service::sessions;

pub fn routes(table: Table) -> Table {
    table.get("/auth/sessions", list, user::<Vec<Session>>("List sessions")).delete(
        "/auth/sessions/{session_id}",
        revoke,
        user::<()>("Revoke session").errors(&[ErrorCode::NotFound]),
    )
}

pub async fn list(login: Login) -> Answer {
    let found = rows::of_user(&mut login.app.db.read().await?, login.caller.user.id, login.app.now()).await?;
    let found: Vec<_> = found.into_iter().map(|row| records::session(row, login.session_id)).collect();
    success("Sessions", found)
}

pub async fn revoke(login: Login, PathId(id): PathId) -> Answer {
    sessions::end(&login, id).await?;
    success("Session revoked", ())
}
