//! What an organization shows to registries of images.

use windlass_api::{
    Can, CreateRegistryCredential, ErrorCode, RegistryCredential, RegistryCredentials, UpdateRegistryCredential,
};
use windlass_store::registry_credentials as rows;

use super::body::Payload;
use super::params::PathId;
use super::respond::{Answer, success};
use super::table::{Table, member_who};
use crate::auth::Ctx;
use crate::records::registry_credentials as records;
use crate::service::registry_credentials;

pub fn routes(table: Table) -> Table {
    table
        .get(
            "/registry-credentials",
            list,
            member_who::<RegistryCredentials>("List registry credentials", Can::ConnectionRead),
        )
        .post(
            "/registry-credentials",
            create,
            member_who::<RegistryCredential>("Create registry credential", Can::ConnectionCreate)
                .body::<CreateRegistryCredential>()
                .errors(&[ErrorCode::NameTaken, ErrorCode::Conflict]),
        )
        .get(
            "/registry-credentials/{credential_id}",
            get,
            member_who::<RegistryCredential>("Get registry credential", Can::ConnectionRead),
        )
        .put(
            "/registry-credentials/{credential_id}",
            update,
            member_who::<RegistryCredential>("Update registry credential", Can::ConnectionUpdate)
                .body::<UpdateRegistryCredential>(),
        )
        .delete(
            "/registry-credentials/{credential_id}",
            delete,
            member_who::<()>("Delete registry credential", Can::ConnectionDelete),
        )
}

pub async fn list(ctx: Ctx) -> Answer {
    let authority = ctx.organization(None).await?;
    let most = ctx.app.config.organization_registries;
    let all = rows::of_organization(&mut ctx.app.db.read().await?, authority.organization_id(), most).await?;
    let registry_credentials = all.into_iter().map(records::registry_credential).collect();
    success("Registry credentials", RegistryCredentials { registry_credentials })
}

pub async fn create(ctx: Ctx, body: Payload) -> Answer {
    let authority = ctx.organization(None).await?;
    let input: CreateRegistryCredential = body.parse()?;
    success("Credentials added", registry_credentials::create(&ctx.app, &authority, &input).await?)
}

pub async fn get(ctx: Ctx, PathId(id): PathId) -> Answer {
    let granted = ctx.registry_credential(id).await?;
    success("Registry credential", records::registry_credential(granted.row().clone()))
}

pub async fn update(ctx: Ctx, PathId(id): PathId, body: Payload) -> Answer {
    let granted = ctx.registry_credential(id).await?;
    let input: UpdateRegistryCredential = body.parse()?;
    success("Credentials changed", registry_credentials::update(&ctx.app, &granted, &input).await?)
}

pub async fn delete(ctx: Ctx, PathId(id): PathId) -> Answer {
    let granted = ctx.registry_credential(id).await?;
    registry_credentials::delete(&ctx.app, &granted).await?;
    success("Credentials removed", ())
}
