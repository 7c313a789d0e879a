//! Connections to code hosts: made, changed and removed, each tried before it is saved.

use uuid::Uuid;
use windlass_api as api;
use windlass_api::{CodeHost, ConnectionKind, CreateConnection, ErrorCode, Given, UpdateConnection};
use windlass_store::applications::Application;
use windlass_store::connections::{self, Connection};

use crate::app::App;
use crate::auth::{Authority, Granted};
use crate::code_host::{self, Failed};
use crate::error::{Error, Result};
use crate::records::connections::connection as record;
use crate::service::audit::{Action, Change, Resource};
use crate::service::outgoing_addresses::check_url;
use crate::service::work::Work;

/// Names of applications that an error lists.
const SHOWN: i64 = 5;

pub async fn create(app: &App, authority: &Authority, input: &CreateConnection) -> Result<api::Connection> {
    let text = |given: &Given<api::Text<1, 200>>| given.value().map(|text| text.to_string()).unwrap_or_default();
    let base = code_host::base(input.host, input.base_url.value().map(|text| &**text).unwrap_or_default())?;
    check_url(app, "base_url", base.as_str()).await?;
    let now = app.now();
    let mut connection = Connection {
        id: app.new_id(),
        organization_id: authority.organization_id(),
        user_id: authority.user_id(),
        name: input.name.to_string(),
        kind: ConnectionKind::Token,
        host: input.host,
        base_url: base.as_str().to_owned(),
        workspace: text(&input.workspace),
        username: text(&input.username),
        account: String::new(),
        app_id: String::new(),
        app_url: String::new(),
        sealed_token: None,
        sealed_app: None,
        created_at: now,
        updated_at: now,
    };
    connection.account = try_out(app, &connection, input.token.reveal()).await?;
    let mut work = app.begin().await?;
    let authority = &work.hold(authority).await?;
    check_name(&mut work, connection.organization_id, &connection.name, None).await?;
    check_room(&mut work, connection.organization_id).await?;
    let token = input.token.reveal();
    connection.sealed_token = Some(app.vault.seal_connection_token(&mut work, connection.id, token).await?);
    connections::insert(&mut work, &connection).await?;
    write_down(&mut work, authority, Action::Create, &connection, "connected the code host");
    work.commit().await?;
    Ok(record(connection))
}

pub async fn update(app: &App, granted: &Granted<Connection>, input: &UpdateConnection) -> Result<api::Connection> {
    let wanted = changed(granted.row().clone(), input);
    let account = match wanted.kind {
        ConnectionKind::Token => {
            let token = match &input.token {
                Some(token) => token.reveal().to_owned(),
                None => app.vault.connection_token(&wanted).await?,
            };
            try_out(app, &wanted, &token).await?
        }
        ConnectionKind::GithubApp => {
            refuse_fields(input)?;
            code_host::try_app(app, &wanted, &app.vault.app_secrets(&wanted).await?.private_key).await?;
            wanted.account.clone()
        }
    };
    let mut work = app.begin().await?;
    let authority = work.hold(granted.authority()).await?;
    // The code host took its time, and others may have changed it meanwhile.
    let now = connections::get(&mut work, wanted.id).await?.ok_or_else(|| Error::not_found("connection"))?;
    let mut connection = changed(now, input);
    (connection.account, connection.updated_at) = (account, app.now());
    check_name(&mut work, connection.organization_id, &connection.name, Some(connection.id)).await?;
    let sealed = match &input.token {
        Some(token) => Some(app.vault.seal_connection_token(&mut work, connection.id, token.reveal()).await?),
        None => None,
    };
    connections::update(&mut work, &connection, sealed.as_deref()).await?;
    write_down(&mut work, &authority, Action::Update, &connection, "changed the connection");
    work.commit().await?;
    Ok(record(connection))
}

/// What an app does not have.
fn refuse_fields(input: &UpdateConnection) -> Result<()> {
    let given = [
        ("token", input.token.is_some()),
        ("username", input.username.value().is_some()),
        ("workspace", input.workspace.value().is_some()),
    ];
    match given.into_iter().find(|(_, is_given)| *is_given) {
        Some((field, _)) => {
            Err(Error::field(field, "is not for the connection of a GitHub App, whose name alone can change"))
        }
        None => Ok(()),
    }
}

