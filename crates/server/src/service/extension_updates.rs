//! Updates of applications of extensions: what a newer text would bring, and how it is taken.

use std::collections::HashSet;

use windlass_api as api;
use windlass_api::{Can, Configuration, ErrorCode, UpdateFromExtension, ValidationStatus, Variables};
use windlass_extension::Extension as Text;
use windlass_extension::application::{Route, RouteChange, Stack, changes_of_routes};
use windlass_extension::compare::Comparison;
use windlass_store::applications::Application;
use windlass_store::extension_sources::ExtensionSource;
use windlass_store::{Conn, application_domains};

use crate::app::App;
use crate::auth::Granted;
use crate::error::{Error, Result};
use crate::logs::Secrets;
use crate::records;
use crate::service::application_fields::fill;
use crate::service::audit::Action;
use crate::service::deployments::{self, DeploymentRequest};
use crate::service::extension_sources::{
    Template, add_domains, as_changes, claim_all, in_use, newest, reaches_host, require_for,
};
use crate::service::extensions::{hash, text_of};
use crate::service::held_applications::hold_to_change;
use crate::service::{applications, offers};
use crate::shared_variables::{SharedVariables, of_application};
use crate::templates::{self, Place, stack_of, values_of};
use crate::vault::Vault;

const HIDDEN_WARNING: &str = "It would change where domains lead. Who may read variables is told how.";

/// What an update would make of an application.
struct Update {
    variables: Variables,
    stack: Stack,
    changes: Vec<RouteChange>,
    /// Of the application as it is now, and as it would be.
    filled: [Variables; 2],
}

impl Update {
    async fn prepare(
        conn: &mut Conn,
        vault: &Vault,
        application: &Application,
        (before, template): (Option<&Text>, &Template),
        input: &UpdateFromExtension,
    ) -> Result<Self> {
        let configuration = Configuration::from_json(&application.configuration).map_err(Error::internal)?;
        let now = vault.application_variables(application).await?;
        let variables = next_variables(before, template, &now, input)?;
        let mut shared = SharedVariables::of(vault, application.organization_id);
        let filled = [
            shared.fill(conn, &configuration.environment, &now).await?,
            shared.fill(conn, &configuration.environment, &variables).await?,
        ];
        let stack = template.stack(&Place::of(application, &filled[1]))?;
        // One that makes no sense any more leads nowhere.
        let old = before.and_then(|before| stack_of(before, &Place::of(application, &filled[0])).ok());
        let changes = changes_of_routes(&old.unwrap_or_default(), &stack, &application.domain);
        Ok(Self { variables, stack, changes, filled })
    }

    fn added(&self) -> impl Iterator<Item = &Route> {
        self.changes.iter().filter_map(|change| match change {
            RouteChange::Added(route) => Some(route),
            RouteChange::Removed(_) | RouteChange::Moved { .. } => None,
        })
    }

    /// Where the domains that the application has lead is left as it is: until the switch the services of before serve them.
    async fn new_routes(&self, conn: &mut Conn, application: &Application) -> Result<Vec<Route>> {
        let known = application_domains::of_application(conn, application.id).await?;
        let is_known = |route: &Route| known.iter().any(|row| row.domain == route.domain && row.path == "/");
        Ok(self.added().filter(|route| !is_known(route)).cloned().collect())
    }

    async fn warnings(&self, conn: &mut Conn, application: &Application) -> Result<Vec<String>> {
        let known = application_domains::of_application(conn, application.id).await?;
        let leads_to = |route: &Route| {
            known.iter().find(|row| row.domain == route.domain && row.path == "/").map(|row| row.service.as_str())
        };
        let secrets = Secrets::new(&self.filled[1], self.filled[0].secrets());
        let warning = |change: &RouteChange| match change {
            RouteChange::Added(route) => match leads_to(route) {
                None => Some(format!(
                    "Visitors will come by {} too, which leads to the service {}. To add it takes the permission domain:create.",
                    route.domain, route.service
                )),
                Some(service) if service == route.service => None,
                Some(_) => Some(format!(
                    "{} is to lead to the service {}, and leads somewhere else already. It is left as it is: remove it before the update, or add it anew afterwards.",
                    route.domain, route.service
                )),
            },
            RouteChange::Removed(route) => Some(format!(
                "{} leads to the service {} no longer. The domain stays until it is removed.",
                route.domain, route.service
            )),
            RouteChange::Moved { before, after } => Some(format!(
                "{} leads to the service {} (port {}), and is to lead to {} (port {}). It is left as it is: add it anew after the update if the service is another.",
                before.domain, before.service, before.port, after.service, after.port
            )),
        };
        Ok(self.changes.iter().filter_map(warning).map(|words| secrets.mask(&words).into_owned()).collect())
    }
}

