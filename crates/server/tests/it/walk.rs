//! Walks the API description: no route escapes these rules, and a route that this file does not know fails the test.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::AtomicUsize;

use axum::http::Method;
use serde_json::{Value, json};
use uuid::Uuid;
use windlass_api::{Can, Channel, NoticeState, Role};
use windlass_server::auth::token::Token;
use windlass_store::email_changes::{self, EmailChange};
use windlass_store::notices::{self, Notice};
use windlass_store::{Kind, audit};
use windlass_testing::git::GitServer;
use windlass_testing::gitea::Gitea;
use windlass_testing::on_both_databases;
use windlass_testing::smtp::SmtpServer;

use crate::support::{Call, PASSWORD, Person, Reply, START, TestServer, id_of, kind, snapshot};
use crate::{deliveries, second_factor, uploads};

on_both_databases!(world: every_route_keeps_the_rules);
on_both_databases!(kind: every_answer_is_reviewed);

/// Routes that need no login.
const PUBLIC: [&str; 9] = [
    "health",
    "readiness",
    "is_admin_registered",
    "register",
    "log_in",
    "request_password_reset",
    "reset_password",
    "verify_email",
    "handle_webhook_from_a_code_host",
];

/// What is asked with a body, and changes nothing.
const CHANGES_NOTHING: [&str; 2] = ["plan_extension", "preview_build"];

/// One operation of the description.
pub struct Operation {
    pub id: String,
    pub method: Method,
    pub path: String,
    pub spec: Value,
}

pub fn operations() -> Vec<Operation> {
    let description = windlass_server::http::description();
    let mut all = Vec::new();
    for (path, methods) in description["paths"].as_object().unwrap() {
        for (method, spec) in methods.as_object().unwrap() {
            all.push(Operation {
                id: spec["operationId"].as_str().unwrap().to_owned(),
                method: method.to_uppercase().parse().unwrap(),
                path: path.strip_prefix("/api/v1").unwrap().to_owned(),
                spec: spec.clone(),
            });
        }
    }
    all
}

/// Where the tests' notifications would go. Reserved names do not resolve.
pub const WEBHOOK_URL: &str = "https://hooks.example/services/T0000/B0000/very-secret-path";

pub fn smtp() -> Value {
    json!({
        "host": "mail.example", "port": 2525, "username": "ops", "password": "a very secret password",
        "from_email": "ops@example.org", "from_name": "Operations", "security": "starttls", "is_active": true,
    })
}

/// People of one organization, one per role, and a member of another one.
pub struct World {
    pub server: TestServer,
    pub people: BTreeMap<Role, Person>,
    pub stranger: Person,
    /// What the admin has besides: no other user may learn of it.
    pub secret: Uuid,
    /// How many were made, so that each has a name of its own.
    pub applications: AtomicUsize,
    /// Of the application that was last given one for its deliveries.
    pub webhook_secret: Mutex<String>,
    /// A code host that connections lead to, with the repository `ada/shop`.
    pub gitea: Gitea,
    /// Serves the repository `shop`.
    pub git: GitServer,
    /// Takes the mails that are sent at once; the others wait, because there is no worker.
    _mails: SmtpServer,
}

/// For `on_both_databases!`.
pub async fn world(kind: Kind) -> World {
    let mails = SmtpServer::start();
    let mail_port = mails.port().to_string();
    // The code host is on this machine.
    World::new(
        TestServer::with(
            kind,
            &[
                ("allow-private-targets", "true"),
                ("connection-calls", "100000"),
                ("organization-connections", "1000"),
                ("organization-registries", "1000"),
                ("organization-certificates", "1000"),
                ("acme-directories", "https://acme.example.org/directory"),
                ("organization-applications", "10000"),
                ("organization-volumes", "10000"),
                ("organization-uploads", "10000"),
                ("user-uploads", "10000"),
                ("organization-uptime-checks", "10000"),
                ("public-url", "http://127.0.0.1:7780"),
                ("mail-host", "127.0.0.1"),
                ("mail-port", &mail_port),
                ("mail-security", "none"),
                ("mail-from", "windlass@example.org"),
                ("account-mails", "100000"),
            ],
        )
        .await,
        mails,
    )
    .await
}

