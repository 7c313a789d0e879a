//! Who may do what: the whole table, in one place.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::closed_set::closed_set;
use crate::text;

closed_set! {
    /// A member's role in one organization. Each role has everything that the ones before it have.
    #[derive(PartialOrd, Ord)]
    pub enum Role {
        /// Reads, with the values of variables masked.
        Viewer = "viewer",
        /// Reads, and works on applications, domains, code-host connections and webhooks.
        Member = "member",
        /// Everything but deleting the organization and changing owners.
        Admin = "admin",
        /// Everything.
        Owner = "owner",
    }
}

impl Role {
    /// Host access is granted to the organization by an admin of the installation; no role implies it.
    pub fn can(self, action: Can, host_access: bool) -> bool {
        self.satisfies(&TABLE[action as usize], host_access)
    }

    pub fn permissions(self, host_access: bool) -> Vec<Can> {
        TABLE.iter().filter(|rule| self.satisfies(rule, host_access)).map(|rule| rule.action).collect()
    }

    fn satisfies(self, rule: &Rule, host_access: bool) -> bool {
        self >= rule.least_role && (host_access || !rule.needs_host_access)
    }
}

/// One thing that a member may do in an organization, written `resource:action`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Can {
    OrganizationRead,
    OrganizationUpdate,
    OrganizationDelete,
    MemberRead,
    MemberCreate,
    MemberUpdate,
    MemberDelete,
    OwnerUpdate,
    DeployRead,
    DeployCreate,
    DeployUpdate,
    DeployDelete,
    /// To let code of forks run.
    DeployForks,
    VariableRead,
    DomainRead,
    DomainCreate,
    DomainUpdate,
    DomainDelete,
    ConnectionRead,
    ConnectionCreate,
    ConnectionUpdate,
    ConnectionDelete,
    WebhookRead,
    WebhookCreate,
    WebhookUpdate,
    WebhookDelete,
    SmtpRead,
    SmtpUpdate,
    SmtpDelete,
    ApiKeyRead,
    ApiKeyDelete,
    ExtensionRead,
    ExtensionCreate,
    ExtensionDelete,
    ExtensionRun,
    /// Steps of an extension that change the machine, or reach beyond the organization's own containers.
    ExtensionHost,
    AuditRead,
}

struct Rule {
    action: Can,
    name: &'static str,
    least_role: Role,
    needs_host_access: bool,
}

const fn rule(action: Can, name: &'static str, least_role: Role) -> Rule {
    Rule { action, name, least_role, needs_host_access: false }
}

const fn host_rule(action: Can, name: &'static str, least_role: Role) -> Rule {
    Rule { action, name, least_role, needs_host_access: true }
}

/// In the order of [`Can`], so that a permission's rule is found by its number.
const TABLE: [Rule; 37] = [
    rule(Can::OrganizationRead, "organization:read", Role::Viewer),
    rule(Can::OrganizationUpdate, "organization:update", Role::Admin),
    rule(Can::OrganizationDelete, "organization:delete", Role::Owner),
    rule(Can::MemberRead, "member:read", Role::Viewer),
    rule(Can::MemberCreate, "member:create", Role::Admin),
    rule(Can::MemberUpdate, "member:update", Role::Admin),
    rule(Can::MemberDelete, "member:delete", Role::Admin),
    rule(Can::OwnerUpdate, "owner:update", Role::Owner),
    rule(Can::DeployRead, "deploy:read", Role::Viewer),
    rule(Can::DeployCreate, "deploy:create", Role::Member),
    rule(Can::DeployUpdate, "deploy:update", Role::Member),
    rule(Can::DeployDelete, "deploy:delete", Role::Member),
    rule(Can::DeployForks, "deploy:forks", Role::Admin),
    rule(Can::VariableRead, "variable:read", Role::Member),
    rule(Can::DomainRead, "domain:read", Role::Viewer),
    rule(Can::DomainCreate, "domain:create", Role::Member),
    rule(Can::DomainUpdate, "domain:update", Role::Member),
    rule(Can::DomainDelete, "domain:delete", Role::Member),
    rule(Can::ConnectionRead, "connection:read", Role::Viewer),
    rule(Can::ConnectionCreate, "connection:create", Role::Member),
    rule(Can::ConnectionUpdate, "connection:update", Role::Member),
    rule(Can::ConnectionDelete, "connection:delete", Role::Member),
    rule(Can::WebhookRead, "webhook:read", Role::Viewer),
    rule(Can::WebhookCreate, "webhook:create", Role::Member),
    rule(Can::WebhookUpdate, "webhook:update", Role::Member),
    rule(Can::WebhookDelete, "webhook:delete", Role::Member),
    rule(Can::SmtpRead, "smtp:read", Role::Admin),
    rule(Can::SmtpUpdate, "smtp:update", Role::Admin),
    rule(Can::SmtpDelete, "smtp:delete", Role::Admin),
    rule(Can::ApiKeyRead, "api_key:read", Role::Admin),
    rule(Can::ApiKeyDelete, "api_key:delete", Role::Admin),
    rule(Can::ExtensionRead, "extension:read", Role::Viewer),
    rule(Can::ExtensionCreate, "extension:create", Role::Admin),
    rule(Can::ExtensionDelete, "extension:delete", Role::Admin),
    rule(Can::ExtensionRun, "extension:run", Role::Member),
    host_rule(Can::ExtensionHost, "extension:host", Role::Admin),
    rule(Can::AuditRead, "audit:read", Role::Viewer),
];

