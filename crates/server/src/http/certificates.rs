//! Certificates that members bring.

use windlass_api::{Can, Certificate, Certificates, ErrorCode, UploadCertificate};

use super::body::Payload;
use super::params::PathId;
use super::respond::{Answer, success};
use super::table::{Table, member_who};
use crate::auth::Ctx;
use crate::service::certificates;

pub fn routes(table: Table) -> Table {
    table
        .get("/certificates", list, member_who::<Certificates>("List certificates", Can::DomainRead))
        .post(
            "/certificates",
            upload,
            member_who::<Certificate>("Upload certificate", Can::DomainCreate)
                .body::<UploadCertificate>()
                .errors(&[ErrorCode::Conflict]),
        )
        .get("/certificates/{certificate_id}", get, member_who::<Certificate>("Get certificate", Can::DomainRead))
        .delete(
            "/certificates/{certificate_id}",
            delete,
            member_who::<()>("Delete certificate", Can::DomainDelete).errors(&[ErrorCode::Conflict]),
        )
}

pub async fn list(ctx: Ctx) -> Answer {
    let authority = ctx.organization(None).await?;
    let certificates = certificates::list(&ctx.app, authority.organization_id()).await?;
    success("Certificates", Certificates { certificates })
}

pub async fn upload(ctx: Ctx, body: Payload) -> Answer {
    let authority = ctx.organization(None).await?;
    let input: UploadCertificate = body.parse()?;
    success("Certificate uploaded", certificates::upload(&ctx.app, &authority, &input).await?)
}

pub async fn get(ctx: Ctx, PathId(id): PathId) -> Answer {
    let granted = ctx.certificate(id).await?;
    success("Certificate", certificates::get(&ctx.app, &granted).await?)
}

pub async fn delete(ctx: Ctx, PathId(id): PathId) -> Answer {
    let granted = ctx.certificate(id).await?;
    certificates::delete(&ctx.app, &granted).await?;
    success("Certificate removed", ())
}