impl World {
    async fn new(server: TestServer, mails: SmtpServer) -> Self {
        let owner = server.admin().await;
        let mut people = BTreeMap::new();
        for role in [Role::Admin, Role::Member, Role::Viewer] {
            people.insert(role, server.join(&owner, role.as_str(), role).await);
        }
        let stranger = server.stranger(&owner, "eve").await;
        people.insert(Role::Owner, owner);
        let gitea = Gitea::start();
        gitea.add_repository("shop");
        let git = GitServer::start();
        let repository = git.repository("shop");
        repository.commit(&[("package.json", "{ \"main\": \"server.js\" }"), ("server.js", "")], "Open the shop");
        let secret = json!({ "name": "Secret of the admin" });
        let secret = id_of(&server.post("/organizations", secret).by(&people[&Role::Admin]).ok().await);
        Self {
            server,
            people,
            stranger,
            secret,
            applications: AtomicUsize::new(0),
            webhook_secret: Mutex::default(),
            gitea,
            git,
            _mails: mails,
        }
    }

    pub fn owner(&self) -> &Person {
        &self.people[&Role::Owner]
    }

    /// A login of its own, so that a call can end or exchange it.
    async fn log_in(&self, person: &Person) -> Person {
        let body = json!({ "email": person.email, "password": PASSWORD });
        let data = self.server.post("/auth/login", body).ok().await;
        Person { token: data["access_token"].as_str().unwrap().to_owned(), ..person.clone() }
    }

    /// A caller who may do everything, and whose login this one call may end.
    pub async fn fresh_caller(&self, operation: &Operation) -> Person {
        match operation.id.as_str() {
            // A changed password ends the user's other logins, which the tests still need.
            "change_password" => {
                let name = format!("changer-{}", self.server.app.new_id());
                self.server.join(self.owner(), &name, Role::Viewer).await
            }
            "log_out" | "refresh_login" => self.log_in(self.owner()).await,
            // So that the others can go on logging in with a password alone.
            "set_up_second_factor" | "confirm_second_factor" | "disable_second_factor" | "renew_recovery_codes" => {
                let name = format!("careful-{}", self.server.app.new_id());
                self.server.join(self.owner(), &name, Role::Viewer).await
            }
            _ => self.owner().clone(),
        }
    }

    /// The owner, as a program with an API key; `user_id` is the key's id.
    pub async fn key(&self, permissions: Vec<&str>) -> Person {
        let owner = self.owner();
        let body = json!({ "name": "k", "organization_id": owner.organization_id, "permissions": permissions });
        let created = self.server.post("/auth/api-keys", body).by(owner).ok().await;
        let token = created["key"].as_str().unwrap().to_owned();
        Person { token, user_id: id_of(&created["api_key"]), ..owner.clone() }
    }

    async fn api_key(&self, person: &Person) -> Uuid {
        let body =
            json!({ "name": "ci", "organization_id": person.organization_id, "permissions": ["organization:read"] });
        id_of(&self.server.post("/auth/api-keys", body).by(person).ok().await["api_key"])
    }

    /// As if a new user had got a mail with this token.
    async fn email_change(&self, email: &str) -> String {
        let name = format!("mover-{}", self.server.app.new_id());
        let user_id = self.server.stranger(self.owner(), &name).await.user_id;
        let (token, expires_at) = (Token::random(), START.plus_seconds(86_400));
        let change = EmailChange { user_id, email: email.to_owned() };
        let mut tx = self.server.app.db.begin().await.unwrap();
        email_changes::put(&mut tx, &change, &token.hash(), expires_at).await.unwrap();
        tx.commit().await.unwrap();
        token.reveal().to_owned()
    }

    async fn smtp(&self) -> Uuid {
        self.server.delete("/notification/smtp").by(self.owner()).ok().await;
        id_of(&self.server.post("/notification/smtp", smtp()).by(self.owner()).ok().await)
    }

