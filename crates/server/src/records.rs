//! Rows into records, relations included.
//!
//! The rule, walking down from the root of an answer: a relation is embedded, but a link to a *type* that is already
//! open on the way is cut off (`{}` or `[]`). A user in a record of their own, or of one thing of theirs, lists the
//! organizations that the viewer belongs to as well. A user in a list does not: they would be repeated with every item,
//! and a hundred users in a hundred organizations would be ten thousand memberships. Each function here takes a fixed
//! number of queries, however many records there are.

pub mod access;
pub mod applications;
mod budget;
pub mod certificates;
pub mod connections;
pub mod deliveries;
pub mod domains;
pub mod effects;
pub mod executions;
pub mod extensions;
pub mod figures;
pub mod installations;
pub mod logs;
pub mod notices;
pub mod offers;
pub mod previews;
pub mod registry_credentials;
pub mod releases;
pub mod runs;
pub mod schedules;
pub mod shared_variables;
pub mod status_pages;
pub mod uptime;
pub mod variable_files;
pub mod volumes;

use uuid::Uuid;
use windlass_api as api;
use windlass_api::Link;
use windlass_store::memberships::{self, Joined, Member, Membership};
use windlass_store::organizations::Organization;
use windlass_store::sessions::Session;
use windlass_store::user_settings::UserSettings;
use windlass_store::users::User;
use windlass_store::{Conn, Result};

use crate::config::Setting;

/// The caller that a record is shown to.
#[derive(Clone, Copy, Debug)]
pub struct Viewer {
    pub user_id: Uuid,
    /// An API key sees one organization, whatever else its user belongs to.
    pub confined_to: Option<Uuid>,
}

impl Viewer {
    /// A user, who sees all organizations that they belong to.
    pub fn user(user_id: Uuid) -> Self {
        Self { user_id, confined_to: None }
    }
}

/// Users inside an organization's record where that is not what was asked for.
pub const EMBEDDED_USERS: usize = 100;
/// For API keys that may not list its members.
pub const NO_USERS: usize = 0;
/// No limit: the record is what was asked for.
pub const ALL_USERS: usize = usize::MAX;

/// Organization ▸ users ▸ organization_users, of which only the one in this organization: the user's role here.
pub async fn organization(conn: &mut Conn, row: &Organization, users: usize) -> Result<api::Organization> {
    if users == NO_USERS {
        return Ok(bare_organization(row));
    }
    let members = memberships::members(conn, row.id).await?;
    let users = members.into_iter().take(users).map(|member| {
        let here = membership(&member.membership, row.host_access, Link::Cut, Link::Cut);
        user(member.user, Vec::new(), vec![here])
    });
    Ok(organization_record(row, users.collect()))
}

/// OrganizationUser ▸ organization, user.
pub async fn members(conn: &mut Conn, row: &Organization) -> Result<Vec<api::OrganizationUser>> {
    let members = memberships::members(conn, row.id).await?;
    Ok(members.into_iter().map(|member| member_record(member, row, Vec::new())).collect())
}

/// The same for one member, whose user ▸ organizations.
pub async fn member(
    conn: &mut Conn,
    member: Member,
    row: &Organization,
    viewer: Viewer,
) -> Result<api::OrganizationUser> {
    let shared = shared_by_user(conn, member.user.id, viewer).await?;
    let organizations = shared.iter().map(|joined| bare_organization(&joined.organization)).collect();
    Ok(member_record(member, row, organizations))
}

/// User ▸ organizations, and User ▸ organization_users ▸ organization.
pub async fn full_user(conn: &mut Conn, row: &User, viewer: Viewer) -> Result<api::User> {
    let shared = shared_by_user(conn, row.id, viewer).await?;
    let organizations = shared.iter().map(|joined| bare_organization(&joined.organization)).collect();
    let memberships =
        shared.iter().map(|joined| joined_record(joined, Link::to(bare_organization(&joined.organization))));
    Ok(user(row.clone(), organizations, memberships.collect()))
}

/// Without their organizations.
fn bare_user(row: User) -> api::User {
    user(row, Vec::new(), Vec::new())
}

