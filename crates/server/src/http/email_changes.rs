//! Another e-mail address for the caller's account.

use std::sync::Arc;

use axum::extract::State;
use windlass_api::{ChangeEmail, EmailChange, ErrorCode, VerifyEmail};

use super::body::{Payload, StrangersPayload};
use super::respond::{Answer, success};
use super::table::{Table, anyone, user};
use crate::app::App;
use crate::auth::{Login, Origin};
use crate::service::email_changes;

pub fn routes(table: Table) -> Table {
    use ErrorCode::{CodeRequired, EmailTaken, InvalidCode, NoMailServer, NotFound};
    table
        .patch(
            "/user/email",
            change,
            user::<EmailChange>("Change email").body::<ChangeEmail>().errors(&[
                NoMailServer,
                CodeRequired,
                InvalidCode,
            ]),
        )
        .post(
            "/auth/verify-email",
            verify,
            anyone::<()>("Verify email").body::<VerifyEmail>().errors(&[NotFound, EmailTaken]),
        )
}

pub async fn change(login: Login, body: Payload) -> Answer {
    let input: ChangeEmail = body.parse()?;
    success("A link was sent to this address; it is yours once you open it", email_changes::ask(&login, &input).await?)
}

pub async fn verify(State(app): State<Arc<App>>, origin: Origin, StrangersPayload(body): StrangersPayload) -> Answer {
    let input: VerifyEmail = body.parse()?;
    email_changes::verify(&app, &origin, &input).await?;
    success("This is your e-mail address now. Log in with it", ())
}
