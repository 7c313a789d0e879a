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

/// Organization ▸ users ▸ organization_users.
pub async fn organization(conn: &mut Conn, organization: &Organization, viewer_id: Uuid) -> Result<api::Organization> {
    let members = memberships::members(conn, organization.id).await?;
    let mut shared = shared_by_members(conn, organization.id, viewer_id).await?;
    let users = members.into_iter().map(|member| {
        let theirs = shared.remove(&member.user.id).unwrap_or_default();
        let organization_users = theirs.iter().map(|joined| membership(joined, Link::Cut, Link::Cut)).collect();
        user(member.user, Vec::new(), organization_users)
    });
    let users = users.collect();
    Ok(bare_organization(organization, users))
}

/// OrganizationUser ▸ organization, and OrganizationUser ▸ user ▸ organizations.
pub async fn members(
    conn: &mut Conn,
    organization: &Organization,
    viewer_id: Uuid,
) -> Result<Vec<api::OrganizationUser>> {
    let members = memberships::members(conn, organization.id).await?;
    let mut shared = shared_by_members(conn, organization.id, viewer_id).await?;
    let records = members.into_iter().map(|member| {
        let theirs = shared.remove(&member.user.id).unwrap_or_default();
        member_record(member, organization, &theirs)
    });
    Ok(records.collect())
}

/// The same for one member.
pub async fn member(
    conn: &mut Conn,
    member: Member,
    organization: &Organization,
    viewer_id: Uuid,
) -> Result<api::OrganizationUser> {
    let theirs = memberships::shared_by_user(conn, member.user.id, viewer_id).await?;
    Ok(member_record(member, organization, &theirs))
}

/// User ▸ organizations, and User ▸ organization_users ▸ organization.
pub async fn full_user(conn: &mut Conn, row: &User, viewer_id: Uuid) -> Result<api::User> {
    let joined = memberships::shared_by_user(conn, row.id, viewer_id).await?;
    let organizations = joined.iter().map(|joined| bare_organization(&joined.organization, Vec::new())).collect();
    let organization_users = joined
        .iter()
        .map(|joined| membership(joined, Link::to(bare_organization(&joined.organization, Vec::new())), Link::Cut))
        .collect();
    Ok(user(row.clone(), organizations, organization_users))
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
    let records = joined
        .iter()
        .map(|joined| membership(joined, Link::to(bare_organization(&joined.organization, Vec::new())), Link::Cut));
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

async fn shared_by_members(
    conn: &mut Conn,
    organization_id: Uuid,
    viewer_id: Uuid,
) -> Result<HashMap<Uuid, Vec<Joined>>> {
    let mut by_user: HashMap<Uuid, Vec<Joined>> = HashMap::new();
    for joined in memberships::shared_by_members(conn, organization_id, viewer_id).await? {
        by_user.entry(joined.membership.user_id).or_default().push(joined);
    }
    Ok(by_user)
}

fn member_record(member: Member, organization: &Organization, shared: &[Joined]) -> api::OrganizationUser {
    let organizations = shared.iter().map(|joined| bare_organization(&joined.organization, Vec::new())).collect();
    let user = user(member.user, organizations, Vec::new());
    let organization_link = Link::to(bare_organization(organization, Vec::new()));
    membership_record(&member.membership, organization.host_access, organization_link, Link::to(user))
}

fn membership(joined: &Joined, organization: Link<api::Organization>, user: Link<api::User>) -> api::OrganizationUser {
    membership_record(&joined.membership, joined.organization.host_access, organization, user)
}

fn membership_record(
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

fn bare_organization(row: &Organization, users: Vec<api::User>) -> api::Organization {
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