fn next_variables(
    before: Option<&Text>,
    template: &Template,
    now: &Variables,
    input: &UpdateFromExtension,
) -> Result<Variables> {
    let defaults = input.defaults.as_deref().unwrap_or_default();
    for name in defaults {
        if template.text.variable(name).is_none_or(|variable| variable.default.is_none()) {
            let problem = format!("the extension has no default for {}", api::shown_name(name));
            return Err(Error::field("defaults", problem));
        }
        if input.variables.as_ref().is_some_and(|given| given.contains_key(name)) {
            return Err(Error::field("defaults", format!("{name} is given a value in variables too")));
        }
    }
    let mut variables = now.clone();
    let before = before.unwrap_or(&template.text);
    variables.environment = template.values_after(before, &now.environment, defaults);
    for (name, value) in input.variables.as_ref().map(|given| template.stored(given)).transpose()?.unwrap_or_default() {
        if template.text.main_domain_variable().is_some_and(|variable| variable.name == name) {
            let problem = format!("{name}: is the main domain of the application; change that");
            return Err(Error::field("variables", problem));
        }
        match value {
            Some(value) => drop(variables.environment.insert(name, value)),
            None => drop(variables.environment.remove(&name)),
        }
    }
    // An empty one is to have the default of now.
    variables.environment = template.values_after(&template.text, &variables.environment, &[]);
    template.add_secrets(&mut variables.environment)?;
    variables.secret_names = template.secret_names(&variables);
    Ok(variables)
}

/// Deploys the text that the extension has by now. If that goes wrong, nothing of it stays in use.
pub async fn take(
    app: &App,
    granted: &Granted<Application>,
    input: &UpdateFromExtension,
) -> Result<api::ApplicationDeployment> {
    granted.authority().require(app, Can::ExtensionRead)?;
    let mut conn = app.db.read().await?;
    let source = in_use(&mut conn, granted.row()).await?;
    let row = newest(&mut conn, &source).await?.ok_or_else(|| {
        let message = format!("The extension {} was deleted, so there is nothing newer.", source.extension_key);
        Error::new(ErrorCode::Conflict, message)
    })?;
    drop(conn);
    let template = Template::of(app, row).await?;
    refuse_another_text(input, &template, &source, granted.row())?;
    let before = templates::read(source.yaml_content.clone()).await?;
    let texts = (before.as_ref(), &template);
    let foreseen = Update::prepare(&mut app.db.read().await?, &app.vault, granted.row(), texts, input).await?;
    let added: Vec<&str> = foreseen.added().map(|route| route.domain.as_str()).collect();
    let owners = claim_all(app, granted.row().organization_id, &added).await?;

    let mut work = app.begin().await?;
    let (authority, mut application) = hold_to_change(&mut work, granted.authority(), granted.row().id).await?;
    if in_use(&mut work, &application).await?.content_hash != source.content_hash {
        let message = format!("{} has another text by now. Look at the offer again.", application.name);
        return Err(Error::new(ErrorCode::Conflict, message));
    }
    let update = Update::prepare(&mut work, &app.vault, &application, texts, input).await?;
    require_for(app, &authority, &update.stack)?;
    let changes = as_changes(&update.variables)?;
    let (fields, touched) = fill(&mut work, &authority, &mut application, &changes).await?;
    applications::write(&mut work, &mut application).await?;
    let verb = "took the newer text of its extension for the application";
    applications::record(&mut work, &authority, Action::Update, &application, verb, &fields.join(", "), &touched);
    let routes = update.new_routes(&mut work, &application).await?;
    add_domains(&mut work, &authority, &application, &routes, &owners).await?;
    let request = DeploymentRequest::Deploy { commit: None };
    let deployment = deployments::enqueue(&mut work, &authority.actor(), &application, &request, &[]).await?;
    template.put(&mut work, application.id, deployment.release_id).await?;
    deployments::finish(work, &authority, deployment.id).await
}

/// Who has looked at an offer gets what it showed.
fn refuse_another_text(
    input: &UpdateFromExtension,
    template: &Template,
    source: &ExtensionSource,
    application: &Application,
) -> Result<()> {
    let key = &template.row.extension_key;
    let message = match input.content_hash.as_deref() {
        Some(looked_at) if *looked_at != *template.content_hash => {
            format!("{key} has another text by now. Look at the offer again.")
        }
        _ if source.content_hash == template.content_hash => {
            format!(
                "{} has the newest text of {key}. Its values are variables of the application: change them, and deploy it again.",
                application.name
            )
        }
        _ => return Ok(()),
    };
    Err(Error::new(ErrorCode::Conflict, message))
}

