//! Organizations, their members and invitations to them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::sent;
use crate::{Can, Email, Link, Presented, Role, Text, Timestamp, User};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Organization {
    pub id: Uuid,
    pub name: String,
    pub description: String,
    pub users: Vec<User>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    pub deleted_at: Option<Timestamp>,
}

/// A user's membership in an organization.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OrganizationUser {
    pub id: Uuid,
    pub organization_id: Uuid,
    pub user_id: Uuid,
    pub organization: Link<Organization>,
    pub user: Link<User>,
    pub roles: Vec<Role>,
    pub permissions: Vec<Can>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    pub deleted_at: Option<Timestamp>,
}

/// A person who was asked to join and has not answered yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Invitation {
    pub id: Uuid,
    pub organization_id: Uuid,
    pub email: String,
    pub role: Role,
    pub expires_at: Timestamp,
    pub created_at: Timestamp,
}

#[derive(Serialize, Deserialize, JsonSchema)]
pub struct InvitationCreated {
    pub invitation: Invitation,
    /// Give this to the invited person. It is shown only now, and the one before it no longer works.
    pub link: String,
    /// The token inside the link: for `token` of registration and of accepting.
    pub token: String,
}

pub type OrganizationName = Text<1, 100>;
pub type Description = Text<0, 500>;

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateOrganization {
    pub name: OrganizationName,
    /// Default: empty.
    pub description: Option<Description>,
}

/// Only which organization (or user) a body speaks of. It is read first, because who may act comes before what they say;
/// the body is then read again as what it really is.
#[derive(Debug, Deserialize)]
pub struct Named {
    pub id: Option<Uuid>,
    pub organization_id: Option<Uuid>,
    pub user_id: Option<Uuid>,
}

/// Which organization: this `id`, else the query parameter `id`, else the header, else the default one.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OrganizationId {
    pub id: Option<Uuid>,
}

/// The same as a query parameter.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct OrganizationQuery {
    /// Default: the organization of the header, else the caller's default one.
    pub id: Option<Uuid>,
}

/// At least one of `name` and `description`; what is absent stays as it is.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("minProperties" = 1))]
pub struct UpdateOrganization {
    pub id: Option<Uuid>,
    pub name: Option<OrganizationName>,
    pub description: Option<Description>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SwitchOrganization {
    pub organization_id: Uuid,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SendInvitation {
    pub organization_id: Option<Uuid>,
    pub email: Email,
    /// Inviting an owner needs `owner:update`.
    /// Default: `member`.
    pub role: Option<Role>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AcceptInvitation {
    #[serde(serialize_with = "sent::whole")]
    pub token: Presented,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RemoveUser {
    pub organization_id: Option<Uuid>,
    pub user_id: Uuid,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UpdateUserRole {
    pub organization_id: Option<Uuid>,
    pub user_id: Uuid,
    pub role: Role,
}