    async fn webhook(&self, kind: &str) {
        let body = json!({ "type": kind, "webhook_url": WEBHOOK_URL });
        self.server.put("/notification/webhook", body).by(self.owner()).ok().await;
    }

    /// One that could not be delivered.
    async fn notice(&self) -> Uuid {
        let (app, organization_id) = (&self.server.app, self.owner().organization_id);
        // To a destination of its own, for which no job waits yet.
        let recipient = format!("guest-{}@example.org", app.new_id());
        let notice = Notice {
            id: app.new_id(),
            organization_id: Some(organization_id),
            channel: Channel::Email,
            destination: format!("{organization_id} email {recipient}"),
            recipient,
            position: 1,
            event: "deployment.failed".into(),
            needs: Can::DeployRead.as_str().into(),
            application_id: None,
            title: "shop: the deployment failed".into(),
            message: "{}".into(),
            sealed_message: None,
            state: NoticeState::Failed,
            reason: "The mail server refused the mail: 554 no".into(),
            carried_by: None,
            carries: 0,
            attempts: 1,
            first_tried_at: Some(app.now().micros()),
            next_attempt_at: None,
            expires_at: None,
            created_at: app.now(),
            ended_at: Some(app.now().micros()),
        };
        let mut tx = app.db.begin().await.unwrap();
        notices::insert_all(&mut tx, std::slice::from_ref(&notice)).await.unwrap();
        tx.commit().await.unwrap();
        notice.id
    }

    async fn invite(&self, email: &str) -> Value {
        let body = json!({ "email": email, "organization_id": self.owner().organization_id });
        self.server.post("/organizations/invite/send", body).by(self.owner()).ok().await
    }

