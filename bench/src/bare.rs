//! The baseline: bare axum handlers that run the same SQL on the same kind of pool and write the rows as flat JSON.
//! No envelope, audit, permissions, relations, limits, metrics, log or request ids.

use std::path::Path;

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, patch, post};
use serde::Serialize;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use uuid::Uuid;
use windlass_api::{CodeHost, DeliveryVerdict, Role, Timestamp};
use windlass_codehost::RepositoryKey;
use windlass_store::applications;
use windlass_store::bearer::{self, Bearer};
use windlass_store::deliveries::{self, Content, Delivery};
use windlass_store::memberships::{self, Joined, Member};
use windlass_store::user_settings::{self, Change};
use windlass_store::{Db, instance};
use windlass_testing::deliveries::hmac_sha256;

use crate::deliveries::BARE_SECRET;

const NOW: Timestamp = Timestamp::from_micros(1_800_000_000_000_000);

#[tokio::main]
pub async fn serve(arguments: &[String]) {
    let port = &arguments[0];
    let db = crate::open(Path::new(&arguments[1]), arguments.get(2).map(String::as_str)).await;
    let router = Router::new()
        .route("/api/v1/auth/is-admin-registered", get(is_admin_registered))
        .route("/api/v1/organizations/users", get(organization))
        .route("/api/v1/organizations", get(organization))
        .route("/api/v1/user/settings/auto-update", patch(auto_update))
        .route("/api/v1/webhook", post(delivery))
        .with_state(db);
    let listener = tokio::net::TcpListener::bind(format!("127.0.0.1:{port}")).await.expect("the port");
    let listener = axum::serve::ListenerExt::tap_io(listener, |stream| drop(stream.set_nodelay(true)));
    axum::serve(listener, router).await.expect("the baseline serves");
}

async fn is_admin_registered(State(db): State<Db>) -> Response {
    let registered = instance::admin_registered(&mut db.read().await.expect("a connection")).await.expect("the row");
    answer(&json!({ "admin_registered": registered }))
}

async fn organization(State(db): State<Db>, headers: HeaderMap) -> Response {
    let bearer = caller(&db, &headers).await;
    let joined = bearer.joined.expect("an organization");
    let organization_id = joined.organization.id;
    let mut conn = db.read().await.expect("a connection");
    let members = memberships::members(&mut conn, organization_id).await.expect("the rows");
    answer(&Rows { organization: flat_joined(&joined), members: members.iter().map(flat_member).collect() })
}

async fn auto_update(State(db): State<Db>, headers: HeaderMap, body: axum::body::Bytes) -> Response {
    let bearer = caller(&db, &headers).await;
    let body: Value = serde_json::from_slice(&body).expect("JSON");
    let change = Change { auto_update: body["auto_update"].as_bool(), ..Change::default() };
    let mut tx = db.begin().await.expect("a transaction");
    let settings = user_settings::update(&mut tx, bearer.user.id, &change, NOW).await.expect("the row").expect("a row");
    let shared = memberships::shared_by_user(&mut tx, bearer.user.id, bearer.user.id).await.expect("the rows");
    tx.commit().await.expect("a commit");
    answer(&FlatSettings {
        id: settings.id,
        user_id: settings.user_id,
        auto_update: settings.auto_update,
        theme: &settings.theme,
        font_family: &settings.font_family,
        font_size: settings.font_size,
        language: &settings.language,
        organizations: shared.iter().map(flat_joined).collect(),
    })
}

/// The signature is checked, the repository looked up and the delivery stored.
async fn delivery(State(db): State<Db>, headers: HeaderMap, body: axum::body::Bytes) -> Response {
    let text = |name: &str| headers[name].to_str().expect("text").to_owned();
    let proof: String = hmac_sha256(BARE_SECRET.as_bytes(), &body).iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(text("x-hub-signature-256"), format!("sha256={proof}"), "the signature");
    let value: Value = serde_json::from_slice(&body).expect("JSON");
    let part = |value: &Value| value.as_str().expect("text").to_owned();
    let key = RepositoryKey::of(&part(&value["repository"]["clone_url"])).expect("a repository");
    let mut conn = db.read().await.expect("a connection");
    let found = applications::of_repository(&mut conn, &[key.as_str()], 1).await.expect("the rows");
    drop(conn);
    let row = Delivery {
        id: Uuid::from_u128(u128::from_be_bytes(hmac_sha256(b"", &body)[..16].try_into().expect("16 bytes"))),
        application_id: found[0].id,
        host: CodeHost::GitHub,
        event: text("x-github-event"),
        delivery_id: text("x-github-delivery"),
        verdict: DeliveryVerdict::Ignored,
        reason: String::new(),
        reference: part(&value["ref"]),
        before_hash: part(&value["before"]),
        commit_hash: part(&value["after"]),
        pushed_at: value["repository"]["pushed_at"].as_i64(),
        sender: part(&value["sender"]["login"]),
        deployment_id: None,
        replay_of: None,
        ip_address: String::new(),
        body_bytes: 0,
        created_at: NOW,
    };
    let mut tx = db.begin().await.expect("a transaction");
    let content = Content { headers: "{}".into(), body: body.to_vec() };
    deliveries::insert(&mut tx, &row, &content).await.expect("a row");
    tx.commit().await.expect("a commit");
    answer(&json!({ "stored": row.id }))
}

async fn caller(db: &Db, headers: &HeaderMap) -> Bearer {
    let token = headers[header::AUTHORIZATION].to_str().expect("text").strip_prefix("Bearer ").expect("a token");
    let hash: [u8; 32] = Sha256::digest(token.as_bytes()).into();
    let mut conn = db.read().await.expect("a connection");
    bearer::by_session(&mut conn, &hash, None).await.expect("the row").expect("a session")
}

/// Each row once, as it is.
#[derive(Serialize)]
struct Rows<'a> {
    organization: FlatJoined<'a>,
    members: Vec<FlatMember<'a>>,
}

#[derive(Serialize)]
struct FlatMember<'a> {
    id: Uuid,
    role: Role,
    user_id: Uuid,
    username: &'a str,
    email: &'a str,
    is_verified: bool,
    created_at: Timestamp,
    updated_at: Timestamp,
}

#[derive(Serialize)]
struct FlatJoined<'a> {
    id: Uuid,
    role: Role,
    organization_id: Uuid,
    name: &'a str,
    description: &'a str,
    created_at: Timestamp,
    updated_at: Timestamp,
}

#[derive(Serialize)]
struct FlatSettings<'a> {
    id: Uuid,
    user_id: Uuid,
    auto_update: bool,
    theme: &'a str,
    font_family: &'a str,
    font_size: i64,
    language: &'a str,
    organizations: Vec<FlatJoined<'a>>,
}

fn flat_member(member: &Member) -> FlatMember<'_> {
    FlatMember {
        id: member.membership.id,
        role: member.membership.role,
        user_id: member.user.id,
        username: &member.user.username,
        email: &member.user.email,
        is_verified: member.user.is_verified,
        created_at: member.user.created_at,
        updated_at: member.user.updated_at,
    }
}

fn flat_joined(joined: &Joined) -> FlatJoined<'_> {
    FlatJoined {
        id: joined.membership.id,
        role: joined.membership.role,
        organization_id: joined.organization.id,
        name: &joined.organization.name,
        description: &joined.organization.description,
        created_at: joined.organization.created_at,
        updated_at: joined.organization.updated_at,
    }
}

fn answer(value: &impl Serialize) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], serde_json::to_vec(value).expect("JSON")).into_response()
}