/// As the request wants it.
fn changed(mut connection: Connection, input: &UpdateConnection) -> Connection {
    if let Some(name) = &input.name {
        connection.name = name.to_string();
    }
    for (field, given) in [(&mut connection.workspace, &input.workspace), (&mut connection.username, &input.username)] {
        match given {
            Given::Absent => {}
            Given::Empty => field.clear(),
            Given::Value(value) => *field = value.to_string(),
        }
    }
    connection
}

/// Applications that use it must do without first: they could not be fetched any more.
pub async fn delete(app: &App, granted: &Granted<Connection>) -> Result<()> {
    let connection = granted.row();
    let mut work = app.begin().await?;
    let authority = work.hold(granted.authority()).await?;
    let used_by = connections::used_by(&mut work, connection.id, SHOWN).await?;
    if !used_by.is_empty() {
        let names = used_by.join(", ");
        let message = format!("Applications use this connection: {names}. Give them another one first, or none.");
        return Err(Error::new(ErrorCode::Conflict, message));
    }
    connections::delete(&mut work, connection.id).await?;
    write_down(&mut work, &authority, Action::Delete, connection, "removed the connection");
    work.commit().await?;
    Ok(())
}

/// The code host's user that the token belongs to.
async fn try_out(app: &App, connection: &Connection, token: &str) -> Result<String> {
    let host = code_host::api_with(connection, token)?;
    // Tokens of a workspace or a repository are no user's.
    if connection.host == CodeHost::Bitbucket && connection.username.is_empty() {
        let ask = host.repositories(None, 1, 1).map_err(|error| code_host::of_input("workspace", error))?;
        code_host::ask(app, connection.organization_id, ask).await.map_err(Failed::of_field)?;
        return Ok(connection.workspace.clone());
    }
    let ask = host.account();
    let account = code_host::ask(app, connection.organization_id, ask).await;
    account.map(|account| account.login).map_err(Failed::of_field)
}

/// The connection of an application, and the name by which its code host knows the repository. None without a connection.
pub async fn at_code_host(app: &App, application: &Application) -> Result<Option<(Connection, String)>> {
    let Some(id) = application.connection_id else { return Ok(None) };
    let connection = connections::get(&mut app.db.read().await?, id).await?;
    let connection = connection.ok_or_else(|| Error::not_found("connection"))?;
    let name = code_host::full_name(&connection, &application.repository);
    Ok(name.map(|name| (connection, name)))
}

/// That an application can use a connection: it is of the same organization, and leads to the repository.
pub async fn check_use(work: &mut Work<'_>, application: &Application, id: Uuid) -> Result<()> {
    let connection = connections::get(work, id).await?;
    let connection = connection.filter(|found| found.organization_id == application.organization_id);
    let connection =
        connection.ok_or_else(|| Error::field("connection_id", "is no connection of this organization"))?;
    if code_host::full_name(&connection, &application.repository).is_none() {
        let problem = format!("{} leads to {}; the repository is not there", connection.name, connection.base_url);
        return Err(Error::field("connection_id", problem));
    }
    Ok(())
}

/// That no other connection than `own` has the name.
pub(super) async fn check_name(
    work: &mut Work<'_>,
    organization_id: Uuid,
    name: &str,
    own: Option<Uuid>,
) -> Result<()> {
    let other = connections::by_name(work, organization_id, name).await?;
    if other.is_some_and(|other| Some(other.id) != own) {
        let message = format!("name: there is a connection {name} already. Choose another name.");
        return Err(Error::new(ErrorCode::NameTaken, message));
    }
    Ok(())
}

/// That the organization can have one more.
pub(super) async fn check_room(work: &mut Work<'_>, organization_id: Uuid) -> Result<()> {
    let limit = work.app.config.organization_connections;
    if connections::count_of_organization(work, organization_id).await? >= limit {
        let message = format!("An organization can have {limit} connections. Delete one first.");
        return Err(Error::new(ErrorCode::Conflict, message));
    }
    Ok(())
}

pub(super) fn write_down(
    work: &mut Work<'_>,
    authority: &Authority,
    action: Action,
    connection: &Connection,
    verb: &str,
) {
    let change = Change {
        organization_id: Some(connection.organization_id),
        action,
        resource: Resource::Connection,
        resource_id: connection.id,
        summary: &format!("{verb} {}", connection.name),
        details: &[
            ("name", &connection.name),
            ("kind", connection.kind.as_str()),
            ("host", connection.host.as_str()),
            ("base_url", &connection.base_url),
            ("account", &connection.account),
        ],
    };
    work.record(&authority.actor(), &change);
}