    /// A call that succeeds for the owner, with what it needs made first. It names its organization wherever it can.
    pub async fn valid(&self, operation: &Operation, caller: &Person) -> (String, Value) {
        let organization_id = self.owner().organization_id;
        let by_query = |path: &str| (format!("{path}?id={organization_id}"), Value::Null);
        let plain = |body: Value| (operation.path.clone(), body);
        let named = |mut body: Value| {
            body["organization_id"] = json!(organization_id);
            (operation.path.clone(), body)
        };
        let fresh = format!("guest-{}@example.org", self.server.app.new_id());
        match operation.id.as_str() {
            "health"
            | "readiness"
            | "is_admin_registered"
            | "log_out"
            | "refresh_login"
            | "list_sessions"
            | "get_user"
            | "get_instance"
            | "get_figures_of_the_machine"
            | "list_users"
            | "get_settings"
            | "list_my_organizations"
            | "list_my_api_keys" => plain(Value::Null),
            "make_password_reset" => {
                (operation.path.replace("{user_id}", &self.stranger.user_id.to_string()), Value::Null)
            }
            "reset_password" => {
                let guest = fresh.replace("@example.org", "");
                let person = self.server.join(self.owner(), &guest, Role::Viewer).await;
                let path = format!("/instance/users/{}/password-reset", person.user_id);
                let token = self.server.post(&path, json!({})).by(self.owner()).ok().await["token"].clone();
                plain(json!({ "token": token, "password": PASSWORD }))
            }
            "request_password_reset" => plain(json!({ "email": self.stranger.email })),
            "send_test_mail" => plain(Value::Null),
            "change_email" => plain(json!({ "email": fresh, "password": PASSWORD })),
            "verify_email" => plain(json!({ "token": self.email_change(&fresh).await })),
            "verify_audit_log" => by_query(&operation.path),
            "get_recent_audit_logs" => (format!("{}?page_size=100&id={organization_id}", operation.path), Value::Null),
            "register" => {
                let token = self.invite(&fresh).await["token"].clone();
                plain(
                    json!({ "email": fresh, "password": PASSWORD, "token": token, "username": "Guest", "organization": "Guests" }),
                )
            }
            "log_in" => plain(json!({ "email": caller.email, "password": PASSWORD })),
            "change_password" => plain(json!({ "current_password": PASSWORD, "new_password": PASSWORD })),
            "revoke_session" => {
                let other = self.log_in(caller).await;
                let sessions = self.server.get("/auth/sessions").by(&other).ok().await;
                let id = sessions.as_array().unwrap().iter().find(|session| session["current"] == true).unwrap()["id"]
                    .clone();
                (format!("/auth/sessions/{}", id.as_str().unwrap()), Value::Null)
            }
            "set_up_second_factor" => plain(json!({ "password": PASSWORD })),
            // The owner only tries what is refused; a second factor would keep them from logging in.
            "confirm_second_factor" | "disable_second_factor" | "renew_recovery_codes"
                if caller.user_id == self.owner().user_id =>
            {
                plain(json!({ "code": "123456" }))
            }
            "confirm_second_factor" => {
                let secret = second_factor::set_up(&self.server, caller).await;
                plain(json!({ "code": second_factor::code(&self.server, &secret) }))
            }
            "disable_second_factor" | "renew_recovery_codes" => {
                let (_, codes) = second_factor::enable(&self.server, caller).await;
                plain(json!({ "code": codes[0] }))
            }
            "create_api_key" => plain(json!({
                "name": "ci", "organization_id": organization_id, "permissions": ["deploy:create", "deploy:read"],
                "expires_in_days": 30,
            })),
            "list_api_keys" => {
                self.api_key(caller).await;
                by_query(&operation.path)
            }
            "revoke_my_api_key" | "revoke_api_key" => {
                let id = self.api_key(caller).await;
                (operation.path.replace("{key_id}", &id.to_string()), Value::Null)
            }
            "update_webhook_config" => {
                named(json!({ "type": "slack", "webhook_url": WEBHOOK_URL, "is_active": false }))
            }
            "create_webhook_config" => {
                let delete = json!({ "type": "discord", "organization_id": organization_id });
                let _ = self.server.delete("/notification/webhook").json(delete).by(self.owner()).send().await;
                named(json!({ "type": "discord", "webhook_url": WEBHOOK_URL, "is_active": true }))
            }
            "get_webhook_config" => {
                self.webhook("slack").await;
                (format!("/notification/webhook/slack?id={organization_id}"), Value::Null)
            }
            "delete_webhook_config" => {
                self.webhook("webhook").await;
                named(json!({ "type": "webhook" }))
            }
            "get_signing_secret" => {
                self.webhook("webhook").await;
                by_query(&operation.path)
            }
            "rotate_signing_secret" => {
                self.webhook("webhook").await;
                named(json!({}))
            }
            // Nothing listens there.
            "test_webhook" => {
                let body = json!({ "type": "slack", "webhook_url": "http://127.0.0.1:1/hook" });
                self.server.put("/notification/webhook", body).by(self.owner()).ok().await;
                named(json!({ "type": "slack" }))
            }
            "test_smtp_configuration" => {
                self.smtp().await;
                let body = json!({ "host": "127.0.0.1", "port": 1, "password": "" });
                self.server.put("/notification/smtp", body).by(self.owner()).ok().await;
                named(json!({ "to": "ops@example.org" }))
            }
            "get_notification_preferences" => by_query(&operation.path),
            "update_notification_preferences" => named(json!({
                "channel": "slack", "events": ["deployment.failed"], "recoveries": false, "application_ids": [],
            })),
            "list_notices" => {
                self.notice().await;
                by_query(&operation.path)
            }
            "get_notice" | "send_notice_again" => {
                (operation.path.replace("{notice_id}", &self.notice().await.to_string()), Value::Null)
            }
            "create_smtp_configuration" => {
                self.server.delete("/notification/smtp").by(self.owner()).ok().await;
                named(smtp())
            }
            "get_smtp_configuration" => {
                self.smtp().await;
                by_query(&operation.path)
            }
            "update_smtp_configuration" => {
                let id = self.smtp().await;
                let mut body = smtp();
                body["id"] = json!(id);
                named(body)
            }
            "delete_smtp_configuration" => named(json!({ "id": self.smtp().await })),
            "update_user_name" => plain(json!({ "name": "Ada King" })),
            "update_auto_update" => plain(json!({ "auto_update": false })),
            "update_theme" => plain(json!({ "theme": "dark" })),
            "update_font" => plain(json!({ "font_family": "Iosevka", "font_size": 14 })),
            "update_language" => plain(json!({ "language": "de" })),
            "switch_default_organization" => plain(json!({ "organization_id": organization_id })),
            "create_organization" => plain(json!({ "name": "Another", "description": "One more" })),
            "get_organization" | "get_organization_users" | "list_invitations" => by_query(&operation.path),
            "update_organization" => plain(json!({ "id": organization_id, "name": "Engines", "description": "" })),
            "delete_organization" => {
                let doomed = self.server.post("/organizations", json!({ "name": "Doomed" })).by(caller).ok().await;
                plain(json!({ "id": doomed["id"] }))
            }
            "remove_user" => {
                let guest = self.server.join(self.owner(), &fresh.replace("@example.org", ""), Role::Viewer).await;
                plain(json!({ "organization_id": organization_id, "user_id": guest.user_id }))
            }
            "update_user_role" => {
                let user_id = self.people[&Role::Viewer].user_id;
                plain(json!({ "organization_id": organization_id, "user_id": user_id, "role": "viewer" }))
            }
            "send_invitation" => plain(json!({ "organization_id": organization_id, "email": fresh, "role": "member" })),
            "accept_invitation" => {
                let other =
                    self.server.post("/organizations", json!({ "name": "Inviting" })).by(&self.stranger).ok().await;
                let body = json!({ "email": caller.email, "organization_id": other["id"] });
                let token =
                    self.server.post("/organizations/invite/send", body).by(&self.stranger).ok().await["token"].clone();
                plain(json!({ "token": token }))
            }
            "withdraw_invitation" => {
                let id = self.invite(&fresh).await["invitation"]["id"].clone();
                (format!("/organizations/invites/{}", id.as_str().unwrap()), Value::Null)
            }
            _ => self.about_application(operation).await,
        }
    }