/// What the application is made of, and what an update would bring, beside what the organization has set.
pub async fn look(app: &App, granted: &Granted<Application>) -> Result<api::ApplicationExtension> {
    let (authority, application) = (granted.authority(), granted.row());
    authority.require(app, Can::ExtensionRead)?;
    let mut conn = app.db.read().await?;
    let source = in_use(&mut conn, application).await?;
    let row = newest(&mut conn, &source).await?;
    let is_behind_parent = match &row {
        Some(row) => records::extensions::is_behind(&mut conn, row).await?,
        None => false,
    };
    drop(conn);
    let hides = !authority.may(Can::VariableRead);
    let before = templates::read(source.yaml_content.clone()).await?;
    let newest_text = match &row {
        Some(row) => text_of(app, row).await?,
        None => source.yaml_content.clone(),
    };
    let new_content_hash = hash(&newest_text);
    let is_other = new_content_hash != source.content_hash;
    let comparison = compare(app, application, before.as_ref(), &source, newest_text, hides).await?;
    let is_deleted = row.is_none();
    let new_version = row.as_ref().map(|row| row.version.clone()).unwrap_or_default();
    let is_valid = row.as_ref().is_some_and(|row| row.validation_status == ValidationStatus::Valid);
    let outlook = match row.filter(|_| is_other && is_valid) {
        Some(row) => outlook(app, granted, before.as_ref(), &Template::of(app, row).await?, hides).await?,
        None => Outlook::default(),
    };
    Ok(api::ApplicationExtension {
        application_id: application.id,
        extension_id: source.extension_id,
        extension_key: source.extension_key,
        version: source.version,
        content_hash: source.content_hash,
        yaml_content: source.yaml_content,
        has_update: is_other && is_valid,
        is_behind_parent,
        is_deleted,
        new_version,
        new_content_hash: if is_deleted { String::new() } else { new_content_hash },
        upstream_changes: records::offers::count(comparison.of_upstream()),
        conflicts: records::offers::count(comparison.conflicts().count()),
        changes: records::offers::changes(&comparison),
        warnings: outlook.warnings,
        problems: outlook.problems,
    })
}

async fn compare(
    app: &App,
    application: &Application,
    before: Option<&Text>,
    source: &ExtensionSource,
    newest: String,
    hides: bool,
) -> Result<Comparison> {
    let variables = of_application(&mut app.db.read().await?, &app.vault, application).await?;
    // What cannot be read as the text wants it stands nowhere.
    let values = before.and_then(|before| values_of(before, &Place::of(application, &variables)).ok());
    let secret: HashSet<String> = variables.secret_names.iter().cloned().collect();
    let before = source.yaml_content.clone();
    let compare = move || {
        let is_hidden = |name: &str| hides || secret.contains(name);
        offers::compare_with_values(&before, &newest, &values.unwrap_or_default(), &is_hidden)
    };
    tokio::task::spawn_blocking(compare).await.map_err(Error::internal)?
}

#[derive(Default)]
struct Outlook {
    warnings: Vec<String>,
    problems: Vec<String>,
}

/// What an update without anything more would mean, and what it would be refused for.
async fn outlook(
    app: &App,
    granted: &Granted<Application>,
    before: Option<&Text>,
    template: &Template,
    hides: bool,
) -> Result<Outlook> {
    let (authority, application) = (granted.authority(), granted.row());
    let nothing = UpdateFromExtension { variables: None, defaults: None, content_hash: None };
    let mut conn = app.db.read().await?;
    let texts = (before, template);
    let update = match Update::prepare(&mut conn, &app.vault, application, texts, &nothing).await {
        Ok(update) => update,
        Err(Error { code: ErrorCode::InvalidRequest | ErrorCode::Conflict, message, .. }) => {
            let problems = match hides {
                true => vec![offers::HIDDEN.to_owned()],
                false => message.lines().map(str::to_owned).collect(),
            };
            return Ok(Outlook { warnings: Vec::new(), problems });
        }
        Err(error) => return Err(error),
    };
    let mut problems = Vec::new();
    if reaches_host(&update.stack) && !authority.may(Can::ExtensionHost) {
        problems.push("A service reaches the machine, which takes host access.".to_owned());
    }
    if !authority.may(Can::DomainCreate) && !update.new_routes(&mut conn, application).await?.is_empty() {
        problems.push("It adds domains, which takes the permission domain:create.".to_owned());
    }
    let warnings = update.warnings(&mut conn, application).await?;
    // Domains can be values.
    let warnings = if hides && !warnings.is_empty() { vec![HIDDEN_WARNING.to_owned()] } else { warnings };
    Ok(Outlook { warnings, problems })
}
