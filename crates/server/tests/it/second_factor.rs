//! The second factor, as its owner uses it.

use serde_json::{Value, json};
use totp_rs::{Builder, Secret};
use windlass_api::Role;
use windlass_testing::on_both_databases;

use crate::support::{Call, PASSWORD, Person, TestServer, server};

/// Begins to set one up; the secret.
pub async fn set_up(server: &TestServer, person: &Person) -> String {
    let setup = server.post("/auth/setup-2fa", json!({ "password": PASSWORD })).by(person).ok().await;
    setup["secret"].as_str().unwrap().to_owned()
}

/// What an authenticator shows at the server's present time.
pub fn code(server: &TestServer, secret: &str) -> String {
    let secret = Secret::try_from_base32(secret).unwrap();
    let seconds = server.app.now().micros() as u64 / 1_000_000;
    Builder::new().with_secret(secret).build().unwrap().generate(seconds).to_string()
}

/// Turns it on; the secret and the recovery codes.
pub async fn enable(server: &TestServer, person: &Person) -> (String, Vec<Value>) {
    let secret = set_up(server, person).await;
    let confirmed = server.post("/auth/verify-2fa", json!({ "code": code(server, &secret) })).by(person).ok().await;
    (secret, confirmed["recovery_codes"].as_array().unwrap().clone())
}

on_both_databases!(server: a_code_is_asked_for_at_login, a_code_works_once, recovery_codes_work_once, only_the_owner_sets_it_up,
    it_can_be_turned_off, guessing_codes_is_limited, the_picture_and_the_uri_say_the_same);

fn login<'a>(server: &'a TestServer, person: &Person, code: Option<&str>) -> Call<'a> {
    let mut body = json!({ "email": person.email, "password": PASSWORD });
    if let Some(code) = code {
        body["code"] = json!(code);
    }
    server.post("/auth/login", body)
}

async fn a_code_is_asked_for_at_login(server: TestServer) {
    let ada = server.admin().await;
    let secret = set_up(&server, &ada).await;
    // Not before it is confirmed.
    let other = login(&server, &ada, None).ok().await["access_token"].as_str().unwrap().to_owned();
    let other = Person { token: other, ..ada.clone() };
    assert_eq!(server.get("/user").by(&ada).ok().await["two_factor_enabled"], false);
    server.post("/auth/verify-2fa", json!({ "code": "000000" })).by(&ada).fails(401, "invalid_code").await;
    server.post("/auth/verify-2fa", json!({ "code": code(&server, &secret) })).by(&ada).ok().await;
    // Logins that began with a password alone have ended.
    server.get("/user").by(&other).fails(401, "unauthenticated").await;
    let user = server.get("/user").by(&ada).ok().await;
    assert_eq!((&user["two_factor_enabled"], &user["two_factor_secret"]), (&json!(true), &json!("")));

    let message = login(&server, &ada, None).fails(401, "code_required").await;
    assert!(message.starts_with("code: "), "{message}");
    // A caller that does not know the password learns nothing of a second factor.
    let wrong = json!({ "email": ada.email, "password": "not the password", "code": "000000" });
    server.post("/auth/login", wrong).fails(401, "invalid_credentials").await;
    login(&server, &ada, Some("000000")).fails(401, "invalid_code").await;
    server.app.clock.advance_seconds(30);
    let now = code(&server, &secret);
    let spaced = format!(" {} {} ", &now[..3], &now[3..]);
    let logged_in = login(&server, &ada, Some(&spaced)).ok().await;
    assert_eq!(logged_in["user"]["two_factor_enabled"], true);
    // A clock may be half a minute off, not two minutes.
    server.app.clock.advance_seconds(30);
    let late = code(&server, &secret);
    server.app.clock.advance_seconds(30);
    login(&server, &ada, Some(&late)).ok().await;
    let old = code(&server, &secret);
    server.app.clock.advance_seconds(120);
    login(&server, &ada, Some(&old)).fails(401, "invalid_code").await;
}

async fn a_code_works_once(server: TestServer) {
    let ada = server.admin().await;
    let (secret, _) = enable(&server, &ada).await;
    // The code that confirmed it is used up.
    login(&server, &ada, Some(&code(&server, &secret))).fails(401, "invalid_code").await;
    server.app.clock.advance_seconds(60);
    let now = code(&server, &secret);
    // Of many at once, one.
    let attempt = async || login(&server, &ada, Some(&now)).send().await.status;
    let (a, b, c, d, e, f) = tokio::join!(attempt(), attempt(), attempt(), attempt(), attempt(), attempt());
    let mut statuses = [a, b, c, d, e, f];
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 401, 401, 401, 401, 401]);
    // Nor does an earlier one after a later one.
    server.app.clock.advance_seconds(30);
    let earlier = code(&server, &secret);
    server.app.clock.advance_seconds(30);
    login(&server, &ada, Some(&code(&server, &secret))).ok().await;
    let message = login(&server, &ada, Some(&earlier)).fails(401, "invalid_code").await;
    assert!(message.contains("used already"), "{message}");
}