impl Can {
    pub fn all() -> impl Iterator<Item = Self> {
        TABLE.iter().map(|rule| rule.action)
    }

    pub const fn as_str(self) -> &'static str {
        TABLE[self as usize].name
    }

    pub const fn least_role(self) -> Role {
        TABLE[self as usize].least_role
    }
}

impl TryFrom<&str> for Can {
    type Error = String;

    fn try_from(text: &str) -> Result<Self, String> {
        let rule = TABLE.iter().find(|rule| rule.name == text);
        rule.map(|rule| rule.action).ok_or_else(|| "must be a permission, such as deploy:create".to_owned())
    }
}

impl<'de> Deserialize<'de> for Can {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        text::read(deserializer)
    }
}

impl Serialize for Can {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl JsonSchema for Can {
    fn schema_name() -> Cow<'static, str> {
        "Permission".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let names: Vec<_> = TABLE.iter().map(|rule| rule.name).collect();
        let mut lines = String::from("What each role may do; a role has everything that the roles before it have.\n");
        for role in Role::ALL.iter().copied() {
            let first_here: Vec<_> =
                TABLE.iter().filter(|rule| rule.least_role == role).map(|rule| rule.name).collect();
            lines.push_str(&format!("\n- `{}`: {}", role.as_str(), first_here.join(", ")));
        }
        lines.push_str(
            "\n\n`extension:host` also needs host access, which an admin of the installation grants to an organization.",
        );
        json_schema!({ "type": "string", "enum": names, "description": lines })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_is_in_the_order_of_the_enum() {
        for (index, rule) in TABLE.iter().enumerate() {
            assert_eq!(rule.action as usize, index, "{}", rule.name);
        }
    }

    /// The promise to users, spelled out: a change of the table must be a change here.
    #[test]
    fn each_role_has_exactly_its_permissions() {
        let viewer = [
            "organization:read",
            "member:read",
            "deploy:read",
            "domain:read",
            "connection:read",
            "webhook:read",
            "extension:read",
            "audit:read",
        ];
        let member = [
            "deploy:create",
            "deploy:update",
            "deploy:delete",
            "variable:read",
            "domain:create",
            "domain:update",
            "domain:delete",
            "connection:create",
            "connection:update",
            "connection:delete",
            "webhook:create",
            "webhook:update",
            "webhook:delete",
            "extension:run",
        ];
        let admin = [
            "organization:update",
            "member:create",
            "member:update",
            "member:delete",
            "deploy:forks",
            "smtp:read",
            "smtp:update",
            "smtp:delete",
            "api_key:read",
            "api_key:delete",
            "extension:create",
            "extension:delete",
        ];
        let owner = ["organization:delete", "owner:update"];
        let mut expected: Vec<&str> = Vec::new();
        for (role, added) in [
            (Role::Viewer, viewer.as_slice()),
            (Role::Member, member.as_slice()),
            (Role::Admin, admin.as_slice()),
            (Role::Owner, owner.as_slice()),
        ] {
            expected.extend(added);
            expected.sort_unstable();
            let mut granted: Vec<_> = role.permissions(false).into_iter().map(Can::as_str).collect();
            granted.sort_unstable();
            assert_eq!(granted, expected, "{role:?}");
        }
    }

    #[test]
    fn changing_the_machine_needs_host_access_as_well() {
        for role in Role::ALL.iter().copied() {
            assert!(!role.can(Can::ExtensionHost, false), "{role:?}");
            assert_eq!(role.can(Can::ExtensionHost, true), role >= Role::Admin, "{role:?}");
        }
    }
}
