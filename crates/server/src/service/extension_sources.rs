//! What applications of extensions are made of: the text of an extension, which each release keeps, and what it needs.

use std::collections::{BTreeMap, HashMap};

use uuid::Uuid;
use windlass_api::{
    Can, Changes, DomainName, ErrorCode, MASK, RepositoryAddress, VariableMap, VariableNames, Variables,
};
use windlass_compose::Service;
use windlass_extension::application::{Route, Stack, values_after};
use windlass_extension::{Extension as Text, VariableType};
use windlass_store::applications::Application;
use windlass_store::extension_sources::{self as rows, ExtensionSource};
use windlass_store::extensions::{self, Extension};
use windlass_store::{Conn, releases};

use crate::app::App;
use crate::auth::Authority;
use crate::error::{Error, Result};
use crate::references;
use crate::service::domain_owners::{self, Owners};
use crate::service::domains;
use crate::service::extensions::{hash, text_of};
use crate::service::preparation::{new_secret, unsupported};
use crate::service::work::Work;
use crate::templates::{self, Place, Unfit, stack_of};

/// The text that an extension has now.
pub struct Template {
    pub row: Extension,
    pub text: Text,
    pub content_hash: String,
    yaml_content: String,
}

impl Template {
    pub async fn of(app: &App, row: Extension) -> Result<Self> {
        let yaml_content = text_of(app, &row).await?;
        let content_hash = hash(&yaml_content);
        let text = templates::read(yaml_content.clone()).await?.ok_or_else(|| {
            let message = format!("{} is a draft: see validation_errors for what is wrong with it.", row.extension_key);
            Error::new(ErrorCode::Conflict, message)
        })?;
        Ok(Self { row, text, content_hash, yaml_content })
    }

    /// The release is made of this text.
    pub async fn put(&self, work: &mut Work<'_>, application_id: Uuid, release_id: Uuid) -> Result<()> {
        let source = ExtensionSource {
            release_id,
            application_id,
            extension_id: self.row.id,
            extension_key: self.row.extension_key.clone(),
            version: self.text.metadata.version.clone(),
            content_hash: self.content_hash.clone(),
            created_at: work.app.now(),
            yaml_content: self.yaml_content.clone(),
        };
        put(work, &source).await
    }

    /// The services, and the domains that lead to them; or why there cannot be such an application.
    pub fn stack(&self, place: &Place<'_>) -> Result<Stack> {
        let stack = stack_of(&self.text, place).map_err(|unfit| self.refusal(&unfit))?;
        let problems: Vec<_> = stack.project.services.iter().flat_map(unsupported).collect();
        if problems.is_empty() { Ok(stack) } else { Err(self.refusal(&Unfit::Template(problems))) }
    }

    fn refusal(&self, unfit: &Unfit) -> Error {
        match unfit {
            Unfit::Values(_) => Error::new(ErrorCode::InvalidRequest, unfit.words()),
            Unfit::Template(_) => {
                let key = &self.row.extension_key;
                let message = format!(
                    "{key} cannot be an application: {}. What it installs by POST /api/v1/extensions/{key}/run is no application.",
                    unfit.words()
                );
                Error::new(ErrorCode::Conflict, message)
            }
        }
    }

    /// Given values as they are stored, by name; none for those that are to have the default.
    pub fn stored(&self, given: &VariableMap) -> Result<BTreeMap<String, Option<String>>> {
        let mut stored = BTreeMap::new();
        let mut problems = Vec::new();
        for (name, text) in given.iter() {
            let is_known = self.text.variable(name).is_some();
            let value = match is_known && references::refers(text) {
                // What it refers to is known later.
                true => Ok(Some(text.clone())),
                false => self.text.stored_value(name, text),
            };
            match value {
                Ok(text) => drop(stored.insert(name.clone(), text)),
                Err(problem) => problems.push(format!("variables.{problem}")),
            }
        }
        if problems.is_empty() { Ok(stored) } else { Err(Error::new(ErrorCode::InvalidRequest, problems.join("\n"))) }
    }

    /// The values that an application has with this text, of those that it has with the text `before`.
    pub fn values_after(
        &self,
        before: &Text,
        stored: &BTreeMap<String, String>,
        defaults: &[String],
    ) -> BTreeMap<String, String> {
        let mut values = values_after(before, &self.text, stored, defaults);
        // A default refers to nothing.
        for (name, text) in &mut values {
            if stored.get(name) != Some(&*text) {
                *text = references::literal(text);
            }
        }
        values
    }

