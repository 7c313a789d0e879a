//! What hosts answer when they do not do it.

use std::fmt::Write;

use windlass_api::CodeHost;
use windlass_codehost::api::{ApiAnswer, ApiError};

use super::{HOSTS, all, answer, api, name, snapshot};

const DATE: (&str, &str) = ("date", "Mon, 16 Nov 2026 15:26:05 GMT");

fn error(host: CodeHost, answer: &ApiAnswer) -> ApiError {
    api(host).repository(name(host)).unwrap().read(answer).unwrap_err()
}

#[test]
fn errors_say_what_to_do() {
    let reset = ("x-ratelimit-reset", "1794842885");
    let cases = [
        (CodeHost::GitHub, answer(401, &[], r#"{"message":"Bad credentials","documentation_url":"x","status":"401"}"#)),
        (CodeHost::GitHub, answer(403, &[], r#"{"message":"Resource not accessible by personal access token"}"#)),
        (
            CodeHost::GitHub,
            answer(
                403,
                &[("x-ratelimit-remaining", "0"), reset, DATE],
                r#"{"message":"API rate limit exceeded for user ID 1."}"#,
            ),
        ),
        (
            CodeHost::GitHub,
            answer(
                403,
                &[("x-ratelimit-remaining", "4000"), reset, DATE],
                r#"{"message":"You have exceeded a secondary rate limit."}"#,
            ),
        ),
        (CodeHost::GitHub, answer(429, &[("retry-after", "30")], "")),
        (CodeHost::GitHub, answer(404, &[], r#"{"message":"Not Found"}"#)),
        (
            CodeHost::GitHub,
            answer(301, &[("location", "https://api.github.com/repositories/1")], r#"{"message":"Moved Permanently"}"#),
        ),
        (
            CodeHost::GitHub,
            answer(
                422,
                &[],
                r#"{"message":"Validation Failed","errors":[{"resource":"Hook","code":"custom","message":"Hook already exists on this repository"}]}"#,
            ),
        ),
        (CodeHost::GitHub, answer(500, &[], "")),
        (CodeHost::GitHub, answer(200, &[], "<!DOCTYPE html><html>")),
        (CodeHost::GitLab, answer(401, &[], r#"{"error":"invalid_token","error_description":"Token was revoked."}"#)),
        (
            CodeHost::GitLab,
            answer(
                403,
                &[],
                r#"{"error":"insufficient_scope","error_description":"The request requires higher privileges than provided by the access token.","scope":"api"}"#,
            ),
        ),
        (
            CodeHost::GitLab,
            answer(429, &[("ratelimit-remaining", "0"), ("ratelimit-reset", "1794842885"), DATE], "Retry later\n"),
        ),
        (
            CodeHost::GitLab,
            answer(422, &[], r#"{"message":{"url":["is blocked: Requests to the local network are not allowed"]}}"#),
        ),
        (CodeHost::GitLab, answer(400, &[], "Bad\n  request\u{7}")),
        (CodeHost::Bitbucket, answer(401, &[("www-authenticate", "Basic")], "")),
        (
            CodeHost::Bitbucket,
            answer(
                403,
                &[],
                r#"{"type":"error","error":{"message":"Your credentials lack one or more required privilege scopes.","detail":{"granted":["repository"],"required":["webhook"]}}}"#,
            ),
        ),
        (
            CodeHost::Bitbucket,
            answer(
                410,
                &[],
                r#"{"type":"error","error":{"message":"CHANGE-2770 - Functionality has been deprecated"}}"#,
            ),
        ),
        (
            CodeHost::Bitbucket,
            answer(429, &[], r#"{"error":{"message":"Rate limit for this resource has been exceeded"}}"#),
        ),
        (
            CodeHost::BitbucketServer,
            answer(
                401,
                &[],
                r#"{"errors":[{"context":null,"message":"You are not permitted to access this resource","exceptionName":"com.atlassian.bitbucket.AuthorisationException"}]}"#,
            ),
        ),
        (
            CodeHost::BitbucketServer,
            answer(
                401,
                &[],
                r#"{"errors":[{"context":null,"message":"Authentication failed.","exceptionName":"com.atlassian.bitbucket.auth.IncorrectPasswordAuthenticationException"}]}"#,
            ),
        ),
        (
            CodeHost::BitbucketServer,
            answer(
                409,
                &[],
                r#"{"errors":[{"context":null,"message":"The comment is out of date.","exceptionName":"x"}]}"#,
            ),
        ),
        (CodeHost::Gitea, answer(500, &[], r#"{"message":"database is locked"}"#)),
        (CodeHost::Gitea, answer(502, &[], "<html>Bad gateway</html>")),
    ];
    let mut text = String::new();
    for (host, answer) in cases {
        let error = error(host, &answer);
        let again = if error.is_temporary() { " (temporary)" } else { "" };
        writeln!(text, "{} {}{again}: {error}", host.as_str(), answer.status).unwrap();
    }
    snapshot("api-errors", &text);
}

#[test]
fn every_operation_of_every_host_tells_failures_apart() {
    for host in HOSTS {
        for tried in all(host) {
            let name = format!("{} {}", host.as_str(), tried.name);
            let read = |answer: &ApiAnswer| (tried.read)(answer);
            assert_eq!(read(&answer(401, &[], "")), Err(ApiError::BadToken), "{name}");
            assert!(matches!(read(&answer(403, &[], "")), Err(ApiError::Forbidden { .. })), "{name}");
            assert_eq!(read(&answer(503, &[], "<html>")), Err(ApiError::Unavailable { status: 503 }), "{name}");
            assert_eq!(read(&answer(302, &[], "")), Err(ApiError::Moved), "{name}");
            let limited = answer(429, &[("retry-after", "7")], "");
            assert_eq!(read(&limited), Err(ApiError::RateLimited { seconds: Some(7) }), "{name}");
            let is_deletion = tried.name.starts_with("delete");
            assert_eq!(read(&answer(404, &[], "")).is_ok(), is_deletion, "{name}");
            let is_read = !is_deletion && tried.name != "set_status";
            for body in ["<html>", "{\"id\":", "[{\"id\":1", "7", "{}"] {
                // Bitbucket Server says in plain text whose token it is.
                if is_read && (tried.name != "account" || host != CodeHost::BitbucketServer) {
                    assert_eq!(read(&answer(200, &[], body)), Err(ApiError::Unreadable), "{name}: {body}");
                }
            }
        }
    }
}

#[test]
fn a_token_of_bitbucket_server_that_is_not_accepted_is_no_account() {
    let ask = api(CodeHost::BitbucketServer).account();
    assert_eq!(ask.read(&answer(200, &[], "")), Err(ApiError::BadToken));
    assert_eq!(ask.read(&answer(200, &[], "<html>Log in</html>")), Err(ApiError::Unreadable));
}

#[test]
fn what_a_host_says_is_one_short_line() {
    let long = |more: usize| format!(r#"{{"message":"{}\r\n\u001b[31m{}"}}"#, "ü".repeat(200), "x ".repeat(more));
    // What is too long to be an error is not read.
    let unread = error(CodeHost::GitHub, &answer(403, &[], &long(100_000)));
    assert_eq!(unread, ApiError::Forbidden { reason: String::new() });
    let long = long(20_000);
    let ApiError::Forbidden { reason } = error(CodeHost::GitHub, &answer(403, &[], &long)) else { panic!() };
    assert_eq!(reason.chars().count(), 300);
    assert!(!reason.contains(char::is_control), "{reason}");
    let deep = format!("{}{}", r#"{"errors":["#.repeat(60), "]}".repeat(60));
    assert!(matches!(error(CodeHost::GitHub, &answer(422, &[], &deep)), ApiError::Refused { .. }));
    let not_text = ApiAnswer { status: 400, headers: vec![], body: vec![0xff; 5_000] };
    assert!(matches!(error(CodeHost::GitLab, &not_text), ApiError::Refused { .. }));
}

#[test]
fn waits_have_a_bound_and_bad_headers_are_ignored() {
    for (headers, seconds) in [
        (vec![("retry-after", "99999999999")], Some(86_400)),
        (vec![("retry-after", "-1")], None),
        (vec![("retry-after", "Mon, 16 Nov 2026 15:26:05 GMT")], None),
        (vec![("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "1794842885")], None),
        (vec![("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "1"), DATE], Some(0)),
        (vec![("x-ratelimit-remaining", "9"), ("x-ratelimit-reset", "1794842885"), DATE], None),
    ] {
        let limited = error(CodeHost::GitHub, &answer(429, &headers, ""));
        assert_eq!(limited, ApiError::RateLimited { seconds }, "{headers:?}");
    }
}