    /// Puts a member into an organization that `valid` has just made.
    async fn let_in(&self, person: &Person, organization_id: &Value, role: Role) {
        let body = json!({ "email": person.email, "role": role, "organization_id": organization_id });
        let token = self.server.post("/organizations/invite/send", body).by(self.owner()).ok().await["token"].clone();
        self.server.post("/organizations/invite/accept", json!({ "token": token })).by(person).ok().await;
    }

    pub fn call(&self, operation: &Operation, (path, body): &(String, Value)) -> Call<'_> {
        let call = self.server.call(operation.method.clone(), path);
        if operation.id == "handle_webhook_from_a_code_host" {
            return deliveries::signed_call(call, &deliveries::sample_of(body), &self.webhook_secret.lock().unwrap());
        }
        if operation.id == "continue_upload" {
            return call.body(uploads::folder());
        }
        if body.is_null() { call } else { call.json(body.clone()) }
    }

    /// Whether an audit entry was written by the request that got this answer.
    pub async fn is_audited(&self, reply: &Reply) -> bool {
        let request_id = reply.headers["x-request-id"].to_str().unwrap();
        let mut conn = self.server.app.db.read().await.unwrap();
        let mut organizations: Vec<Option<Uuid>> = vec![None, Some(self.owner().organization_id)];
        organizations.push(Some(self.stranger.organization_id));
        organizations.push(reply.json["data"]["organization_id"].as_str().map(|id| id.parse().unwrap()));
        for organization in organizations {
            let chain = organization.unwrap_or(audit::INSTANCE_CHAIN);
            let entries = audit::before(&mut conn, chain, i64::MAX, 50).await.unwrap();
            if entries.iter().any(|entry| entry.metadata.contains(request_id)) {
                return true;
            }
        }
        false
    }
}