async fn recovery_codes_work_once(server: TestServer) {
    let ada = server.admin().await;
    let (_, codes) = enable(&server, &ada).await;
    let codes: Vec<_> = codes.iter().map(|code| code.as_str().unwrap()).collect();
    assert_eq!(codes.len(), 10);
    assert!(codes.iter().all(|code| code.len() == 19), "{codes:?}");
    login(&server, &ada, Some(codes[0])).ok().await;
    login(&server, &ada, Some(codes[0])).fails(401, "invalid_code").await;
    login(&server, &ada, Some(&codes[1].replace('-', "").to_uppercase())).ok().await;
    let activities = server.get("/audit/logs?scope=instance").by(&ada).ok().await;
    assert_eq!(activities["activities"][0]["message"], "Ada logged in with a recovery code; 8 are left");

    let renewed = server.post("/auth/recovery-codes", json!({ "code": codes[2] })).by(&ada).ok().await;
    login(&server, &ada, Some(codes[3])).fails(401, "invalid_code").await;
    login(&server, &ada, renewed["recovery_codes"][0].as_str()).ok().await;
    // Only their owner can use them.
    let grace = server.join(&ada, "grace", Role::Viewer).await;
    enable(&server, &grace).await;
    login(&server, &grace, renewed["recovery_codes"][1].as_str()).fails(401, "invalid_code").await;
}

async fn only_the_owner_sets_it_up(server: TestServer) {
    let ada = server.admin().await;
    let message = server
        .post("/auth/setup-2fa", json!({ "password": "not the password" }))
        .by(&ada)
        .fails(400, "invalid_request")
        .await;
    assert_eq!(message, "password: is not your password");
    for path in ["/auth/verify-2fa", "/auth/disable-2fa", "/auth/recovery-codes"] {
        server.post(path, json!({ "code": "123456" })).by(&ada).fails(409, "two_factor_state").await;
    }
    // Beginning again makes the first secret worthless.
    let first = set_up(&server, &ada).await;
    let second = set_up(&server, &ada).await;
    server.post("/auth/verify-2fa", json!({ "code": code(&server, &first) })).by(&ada).fails(401, "invalid_code").await;
    server.post("/auth/verify-2fa", json!({ "code": code(&server, &second) })).by(&ada).ok().await;
    let password = json!({ "password": PASSWORD });
    server.post("/auth/setup-2fa", password).by(&ada).fails(409, "two_factor_state").await;
}

async fn it_can_be_turned_off(server: TestServer) {
    let ada = server.admin().await;
    let (secret, codes) = enable(&server, &ada).await;
    server.post("/auth/disable-2fa", json!({ "code": "000000" })).by(&ada).fails(401, "invalid_code").await;
    server
        .post("/auth/disable-2fa", json!({ "code": code(&server, &secret) }))
        .by(&ada)
        .fails(401, "invalid_code")
        .await;
    server.app.clock.advance_seconds(30);
    server.post("/auth/disable-2fa", json!({ "code": code(&server, &secret) })).by(&ada).ok().await;
    login(&server, &ada, None).ok().await;
    assert_eq!(server.get("/user").by(&ada).ok().await["two_factor_enabled"], false);
    // On again: with a new secret and new codes.
    let (_, fresh) = enable(&server, &ada).await;
    login(&server, &ada, codes[0].as_str()).fails(401, "invalid_code").await;
    server.post("/auth/disable-2fa", json!({ "code": fresh[0] })).by(&ada).ok().await;
}

async fn guessing_codes_is_limited(server: TestServer) {
    let ada = server.admin().await;
    let (secret, codes) = enable(&server, &ada).await;
    for _ in 0..10 {
        login(&server, &ada, Some("000000")).fails(401, "invalid_code").await;
    }
    server.app.clock.advance_seconds(60);
    let right = code(&server, &secret);
    let reply = login(&server, &ada, Some(&right)).send().await;
    assert_eq!((reply.status, reply.headers["retry-after"].to_str().unwrap()), (429, "3540"));
    // A recovery code cannot be guessed, so its owner is not locked out; and a user who logs in has all tries again.
    login(&server, &ada, codes[0].as_str()).ok().await;
    server.app.clock.advance_seconds(3_540);
    login(&server, &ada, Some(&code(&server, &secret))).ok().await;
    for _ in 0..10 {
        login(&server, &ada, Some("000000")).fails(401, "invalid_code").await;
    }
    login(&server, &ada, Some("000000")).fails(429, "rate_limited").await;
    // Off and on again: what was guessed at is gone, and so are the tries.
    server.post("/auth/disable-2fa", json!({ "code": codes[1] })).by(&ada).ok().await;
    enable(&server, &ada).await;
}

async fn the_picture_and_the_uri_say_the_same(server: TestServer) {
    let ada = server.admin().await;
    let setup = server.post("/auth/setup-2fa", json!({ "password": PASSWORD })).by(&ada).ok().await;
    let uri = setup["otpauth_uri"].as_str().unwrap();
    assert!(uri.starts_with("otpauth://totp/Windlass:ada%40example.org?secret="), "{uri}");
    assert!(uri.contains(setup["secret"].as_str().unwrap()), "{uri}");
    let svg = setup["qr_svg"].as_str().unwrap();
    assert!(svg.contains("<svg") && svg.ends_with("</svg>"), "{svg}");
}
