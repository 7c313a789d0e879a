//! Apps of GitHub: a member asks for a link, a person makes the app from its page with one click, and GitHub sends the browser back with
//! a code. The code is exchanged for the app's key, which becomes a connection.

use url::Url;
use windlass_api as api;
use windlass_api::{Can, CodeHost, ConnectionKind, CreateGithubApp, ErrorCode};
use windlass_codehost::api::{Base, NewApp, RegisteredApp};
use windlass_store::connections::{self as rows, Connection};
use windlass_store::github_apps::{self, Registration};

use crate::app::App;
use crate::auth::token::{self, Token};
use crate::auth::{Asked, Authority, Origin};
use crate::code_host::{self, of_input};
use crate::error::{Error, Result};
use crate::service::audit::{Action, Change, Resource};
use crate::service::connections;
use crate::service::outgoing_addresses::check_url;
use crate::service::webhooks;
use crate::service::work::Work;
use crate::vault::code_hosts::AppSecrets;

/// GitHub's codes work as long.
const LINK_SECONDS: i64 = 3_600;
/// Links of one organization that work at a time; the oldest give way.
const MOST_LINKS: i64 = 10;

/// Under the address at which people reach this server.
pub const NEW_PAGE: &str = "/connections/github-apps/new";
pub const CALLBACK: &str = "/connections/github-apps/callback";
pub const INSTALLED_PAGE: &str = "/connections/github-apps/installed";

/// What GitHub takes as the name of an app.
const LONGEST_APP_NAME: usize = 34;
/// What it gives is shorter; another server may be at the address.
const LONGEST_SLUG: usize = 100;
const LONGEST_ADDRESS: usize = 500;
const LONGEST_KEY: usize = 20_000;
/// Less could be guessed.
const SECRET_LENGTHS: std::ops::RangeInclusive<usize> = 16..=200;

const AGAIN: &str =
    "The keys of the app were not stored. Ask for a new link; if GitHub lists the app by now, delete it there first.";

pub async fn register(app: &App, authority: &Authority, input: &CreateGithubApp) -> Result<api::GithubAppLink> {
    let text = |given: Option<&str>| given.unwrap_or_default().to_owned();
    let base = code_host::base(CodeHost::GitHub, input.base_url.value().map(|text| &**text).unwrap_or_default())?;
    check_url(app, "base_url", base.as_str()).await?;
    let state = Token::random();
    let asked = authority.asked();
    let registration = Registration {
        id: app.new_id(),
        organization_id: asked.organization_id,
        credential_id: asked.credential_id,
        is_key: asked.is_key,
        name: input.name.to_string(),
        base_url: base.as_str().to_owned(),
        github_organization: text(input.github_organization.value().map(|text| &**text)),
        expires_at: app.now().plus_seconds(LINK_SECONDS),
        created_at: app.now(),
    };
    page_at_github(&base, &registration, state.reveal())?;
    let mut work = app.begin().await?;
    let authority = work.hold(authority).await?;
    connections::check_name(&mut work, registration.organization_id, &registration.name, None).await?;
    connections::check_room(&mut work, registration.organization_id).await?;
    github_apps::insert(&mut work, &registration, &state.hash()).await?;
    github_apps::keep_newest(&mut work, registration.organization_id, MOST_LINKS).await?;
    write_down(&mut work, &authority, &registration);
    work.commit().await?;
    let link = format!("{}?state={}", here(app, NEW_PAGE), state.reveal());
    Ok(api::GithubAppLink { link, expires_at: registration.expires_at })
}

fn write_down(work: &mut Work<'_>, authority: &Authority, registration: &Registration) {
    let change = Change {
        organization_id: Some(registration.organization_id),
        action: Action::Create,
        resource: Resource::Connection,
        resource_id: registration.id,
        summary: &format!("asked for a GitHub App {}", registration.name),
        details: &[
            ("name", &registration.name),
            ("base_url", &registration.base_url),
            ("github_organization", &registration.github_organization),
        ],
    };
    work.record(&authority.actor(), &change);
}

/// What the page shows before a person goes to GitHub.
pub struct Offer {
    /// Where the app's keys will be.
    pub organization: String,
    /// The user who asked.
    pub user: String,
    /// Of the connection.
    pub name: String,
    pub github: String,
    /// The only address that the page's form may be sent to.
    pub origin: String,
    pub form_action: String,
    pub manifest: String,
}

pub async fn offer(app: &App, state: &str, origin: Origin) -> Result<Offer> {
    let registration = open(app, state).await?;
    let authority = authority(app, &registration, origin).await?;
    let base = code_host::base(CodeHost::GitHub, &registration.base_url)?;
    Ok(Offer {
        organization: authority.organization().name.clone(),
        user: authority.caller().user.username.clone(),
        form_action: page_at_github(&base, &registration, state)?,
        manifest: new_app(app, &registration).manifest().to_string(),
        github: base.as_str().to_owned(),
        origin: base.clone_origin().to_owned(),
        name: registration.name,
    })
}

/// Exchanges the code for the keys of the app. The state works once, whatever comes of it: a code does too.
pub async fn finish(app: &App, state: &str, code: &str, origin: Origin) -> Result<Connection> {
    let registration = open(app, state).await?;
    let base = code_host::base(CodeHost::GitHub, &registration.base_url)?;
    let ask = RegisteredApp::of_code(&base, code).map_err(|error| of_input("code", error))?;
    let authority = authority(app, &registration, origin).await?;
    use_up(app, &authority, &registration).await?;
    let taken = async {
        let made = code_host::ask(app, registration.organization_id, ask).await?;
        let (connection, secrets) = checked(app, &authority, &registration, &base, made)?;
        code_host::try_app(app, &connection, &secrets.private_key).await?;
        store(app, &authority, connection, &secrets).await
    };
    taken.await.map_err(|error| Error { message: format!("{} {AGAIN}", error.message), ..error })
}

