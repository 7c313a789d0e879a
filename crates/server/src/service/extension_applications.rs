//! Applications that are made from the template of an extension. What such an application is made of afterwards is in `extension_sources`.

use std::collections::{BTreeMap, HashMap};

use windlass_api as api;
use windlass_api::{
    ApplicationName, BuildPack, Can, Changes, CreateExtensionApplication, ErrorCode, Given, HostName,
    RepositoryAddress, VariableMap, Variables, label,
};
use windlass_extension::application::Route;
use windlass_store::applications as rows;
use windlass_store::extensions::Extension;

use crate::app::App;
use crate::auth::{Authority, Granted};
use crate::error::{Error, Result};
use crate::service::applications::{self, DeployInput};
use crate::service::deployments::{self, DeploymentRequest};
use crate::service::domain_choice;
use crate::service::domain_owners::Owners;
use crate::service::extension_sources::{Template, add_domains, as_changes, claim_all, require_for};
use crate::service::idempotency::Once;
use crate::shared_variables;
use crate::templates::Place;

/// Of two organizations that choose the same domain in the same instant, one finds another at the next try.
const TRIES: usize = 3;

/// All that is wanted of a new application, before there is one.
struct Order<'a> {
    template: Template,
    name: ApplicationName,
    repository: RepositoryAddress,
    domain: Option<HostName>,
    variables: Variables,
    changes: Changes,
    owners: HashMap<String, Owners>,
    once: Option<&'a Once>,
}

/// `POST /extensions/{extension_id}/application`. The message for the caller, and the application.
pub async fn create(
    app: &App,
    granted: &Granted<Extension>,
    input: CreateExtensionApplication,
    once: Option<&Once>,
) -> Result<(&'static str, api::Application)> {
    let authority = granted.authority();
    // What was done is told of, whatever became of the extension since.
    if once.is_some() {
        let mut work = app.begin().await?;
        let held = work.hold(authority).await?;
        if let Some(record) = applications::made_before(&mut work, &held, once).await? {
            return Ok(applications::done_before(work, record).await);
        }
    }
    authority.require(app, Can::ExtensionRead)?;
    let template = Template::of(app, granted.row().clone()).await?;
    let order = Order::new(app, authority, template, input, once).await?;
    for _ in 0..TRIES {
        if let Some(done) = order.try_to_create(app, authority).await? {
            return Ok(done);
        }
    }
    Err(domain_choice::taken(&order.name.label()))
}

impl<'a> Order<'a> {
    async fn new(
        app: &App,
        authority: &Authority,
        template: Template,
        input: CreateExtensionApplication,
        once: Option<&'a Once>,
    ) -> Result<Self> {
        let name = match input.name {
            Some(name) => name,
            None => ApplicationName::try_from(template.row.extension_key.as_str())
                .map_err(|problem| Error::field("name", problem))?,
        };
        let (domain, given) = domain_and_values(&template, input.domain, input.variables)?;
        let mut variables = Variables::default();
        let stored = template.stored(&given)?.into_iter();
        let stored = stored.filter_map(|(name, value)| Some((name, value?))).collect();
        variables.environment = template.values_after(&template.text, &stored, &[]);
        template.add_secrets(&mut variables.environment)?;
        variables.secret_names = template.secret_names(&variables);
        let changes = Changes {
            build_pack: Given::Value(BuildPack::DockerCompose),
            domain: domain.clone().map_or(Given::Absent, Given::Value),
            environment: input.environment.map_or(Given::Absent, Given::Value),
            ..as_changes(&variables)?
        };
        let repository = RepositoryAddress::try_from(RepositoryAddress::EXTENSION).map_err(Error::internal)?;
        let mut order = Self { template, name, repository, domain, variables, changes, owners: HashMap::new(), once };
        order.owners = order.claim(app, authority).await?;
        Ok(order)
    }

    /// As far as the domains are known already: what depends on shared variables, or on a domain that is not chosen yet, is not claimed yet.
    async fn claim(&self, app: &App, authority: &Authority) -> Result<HashMap<String, Owners>> {
        let usual = format!("{}.{}", label(&self.name), app.config.base_domain);
        let domain = self.domain.as_deref().unwrap_or(&usual);
        let place = Place { name: &self.name, domain, variables: &self.variables };
        let stack = self.template.stack(&place).unwrap_or_default();
        let others = stack.others(domain).map(|route| route.domain.as_str());
        let wanted: Vec<&str> = self.domain.as_deref().into_iter().chain(others).collect();
        claim_all(app, authority.organization_id(), &wanted).await
    }

    /// None when another organization took the domain meanwhile.
    async fn try_to_create(
        &self,
        app: &App,
        authority: &Authority,
    ) -> Result<Option<(&'static str, api::Application)>> {
        let mut work = app.begin().await?;
        let authority = &work.hold(authority).await?;
        if let Some(record) = applications::made_before(&mut work, authority, self.once).await? {
            return Ok(Some(applications::done_before(work, record).await));
        }
        if rows::by_name(&mut work, authority.organization_id(), &self.name).await?.is_some() {
            let message = format!("name: there is an application {} already. Choose another name.", &*self.name);
            return Err(Error::new(ErrorCode::NameTaken, message));
        }
        let none = Owners::default();
        let owners = self.domain.as_deref().and_then(|domain| self.owners.get(domain)).unwrap_or(&none);
        let input = DeployInput { name: &self.name, repository: &self.repository, changes: &self.changes, owners };
        let Some(application) = applications::create(&mut work, authority, &input).await? else { return Ok(None) };
        let filled = shared_variables::of_application(&mut work, &app.vault, &application).await?;
        let stack = self.template.stack(&Place::of(&application, &filled))?;
        require_for(app, authority, &stack)?;
        let routes: Vec<Route> = stack.others(&application.domain).cloned().collect();
        add_domains(&mut work, authority, &application, &routes, &self.owners).await?;
        let request = DeploymentRequest::Deploy { commit: None };
        let deployment = deployments::enqueue(&mut work, &authority.actor(), &application, &request, &[]).await?;
        self.template.put(&mut work, application.id, deployment.release_id).await?;
        applications::answer(work, authority, self.once, application.id, "Deployment queued").await.map(Some)
    }
}

/// The main domain, which the extension may have a variable for, and the other values.
fn domain_and_values(
    template: &Template,
    domain: Option<HostName>,
    given: Option<VariableMap>,
) -> Result<(Option<HostName>, VariableMap)> {
    let mut values: BTreeMap<String, String> = given.map(|given| (*given).clone()).unwrap_or_default();
    let Some(variable) = template.text.main_domain_variable() else {
        return Ok((domain, as_map(values)?));
    };
    let Some(text) = values.remove(&variable.name) else { return Ok((domain, as_map(values)?)) };
    let wrong = |problem: &str| Error::field("domain", format!("{problem} (variables.{})", variable.name));
    if text.trim().is_empty() {
        return Err(wrong("must not be blank: visitors come there. Leave it out for one below this server's own"));
    }
    let named = HostName::try_from(text.trim()).map_err(|problem| wrong(&problem))?;
    if domain.is_some_and(|domain| domain != named) {
        return Err(wrong("is given twice, and not as the same"));
    }
    Ok((Some(named), as_map(values)?))
}

fn as_map(values: BTreeMap<String, String>) -> Result<VariableMap> {
    VariableMap::try_from(values).map_err(|problem| Error::field("variables", problem))
}
