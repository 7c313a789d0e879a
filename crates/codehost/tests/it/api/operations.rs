//! Every operation of every host: what is sent, and what is read from what the host answers.

use std::fmt::Write;

use serde_json::Value;
use windlass_api::CodeHost;
use windlass_codehost::api::{Api, ApiRequest, Base, Credential, State};

use super::{COMMIT, HOSTS, TOKEN, all, answer, answer_of, api, base, fixture, name, snapshot, status};

#[test]
fn requests() {
    for host in HOSTS {
        let all = all(host);
        let mut text = shown_headers(&all[0].request);
        for tried in &all {
            let request = &tried.request;
            write!(text, "\n{}\n  {} {}\n", tried.name, request.method, request.url).unwrap();
            check_headers(&all[0].request, request);
            if !request.body.is_empty() {
                let body: Value = serde_json::from_slice(&request.body).unwrap();
                let body = serde_json::to_string_pretty(&body).unwrap();
                text.push_str(&body.lines().map(|line| format!("  {line}\n")).collect::<String>());
            }
        }
        snapshot(&format!("api-requests-{}", host.as_str()), &text);
    }
}

/// The same for every request.
fn shown_headers(request: &ApiRequest) -> String {
    let basic = "YWRhQGV4YW1wbGUub3JnOnQwa2VuLW9mLXRoZS10ZXN0";
    let masked = |value: &str| value.replace(TOKEN, "TOKEN").replace(basic, "BASE64(ada@example.org:TOKEN)");
    request.headers.iter().map(|(name, value)| format!("{name}: {}\n", masked(value))).collect()
}

fn check_headers(first: &ApiRequest, request: &ApiRequest) {
    let (of_body, others): (Vec<_>, Vec<_>) = request.headers.iter().partition(|(name, _)| *name == "content-type");
    assert_eq!(others, first.headers.iter().collect::<Vec<_>>(), "{}", request.url);
    let expected = if request.body.is_empty() { vec![] } else { vec!["application/json"] };
    assert_eq!(of_body.iter().map(|(_, value)| value.as_str()).collect::<Vec<_>>(), expected, "{}", request.url);
}

#[test]
fn answers() {
    for host in [CodeHost::GitHub, CodeHost::GitLab, CodeHost::Bitbucket, CodeHost::BitbucketServer] {
        let answers: Value = serde_json::from_str(&fixture(&format!("answers/{}.json", host.as_str()))).unwrap();
        let mut text = String::new();
        for tried in all(host) {
            let Some(given) = answers.get(tried.name) else {
                assert_eq!(tried.name, "repositories found");
                continue;
            };
            let body = given.get("text").or(given.get("body")).unwrap_or(&Value::Null);
            let read = (tried.read)(&answer_of(&given["status"], &given["headers"], body));
            writeln!(text, "{}: {}", tried.name, read.unwrap()).unwrap();
        }
        snapshot(&format!("api-answers-{}", host.as_str()), &text);
    }
}

#[test]
fn searches_of_hosts_that_have_none() {
    let answers: Value = serde_json::from_str(&fixture("answers/github.json")).unwrap();
    let given = &answers["repositories"];
    let answer = answer_of(&given["status"], &given["headers"], &given["body"]);
    for (search, expected) in [("SHOP", vec!["team/shop"]), ("t", vec!["team/shop", "ada/site"]), ("zebra", vec![])] {
        let page = api(CodeHost::GitHub).repositories(Some(search), 2, 2).unwrap().read(&answer).unwrap();
        let found: Vec<_> = page.items.iter().map(|repository| repository.full_name.as_str()).collect();
        assert_eq!((found, page.next), (expected, Some(3)), "{search}");
    }
}

#[test]
fn every_state_in_the_words_of_every_host() {
    let mut text = String::new();
    for host in HOSTS {
        for state in [State::Pending, State::Success, State::Failure, State::Cancelled] {
            let ask = api(host).set_status(name(host), COMMIT, &status(state)).unwrap();
            let body: Value = serde_json::from_slice(&ask.request.body).unwrap();
            writeln!(text, "{} {state:?}: {}", host.as_str(), body["state"].as_str().unwrap()).unwrap();
        }
    }
    snapshot("api-states", &text);
}

#[test]
fn long_texts_of_a_status_are_shortened() {
    let sent = |host: CodeHost, context: &str| -> Value {
        let mut status = status(State::Success);
        status.context = context.to_owned();
        status.description = "東".repeat(1_000);
        let ask = api(host).set_status(name(host), COMMIT, &status).unwrap();
        serde_json::from_slice(&ask.request.body).unwrap()
    };
    let length = |value: &Value| value.as_str().unwrap().chars().count();
    for (host, field, most, described) in [
        (CodeHost::GitHub, "context", 255, 140),
        (CodeHost::Gitea, "context", 255, 140),
        (CodeHost::GitLab, "name", 255, 255),
        (CodeHost::Bitbucket, "key", 40, 255),
        (CodeHost::BitbucketServer, "key", 255, 255),
    ] {
        let (long, other) = (format!("{}a", "ü".repeat(300)), format!("{}b", "ü".repeat(300)));
        let (one, two) = (sent(host, &long), sent(host, &other));
        assert_eq!((length(&one[field]), length(&one["description"])), (most, described), "{host:?}");
        assert!(one["description"].as_str().unwrap().ends_with("東…"), "{host:?}");
        assert_ne!(one[field], two[field], "{host:?}: two contexts stay two");
        assert_eq!(one[field], sent(host, &long)[field], "{host:?}: and the same each time");
        let fits = "x".repeat(most);
        assert_eq!(sent(host, &fits)[field], fits.as_str(), "{host:?}");
    }
}

#[test]
fn credentials_and_the_names_that_git_wants() {
    let mut text = String::new();
    for host in HOSTS {
        for credential in [Credential::token("TOKEN"), Credential::of_user("ada", "TOKEN")] {
            let api = Api::new(base(host), credential.unwrap());
            let request = api.account().request;
            let sent = request.headers.iter().find(|(name, _)| *name == "authorization").unwrap().1.clone();
            writeln!(text, "{} {sent}, git as {}", host.as_str(), api.git_username()).unwrap();
            let shown = format!("{api:?} {:?} {:?}", api.account(), answer(200, &[], "TOKEN"));
            assert!(!shown.contains("TOKEN") && !shown.contains(&sent), "{shown}");
        }
    }
    snapshot("api-credentials", &text);
    for token in ["", " ", "a b", "a\nb", "a\r\nhost: x", "tökën", &"a".repeat(20_000)] {
        assert!(Credential::token(token).is_err(), "{token:?}");
    }
    assert_eq!(Credential::token(" pasted\n").unwrap(), Credential::token("pasted").unwrap());
    for user in ["", "a:b", "a b", "a\nb"] {
        assert!(Credential::of_user(user, "token").is_err(), "{user:?}");
    }
}

#[test]
fn what_a_host_cannot_do_is_not_asked() {
    let credential = Credential::token(TOKEN).unwrap();
    let cloud = Api::new(Base::of(CodeHost::Bitbucket, "").unwrap(), credential);
    assert!(cloud.repositories(None, 1, 10).unwrap_err().to_string().contains("workspace"));
    assert!(cloud.installation_repositories(None, 1, 10).is_err());
    assert!(cloud.clone().in_workspace("../user").is_err());
}
