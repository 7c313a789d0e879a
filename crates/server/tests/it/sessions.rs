//! Logging in and out.

use serde_json::json;
use windlass_api::{ErrorCode, Role};
use windlass_server::auth::Origin;
use windlass_server::auth::origin::Peer;
use windlass_server::service::sessions;
use windlass_store::Kind;
use windlass_testing::on_both_databases;

use crate::support::{PASSWORD, Person, TestServer, kind, server, snapshot};

on_both_databases!(kind: one_password_change_at_a_time, guessing_is_limited_per_account_and_per_address, a_removed_member_is_out_at_once,
    cookies_over_https_are_for_one_host, a_login_from_a_new_place_is_mailed);
on_both_databases!(server:
    login_and_logout, refresh_exchanges_the_token, sessions_expire, sessions_can_be_listed_and_revoked,
    a_new_password_ends_other_sessions, unknown_and_wrong_look_the_same, only_the_newest_sessions_stay,
    browsers_keep_their_login_in_a_cookie, a_cookie_is_of_no_use_to_other_pages,
);

pub async fn log_in(server: &TestServer, person: &Person) -> Person {
    let data = server.post("/auth/login", json!({ "email": person.email, "password": PASSWORD })).ok().await;
    Person { token: data["access_token"].as_str().unwrap().to_owned(), ..person.clone() }
}

/// The cookie that a browser gets when it logs in, and what is said of it.
async fn log_in_by_browser(server: &TestServer, person: &Person) -> (String, String) {
    let body = json!({ "email": person.email, "password": PASSWORD });
    let reply = server.post("/auth/login", body).header("x-windlass-client", "browser").send().await;
    assert_eq!((reply.status, &reply.json["data"]["access_token"]), (200, &json!("")), "{}", reply.text);
    let (cookie, attributes) = reply.headers["set-cookie"].to_str().unwrap().split_once("; ").unwrap();
    (cookie.to_owned(), attributes.to_owned())
}

async fn browsers_keep_their_login_in_a_cookie(server: TestServer) {
    let admin = server.admin().await;
    let (cookie, attributes) = log_in_by_browser(&server, &admin).await;
    assert!(cookie.starts_with("windlass_session="), "{cookie}");
    assert_eq!(attributes, "Path=/; HttpOnly; SameSite=Strict; Max-Age=604800");
    server.get("/user").header("cookie", &cookie).ok().await;
    server.get("/user").header("cookie", &format!("theme=dark; {cookie}; other=1")).ok().await;
    // The header says who acts, whatever a browser adds.
    let mistaken = Person { token: "wrong".into(), ..admin.clone() };
    server.get("/user").by(&mistaken).header("cookie", &cookie).fails(401, "unauthenticated").await;
    // Keys are for programs, which send the header: a browser that sends one was made to.
    let made = server.post("/auth/api-keys", json!({ "name": "ci" })).by(&admin).ok().await;
    let key = format!("windlass_session={}", made["key"].as_str().unwrap());
    server.get("/organizations").header("cookie", &key).fails(401, "unauthenticated").await;

    let by_browser = |path: &str| server.post(path, json!({})).header("x-windlass-client", "browser");
    let refreshed = by_browser("/auth/refresh").header("cookie", &cookie).send().await;
    let renewed = refreshed.headers["set-cookie"].to_str().unwrap().split_once("; ").unwrap().0.to_owned();
    server.get("/user").header("cookie", &cookie).fails(401, "unauthenticated").await;
    server.get("/user").header("cookie", &renewed).ok().await;
    let left = by_browser("/auth/logout").header("cookie", &renewed).send().await;
    assert_eq!(left.headers["set-cookie"], "windlass_session=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0");
    server.get("/user").header("cookie", &renewed).fails(401, "unauthenticated").await;
}

