//! Apps of GitHub: the link that a member asks for, and the pages that a browser sees on the way to GitHub and back. The pages need no
//! login: the state in their address, which only that link and GitHub have, proves who asked.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use serde::Deserialize;
use windlass_api::{Can, CreateGithubApp, ErrorCode, GithubAppLink};

use super::body::Payload;
use super::docs::escape;
use super::params::RawParams;
use super::read_only;
use super::respond::{Answer, success};
use super::table::{Table, member_who};
use crate::app::App;
use crate::auth::{Ctx, Origin};
use crate::error::{Error, Result};
use crate::service::github_apps::{self, CALLBACK, INSTALLED_PAGE, NEW_PAGE, Offer};

const POLICY: &str = "default-src 'none'; style-src 'self'; form-action 'none'; frame-ancestors 'none'";

pub fn routes(table: Table) -> Table {
    use ErrorCode::{Conflict, NameTaken};
    table.post(
        "/connections/github-apps",
        create,
        member_who::<GithubAppLink>("Create GitHub App", Can::ConnectionCreate)
            .note("Gives the address of a page from which a person makes the app at GitHub. Its keys become a connection.")
            .body::<CreateGithubApp>()
            .errors(&[NameTaken, Conflict]),
    )
}

pub fn pages() -> Router<Arc<App>> {
    Router::new()
        .route(NEW_PAGE, get(offer))
        .route(CALLBACK, get(callback))
        .route(INSTALLED_PAGE, get(|| async { installed() }))
}

async fn create(ctx: Ctx, body: Payload) -> Answer {
    let authority = ctx.organization(None).await?;
    let input: CreateGithubApp = body.parse()?;
    let link = github_apps::register(&ctx.app, &authority, &input).await?;
    success("Open the link in a browser to make the app at GitHub", link)
}

#[derive(Deserialize)]
struct Returned {
    #[serde(default)]
    state: String,
    #[serde(default)]
    code: String,
}

/// An error as people see it in a browser.
struct Problem(Error);

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        Self(error)
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let Self(error) = self;
        let html = document("This did not work", &paragraph(&error.message));
        let mut response = error.into_response();
        *response.body_mut() = Body::from(html);
        let headers = response.headers_mut();
        headers.remove(header::CONTENT_LENGTH);
        headers.remove(header::WWW_AUTHENTICATE);
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
        headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
        response
    }
}

type Page = std::result::Result<Response, Problem>;

/// Shows whose the app will be, and one button.
async fn offer(State(app): State<Arc<App>>, origin: Origin, params: RawParams) -> Page {
    let Returned { state, .. } = params.parse()?;
    let offer = github_apps::offer(&app, &state, origin).await?;
    let html = document("Make a GitHub App", &form(&offer));
    let policy = POLICY.replace("form-action 'none'", &format!("form-action {}", offer.origin));
    Ok(page(html, HeaderValue::try_from(policy).map_err(Error::internal)?))
}

/// GitHub sends the browser here with a code. From here it goes on to where the app is installed.
async fn callback(State(app): State<Arc<App>>, origin: Origin, params: RawParams) -> Page {
    read_only::check_change(&app)?;
    let Returned { state, code } = params.parse()?;
    let connection = github_apps::finish(&app, &state, &code, origin).await?;
    match connection.install_url() {
        url if url.is_empty() => {
            let text = format!(
                "The app is the connection {} now. Install it at GitHub for your repositories.",
                connection.name
            );
            Ok(plain_page("The app is connected", &text))
        }
        url => Ok(see(&url)?),
    }
}

fn installed() -> Response {
    let text = "The app is installed. The connection lists its repositories, and fetches them for your applications.";
    plain_page("The app is installed", text)
}

fn see(url: &str) -> Result<Response> {
    let place = HeaderValue::try_from(url).map_err(Error::internal)?;
    Ok((StatusCode::SEE_OTHER, [(header::LOCATION, place)]).into_response())
}

fn plain_page(title: &str, text: &str) -> Response {
    page(document(title, &paragraph(text)), HeaderValue::from_static(POLICY))
}

fn page(html: String, policy: HeaderValue) -> Response {
    let media_type = HeaderValue::from_static("text/html; charset=utf-8");
    ([(header::CONTENT_TYPE, media_type), (header::CONTENT_SECURITY_POLICY, policy)], html).into_response()
}

fn form(offer: &Offer) -> String {
    let Offer { organization, user, name, github, form_action, manifest, .. } = offer;
    let [organization, user, name, github] = [organization, user, name, github].map(|text| escape(text));
    format!(
        "<p>{user} asked for this app. Its keys will be stored in the organization <b>{organization}</b> of this Windlass, as the \
         connection <b>{name}</b>: the members of that organization can then deploy the repositories that you install the app \
         for.</p><p>Go on only if you know that organization.</p>\
         <form method=\"post\" action=\"{}\"><input type=\"hidden\" name=\"manifest\" value=\"{}\">\
         <button>Make the app at {github}</button></form>",
        escape(form_action),
        escape(manifest),
    )
}

fn paragraph(text: &str) -> String {
    format!("<p>{}</p>", escape(text))
}

/// `content` is HTML.
fn document(title: &str, content: &str) -> String {
    format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">\
         <title>{title}</title><link rel=\"stylesheet\" href=\"/style.css\"></head><body><main><h1>{title}</h1>{content}\
         </main></body></html>",
        title = escape(title),
    )
}
