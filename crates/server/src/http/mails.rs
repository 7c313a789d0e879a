//! The mail server of the installation.

use windlass_api::ErrorCode;

use super::instance::FOR_ADMINS;
use super::respond::{Answer, success};
use super::table::{Table, user};
use crate::auth::Admin;
use crate::service::mails;

pub fn routes(table: Table) -> Table {
    use ErrorCode::{Forbidden, MailFailed, NoMailServer};
    table.post(
        "/instance/mail/test",
        send_test_mail,
        user::<()>("Send test mail").note(FOR_ADMINS).errors(&[Forbidden, NoMailServer, MailFailed]),
    )
}

pub async fn send_test_mail(admin: Admin) -> Answer {
    mails::send_test(&admin).await?;
    success(&format!("The mail server has taken a mail to {}", admin.caller.user.email), ())
}
