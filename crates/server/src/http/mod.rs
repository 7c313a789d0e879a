//! What is asked, and what is answered. The whole surface of the product is the table in [`table`].

mod api_keys;
mod applications;
mod audit;
mod auth;
mod body;
mod compress;
mod deployments;
mod docs;
mod events;
mod head;
mod invitations;
mod logs;
mod members;
mod notification;
mod observe;
pub mod openapi;
mod organizations;
mod origin;
mod page;
mod params;
mod read_only;
mod respond;
mod second_factor;
mod sessions;
mod system;
mod table;
mod users;

use std::sync::Arc;

use axum::Router;
use axum::extract::Request;
use axum::http::HeaderValue;
use axum::middleware;
use axum::routing::get;
use tower::util::option_layer;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::cors::CorsLayer;
use windlass_api::*;

use crate::app::App;
use crate::error::Error;
use table::{Table, anyone, member_who, user};

/// Every route under `/api/v1`: who may call it, what goes in, what comes out, and what else can go wrong.
#[rustfmt::skip]
fn table() -> Table {
    use ErrorCode::*;
    Table::default()
        // The server itself
        .get("/health",       system::health, anyone::<Health>("Health"))
        .get("/health/ready", system::ready,  anyone::<Health>("Readiness"))
        // Coming in and going out
        .get("/auth/is-admin-registered", auth::is_admin_registered, anyone::<AdminRegistered>("Is admin registered"))
        .post("/auth/register", auth::register, anyone::<LoggedIn>("Register").body::<Register>().errors(&[
            SetupTokenRequired, RegistrationClosed, InvitationForAnotherAddress, NotFound, EmailTaken]))
        .post("/auth/login",    auth::login,    anyone::<LoggedIn>("Log in").body::<Login>().errors(&[
            InvalidCredentials, CodeRequired, InvalidCode]))
        .post("/auth/logout",   auth::logout,   user::<()>("Log out"))
        .post("/auth/refresh",  auth::refresh,  user::<LoggedIn>("Refresh login"))
        .post("/auth/password", auth::change_password, user::<()>("Change password").body::<ChangePassword>())
        .get("/auth/sessions",  sessions::list, user::<Vec<Session>>("List sessions"))
        .delete("/auth/sessions/{session_id}", sessions::revoke, user::<()>("Revoke session").errors(&[NotFound]))
        // The second factor
        .post("/auth/setup-2fa",   second_factor::set_up,  user::<TwoFactorSetup>("Set up second factor").body::<SetUpTwoFactor>()
            .errors(&[TwoFactorState]))
        .post("/auth/verify-2fa",  second_factor::confirm, user::<RecoveryCodes>("Confirm second factor").body::<TwoFactorCode>()
            .errors(&[TwoFactorState, InvalidCode]))
        .post("/auth/disable-2fa", second_factor::disable, user::<()>("Disable second factor").body::<TwoFactorCode>()
            .errors(&[TwoFactorState, InvalidCode]))
        .post("/auth/recovery-codes", second_factor::renew_recovery_codes, user::<RecoveryCodes>("Renew recovery codes")
            .body::<TwoFactorCode>().errors(&[TwoFactorState, InvalidCode]))
        // Keys for programs
        .post("/auth/api-keys", api_keys::create,   user::<ApiKeyCreated>("Create API key").body::<CreateApiKey>().errors(&[NotFound, Conflict]))
        .get("/auth/api-keys",  api_keys::list_own, user::<Vec<ApiKey>>("List my API keys"))
        .delete("/auth/api-keys/{key_id}", api_keys::revoke_own, user::<()>("Revoke my API key").errors(&[NotFound]))
        .get("/organizations/api-keys", api_keys::list, member_who::<Vec<ApiKey>>("List API keys", Can::ApiKeyRead)
            .query::<OrganizationQuery>().body::<OrganizationId>())
        .delete("/organizations/api-keys/{key_id}", api_keys::revoke, member_who::<()>("Revoke API key", Can::ApiKeyDelete)
            .query::<OrganizationQuery>())
        // The caller
        .get("/user",                        users::get,         user::<User>("Get user"))
        .patch("/user/name",                 users::rename,      user::<User>("Update user name").body::<UpdateUserName>())
        .get("/user/settings",               users::settings,    user::<UserSettings>("Get settings"))
        .patch("/user/settings/auto-update", users::auto_update, user::<UserSettings>("Update auto update").body::<UpdateAutoUpdate>())
        .patch("/user/settings/theme",       users::theme,       user::<UserSettings>("Update theme").body::<UpdateTheme>())
        .patch("/user/settings/font",        users::font,        user::<UserSettings>("Update font").body::<UpdateFont>())
        .patch("/user/settings/language",    users::language,    user::<UserSettings>("Update language").body::<UpdateLanguage>())
        .get("/user/organizations",          users::organizations, user::<Vec<OrganizationUser>>("List my organizations"))
        .patch("/user/organization",         users::switch,      user::<User>("Switch default organization").body::<SwitchOrganization>()
            .errors(&[NotFound]))
        // Organizations
        .post("/organizations",   organizations::create, user::<Organization>("Create organization").body::<CreateOrganization>()
            .errors(&[Conflict]))
        .get("/organizations",    organizations::get,    member_who::<Organization>("Get organization", Can::OrganizationRead)
            .query::<OrganizationQuery>().body::<OrganizationId>())
        .put("/organizations",    organizations::update, member_who::<Organization>("Update organization", Can::OrganizationUpdate)
            .query::<OrganizationQuery>().body::<UpdateOrganization>())
        .delete("/organizations", organizations::delete, member_who::<()>("Delete organization", Can::OrganizationDelete)
            .query::<OrganizationQuery>().body::<OrganizationId>().errors(&[OrganizationNotEmpty]))
        // Their members
        .get("/organizations/users", members::list, member_who::<Vec<OrganizationUser>>("Get organization users", Can::MemberRead)
            .query::<OrganizationQuery>().body::<OrganizationId>())
        .post("/organizations/remove-user", members::remove, member_who::<()>("Remove user", Can::MemberDelete).note("Everybody may remove themselves.")
            .query::<OrganizationQuery>().body::<RemoveUser>().errors(&[LastOwner]))
        .post("/organizations/update-user-role", members::change_role, member_who::<OrganizationUser>("Update user role", Can::MemberUpdate)
            .query::<OrganizationQuery>().body::<UpdateUserRole>().errors(&[LastOwner]))
        // Invitations to them
        .get("/organizations/invites", invitations::list, member_who::<Vec<Invitation>>("List invitations", Can::MemberRead)
            .query::<OrganizationQuery>().body::<OrganizationId>())
        .delete("/organizations/invites/{invitation_id}", invitations::withdraw, member_who::<()>("Withdraw invitation", Can::MemberCreate)
            .query::<OrganizationQuery>())
        .post("/organizations/invite/send", invitations::send, member_who::<InvitationCreated>("Send invitation", Can::MemberCreate)
            .query::<OrganizationQuery>().body::<SendInvitation>().errors(&[AlreadyMember, Conflict]))
        .post("/organizations/invite/accept", invitations::accept, user::<OrganizationUser>("Accept invitation")
            .body::<AcceptInvitation>().errors(&[NotFound, InvitationForAnotherAddress, AlreadyMember, Conflict]))
        // Applications
        .post("/deploy/application",   applications::deploy, member_who::<Application>("Handle deploy", Can::DeployCreate)
            .note("The same name and repository again deploys the application again; a request that changes it also needs `deploy:update`.")
            .body::<CreateDeployment>().idempotency_key().errors(&[NameTaken, DomainTaken, IdempotencyKeyReused, Conflict]))
        .get("/deploy/applications",   applications::list,   member_who::<Applications>("List applications", Can::DeployRead)
            .query::<ApplicationsQuery>())
        .get("/deploy/application",    applications::get,    member_who::<Application>("Get application", Can::DeployRead)
            .query::<ApplicationQuery>())
        .put("/deploy/application",    applications::update, member_who::<Application>("Update application", Can::DeployUpdate)
            .body::<UpdateApplication>().errors(&[NameTaken, DomainTaken, Conflict]))
        .delete("/deploy/application", applications::delete, member_who::<()>("Delete application", Can::DeployDelete)
            .note("It stays visible until everything of it is gone.").body::<DeleteApplication>())
        .put("/deploy/application/labels", applications::set_labels, member_who::<Application>("Update labels", Can::DeployUpdate)
            .query::<ApplicationQuery>().body::<UpdateLabels>().errors(&[Conflict]))
        .post("/deploy/application/stop", applications::stop, member_who::<Application>("Stop application", Can::DeployUpdate)
            .body::<ApplicationId>().errors(&[Conflict]))
        // Their deployments
        .post("/deploy/application/start",    deployments::start,    member_who::<ApplicationDeployment>("Start application", Can::DeployUpdate)
            .note("What was live last, after a stop.").body::<ApplicationId>().errors(&[Conflict]))
        .post("/deploy/application/redeploy", deployments::redeploy, member_who::<ApplicationDeployment>("Redeploy application", Can::DeployUpdate)
            .note("The newest commit with the present configuration.").body::<Redeploy>().errors(&[Conflict]))
        .post("/deploy/application/restart",  deployments::restart,  member_who::<ApplicationDeployment>("Restart application", Can::DeployUpdate)
            .note("The live release in a new container.").body::<Restart>().errors(&[Conflict]))
        .post("/deploy/application/rollback", deployments::rollback, member_who::<ApplicationDeployment>("Roll back application", Can::DeployUpdate)
            .body::<DeploymentId>().errors(&[ReleaseGone, Conflict]))
        .post("/deploy/application/cancel-deployment", deployments::cancel, member_who::<ApplicationDeployment>("Cancel deployment", Can::DeployUpdate)
            .body::<DeploymentId>().errors(&[Conflict]))
        .get("/deploy/application/deployments", deployments::list, member_who::<Deployments>("List deployments", Can::DeployRead)
            .query::<DeploymentsQuery>())
        .get("/deploy/application/deployments/{deployment_id}", deployments::get, member_who::<ApplicationDeployment>("Get deployment by id", Can::DeployRead))
        // What they print
        .get("/deploy/application/logs/{application_id}", logs::list, member_who::<ApplicationLogs>("Get logs of an application", Can::DeployRead)
            .query::<LogsQuery>().query::<LogFilter>().query::<LogDeployment>())
        .get("/deploy/application/logs/{application_id}/follow", logs::follow, member_who::<ApplicationLog>("Follow logs of an application", Can::DeployRead)
            .note(FOLLOWING).query::<FollowLogsQuery>().query::<LogFilter>().query::<LogDeployment>().events())
        .get("/deploy/application/logs/{application_id}/download", logs::download, member_who::<()>("Download logs of an application", Can::DeployRead)
            .note(DOWNLOADING).query::<LogFilter>().query::<LogDeployment>().text())
        .get("/deploy/application/deployments/{deployment_id}/logs", logs::list_of_deployment, member_who::<ApplicationLogs>("Get deployment logs", Can::DeployRead)
            .query::<LogsQuery>().query::<LogFilter>())
        .get("/deploy/application/deployments/{deployment_id}/logs/follow", logs::follow_deployment, member_who::<ApplicationLog>("Follow deployment logs", Can::DeployRead)
            .note(FOLLOWING).query::<FollowLogsQuery>().query::<LogFilter>().events())
        .get("/deploy/application/deployments/{deployment_id}/logs/download", logs::download_of_deployment, member_who::<()>("Download deployment logs", Can::DeployRead)
            .note(DOWNLOADING).query::<LogFilter>().text())
        // What happens
        .get("/events", events::follow, member_who::<Event>("Follow events", Can::DeployRead)
            .note(EVENTS).query::<EventsQuery>().events())
        // What was done
        .get("/audit/logs", audit::list, member_who::<AuditActivities>("Get recent audit logs", Can::AuditRead).query::<AuditQuery>())
        // Where notifications go
        .put("/notification/webhook",    notification::put_webhook,    member_who::<WebhookConfig>("Update webhook config", Can::WebhookUpdate)
            .query::<OrganizationQuery>().body::<UpdateWebhookConfig>())
        .post("/notification/webhook",   notification::create_webhook, member_who::<()>("Create webhook config", Can::WebhookCreate)
            .query::<OrganizationQuery>().body::<CreateWebhookConfig>().errors(&[AlreadyExists]).bare())
        .delete("/notification/webhook", notification::delete_webhook, member_who::<()>("Delete webhook config", Can::WebhookDelete)
            .query::<OrganizationQuery>().body::<DeleteWebhookConfig>())
        .get("/notification/webhook/{type}", notification::get_webhook, member_who::<WebhookConfig>("Get webhook config", Can::WebhookRead)
            .query::<OrganizationQuery>())
        .post("/notification/smtp",   notification::create_smtp, member_who::<SmtpConfig>("Create SMTP configuration", Can::SmtpUpdate)
            .query::<OrganizationQuery>().body::<CreateSmtpConfig>().errors(&[AlreadyExists]))
        .get("/notification/smtp",    notification::get_smtp,    member_who::<SmtpConfig>("Get SMTP configuration", Can::SmtpRead)
            .query::<OrganizationQuery>())
        .put("/notification/smtp",    notification::update_smtp, member_who::<SmtpConfig>("Update SMTP configuration", Can::SmtpUpdate)
            .query::<OrganizationQuery>().body::<UpdateSmtpConfig>())
        .delete("/notification/smtp", notification::delete_smtp, member_who::<()>("Delete SMTP configuration", Can::SmtpDelete)
            .note("Succeeds also when there is none.")
            .query::<OrganizationQuery>().body::<DeleteSmtpConfig>().bare())
}