/// UserSettings ▸ user, and so on as above.
pub async fn settings(conn: &mut Conn, row: UserSettings, owner: &User) -> Result<api::UserSettings> {
    let user = full_user(conn, owner, Viewer::user(owner.id)).await?;
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

pub fn instance_user(row: windlass_store::users::Listed) -> api::InstanceUser {
    api::InstanceUser {
        id: row.user.id,
        username: row.user.username,
        email: row.user.email,
        r#type: row.user.kind,
        two_factor_enabled: row.user.two_factor_enabled,
        organizations: row.organizations,
        created_at: row.user.created_at,
    }
}

pub fn instance_setting(row: &Setting) -> api::InstanceSetting {
    api::InstanceSetting {
        name: row.name.into(),
        section: row.section.title().into(),
        help: row.help.into(),
        value: row.value.clone(),
        is_default: row.value == row.default,
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

pub fn api_key(row: windlass_store::api_keys::ApiKey) -> api::ApiKey {
    api::ApiKey {
        id: row.id,
        organization_id: row.organization_id,
        user_id: row.user_id,
        name: row.name,
        hint: row.hint,
        permissions: row.permissions.split(' ').filter_map(|name| api::Can::try_from(name).ok()).collect(),
        last_used_at: row.last_used_at.map(api::Timestamp::from_micros),
        expires_at: row.expires_at,
        created_at: row.created_at,
    }
}

/// What of the audit log a reader may not know: other users' API keys and the mail settings are not shown to every
/// reader.
pub struct Hidden {
    pub api_keys: bool,
    pub smtp: bool,
    /// What readers did themselves they know.
    pub except_of: Uuid,
}

impl Hidden {
    pub fn nothing() -> Self {
        Self { api_keys: false, smtp: false, except_of: Uuid::nil() }
    }

    pub fn resources(&self) -> Vec<&'static str> {
        let all = [(self.api_keys, "api_key"), (self.smtp, "smtp")];
        all.into_iter().filter_map(|(is_hidden, resource)| is_hidden.then_some(resource)).collect()
    }

    /// That something was done still shows, and which user did it.
    fn apply(&self, activity: &mut api::AuditActivity, actor_id: Option<Uuid>) {
        if actor_id == Some(self.except_of) {
            return;
        }
        if self.resources().contains(&activity.resource.as_str()) {
            let what = if activity.resource == "smtp" { "the mail server" } else { "an API key" };
            activity.message = format!("{}: {} of {what}", activity.actor, activity.action);
            activity.metadata.clear();
        }
        if self.api_keys {
            activity.metadata.remove("api_key");
        }
    }
}

pub fn audit_activity(row: windlass_store::audit::Entry, hidden: &Hidden) -> api::AuditActivity {
    let color = api::AuditAction::try_from(row.action.as_str()).map_or("gray", api::AuditAction::color);
    let mut activity = api::AuditActivity {
        id: row.id.to_string(),
        action_color: color.to_owned(),
        action: row.action,
        actor: row.actor,
        message: row.message,
        resource: row.resource,
        resource_id: row.resource_id,
        // Written by this server as what it is read as.
        metadata: serde_json::from_str(&row.metadata).unwrap_or_default(),
        timestamp: row.created_at,
    };
    hidden.apply(&mut activity, row.actor_id);
    activity
}

pub fn webhook_config(row: &windlass_store::webhook_configs::WebhookConfig, webhook_url: String) -> api::WebhookConfig {
    api::WebhookConfig {
        id: row.id,
        user_id: row.user_id,
        organization_id: row.organization_id,
        webhook_url,
        r#type: row.kind,
        is_active: row.is_active,
        created_at: row.created_at,
        updated_at: row.updated_at,
    }
}

/// Only where it leads: the rest is what lets its holder post there.
pub fn masked_url(url: &str) -> String {
    let origin = url::Url::parse(url).map(|url| url.origin().ascii_serialization()).unwrap_or_default();
    format!("{origin}/********")
}

pub fn smtp_config(row: windlass_store::smtp_configs::SmtpConfig) -> api::SmtpConfig {
    api::SmtpConfig {
        id: row.id,
        user_id: row.user_id,
        organization_id: row.organization_id,
        host: row.host,
        port: u16::try_from(row.port).unwrap_or_default(),
        username: row.username,
        has_password: row.sealed_password.is_some(),
        from_email: row.from_email,
        from_name: row.from_name,
        security: row.security,
        is_active: row.is_active,
        created_at: row.created_at,
        updated_at: row.updated_at,
    }
}

async fn shared_by_user(conn: &mut Conn, user_id: Uuid, viewer: Viewer) -> Result<Vec<Joined>> {
    let mut shared = memberships::shared_by_user(conn, user_id, viewer.user_id).await?;
    if let Some(only) = viewer.confined_to {
        shared.retain(|joined| joined.organization.id == only);
    }
    Ok(shared)
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
        two_factor_enabled: row.two_factor_enabled,
        two_factor_secret: String::new(),
        idp_user_id: String::new(),
        organizations,
        organization_users,
        created_at: row.created_at,
        updated_at: row.updated_at,
        deleted_at: None,
    }
}