/// A browser sends the cookie along with whatever a page makes it request, be it the page of a tenant's application.
async fn a_cookie_is_of_no_use_to_other_pages(server: TestServer) {
    let admin = server.admin().await;
    let (cookie, _) = log_in_by_browser(&server, &admin).await;
    let change = || server.patch("/user/name", json!({ "name": "mallory" })).header("cookie", &cookie);
    change().fails(401, "unauthenticated").await;
    change().header("x-windlass-client", "other").fails(401, "unauthenticated").await;
    let by_browser = || change().header("x-windlass-client", "browser");
    by_browser().header("origin", "http://tenant.example.org").fails(403, "forbidden").await;
    for site in ["same-site", "cross-site"] {
        by_browser().header("sec-fetch-site", site).fails(401, "unauthenticated").await;
        server
            .get("/user")
            .header("cookie", &cookie)
            .header("sec-fetch-site", site)
            .fails(401, "unauthenticated")
            .await;
    }
    // One of them was set by another host.
    for both in [format!("{cookie}; windlass_session=other"), format!("windlass_session=other; {cookie}")] {
        server.get("/user").header("cookie", &both).fails(401, "unauthenticated").await;
    }
    by_browser().header("sec-fetch-site", "same-origin").ok().await;
    server.get("/user").header("cookie", &cookie).header("sec-fetch-site", "none").ok().await;
}

async fn cookies_over_https_are_for_one_host(kind: Kind) {
    let server = TestServer::with(kind, &[("public-url", "https://localhost")]).await;
    let admin = server.admin().await;
    let (cookie, attributes) = log_in_by_browser(&server, &admin).await;
    assert!(
        cookie.starts_with("__Host-windlass_session=") && attributes.ends_with("; Secure"),
        "{cookie} {attributes}"
    );
    server.get("/user").header("cookie", &cookie).ok().await;
    let plain = cookie.trim_start_matches("__Host-");
    server.get("/user").header("cookie", plain).fails(401, "unauthenticated").await;
}

async fn login_and_logout(server: TestServer) {
    let admin = server.admin().await;
    let reply = server.post("/auth/login", json!({ "email": "ADA@example.org", "password": PASSWORD })).send().await;
    assert_eq!(reply.status, 200);
    assert_eq!(reply.status, 200, "{}", reply.text);
    let second = log_in(&server, &admin).await;
    server.call(axum::http::Method::POST, "/auth/logout").by(&second).ok().await;
    server.get("/user").by(&second).fails(401, "unauthenticated").await;
    server.get("/user").by(&admin).ok().await;
}

async fn refresh_exchanges_the_token(server: TestServer) {
    let admin = server.admin().await;
    server.app.clock.advance_seconds(6 * 86_400);
    let data = server.post("/auth/refresh", json!({})).by(&admin).ok().await;
    assert_eq!(data["expires_at"], "2026-01-14T00:00:00.000000Z");
    server.get("/user").by(&admin).fails(401, "unauthenticated").await;
    let refreshed = Person { token: data["access_token"].as_str().unwrap().to_owned(), ..admin };
    server.get("/user").by(&refreshed).ok().await;
}

async fn sessions_expire(server: TestServer) {
    let admin = server.admin().await;
    server.app.clock.advance_seconds(7 * 86_400 - 1);
    server.get("/user").by(&admin).ok().await;
    server.app.clock.advance_seconds(1);
    server.get("/user").by(&admin).fails(401, "unauthenticated").await;
    assert_eq!(windlass_server::service::housekeeping::sweep(&server.app).await.unwrap(), 1);
}

async fn sessions_can_be_listed_and_revoked(server: TestServer) {
    let admin = server.admin().await;
    let second = log_in(&server, &admin).await;
    server.app.clock.advance_seconds(61);
    let reply = server.get("/auth/sessions").by(&admin).header("user-agent", "curl/8").send().await;
    snapshot("list_sessions_of_two", &reply.json);
    let sessions = reply.json["data"].as_array().unwrap().clone();
    let other = sessions.iter().find(|session| session["current"] == false).unwrap();
    let path = format!("/auth/sessions/{}", other["id"].as_str().unwrap());
    let stranger = server.stranger(&admin, "eve").await;
    server.delete(&path).by(&stranger).fails(404, "not_found").await;
    server.delete(&path).by(&admin).ok().await;
    server.get("/user").by(&second).fails(401, "unauthenticated").await;
    server.delete(&path).by(&admin).fails(404, "not_found").await;
    server.delete("/auth/sessions/17").by(&admin).fails(400, "invalid_request").await;
}

