//! GitHub Apps. The key is made for this test and is of no use elsewhere.

use base64::Engine;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD};
use ring::signature::{KeyPair, RSA_PKCS1_2048_8192_SHA256, RsaKeyPair, UnparsedPublicKey};
use serde_json::{Value, json};
use windlass_api::CodeHost;
use windlass_codehost::api::{ApiError, App, Base, NewApp, RegisteredApp};

use super::{answer, base, fixture, snapshot};

const NOW: i64 = 1_794_842_765;
const PKCS1: &str = "throw-away-test-key.pkcs1.pem";
const PKCS8: &str = "throw-away-test-key.pkcs8.pem";

fn app(key: &str) -> App {
    App::new(base(CodeHost::GitHub), "Iv23liAbCdEf.1", &fixture(key)).unwrap()
}

fn public_key() -> Vec<u8> {
    let pem = fixture(PKCS8);
    let text: String = pem.lines().filter(|line| !line.starts_with("-----")).collect();
    let pair = RsaKeyPair::from_pkcs8(&BASE64_STANDARD.decode(text).unwrap()).unwrap();
    pair.public_key().as_ref().to_vec()
}

#[test]
fn the_proof_of_an_app_is_signed_with_its_key() {
    for key in [PKCS1, PKCS8] {
        let jwt = app(key).jwt(NOW).unwrap();
        let (signed, signature) = jwt.rsplit_once('.').unwrap();
        let signature = BASE64_URL_SAFE_NO_PAD.decode(signature).unwrap();
        let public_key = UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, public_key());
        public_key.verify(signed.as_bytes(), &signature).unwrap();
        assert!(public_key.verify(&signed.as_bytes()[1..], &signature).is_err());
        let part =
            |text: &str| -> Value { serde_json::from_slice(&BASE64_URL_SAFE_NO_PAD.decode(text).unwrap()).unwrap() };
        let (header, claims) = signed.split_once('.').unwrap();
        assert_eq!(part(header), json!({ "alg": "RS256", "typ": "JWT" }));
        assert_eq!(part(claims), json!({ "iat": NOW - 60, "exp": NOW + 540, "iss": "Iv23liAbCdEf.1" }));
    }
    // Windows line ends, and what editors add.
    let pasted = format!("\n  {}\n\n", fixture(PKCS1).replace('\n', "\r\n"));
    assert!(App::new(base(CodeHost::GitHub), "1", &pasted).is_ok());
}

#[test]
fn keys_that_are_none() {
    let good = fixture(PKCS1);
    let other_kind = good.replace("RSA PRIVATE", "EC PRIVATE");
    for bad in [
        "",
        "x",
        &good[..500],
        &good.replace('A', "B"),
        &other_kind,
        "-----BEGIN RSA PRIVATE KEY-----\n-----END RSA PRIVATE KEY-----",
    ] {
        let refused = App::new(base(CodeHost::GitHub), "1", bad).unwrap_err();
        assert!(refused.to_string().contains("-----BEGIN RSA PRIVATE KEY-----"), "{bad}");
    }
    assert!(App::new(base(CodeHost::GitHub), " ", &good).is_err());
    assert!(App::new(base(CodeHost::Gitea), "1", &good).is_err(), "only GitHub has apps");
    assert_eq!(format!("{:?}", app(PKCS1)).matches("MII").count(), 0);
}

#[test]
fn what_an_app_asks() {
    let (app, here) = (app(PKCS1), base(CodeHost::GitHub));
    let mut requests = vec![
        app.installations(NOW, 2).unwrap().request,
        app.installation_of(NOW, "team/shop").unwrap().request,
        app.installation_token(NOW, 42, &[]).unwrap().request,
        app.installation_token(NOW, 42, &["shop"]).unwrap().request,
    ];
    for request in &requests {
        let jwt = format!("Bearer {}", app.jwt(NOW).unwrap());
        assert!(request.headers.contains(&("authorization", jwt)), "{request:?}");
    }
    let conversion = RegisteredApp::of_code(&here, "a180b1a3d263c81bc6441d7b990bae27d4c10679").unwrap().request;
    assert!(conversion.headers.iter().all(|(name, _)| *name != "authorization"));
    requests.push(conversion);
    let shown = |body: &[u8]| String::from_utf8(body.to_vec()).unwrap();
    let text: String = requests
        .iter()
        .map(|request| format!("{} {} {}\n", request.method, request.url, shown(&request.body)))
        .collect();
    snapshot("api-app-requests", &text);
    assert!(app.installation_of(NOW, "team/../user").is_err());
    assert!(RegisteredApp::of_code(&here, "../../user").is_err());
    assert!(RegisteredApp::of_code(&base(CodeHost::GitLab), "a1").is_err());
}

