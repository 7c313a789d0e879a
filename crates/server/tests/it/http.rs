//! The server as an HTTP server: what holds whatever the route.

use axum::http::Method;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use windlass_api::Role;
use windlass_store::Kind;
use windlass_testing::on_both_databases;

use crate::support::{Person, TestServer, kind, server, snapshot};

on_both_databases!(kind: a_panic_answers_in_the_envelope, silent_connections_are_closed, quiet_connections_make_room, who_does_not_read_is_given_up, pages_of_other_sites_cannot_act, names_of_other_sites_are_refused, unknown_paths_and_methods_answer_in_the_envelope, any_content_type_is_json_and_any_accept_gets_json, every_answer_has_safe_headers, origins_are_closed_unless_configured, pages_and_metrics, metrics_are_for_monitors_and_admins, one_address_cannot_take_all_connections, one_user_cannot_take_all_connections);
on_both_databases!(server: health_and_readiness, a_database_that_is_gone, a_database_that_only_reads, a_log_store_that_is_gone);

async fn health_and_readiness(server: TestServer) {
    for path in ["/health", "/health/ready"] {
        let data = server.get(path).ok().await;
        let ready = |name: &str| json!({ "name": name, "ready": true, "reason": "" });
        assert_eq!(data["dependencies"], json!([ready("database"), ready("logs")]));
    }
    server.post("/health", json!({})).fails(405, "method_not_allowed").await;
    server.get("/health/invalid").fails(404, "not_found").await;
}

async fn a_database_that_is_gone(server: TestServer) {
    let admin = server.admin().await;
    server.app.db.close().await;
    let data = server.get("/health").ok().await;
    assert_eq!(data["ready"], false);
    let message = server.get("/health/ready").fails(503, "unavailable").await;
    assert!(message.contains("database"), "{message}");
    server.get("/user").by(&admin).fails(503, "unavailable").await;
    server.get("/auth/is-admin-registered").fails(503, "unavailable").await;
}