async fn a_new_password_ends_other_sessions(server: TestServer) {
    let admin = server.admin().await;
    let second = log_in(&server, &admin).await;
    let wrong = json!({ "current_password": "not that one", "new_password": "a better password" });
    let message = server.post("/auth/password", wrong).by(&admin).fails(400, "invalid_request").await;
    assert!(message.starts_with("current_password:"), "{message}");
    let right = json!({ "current_password": PASSWORD, "new_password": "a better password" });
    server.post("/auth/password", right).by(&admin).ok().await;
    server.get("/user").by(&admin).ok().await;
    server.get("/user").by(&second).fails(401, "unauthenticated").await;
    let old = json!({ "email": admin.email, "password": PASSWORD });
    server.post("/auth/login", old).fails(401, "invalid_credentials").await;
    server.post("/auth/login", json!({ "email": admin.email, "password": "a better password" })).ok().await;
}

async fn unknown_and_wrong_look_the_same(server: TestServer) {
    server.admin().await;
    let wrong = server.post("/auth/login", json!({ "email": "ada@example.org", "password": "wrong" })).send().await;
    let unknown = server.post("/auth/login", json!({ "email": "eve@example.org", "password": "wrong" })).send().await;
    assert_eq!((wrong.status, &wrong.text), (401, &unknown.text));
    assert_eq!(wrong.json["error"], "invalid_credentials");
}

async fn only_the_newest_sessions_stay(server: TestServer) {
    let admin = server.admin().await;
    let mut tx = server.app.db.begin().await.unwrap();
    for n in 0..60_u8 {
        let session = windlass_store::sessions::Session {
            id: server.app.new_id(),
            user_id: admin.user_id,
            ip_address: String::new(),
            user_agent: String::new(),
            last_used_at: server.app.now(),
            expires_at: server.app.now().plus_seconds(60),
            created_at: server.app.now(),
        };
        windlass_store::sessions::insert(&mut tx, &session, &[n; 32]).await.unwrap();
    }
    tx.commit().await.unwrap();
    let newest = log_in(&server, &admin).await;
    assert_eq!(server.get("/auth/sessions").by(&newest).ok().await.as_array().unwrap().len(), 50);
    server.get("/user").by(&admin).fails(401, "unauthenticated").await;
}

async fn guessing_is_limited_per_account_and_per_address(kind: Kind) {
    let server = TestServer::with(kind, &[("login-attempts", "3")]).await;
    server.admin().await;
    for n in 0..2 {
        let guess = json!({ "email": format!("p{n}@example.org"), "password": "guess" });
        server.post("/auth/login", guess).fails(401, "invalid_credentials").await;
    }
    let reply = server.post("/auth/login", json!({ "email": "ada@example.org", "password": PASSWORD })).send().await;
    assert_eq!((reply.status, reply.json["error"].as_str()), (429, Some("rate_limited")));
    assert_eq!(reply.headers["retry-after"], "60");
    server.app.clock.advance_seconds(60);
    server.post("/auth/login", json!({ "email": "ada@example.org", "password": PASSWORD })).ok().await;

    // From many addresses, one account can be tried ten times as often, and no more. One try was ours.
    let guess = serde_json::from_value(json!({ "email": "ada@example.org", "password": "guess" })).unwrap();
    for n in 0..30_u8 {
        let origin = Origin {
            address: [10, 0, 0, n].into(),
            user_agent: String::new(),
            request_id: String::new(),
            peer: Peer { address: ([127, 0, 0, 1], 1).into(), local: ([127, 0, 0, 1], 2).into(), is_edge: false },
            is_forwarded: false,
        };
        let refused = sessions::login(&server.app, &origin, &guess).await.err().unwrap().code;
        let expected = if n < 29 { ErrorCode::InvalidCredentials } else { ErrorCode::RateLimited };
        assert_eq!(refused, expected, "{n}");
    }
}