/// That the member still may, and that no other request uses the state.
async fn use_up(app: &App, authority: &Authority, registration: &Registration) -> Result<()> {
    let mut work = app.begin_step().await?;
    work.hold(authority).await?;
    connections::check_room(&mut work, registration.organization_id).await?;
    if !github_apps::delete(&mut work, registration.id).await? {
        return Err(unknown());
    }
    work.commit().await?;
    Ok(())
}

/// The connection that it will be. What GitHub said is looked at like what any stranger says: another server may be at the address.
fn checked(
    app: &App,
    authority: &Authority,
    registration: &Registration,
    base: &Base,
    made: RegisteredApp,
) -> Result<(Connection, AppSecrets)> {
    let is_plain = |text: &str, most: usize| {
        !text.is_empty() && text.len() <= most && text.bytes().all(|byte| byte.is_ascii_graphic())
    };
    let webhook_secret = made.webhook_secret.unwrap_or_default();
    let is_usable = is_plain(&made.slug, LONGEST_SLUG)
        && is_plain(&webhook_secret, *SECRET_LENGTHS.end())
        && webhook_secret.len() >= *SECRET_LENGTHS.start()
        && made.pem.len() <= LONGEST_KEY;
    if !is_usable {
        let message = "GitHub gave no name, key or secret that can be used.";
        return Err(Error::new(ErrorCode::CodeHostFailed, message));
    }
    let now = app.now();
    let connection = Connection {
        id: app.new_id(),
        organization_id: registration.organization_id,
        user_id: authority.user_id(),
        name: registration.name.clone(),
        kind: ConnectionKind::GithubApp,
        host: CodeHost::GitHub,
        base_url: base.as_str().to_owned(),
        workspace: String::new(),
        username: String::new(),
        // As GitHub names it beside what it does.
        account: format!("{}[bot]", made.slug),
        app_id: made.id.to_string(),
        app_url: page_of(base, &made.html_url).unwrap_or_default(),
        sealed_token: None,
        sealed_app: None,
        created_at: now,
        updated_at: now,
    };
    Ok((connection, AppSecrets { private_key: made.pem, webhook_secret }))
}

/// The app's page, if it is at the code host itself: browsers are sent there.
fn page_of(base: &Base, address: &str) -> Option<String> {
    let url = Url::parse(address).ok()?;
    let is_there = url.origin().ascii_serialization() == base.clone_origin();
    let is_plain = url.query().is_none() && url.fragment().is_none() && url.username().is_empty();
    let page = url.as_str().trim_end_matches('/').to_owned();
    (is_there && is_plain && url.password().is_none() && page.len() <= LONGEST_ADDRESS).then_some(page)
}

async fn store(
    app: &App,
    authority: &Authority,
    mut connection: Connection,
    secrets: &AppSecrets,
) -> Result<Connection> {
    let mut work = app.begin().await?;
    let authority = work.hold(authority).await?;
    connections::check_room(&mut work, connection.organization_id).await?;
    // The app is there by now, and its key is shown once: it is not given up for a name.
    if rows::by_name(&mut work, connection.organization_id, &connection.name).await?.is_some() {
        connection.name = format!("{} {}", connection.name, connection.app_id);
    }
    connections::check_name(&mut work, connection.organization_id, &connection.name, None).await?;
    connection.sealed_app = Some(app.vault.seal_app_secrets(&mut work, connection.id, secrets).await?);
    rows::insert(&mut work, &connection).await?;
    connections::write_down(&mut work, &authority, Action::Create, &connection, "connected the GitHub App");
    work.commit().await?;
    Ok(connection)
}

async fn open(app: &App, state: &str) -> Result<Registration> {
    let found = github_apps::by_state(&mut app.db.read().await?, &token::hash(state), app.now()).await?;
    found.ok_or_else(unknown)
}

fn unknown() -> Error {
    let message = "This link is not known: it has expired, or was used. Ask for a new one.";
    Error::new(ErrorCode::NotFound, message)
}

/// Of the member who asked, as it is now.
async fn authority(app: &App, registration: &Registration, origin: Origin) -> Result<Authority> {
    let Registration { credential_id, is_key, organization_id, .. } = *registration;
    Authority::again(app, Asked { credential_id, is_key, organization_id }, Can::ConnectionCreate, origin).await
}

fn page_at_github(base: &Base, registration: &Registration, state: &str) -> Result<String> {
    let organization = Some(registration.github_organization.as_str()).filter(|name| !name.is_empty());
    NewApp::page(base, organization, state).map_err(|error| of_input("github_organization", error))
}

fn new_app(app: &App, registration: &Registration) -> NewApp {
    NewApp {
        name: format!("Windlass {}", registration.name).chars().take(LONGEST_APP_NAME).collect(),
        home_url: app.config.public_url(),
        hook_url: webhooks::url(app),
        redirect_url: here(app, CALLBACK),
        setup_url: here(app, INSTALLED_PAGE),
        // Others could otherwise install it, and their pushes would arrive here.
        is_public: false,
    }
}

fn here(app: &App, path: &str) -> String {
    format!("{}{path}", app.config.public_url().trim_end_matches('/'))
}