#[test]
fn what_an_app_is_answered() {
    let (app, here) = (app(PKCS1), base(CodeHost::GitHub));
    let list = json!([
        { "id": 42, "account": { "login": "team", "type": "Organization" }, "repository_selection": "selected", "html_url": "https://github.com/organizations/team/settings/installations/42", "suspended_at": null },
        { "id": 43, "account": { "login": "ada" }, "repository_selection": "all", "html_url": "https://github.com/settings/installations/43", "suspended_at": "2026-01-01T00:00:00Z" },
    ]);
    let next = [("link", "<https://api.github.com/app/installations?page=2>; rel=\"next\"")];
    let installations = app.installations(NOW, 1).unwrap().read(&answer(200, &next, &list.to_string())).unwrap();
    snapshot("api-app-installations", &format!("{installations:#?}"));
    let installation = app.installation_of(NOW, "team/shop").unwrap();
    assert_eq!(installation.read(&answer(200, &[], r#"{"id":42,"account":{"login":"team"}}"#)), Ok(42));

    let secret = format!("ghs_1_{}", "e.y".repeat(200));
    let token = json!({ "token": secret, "expires_at": "2026-11-16T16:26:05Z", "permissions": {} }).to_string();
    let ask = app.installation_token(NOW, 42, &[]).unwrap();
    let read = ask.read(&answer(201, &[], &token)).unwrap();
    assert_eq!((read.token.as_str(), read.expires_at.micros()), (secret.as_str(), (NOW + 3_600) * 1_000_000));
    assert!(!format!("{read:?}").contains("ghs_"));
    assert_eq!(ask.read(&answer(404, &[], r#"{"message":"Not Found"}"#)), Err(ApiError::NotFound));

    let made = json!({
        "id": 7, "slug": "windlass-team", "name": "Windlass team", "html_url": "https://github.com/apps/windlass-team",
        "client_id": "Iv23liAbCdEf", "client_secret": "c-secret", "webhook_secret": null, "pem": "-----BEGIN RSA PRIVATE KEY-----",
        "owner": { "login": "team" }, "permissions": {}, "events": ["push"],
    });
    let read = RegisteredApp::of_code(&here, "a1").unwrap().read(&answer(201, &[], &made.to_string())).unwrap();
    assert_eq!((read.id, read.webhook_secret.as_deref(), read.client_secret.as_str()), (7, None, "c-secret"));
    assert_eq!(format!("{read:?}"), "RegisteredApp { id: 7, slug: \"windlass-team\", .. }");
}

#[test]
fn a_new_app() {
    let new = NewApp {
        name: "Windlass of team".to_owned(),
        home_url: "https://windlass.example.org".to_owned(),
        hook_url: "https://windlass.example.org/hooks/app".to_owned(),
        redirect_url: "https://windlass.example.org/app/registered".to_owned(),
        setup_url: "https://windlass.example.org/app/installed".to_owned(),
        is_public: false,
    };
    let (here, own) = (base(CodeHost::GitHub), Base::of(CodeHost::GitHub, "https://git.example.org").unwrap());
    let pages = [
        NewApp::page(&here, None, "a b&c"),
        NewApp::page(&here, Some("team"), "s"),
        NewApp::page(&own, Some("team"), "s"),
    ]
    .map(|page| format!("{}\n", page.unwrap()));
    snapshot("api-app-new", &format!("{}{:#}", pages.concat(), new.manifest()));
    assert!(NewApp::page(&here, Some("../x"), "s").is_err());
}