/// Several change the password at once: one of them did, and only that one is told so.
async fn one_password_change_at_a_time(kind: Kind) {
    let server = server(kind).await;
    let admin = server.admin().await;
    let change = |n: u8| {
        let body = json!({ "current_password": PASSWORD, "new_password": format!("a better password {n}") });
        server.post("/auth/password", body).by(&admin).send()
    };
    let (a, b, c) = tokio::join!(change(0), change(1), change(2));
    let changed: Vec<_> =
        [a, b, c].iter().enumerate().filter(|(_, reply)| reply.status == 200).map(|(n, _)| n).collect();
    assert_eq!(changed.len(), 1);
    let password = format!("a better password {}", changed[0]);
    server.post("/auth/login", json!({ "email": admin.email, "password": password })).ok().await;
}

async fn a_removed_member_is_out_at_once(kind: Kind) {
    let server = server(kind).await;
    let admin = server.admin().await;
    let grace = server.join(&admin, "grace", Role::Admin).await;
    server.get("/organizations").by(&grace).ok().await;
    let body = json!({ "user_id": grace.user_id });
    server.post("/organizations/remove-user", body).by(&admin).ok().await;
    server.get("/organizations").by(&grace).fails(404, "not_found").await;
    server.get("/organizations").by(&grace).within(admin.organization_id).fails(403, "forbidden").await;
}

async fn a_login_from_a_new_place_is_mailed(kind: Kind) {
    let from = "Windlass <windlass@example.org>";
    let settings = [
        ("public-url", "http://localhost:7780"),
        ("trusted-proxies", "127.0.0.1"),
        ("mail-host", "127.0.0.1"),
        ("mail-from", from),
        ("account-mails", "5"),
    ];
    let server = TestServer::with(kind, &settings).await;
    let ada = server.admin().await;
    log_in(&server, &ada).await;
    let queued = async || server.place.execute("delete from notices").await;
    assert_eq!(queued().await, 0, "the first place, where she has registered");
    // How many mails wait after a login from there.
    for (address, mails) in [
        ("198.51.100.7", 1),
        ("198.51.100.7", 0),
        ("198.51.100.200", 0),
        ("2001:db8::7", 1),
        ("2001:db8::ffff:1", 0),
        ("2001:db8:0:1::7", 1),
    ] {
        let body = json!({ "email": ada.email, "password": PASSWORD });
        server.post("/auth/login", body).header("x-forwarded-for", address).ok().await;
        assert_eq!(queued().await, mails, "{address}");
    }
    // Who has the password and many addresses does not fill the mailbox with it.
    let from_many = async || {
        for number in 0..9 {
            let body = json!({ "email": ada.email, "password": PASSWORD });
            let address = format!("203.0.{number}.1");
            server.post("/auth/login", body).header("x-forwarded-for", &address).ok().await;
        }
    };
    from_many().await;
    assert_eq!(queued().await, 2, "five within the hour, of which three came before");
    let change = json!({ "current_password": PASSWORD, "new_password": "another long password" });
    server.post("/auth/password", change).by(&ada).ok().await;
    assert_eq!(queued().await, 1, "another kind is counted for itself");
    let change = json!({ "current_password": "another long password", "new_password": PASSWORD });
    server.post("/auth/password", change).by(&ada).ok().await;
    assert_eq!(queued().await, 1);
    server.app.clock.advance_seconds(91 * 86_400);
    log_in(&server, &ada).await;
    assert_eq!(queued().await, 1, "long ago is as good as never");
}
