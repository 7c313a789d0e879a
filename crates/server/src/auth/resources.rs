//! What a handler obtains through [`Ctx`]. Obtaining *is* the permission check: what the caller does not belong to does
//! not exist for them (404), and what they do not have the route's permission for is refused (403).

use uuid::Uuid;
use windlass_api::{Can, ErrorCode, ExtensionKey, label};
use windlass_store::applications::{self, Application};
use windlass_store::certificates::{self, Certificate};
use windlass_store::connections::{self, Connection};
use windlass_store::deliveries::{self, Delivery};
use windlass_store::deployments::{self, Deployment};
use windlass_store::executions::{self, Execution};
use windlass_store::extensions::{self, Extension};
use windlass_store::installations::{self, Installation};
use windlass_store::memberships::{self, Joined};
use windlass_store::notices::{self, Notice};
use windlass_store::previews::{self, Preview};
use windlass_store::registry_credentials::{self, RegistryCredential};
use windlass_store::runs::{self, Run};
use windlass_store::schedules::{self, Schedule};
use windlass_store::snapshots::{self, Snapshot};
use windlass_store::uploads::{self, Upload};
use windlass_store::volumes::{self, Volume};
use windlass_store::{api_keys, invitations, smtp_configs};

use crate::auth::authority::{Authority, Granted};
use crate::auth::ctx::Ctx;
use crate::error::{Error, Result};

/// How a path names an extension.
pub enum ExtensionName {
    Id(Uuid),
    Key(String),
}

impl TryFrom<&str> for ExtensionName {
    type Error = String;

    fn try_from(text: &str) -> std::result::Result<Self, String> {
        match Uuid::try_parse(text) {
            Ok(id) => Ok(Self::Id(id)),
            Err(_) => ExtensionKey::try_from(text).map(|key| Self::Key(key.to_string())),
        }
    }
}

impl Ctx {
    /// The organization with this id, else the current one.
    pub async fn organization(&self, id: Option<Uuid>) -> Result<Authority> {
        let joined = self.membership(id).await?;
        self.grant(joined)
    }

    /// The caller's own membership in an organization, for what every member may do, whatever else the route is for.
    pub async fn own_membership(&self, id: Option<Uuid>) -> Result<Authority> {
        let joined = self.membership(id).await?;
        Authority::obtain(&self.app, self.caller.clone(), joined, Can::OrganizationRead)
    }

    /// The organization of a member. `None`: the body's parser reports the missing user.
    pub async fn member(&self, id: Option<Uuid>, user_id: Option<Uuid>) -> Result<Authority> {
        let joined = self.membership(id).await?;
        if let Some(user_id) = user_id {
            let mut conn = self.app.db.read().await?;
            if !memberships::exists(&mut conn, joined.organization.id, user_id).await? {
                return Err(Error::not_found("member"));
            }
        }
        self.grant(joined)
    }

    /// The organization of an invitation.
    pub async fn invitation(&self, id: Option<Uuid>, invitation_id: Uuid) -> Result<Authority> {
        let joined = self.membership(id).await?;
        let mut conn = self.app.db.read().await?;
        if !invitations::exists(&mut conn, joined.organization.id, invitation_id).await? {
            return Err(Error::not_found("invitation"));
        }
        self.grant(joined)
    }

    /// The organization of an API key.
    pub async fn api_key(&self, id: Option<Uuid>, key_id: Uuid) -> Result<Authority> {
        let joined = self.membership(id).await?;
        let mut conn = self.app.db.read().await?;
        if !api_keys::exists(&mut conn, joined.organization.id, key_id).await? {
            return Err(Error::not_found("API key"));
        }
        self.grant(joined)
    }

    /// The organization of an SMTP configuration. Where there is one, `config_id` must be its.
    pub async fn smtp_config(&self, id: Option<Uuid>, config_id: Option<Uuid>) -> Result<Authority> {
        let joined = self.membership(id).await?;
        if config_id.is_some() {
            let mut conn = self.app.db.read().await?;
            let stored = smtp_configs::of_organization(&mut conn, joined.organization.id).await?;
            if stored.is_some_and(|stored| config_id != Some(stored.id)) {
                return Err(Error::not_found("SMTP configuration"));
            }
        }
        self.grant(joined)
    }

    /// An application of the current organization.
    pub async fn application(&self, id: Uuid) -> Result<Granted<Application>> {
        let joined = self.membership(None).await?;
        let mut conn = self.app.db.read().await?;
        let found = applications::of_organization(&mut conn, joined.organization.id, id).await?;
        let found = found.ok_or_else(|| Error::not_found("application"))?;
        Ok(Granted::new(self.grant(joined)?, found))
    }