async fn every_route_keeps_the_rules(world: World) {
    for operation in operations() {
        let id = operation.id.as_str();
        let is_public = operation.spec["security"] == json!([]);
        assert_eq!(is_public, PUBLIC.contains(&id), "{id} is public in one place only");
        if !is_public {
            refuses_strangers_and_nobody(&world, &operation).await;
        }
        if let Some(permission) = operation.spec["x-permission"].as_str() {
            refuses_lesser_roles(&world, &operation, permission).await;
        }
        if !is_public {
            knows_what_a_key_may(&world, &operation).await;
        }
        works_and_is_audited(&world, &operation).await;
    }
}

/// The whole JSON of every operation, each in a world of its own, so that none depends on another.
async fn every_answer_is_reviewed(kind: Kind) {
    for operation in operations() {
        let world = world(kind).await;
        let caller = world.fresh_caller(&operation).await;
        let valid = world.valid(&operation, &caller).await;
        let reply = world.call(&operation, &valid).by(&caller).send().await;
        // What is no JSON is shown line by line.
        let shown = if reply.json.is_null() { json!(reply.text.lines().collect::<Vec<_>>()) } else { reply.json };
        snapshot(&operation.id, &shown);
    }
}

async fn refuses_strangers_and_nobody(world: &World, operation: &Operation) {
    let owner = world.owner();
    let valid = world.valid(operation, owner).await;
    let mut replies = Vec::new();
    for credentials in ["", "Bearer ", "Bearer made-up", "Basic YWRhOnB3"] {
        let call = world.call(operation, &valid);
        let call = if credentials.is_empty() { call } else { call.header("authorization", credentials) };
        replies.push((401, call.send().await));
    }
    replies.push((400, world.call(operation, &valid).by(owner).header("x-organization-id", "17").send().await));
    replies.push((403, world.call(operation, &valid).by(owner).within(world.stranger.organization_id).send().await));
    replies.push((403, world.call(operation, &valid).by(owner).within(Uuid::nil()).send().await));
    if names_a_record(operation) {
        replies.push((404, world.call(operation, &valid).by(&world.stranger).send().await));
    }
    for (status, reply) in replies {
        assert_eq!(reply.status, status, "{}: {}", operation.id, reply.text);
        assert!(!world.is_audited(&reply).await, "{}: a refused call was recorded as a change", operation.id);
    }
}

/// Whether the caller says which record is meant, by an id in the path, the query or the body.
fn names_a_record(operation: &Operation) -> bool {
    // Who is no admin of the installation learns nothing about users by it.
    if operation.id == "make_password_reset" {
        return false;
    }
    let named = |parameter: &Value| parameter["in"] != "header" && parameter["schema"]["format"] == "uuid";
    let by_parameter = operation.spec["parameters"].as_array().into_iter().flatten().any(named);
    by_parameter || body_fields(operation).iter().any(|(_, schema, _)| schema["format"] == "uuid")
}

/// Whether a field that the body's description does not list is refused.
pub fn refuses_unknown_fields(operation: &Operation) -> bool {
    let reference = operation.spec["requestBody"]["content"]["application/json"]["schema"]["$ref"].as_str().unwrap();
    let description = windlass_server::http::description();
    description.pointer(reference.strip_prefix('#').unwrap()).unwrap()["additionalProperties"] == json!(false)
}

/// The fields of an operation's body: name, schema, and whether it is required.
pub fn body_fields(operation: &Operation) -> Vec<(String, Value, bool)> {
    let Some(reference) = operation.spec["requestBody"]["content"]["application/json"]["schema"]["$ref"].as_str()
    else {
        return Vec::new();
    };
    let description = windlass_server::http::description();
    let schema = description.pointer(reference.strip_prefix('#').unwrap()).unwrap();
    let is_required = |name: &str| schema["required"].as_array().is_some_and(|all| all.contains(&name.into()));
    let fields = schema["properties"].as_object().unwrap();
    fields.iter().map(|(name, schema)| (name.clone(), schema.clone(), is_required(name))).collect()
}