const FOLLOWING: &str = "Server-sent events: the data of each is an `ApplicationLog` without its relations, the id its cursor. An event called `gap` \
    with `{\"missing\": n}` tells that n of the application's lines, whether they would have been sent or not, were removed \
    meanwhile. What has only an id, at the beginning and every 15 seconds, says how far the lines were looked at. The stream ends when the server \
    stops, when the caller may not read any more, and when nothing of it was taken for too long; with `Last-Event-ID` nothing is lost or repeated. \
    How many can follow or download at once is limited for each organization.";
const EVENTS: &str = "Server-sent events of the current organization: the data of each is an `Event`, the id its number. An event called `gap` \
    tells that some were removed meanwhile. What has only an id, at the beginning and every 15 seconds, says how far was looked. The stream ends \
    when the server stops, when the caller may not read any more, and when nothing of it was taken for too long; with `Last-Event-ID` nothing \
    is lost or repeated. How many can follow at once is limited for each organization.";
const DOWNLOADING: &str = "One line each: time, stream, step and text. It ends with the newest line at the time of the request. Where lines of the \
    application were removed meanwhile, a line in brackets says how many. An answer that is cut off is not complete: also that of a caller \
    who may not read any more.";

/// The API description, as served and as checked in.
pub fn description() -> serde_json::Value {
    openapi::document(&table())
}