    /// The organization that a path names, by its id or by its name as a label: `Analytical Engines` is `analytical-engines`. One of
    /// the caller's own.
    pub async fn named_organization(&self, name: &str) -> Result<Uuid> {
        let user_id = self.caller.user.id;
        let all = memberships::shared_by_user(&mut self.app.db.read().await?, user_id, user_id).await?;
        let is_it = |joined: &Joined| {
            let organization = &joined.organization;
            organization.id.to_string() == name || organization.name == name || label(&organization.name) == name
        };
        let mut found = all.iter().filter(|joined| self.caller.can_know(joined.organization.id) && is_it(joined));
        match (found.next(), found.next()) {
            (Some(joined), None) => Ok(joined.organization.id),
            (None, _) => Err(Error::not_found("organization")),
            (Some(_), Some(_)) => {
                let message = "You belong to several organizations of this name. Use the id of one instead.";
                Err(Error::new(ErrorCode::Conflict, message))
            }
        }
    }

    /// An application of the current organization, by its id or by its name as a label.
    pub async fn named_application(&self, name: &str) -> Result<Granted<Application>> {
        let joined = self.membership(None).await?;
        let names = applications::names(&mut self.app.db.read().await?, joined.organization.id).await?;
        let found =
            |is_it: &dyn Fn(&(Uuid, String)) -> bool| names.iter().find(|named| is_it(named)).map(|(id, _)| *id);
        let id = found(&|(id, _)| id.to_string() == name).or_else(|| found(&|(_, known)| known == name));
        if id.is_none() && names.iter().filter(|(_, known)| label(known) == name).count() > 1 {
            let message = "Several applications are called like this in an address. Use the id of one instead.";
            return Err(Error::new(ErrorCode::Conflict, message));
        }
        let id = id.or_else(|| found(&|(_, known)| label(known) == name));
        self.application(id.ok_or_else(|| Error::not_found("application"))?).await
    }

    /// A deployment of the current organization.
    pub async fn deployment(&self, id: Uuid) -> Result<Granted<Deployment>> {
        let joined = self.membership(None).await?;
        let mut conn = self.app.db.read().await?;
        let found = deployments::of_organization(&mut conn, joined.organization.id, id).await?;
        let found = found.ok_or_else(|| Error::not_found("deployment"))?;
        Ok(Granted::new(self.grant(joined)?, found))
    }

    /// A notice of the current organization, if the caller may hear of its event.
    pub async fn notice(&self, id: Uuid) -> Result<Granted<Notice>> {
        let joined = self.membership(None).await?;
        let found = notices::of_organization(&mut self.app.db.read().await?, joined.organization.id, id).await?;
        let found = found.ok_or_else(|| Error::not_found("notice"))?;
        let authority = self.grant(joined)?;
        if !Can::try_from(found.needs.as_str()).is_ok_and(|needed| authority.may(needed)) {
            return Err(Error::not_found("notice"));
        }
        Ok(Granted::new(authority, found))
    }

    /// A delivery of a code host to an application of the current organization.
    pub async fn delivery(&self, id: Uuid) -> Result<Granted<Delivery>> {
        let joined = self.membership(None).await?;
        let found = deliveries::of_organization(&mut self.app.db.read().await?, joined.organization.id, id).await?;
        let found = found.ok_or_else(|| Error::not_found("delivery"))?;
        Ok(Granted::new(self.grant(joined)?, found))
    }

    /// A preview of an application of the current organization.
    pub async fn preview(&self, id: Uuid) -> Result<Granted<Preview>> {
        let joined = self.membership(None).await?;
        let mut conn = self.app.db.read().await?;
        let found = match applications::of_organization(&mut conn, joined.organization.id, id).await? {
            Some(application) => previews::get(&mut conn, application.id).await?,
            None => None,
        };
        let found = found.filter(|preview| preview.ended_at.is_none()).ok_or_else(|| Error::not_found("preview"))?;
        Ok(Granted::new(self.grant(joined)?, found))
    }

    /// A certificate of the current organization.
    pub async fn certificate(&self, id: Uuid) -> Result<Granted<Certificate>> {
        let joined = self.membership(None).await?;
        let found = certificates::get(&mut self.app.db.read().await?, id).await?;
        let found = found.filter(|certificate| certificate.organization_id == Some(joined.organization.id));
        let found = found.ok_or_else(|| Error::not_found("certificate"))?;
        Ok(Granted::new(self.grant(joined)?, found))
    }

    /// A connection of the current organization.
    pub async fn connection(&self, id: Uuid) -> Result<Granted<Connection>> {
        let joined = self.membership(None).await?;
        let found = connections::get(&mut self.app.db.read().await?, id).await?;
        let found = found.filter(|connection| connection.organization_id == joined.organization.id);
        let found = found.ok_or_else(|| Error::not_found("connection"))?;
        Ok(Granted::new(self.grant(joined)?, found))
    }

