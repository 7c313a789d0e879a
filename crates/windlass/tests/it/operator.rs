//! What the operator does beside a running server.

use std::io::Write;
use std::process::Stdio;

use rustix::process::Signal;

use crate::process::{Process, run, token_in, windlass};

#[test]
fn resets_a_password_while_the_server_runs() {
    let folder = tempfile::tempdir().unwrap();
    let server = Process::serve(folder.path(), &[]);
    let token = token_in(&server.register(""));
    let output = run(windlass()
        .args(["admin", "reset-password", "--email", "Ada@example.org", "--data-dir"])
        .arg(folder.path()));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let printed = String::from_utf8(output.stdout).unwrap();
    let password = printed.lines().next().unwrap().rsplit(' ').next().unwrap();
    assert!(server.request("GET", "/user", &token, "").starts_with("HTTP/1.1 401"));
    assert!(server.login("correct horse").starts_with("HTTP/1.1 401"));
    assert!(server.login(password).starts_with("HTTP/1.1 200"));
}

#[test]
fn takes_a_password_from_standard_input() {
    let folder = tempfile::tempdir().unwrap();
    let server = Process::serve(folder.path(), &[]);
    server.register("");
    let reset = |password: &str| {
        let mut command = windlass();
        command.args(["admin", "reset-password", "--email", "ada@example.org", "--password-stdin", "--data-dir"]);
        command.arg(folder.path()).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        writeln!(child.stdin.take().unwrap(), "{password}").unwrap();
        child.wait_with_output().unwrap()
    };
    let output = reset("a better password");
    assert!(output.status.success());
    assert!(!String::from_utf8_lossy(&output.stdout).contains("a better password"));
    assert!(server.login("a better password").starts_with("HTTP/1.1 200"));
    let refused = reset("short");
    assert!(String::from_utf8_lossy(&refused.stderr).contains("password: must have at least 10 characters"));
}

#[test]
fn helps_users_who_lost_their_second_factor_and_ends_stolen_keys() {
    let folder = tempfile::tempdir().unwrap();
    let server = Process::serve(folder.path(), &[]);
    let token = token_in(&server.register(""));
    let setup = server.ok("POST", "/auth/setup-2fa", &token, r#"{"password":"correct horse"}"#);
    let secret = totp_rs::Secret::try_from_base32(setup["data"]["secret"].as_str().unwrap()).unwrap();
    let totp = totp_rs::Builder::new().with_secret(secret).build().unwrap();
    let code = totp.generate(std::time::UNIX_EPOCH.elapsed().unwrap().as_secs()).to_string();
    server.ok("POST", "/auth/verify-2fa", &token, &format!(r#"{{"code":"{code}"}}"#));
    assert!(server.login("correct horse").contains("code_required"));
    let operate = |arguments: &[&str]| {
        run(windlass()
            .arg("admin")
            .args(arguments)
            .args(["--email", "ada@example.org", "--data-dir"])
            .arg(folder.path()))
    };
    assert!(operate(&["disable-2fa"]).status.success());
    assert!(server.login("correct horse").starts_with("HTTP/1.1 200"));
    let again = operate(&["disable-2fa"]);
    assert!(String::from_utf8_lossy(&again.stderr).contains("has no second factor"));

    let key = server.ok("POST", "/auth/api-keys", &token, r#"{"name":"ci"}"#);
    let key = key["data"]["key"].as_str().unwrap();
    assert!(String::from_utf8_lossy(&operate(&["reset-password"]).stdout).contains("API keys go on working"));
    server.ok("GET", "/organizations", key, "");
    assert!(operate(&["reset-password", "--revoke-api-keys"]).status.success());
    assert!(server.request("GET", "/organizations", key, "").starts_with("HTTP/1.1 401"));
}

#[test]
fn says_what_is_wrong() {
    let folder = tempfile::tempdir().unwrap();
    let reset = |email: &str| {
        let output =
            run(windlass().args(["admin", "reset-password", "--email", email, "--data-dir"]).arg(folder.path()));
        assert_eq!(output.status.code(), Some(1));
        String::from_utf8(output.stderr).unwrap()
    };
    assert!(reset("ada@example.org").contains("there is no database"));
    assert!(!folder.path().join("windlass.db").exists());
    let mut server = Process::serve(folder.path(), &[]);
    server.signal(Signal::TERM);
    server.wait();
    assert!(reset("ada@example.org").contains("no user is registered"));
    assert!(reset("ada").contains("email:"));
}