/// Another change goes on and on, so that none can be made. Reading goes on.
async fn a_database_that_only_reads(server: TestServer) {
    let admin = server.admin().await;
    let mut endless = server.app.db.begin().await.unwrap();
    windlass_store::instance::touch(&mut endless).await.unwrap();
    let message = server.get("/health/ready").fails(503, "unavailable").await;
    assert_eq!(message, "Not ready: database: it reads, but takes no changes in time");
    server.get("/user").by(&admin).ok().await;
    drop(endless);
    while server.get("/health/ready").send().await.status != 200 {
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
}

async fn a_log_store_that_is_gone(server: TestServer) {
    server.app.logs.store.close().await;
    let line = server.line(windlass_api::LogStream::Stdout, windlass_api::LogStep::Run, "lost".into());
    let app = server.app.clone();
    let write = tokio::spawn(async move { app.logs.note(uuid::Uuid::nil(), uuid::Uuid::nil(), line).await });
    while server.get("/health/ready").send().await.status == 200 {
        assert!(!write.is_finished(), "the server did not notice");
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    let message = server.get("/health/ready").fails(503, "unavailable").await;
    assert_eq!(message, "Not ready: logs: lines cannot be stored; the server's log says why");
    assert_eq!(server.get("/health").ok().await["ready"], false);
    write.abort();
}

async fn unknown_paths_and_methods_answer_in_the_envelope(kind: Kind) {
    let server = server(kind).await;
    for path in ["/nothing", "/user/", "/", "", "/organizations/nope/nope", "/%ff", "/auth/sessions/"] {
        let reply = server.call(Method::GET, path).send().await;
        assert_eq!((reply.status, &reply.json["error"]), (404, &json!("not_found")), "{path}");
    }
    let reply = server.call(Method::PUT, "/user").send().await;
    snapshot("method_not_allowed", &reply.json);
    assert_eq!(reply.headers["allow"], "GET,HEAD");
    for method in ["OPTIONS", "TRACE", "BREW"] {
        let reply = server.call(method.parse().unwrap(), "/user").send().await;
        assert_eq!(reply.status, 405, "{method}");
    }
}

async fn any_content_type_is_json_and_any_accept_gets_json(kind: Kind) {
    let server = server(kind).await;
    let admin = server.admin().await;
    for (content, accept) in [("text/plain", "text/html"), ("application/xml", "image/png"), ("nonsense", "*/*")] {
        let call = server.patch("/user/settings/theme", json!({ "theme": "dark" }));
        call.by(&admin).header("content-type", content).header("accept", accept).ok().await;
    }
}

async fn every_answer_has_safe_headers(kind: Kind) {
    let server = server(kind).await;
    for path in ["/", "/api/v1/docs", "/api/v1/health", "/nothing", "/metrics", "/api/v1/openapi.json"] {
        let reply = server.call_raw(Method::GET, path).send().await;
        assert_eq!(reply.headers["x-content-type-options"], "nosniff", "{path}");
        assert_eq!(reply.headers["x-frame-options"], "DENY", "{path}");
        assert!(reply.headers["content-security-policy"].to_str().unwrap().starts_with("default-src 'none'"), "{path}");
        assert_eq!(reply.headers["x-request-id"].len(), 32, "{path}");
    }
}

async fn origins_are_closed_unless_configured(kind: Kind) {
    let closed = server(kind).await;
    let reply = closed.get("/health").header("origin", "https://panel.example.org").send().await;
    assert!(!reply.headers.contains_key("access-control-allow-origin"));

    let open = TestServer::with(kind, &[("cors-origins", "https://panel.example.org")]).await;
    let reply = open.get("/health").header("origin", "https://panel.example.org").send().await;
    assert_eq!(reply.headers["access-control-allow-origin"], "https://panel.example.org");
    let preflight = open.call(Method::OPTIONS, "/user/name").header("origin", "https://panel.example.org");
    let preflight = preflight.header("access-control-request-method", "PATCH");
    let preflight = preflight.header("access-control-request-headers", "authorization,x-organization-id");
    let headers = preflight.unchecked().await.headers;
    assert_eq!(headers["access-control-allow-methods"], "GET,POST,PUT,PATCH,DELETE");
    assert_eq!(
        headers["access-control-allow-headers"],
        "authorization,content-type,x-organization-id,idempotency-key,last-event-id"
    );
    let reply = open.get("/health").header("origin", "https://evil.example.org").send().await;
    assert!(!reply.headers.contains_key("access-control-allow-origin"));
}

async fn pages_and_metrics(kind: Kind) {
    let server = server(kind).await;
    server.get("/health").ok().await;
    let docs = server.call_raw(Method::GET, "/api/v1/docs").send().await;
    assert!(docs.text.contains("/api/v1/organizations/invite/send"));
    assert!(!docs.text.contains("http://") && !docs.text.contains("https://"), "the page needs the internet");
    let admin = server.admin().await;
    let metrics = server.call_raw(Method::GET, "/metrics").by(&admin).send().await;
    let counted = "windlass_http_requests_total{method=\"GET\",route=\"/api/v1/health\",status=\"200\"} 1";
    assert!(metrics.text.contains(counted), "{}", metrics.text);
    assert!(metrics.text.contains("windlass_database_queries_total"), "{}", metrics.text);
    assert_eq!(server.call_raw(Method::HEAD, "/api/v1/health").send().await.status, 200);
}

/// They name addresses of containers and tell who is visited how often.
async fn metrics_are_for_monitors_and_admins(kind: Kind) {
    const TOKEN: &str = "a-token-of-a-monitor";
    let open = TestServer::with(kind, &[("metrics-token", TOKEN)]).await;
    let closed = server(kind).await;
    let ask = async |server: &TestServer, token: &str| {
        server.call_raw(Method::GET, "/metrics").header("authorization", &format!("Bearer {token}")).send().await
    };
    assert_eq!(ask(&open, TOKEN).await.status, 200);
    for (server, token) in [(&open, "a-token-of-a-visitor"), (&open, ""), (&closed, TOKEN), (&closed, "")] {
        let reply = ask(server, token).await;
        assert_eq!((reply.status, &reply.json["error"]), (401, &json!("unauthenticated")), "{token}");
        assert!(reply.text.contains("metrics-token") && !reply.text.contains("windlass_"), "{}", reply.text);
    }
    let admin = open.admin().await;
    let member = open.stranger(&admin, "eve").await;
    let key = json!({ "name": "monitor", "permissions": ["deploy:read"] });
    let key = open.post("/auth/api-keys", key).by(&admin).ok().await["key"].as_str().unwrap().to_owned();
    assert_eq!(open.call_raw(Method::GET, "/metrics").by(&admin).send().await.status, 200);
    assert_eq!(open.call_raw(Method::GET, "/metrics").by(&member).send().await.status, 403);
    assert_eq!(ask(&open, &key).await.status, 403);
}

async fn a_panic_answers_in_the_envelope(kind: Kind) {
    async fn panics() -> axum::response::Response {
        panic!("the secret is 42")
    }
    let server = server(kind).await;
    let routes = axum::Router::new().route("/api/v1/panics", axum::routing::get(panics));
    let router = windlass_server::http::around(routes, server.app.clone());
    let request =
        axum::http::Request::get("/api/v1/panics").header("host", "localhost").body(axum::body::Body::empty()).unwrap();
    let response = tower::ServiceExt::oneshot(router, request).await.unwrap();
    assert_eq!(response.status(), 500);
    assert_eq!(response.headers()["x-request-id"].len(), 32);
    let body = http_body_util::BodyExt::collect(response.into_body()).await.unwrap().to_bytes();
    let body: serde_json::Value = serde_json::from_slice(&body).unwrap();
    assert_eq!((&body["status"], &body["data"], &body["error"]), (&json!("error"), &json!(null), &json!("internal")));
    assert!(!body.to_string().contains("42"), "{body}");
}

/// With a single place, a client that holds it and sends nothing keeps the others out; not for longer than the limit.
async fn silent_connections_are_closed(kind: Kind) {
    let server = TestServer::with(kind, &[("max-connections", "1"), ("idle-seconds", "1")]).await;
    for silence in ["", "P", "PRI * HTTP/2.0\r\n", "GET /api/v1/health HTTP/1.1\r\n"] {
        let mut silent = TcpStream::connect(server.address).await.unwrap();
        silent.write_all(silence.as_bytes()).await.unwrap();
        let answer = tokio::time::timeout(DEADLINE, ask(&server))
            .await
            .unwrap_or_else(|_| panic!("{silence:?} holds the place"));
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    }
}

/// All places are taken, by clients that said nothing and by those that were answered long ago. A new client gets in, and what is
/// under way goes on.
async fn quiet_connections_make_room(kind: Kind) {
    let server = TestServer::with(kind, &[("max-connections", "10"), ("idle-seconds", "600")]).await;
    let ada = server.admin().await;
    let mut slow = TcpStream::connect(server.address).await.unwrap();
    let body = r#"{"name":"Ada King"}"#;
    let head = format!(
        "PATCH /api/v1/user/name HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {}\r\ncontent-length: {}\r\n\r\n",
        ada.token,
        body.len()
    );
    slow.write_all(format!("{head}{}", &body[..5]).as_bytes()).await.unwrap();
    let mut quiet = Vec::new();
    for number in 0..12 {
        let mut stream = TcpStream::connect(server.address).await.unwrap();
        if number % 2 == 0 {
            stream.write_all(b"GET /api/v1/health HTTP/1.1\r\nhost: localhost\r\n\r\n").await.unwrap();
        }
        quiet.push(stream);
    }
    let answer = tokio::time::timeout(DEADLINE, ask(&server)).await.expect("quiet clients keep others out");
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    slow.write_all(&body.as_bytes()[5..]).await.unwrap();
    let mut answer = [0; 12];
    slow.read_exact(&mut answer).await.unwrap();
    assert_eq!(&answer, b"HTTP/1.1 200", "what was under way was cut");
}

async fn one_address_cannot_take_all_connections(kind: Kind) {
    let server = TestServer::with(kind, &[("max-connections", "20"), ("address-connections", "10")]).await;
    let mut silent = Vec::new();
    for _ in 0..60 {
        silent.push(TcpStream::connect(server.address).await.unwrap());
    }
    // Those beyond the limit are closed, without a wait for those before them.
    for mut closed in silent.drain(10..) {
        let read = tokio::time::timeout(DEADLINE, closed.read(&mut [0])).await.expect("it is closed at once");
        assert!(read.is_err() || read.is_ok_and(|read| read == 0));
    }
    let other = TcpSocket::new_v4().unwrap();
    other.bind("127.0.0.2:0".parse().unwrap()).unwrap();
    let other = other.connect(server.address).await.unwrap();
    assert!(ask_through(other).await.starts_with("HTTP/1.1 200"));
    drop(silent);
    let deadline = tokio::time::Instant::now() + DEADLINE;
    while !ask(&server).await.starts_with("HTTP/1.1 200") {
        assert!(tokio::time::Instant::now() < deadline, "what was closed still counts");
    }
}

async fn one_user_cannot_take_all_connections(kind: Kind) {
    let server = TestServer::with(kind, &[("account-requests-at-once", "3")]).await;
    let ada = server.admin().await;
    let eve = server.join(&ada, "eve", Role::Viewer).await;
    let begin = async || {
        let mut stream = TcpStream::connect(server.address).await.unwrap();
        let head =
            format!("PATCH /api/v1/user/name HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {}\r\n", eve.token);
        let body = "content-type: application/json\r\ncontent-length: 50\r\n\r\n{";
        stream.write_all(format!("{head}{body}").as_bytes()).await.unwrap();
        stream
    };
    let mut slow = [begin().await, begin().await, begin().await];
    let asks = async |person: &Person| server.get("/user").by(person).send().await.status;
    let deadline = tokio::time::Instant::now() + DEADLINE;
    while asks(&eve).await != 429 {
        assert!(tokio::time::Instant::now() < deadline, "her slow requests do not count");
        // What asks counts too: it may have taken the place of a slow one, which was then refused.
        for stream in &mut slow {
            if stream.try_read(&mut [0]).is_ok() {
                *stream = begin().await;
            }
        }
    }
    let message = server.get("/user").by(&eve).fails(429, "rate_limited").await;
    assert!(message.contains("3 requests under way"), "{message}");
    assert_eq!(asks(&ada).await, 200);
    let [first, ..] = slow;
    drop(first);
    while asks(&eve).await != 200 {
        assert!(tokio::time::Instant::now() < deadline, "what has ended still counts");
    }
}

async fn who_does_not_read_is_given_up(kind: Kind) {
    let server = TestServer::with(kind, &[("max-connections", "1"), ("idle-seconds", "1")]).await;
    let mut deaf = TcpStream::connect(server.address).await.unwrap();
    // More answers than all buffers on the way can hold.
    let request = "GET /api/v1/openapi.json HTTP/1.1\r\nhost: localhost\r\n\r\n";
    deaf.write_all(request.repeat(200).as_bytes()).await.unwrap();
    let answer =
        tokio::time::timeout(DEADLINE, ask(&server)).await.expect("a client that does not read holds the place");
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    drop(deaf);
}

const DEADLINE: std::time::Duration = std::time::Duration::from_secs(30);

/// One request on a connection of its own.
async fn ask(server: &TestServer) -> String {
    ask_through(TcpStream::connect(server.address).await.unwrap()).await
}

/// Empty when the server closes the connection.
async fn ask_through(mut stream: TcpStream) -> String {
    let request = "GET /api/v1/health HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
    let mut answer = String::new();
    if stream.write_all(request.as_bytes()).await.is_ok() {
        let _ = stream.read_to_string(&mut answer).await;
    }
    answer
}

async fn pages_of_other_sites_cannot_act(kind: Kind) {
    let server = TestServer::with(kind, &[("cors-origins", "https://panel.example.org")]).await;
    let register = || server.post("/auth/register", json!({ "email": "a@example.org", "password": "correct horse!" }));
    for origin in ["https://evil.example.org", "null", "http://localhost:1"] {
        let message = register().header("origin", origin).fails(403, "forbidden").await;
        assert!(message.starts_with("origin:"), "{message}");
    }
    assert_eq!(server.get("/auth/is-admin-registered").ok().await["admin_registered"], false);
    // Its own page, and those that the operator named, can.
    register().header("origin", &format!("http://{}", server.address)).ok().await;
    register().header("origin", "https://panel.example.org").fails(403, "registration_closed").await;
}

/// A name that an attacker points to 127.0.0.1 would make the attacker's page look like ours.
async fn names_of_other_sites_are_refused(kind: Kind) {
    let server = TestServer::with(kind, &[("public-url", "http://windlass.localhost:7780")]).await;
    for host in ["evil.example.org", "evil.example.org:7780", "localhost.evil.example.org"] {
        let message = server.get("/health").header("host", host).fails(403, "forbidden").await;
        assert!(message.starts_with("host:"), "{message}");
    }
    for host in ["localhost:7780", "127.0.0.1", "[::1]:7780", "windlass.localhost", "LOCALHOST"] {
        server.get("/health").header("host", host).ok().await;
    }
    let public = TestServer::with(kind, &[("listen", "0.0.0.0:0")]).await;
    public.get("/health").header("host", "any.example.org").ok().await;
}