    /// What the current organization shows to a registry.
    pub async fn registry_credential(&self, id: Uuid) -> Result<Granted<RegistryCredential>> {
        let joined = self.membership(None).await?;
        let found = registry_credentials::get(&mut self.app.db.read().await?, id).await?;
        let found = found.filter(|credential| credential.organization_id == joined.organization.id);
        let found = found.ok_or_else(|| Error::not_found("registry credential"))?;
        Ok(Granted::new(self.grant(joined)?, found))
    }

    /// A volume of the current organization.
    pub async fn volume(&self, id: Uuid) -> Result<Granted<Volume>> {
        let joined = self.membership(None).await?;
        let found = volumes::get(&mut self.app.db.read().await?, id).await?;
        let found = found.filter(|volume| volume.organization_id == joined.organization.id);
        let found = found.ok_or_else(|| Error::not_found("volume"))?;
        Ok(Granted::new(self.grant(joined)?, found))
    }

    /// A snapshot of the current organization.
    pub async fn snapshot(&self, id: Uuid) -> Result<Granted<Snapshot>> {
        let joined = self.membership(None).await?;
        let found = snapshots::of_organization(&mut self.app.db.read().await?, joined.organization.id, id).await?;
        let found = found.ok_or_else(|| Error::not_found("snapshot"))?;
        Ok(Granted::new(self.grant(joined)?, found))
    }

    /// An upload to an application of the current organization.
    pub async fn upload(&self, id: Uuid) -> Result<Granted<Upload>> {
        let joined = self.membership(None).await?;
        let mut conn = self.app.db.read().await?;
        let found = uploads::of_organization(&mut conn, joined.organization.id, id, self.app.now()).await?;
        let found = found.ok_or_else(|| Error::not_found("upload"))?;
        Ok(Granted::new(self.grant(joined)?, found))
    }

    /// A command run of the current organization.
    pub async fn run(&self, id: Uuid) -> Result<Granted<Run>> {
        let joined = self.membership(None).await?;
        let found = runs::of_organization(&mut self.app.db.read().await?, joined.organization.id, id).await?;
        let found = found.ok_or_else(|| Error::not_found("run"))?;
        Ok(Granted::new(self.grant(joined)?, found))
    }

    /// A schedule of the current organization.
    pub async fn schedule(&self, id: Uuid) -> Result<Granted<Schedule>> {
        let joined = self.membership(None).await?;
        let found = schedules::of_organization(&mut self.app.db.read().await?, joined.organization.id, id).await?;
        let found = found.ok_or_else(|| Error::not_found("schedule"))?;
        Ok(Granted::new(self.grant(joined)?, found))
    }

    /// An extension that the current organization sees: its own, or one that comes with Windlass.
    pub async fn extension(&self, name: &ExtensionName) -> Result<Granted<Extension>> {
        let joined = self.membership(None).await?;
        let mut conn = self.app.db.read().await?;
        let found = match name {
            ExtensionName::Id(id) => extensions::visible(&mut conn, joined.organization.id, *id).await?,
            ExtensionName::Key(key) => extensions::by_key(&mut conn, joined.organization.id, key).await?,
        };
        let found = found.ok_or_else(|| Error::not_found("extension"))?;
        Ok(Granted::new(self.grant(joined)?, found))
    }

    /// An execution of the current organization.
    pub async fn execution(&self, id: Uuid) -> Result<Granted<Execution>> {
        let joined = self.membership(None).await?;
        let found = executions::of_organization(&mut self.app.db.read().await?, joined.organization.id, id).await?;
        let found = found.ok_or_else(|| Error::not_found("execution"))?;
        Ok(Granted::new(self.grant(joined)?, found))
    }

    /// An installation of the current organization.
    pub async fn installation(&self, id: Uuid) -> Result<Granted<Installation>> {
        let joined = self.membership(None).await?;
        let found = installations::of_organization(&mut self.app.db.read().await?, joined.organization.id, id).await?;
        let found = found.ok_or_else(|| Error::not_found("installation"))?;
        Ok(Granted::new(self.grant(joined)?, found))
    }

    fn grant(&self, joined: Joined) -> Result<Authority> {
        Authority::obtain(&self.app, self.caller.clone(), joined, self.needed()?)
    }

    /// The caller's membership in an organization, whatever they may do there.
    async fn membership(&self, id: Option<Uuid>) -> Result<Joined> {
        let id = id.or(self.current_organization_id()).ok_or_else(|| {
            Error::new(
                ErrorCode::NotFound,
                "You do not belong to an organization. Create one, or accept an invitation.",
            )
        })?;
        let joined = match &self.joined {
            _ if !self.caller.can_know(id) => None,
            Some(current) if current.organization.id == id => Some(current.clone()),
            _ => memberships::joined(&mut self.app.db.read().await?, self.caller.user.id, id).await?,
        };
        joined.ok_or_else(|| Error::not_found("organization"))
    }
}