async fn refuses_lesser_roles(world: &World, operation: &Operation, permission: &str) {
    let can = Can::all().find(|can| can.as_str() == permission).expect("a permission of the table");
    let valid = world.valid(operation, world.owner()).await;
    for role in Role::ALL.iter().copied().filter(|role| *role < can.least_role()) {
        let person = &world.people[&role];
        if operation.id == "delete_organization" {
            world.let_in(person, &valid.1["id"], role).await;
        }
        let mut replies = vec![world.call(operation, &valid).by(person).send().await];
        // Permission comes before the body: what they send beyond the ids does not matter.
        if valid.1.is_object() && operation.method != Method::DELETE {
            let mut nonsense = valid.clone();
            nonsense.1["nonsense"] = json!(1);
            replies.push(world.call(operation, &nonsense).by(person).send().await);
        }
        for reply in replies {
            let code = &reply.json["error"];
            assert_eq!((reply.status, code), (403, &json!("forbidden")), "{}: {}", operation.id, reply.text);
            assert!(reply.json["message"].as_str().unwrap().contains(permission), "{}", reply.text);
            assert!(!world.is_audited(&reply).await);
        }
    }
}

/// An API key is for what has a permission, in its own organization, and only with that permission.
async fn knows_what_a_key_may(world: &World, operation: &Operation) {
    let owner = world.owner();
    let all: Vec<_> = Role::Owner.permissions(true).into_iter().map(Can::as_str).collect();
    let with_key = async |permissions: Vec<&str>| {
        let key = world.key(permissions).await;
        let valid = world.valid(operation, owner).await;
        let reply = world.call(operation, &valid).by(&key).send().await;
        world.server.delete(&format!("/auth/api-keys/{}", key.user_id)).by(owner).ok().await;
        reply
    };
    let Some(permission) = operation.spec["x-permission"].as_str() else {
        let reply = with_key(all).await;
        assert_eq!((reply.status, &reply.json["error"]), (403, &json!("login_required")), "{}", operation.id);
        assert!(!world.is_audited(&reply).await, "{}", operation.id);
        return;
    };
    let reply = with_key(all.iter().copied().filter(|name| *name != permission).collect()).await;
    // What the test makes for this one is an organization that the key does not belong to.
    let is_elsewhere = operation.id == "delete_organization";
    assert_eq!(reply.status, if is_elsewhere { 404 } else { 403 }, "{}: {}", operation.id, reply.text);
    assert!(!world.is_audited(&reply).await, "{}", operation.id);
    if !is_elsewhere {
        assert!(reply.json["message"].as_str().unwrap().contains(permission), "{}", reply.text);
        let reply = with_key(all).await;
        assert_eq!(reply.status, 200, "{}: {}", operation.id, reply.text);
    }
}

async fn works_and_is_audited(world: &World, operation: &Operation) {
    let caller = world.fresh_caller(operation).await;
    let valid = world.valid(operation, &caller).await;
    let call = world.call(operation, &valid);
    let is_public = PUBLIC.contains(&operation.id.as_str());
    let mut reply = if is_public { call.send().await } else { call.by(&caller).send().await };
    assert_eq!(reply.status, 200, "{}: {}", operation.id, reply.text);
    assert!(!reply.text.contains("Secret of the admin"), "{}: {}", operation.id, reply.text);
    for foreign in [world.secret, world.stranger.organization_id] {
        // That a member founded another organization is told, with its id; what it is and who is in it is not.
        let is_told = operation.id == "get_recent_audit_logs";
        assert!(
            is_told || !reply.text.contains(&foreign.to_string()),
            "{} shows {foreign}: {}",
            operation.id,
            reply.text
        );
    }
    if operation.method != Method::GET && !CHANGES_NOTHING.contains(&operation.id.as_str()) {
        // A deleted organization's entries are still there, under its id.
        if operation.id == "delete_organization" {
            reply.json["data"] = json!({ "organization_id": valid.1["id"] });
        }
        world.server.resets_end().await;
        assert!(world.is_audited(&reply).await, "{} changes state and leaves no audit entry", operation.id);
    }
}
