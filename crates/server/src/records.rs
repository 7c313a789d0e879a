//! Rows into records, relations included.
//!
//! The rule, walking down from the root of an answer: a relation is embedded, but a link to a *type* that is already open
//! on the way is cut off (`{}` or `[]`). An embedded user lists only organizations that the viewer belongs to as well.
//! Each function here takes a fixed number of queries, however many records there are.

use std::collections::HashMap;

use uuid::Uuid;
use windlass_api as api;
use windlass_api::Link;
use windlass_store::memberships::{self, Joined, Member, Membership};
use windlass_store::organizations::Organization;
use windlass_store::sessions::Session;
use windlass_store::user_settings::UserSettings;
use windlass_store::users::User;
use windlass_store::{Conn, Result};

/// Users inside an organization's record where that is not what was asked for.
pub const EMBEDDED_USERS: usize = 100;
/// No limit: the record is what was asked for.
pub const ALL_USERS: usize = usize::MAX;

/// Organization ▸ users ▸ organization_users.
pub async fn organization(
    conn: &mut Conn,
    row: &Organization,
    viewer_id: Uuid,
    users: usize,
) -> Result<api::Organization> {
    let members = memberships::members(conn, row.id).await?;
    let mut elsewhere = shared_elsewhere(conn, row.id, viewer_id).await?;
    let users = members.into_iter().take(users).map(|member| {
        let elsewhere = elsewhere.remove(&member.user.id).unwrap_or_default();
        let here = membership(&member.membership, row.host_access, Link::Cut, Link::Cut);
        let others = elsewhere.iter().map(|joined| joined_record(joined, Link::Cut));
        user(member.user, Vec::new(), std::iter::once(here).chain(others).collect())
    });
    Ok(organization_record(row, users.collect()))
}

/// OrganizationUser ▸ organization, and OrganizationUser ▸ user ▸ organizations.
pub async fn members(conn: &mut Conn, row: &Organization, viewer_id: Uuid) -> Result<Vec<api::OrganizationUser>> {
    let members = memberships::members(conn, row.id).await?;
    let mut elsewhere = shared_elsewhere(conn, row.id, viewer_id).await?;
    let records = members.into_iter().map(|member| {
        let elsewhere = elsewhere.remove(&member.user.id).unwrap_or_default();
        let others = elsewhere.iter().map(|joined| bare_organization(&joined.organization));
        let organizations = std::iter::once(bare_organization(row)).chain(others).collect();
        member_record(member, row, organizations)
    });
    Ok(records.collect())
}

/// The same for one member.
pub async fn member(
    conn: &mut Conn,
    member: Member,
    row: &Organization,
    viewer_id: Uuid,
) -> Result<api::OrganizationUser> {
    let shared = memberships::shared_by_user(conn, member.user.id, viewer_id).await?;
    let organizations = shared.iter().map(|joined| bare_organization(&joined.organization)).collect();
    Ok(member_record(member, row, organizations))
}

/// User ▸ organizations, and User ▸ organization_users ▸ organization.
pub async fn full_user(conn: &mut Conn, row: &User, viewer_id: Uuid) -> Result<api::User> {
    let shared = memberships::shared_by_user(conn, row.id, viewer_id).await?;
    let organizations = shared.iter().map(|joined| bare_organization(&joined.organization)).collect();
    let memberships =
        shared.iter().map(|joined| joined_record(joined, Link::to(bare_organization(&joined.organization))));
    Ok(user(row.clone(), organizations, memberships.collect()))
}

/// UserSettings ▸ user, and so on as above.
pub async fn settings(conn: &mut Conn, row: UserSettings, owner: &User) -> Result<api::UserSettings> {
    let user = full_user(conn, owner, owner.id).await?;
    Ok(api::UserSettings {
        id: row.id,
        user_id: row.user_id,
        user: Link::to(user),
        auto_update: row.auto_update,
        theme: row.theme,
        font_family: row.font_family,
        font_size: row.font_size,
        language: row.language,
        created_at: row.created_at,
        updated_at: row.updated_at,
        deleted_at: None,
    })
}

/// The organizations of one user, as a list of their own.
pub async fn organizations_of(conn: &mut Conn, user_id: Uuid) -> Result<Vec<api::OrganizationUser>> {
    let joined = memberships::shared_by_user(conn, user_id, user_id).await?;
    let records = joined.iter().map(|joined| joined_record(joined, Link::to(bare_organization(&joined.organization))));
    Ok(records.collect())
}

pub fn session(row: Session, current: Uuid) -> api::Session {
    api::Session {
        id: row.id,
        current: row.id == current,
        ip_address: row.ip_address,
        user_agent: row.user_agent,
        last_used_at: row.last_used_at,
        expires_at: row.expires_at,
        created_at: row.created_at,
    }
}

pub fn invitation(row: windlass_store::invitations::Invitation) -> api::Invitation {
    api::Invitation {
        id: row.id,
        organization_id: row.organization_id,
        email: row.email,
        role: row.role,
        expires_at: row.expires_at,
        created_at: row.created_at,
    }
}

async fn shared_elsewhere(
    conn: &mut Conn,
    organization_id: Uuid,
    viewer_id: Uuid,
) -> Result<HashMap<Uuid, Vec<Joined>>> {
    let mut by_user: HashMap<Uuid, Vec<Joined>> = HashMap::new();
    for joined in memberships::shared_elsewhere(conn, organization_id, viewer_id).await? {
        by_user.entry(joined.membership.user_id).or_default().push(joined);
    }
    Ok(by_user)
}

fn member_record(
    member: Member,
    organization: &Organization,
    organizations: Vec<api::Organization>,
) -> api::OrganizationUser {
    let user = Link::to(user(member.user, organizations, Vec::new()));
    let here = Link::to(bare_organization(organization));
    membership(&member.membership, organization.host_access, here, user)
}

fn joined_record(joined: &Joined, organization: Link<api::Organization>) -> api::OrganizationUser {
    membership(&joined.membership, joined.organization.host_access, organization, Link::Cut)
}

fn membership(
    row: &Membership,
    host_access: bool,
    organization: Link<api::Organization>,
    user: Link<api::User>,
) -> api::OrganizationUser {
    api::OrganizationUser {
        id: row.id,
        organization_id: row.organization_id,
        user_id: row.user_id,
        organization,
        user,
        roles: vec![row.role],
        permissions: row.role.permissions(host_access),
        created_at: row.created_at,
        updated_at: row.updated_at,
        deleted_at: None,
    }
}

fn bare_organization(row: &Organization) -> api::Organization {
    organization_record(row, Vec::new())
}

fn organization_record(row: &Organization, users: Vec<api::User>) -> api::Organization {
    api::Organization {
        id: row.id,
        name: row.name.clone(),
        description: row.description.clone(),
        users,
        created_at: row.created_at,
        updated_at: row.updated_at,
        deleted_at: None,
    }
}

fn user(row: User, organizations: Vec<api::Organization>, organization_users: Vec<api::OrganizationUser>) -> api::User {
    api::User {
        id: row.id,
        username: row.username,
        email: row.email,
        avatar: row.avatar,
        r#type: row.kind,
        is_verified: row.is_verified,
        two_factor_enabled: false,
        two_factor_secret: String::new(),
        idp_user_id: String::new(),
        organizations,
        organization_users,
        created_at: row.created_at,
        updated_at: row.updated_at,
        deleted_at: None,
    }
}