    /// The names of all that is to be secret, among these variables of an application.
    pub fn secret_names(&self, variables: &Variables) -> Vec<String> {
        let is_there = |name: &str| {
            [&variables.build, &variables.environment, &variables.preview].iter().any(|all| all.contains_key(name))
        };
        let own = self.text.variables.iter().filter(|variable| variable.kind == VariableType::Secret);
        let names = own.map(|variable| variable.name.clone()).chain(variables.secret_names.iter().cloned());
        let mut names: Vec<_> = names.filter(|name| is_there(name)).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// A value for each secret that has none.
    pub fn add_secrets(&self, environment: &mut BTreeMap<String, String>) -> Result<()> {
        let made = self.text.new_secrets(environment, &mut new_secret);
        environment
            .extend(made.map_err(|problem| Error::new(ErrorCode::InvalidRequest, format!("variables.{problem}")))?);
        Ok(())
    }
}

async fn put(work: &mut Work<'_>, source: &ExtensionSource) -> Result<()> {
    rows::put(work, source).await?;
    let what = format!("{} {}", source.extension_key, source.version);
    Ok(releases::set_commit(work, source.release_id, &source.content_hash, "", &what).await?)
}

/// A new release is made of the text that is in use, unless an update gives it another.
pub async fn carry_on(work: &mut Work<'_>, application: &Application, release_id: Uuid) -> Result<()> {
    if application.repository != RepositoryAddress::EXTENSION {
        return Ok(());
    }
    let Some(source) = rows::in_use(work, application.id).await? else { return Ok(()) };
    put(work, &ExtensionSource { release_id, created_at: work.app.now(), ..source }).await
}

/// Fails for an application of something else.
pub async fn in_use(conn: &mut Conn, application: &Application) -> Result<ExtensionSource> {
    let found = match application.repository == RepositoryAddress::EXTENSION {
        true => rows::in_use(conn, application.id).await?,
        false => None,
    };
    let message = || format!("{} is not made from an extension.", application.name);
    found.ok_or_else(|| Error::new(ErrorCode::Conflict, message()))
}

/// None once it was deleted.
pub async fn newest(conn: &mut Conn, source: &ExtensionSource) -> Result<Option<Extension>> {
    let row = extensions::get(conn, source.extension_id).await?;
    Ok(row.filter(|row| row.deleted_at.is_none()))
}

/// Values that the text in use cannot be given: the next deploy would fail. An update of the text looks at them with the newer one.
pub async fn check_given(conn: &mut Conn, application: &Application, changes: &Changes) -> Result<()> {
    let Some(given) = changes.environment_variables.as_ref() else { return Ok(()) };
    if application.repository != RepositoryAddress::EXTENSION {
        return Ok(());
    }
    let source = in_use(conn, application).await?;
    let Some(text) = templates::read(source.yaml_content).await? else { return Ok(()) };
    let is_read = |(name, value): &(&String, &String)| {
        text.variable(name).is_some() && *value != MASK && !references::refers(value)
    };
    let problems: Vec<_> = given
        .iter()
        .filter(is_read)
        .filter_map(|(name, value)| text.stored_value(name, value).err())
        .map(|problem| format!("environment_variables.{problem}"))
        .collect();
    if problems.is_empty() { Ok(()) } else { Err(Error::new(ErrorCode::InvalidRequest, problems.join("\n"))) }
}

pub fn reaches_host(stack: &Stack) -> bool {
    stack.project.services.iter().any(|service: &Service| !service.dangers().is_empty())
}

/// What reaches beyond the organization's containers takes the permission for that, as a run does.
pub fn require_for(app: &App, authority: &Authority, stack: &Stack) -> Result<()> {
    if reaches_host(stack) { authority.require(app, Can::ExtensionHost) } else { Ok(()) }
}

/// What the records of these domains say, for the transaction that adds them.
pub async fn claim_all(app: &App, organization_id: Uuid, domains: &[&str]) -> Result<HashMap<String, Owners>> {
    let mut owners = HashMap::new();
    for domain in domains {
        if !owners.contains_key(*domain) {
            owners.insert((*domain).to_owned(), domain_owners::claim(app, domain, organization_id).await?);
        }
    }
    Ok(owners)
}

/// Each leads to the service that the template names.
pub async fn add_domains(
    work: &mut Work<'_>,
    authority: &Authority,
    application: &Application,
    routes: &[Route],
    owners: &HashMap<String, Owners>,
) -> Result<()> {
    if !routes.is_empty() {
        authority.require(work.app, Can::DomainCreate)?;
    }
    let none = Owners::default();
    for Route { domain, service, .. } in routes {
        let name = DomainName::try_from(domain.as_str())
            .map_err(|problem| Error::field("variables", format!("the domain {domain} {problem}")))?;
        domains::add_for_service(work, authority, application, (&name, service), owners.get(domain).unwrap_or(&none))
            .await?;
    }
    Ok(())
}

/// What a request gives an application to have these variables.
pub fn as_changes(variables: &Variables) -> Result<Changes> {
    let environment = VariableMap::try_from(variables.environment.clone());
    let names = VariableNames::try_from(variables.secret_names.clone());
    let refused = |problem: String| Error::field("variables", problem);
    Ok(Changes {
        environment_variables: Some(environment.map_err(refused)?),
        secret_names: Some(names.map_err(refused)?),
        ..Changes::default()
    })
}