pub fn router(app: Arc<App>) -> Router {
    let table = table();
    let description = openapi::document(&table);
    let routes = table.into_router().merge(docs::routes(&description)).merge(page::routes());
    around(routes.route("/metrics", get(system::metrics)), app)
}

/// What holds for every route, whatever it does. The last layer is the outermost.
pub fn around(routes: Router<Arc<App>>, app: Arc<App>) -> Router {
    routes
        .fallback(no_such_path)
        .method_not_allowed_fallback(no_such_method)
        .layer(CatchPanicLayer::custom(observe::panicked))
        .layer(option_layer(cors(&app.config.cors_origins)))
        .layer(compress::layer())
        .layer(middleware::map_request(compress::negotiate))
        .layer(middleware::from_fn_with_state(app.clone(), observe::observe))
        .with_state(app)
}

async fn no_such_path(request: Request) -> Error {
    let path: String = request.uri().path().chars().take(200).collect();
    let message = format!("There is nothing at {path}. The API is described at /api/v1/docs.");
    Error::new(ErrorCode::NotFound, message)
}

async fn no_such_method(request: Request) -> Error {
    let message = format!("{} is not possible here.", request.method());
    Error::new(ErrorCode::MethodNotAllowed, message)
}

/// Closed unless the operator names origins. Tokens travel in a header, so no credentials are allowed.
fn cors(origins: &[String]) -> Option<CorsLayer> {
    use axum::http::{Method, header};
    if origins.is_empty() {
        return None;
    }
    let origins: Vec<HeaderValue> = origins.iter().filter_map(|origin| origin.parse().ok()).collect();
    let layer = CorsLayer::new()
        .allow_origin(origins)
        .allow_methods([Method::GET, Method::POST, Method::PUT, Method::PATCH, Method::DELETE])
        .allow_headers([
            header::AUTHORIZATION,
            header::CONTENT_TYPE,
            header::HeaderName::from_static(crate::auth::caller::ORGANIZATION_HEADER),
            header::HeaderName::from_static(applications::IDEMPOTENCY_HEADER),
            header::HeaderName::from_static(logs::LAST_EVENT_ID),
        ]);
    Some(layer)
}
