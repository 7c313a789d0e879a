//! What code hosts send: who is believed, what is deployed, and what is told of it.

use std::time::{Duration, Instant};

use axum::http::Method;
use serde_json::{Value, json};
use uuid::Uuid;
use windlass_api::Role;
use windlass_server::service::housekeeping;
use windlass_testing::deliveries::{Sample, sample, standard_signature};
use windlass_testing::{Kind, on_both_databases};

use crate::deploys::least;
use crate::support::{Call, Person, Reply, TestServer, id_of, kind, server};

on_both_databases!(
    server: every_host_is_believed_by_its_own_secret_only, a_delivery_counts_once, reasons_are_told, older_pushes_deploy_nothing,
    a_repository_has_many_addresses, one_push_deploys_several_applications, a_secret_can_be_changed_without_a_gap,
    deliveries_are_listed_shown_and_replayed, refusals_say_nothing_and_take_the_same_time, tenants_do_not_hear_of_each_other,
    bodies_have_a_limit, tags_are_deployed_as_they_are, triggers_are_fields_of_the_application
);
on_both_databases!(kind: strangers_have_a_limit, what_is_kept_has_a_limit);

/// The call that a code host makes for it.
pub fn signed_call<'a>(call: Call<'a>, sample: &Sample, secret: &str) -> Call<'a> {
    let bytes = sample.bytes();
    let headers = sample.signed(secret, &bytes);
    with_headers(call, &headers).body(bytes)
}

fn with_headers<'a>(call: Call<'a>, headers: &[(String, String)]) -> Call<'a> {
    headers.iter().fold(call, |call, (name, value)| call.header(name, &latin1(value)))
}

/// Header values are bytes.
fn latin1(text: &str) -> String {
    text.chars().filter(char::is_ascii).collect()
}

/// The sample that a body of the walk through all operations stands for.
pub fn sample_of(body: &Value) -> Sample {
    let text = |name: &str| body[name].as_str().unwrap();
    sample(text("host"), text("name")).with_id(text("id"))
}

impl TestServer {
    pub async fn webhook(&self, person: &Person, id: Uuid) -> Value {
        self.get(&format!("/deploy/application/{id}/webhook")).by(person).ok().await
    }

    pub async fn webhook_secret(&self, person: &Person, id: Uuid) -> String {
        self.webhook(person, id).await["secret"].as_str().unwrap().to_owned()
    }

    /// An application of the repository that the samples of a host are about.
    async fn of_host(&self, person: &Person, name: &str, host: &str) -> (Uuid, String) {
        let mut body = least(name);
        (body["repository"], body["branch"]) = (json!(repository(host)), json!("main"));
        let id = id_of(&self.running(person, body).await);
        (id, self.webhook_secret(person, id).await)
    }

    async fn deliver(&self, sample: &Sample, secret: &str) -> Reply {
        signed_call(self.call(Method::POST, "/webhook"), sample, secret).send().await
    }

    /// What the code host is told of a delivery that is believed.
    async fn told(&self, sample: &Sample, secret: &str) -> String {
        let reply = self.deliver(sample, secret).await;
        assert_eq!(reply.status, 200, "{}", reply.text);
        reply.json["message"].as_str().unwrap().to_owned()
    }

    async fn deliveries(&self, person: &Person, id: Uuid) -> Vec<Value> {
        let all = self.get(&format!("/deploy/application/{id}/deliveries?page_size=100")).by(person).ok().await;
        all["deliveries"].as_array().unwrap().clone()
    }

    /// Those that a push has queued, newest first.
    async fn pushed(&self, person: &Person, id: Uuid) -> Vec<Value> {
        let all = self.get(&format!("/deploy/application/deployments?id={id}&limit=100")).by(person).ok().await;
        let all = all["deployments"].as_array().unwrap().iter();
        all.filter(|deployment| deployment["triggered_by"] == "push").cloned().collect()
    }

    async fn change(&self, person: &Person, id: Uuid, mut change: Value) {
        change["id"] = json!(id);
        self.put("/deploy/application", change).by(person).ok().await;
    }
}

const HOSTS: [&str; 6] = ["github", "gitlab", "gitea", "forgejo", "bitbucket", "bitbucket-server"];
const QUEUED: &str = "A deployment was queued.";

fn repository(host: &str) -> &'static str {
    match host {
        "github" => "https://github.com/team/shop.git",
        "gitlab" => "https://gitlab.example.org/team/shop.git",
        "gitea" | "forgejo" => "https://git.example.org/team/shop.git",
        "bitbucket" => "git@bitbucket.org:team/shop.git",
        _ => "ssh://git@bitbucket.example.org:7999/team/shop.git",
    }
}

async fn every_host_is_believed_by_its_own_secret_only(server: TestServer) {
    let admin = server.admin().await;
    let eve = server.stranger(&admin, "eve").await;
    let other = json!({ "name": "Other", "repository": "https://elsewhere.example/team/other" });
    let other = server.running(&admin, other).await;
    let other = server.webhook_secret(&admin, id_of(&other)).await;
    for host in HOSTS {
        let (id, secret) = server.of_host(&admin, host, host).await;
        let (theirs, their_secret) = server.of_host(&eve, host, host).await;
        let push = sample(host, "push-branch");
        let bytes = push.bytes();
        let refused = async |headers: Vec<(String, String)>, bytes: Vec<u8>, what: &str| {
            let call = with_headers(server.call(Method::POST, "/webhook"), &headers).body(bytes);
            let reply = call.send().await;
            assert_eq!(
                (reply.status, &reply.json["error"]),
                (401, &json!("invalid_signature")),
                "{host}, {what}: {}",
                reply.text
            );
        };
        refused(push.headers.clone(), bytes.clone(), "unsigned").await;
        refused(push.signed("wrong", &bytes), bytes.clone(), "signed with a wrong secret").await;
        refused(push.signed("", &bytes), bytes.clone(), "signed with no secret").await;
        refused(push.signed(&other, &bytes), bytes.clone(), "signed with another application's").await;
        refused(push.signed(&secret, &bytes), bytes[..bytes.len() - 1].to_vec(), "truncated").await;
        refused(push.signed(&secret, &bytes), Vec::new(), "empty").await;
        refused(Vec::new(), bytes.clone(), "of no host").await;
        assert!(server.pushed(&admin, id).await.is_empty() && server.pushed(&eve, theirs).await.is_empty(), "{host}");

        assert_eq!(server.told(&push, &secret).await, QUEUED, "{host}");
        let pushed = server.pushed(&admin, id).await;
        assert_eq!((pushed.len(), &pushed[0]["kind"]), (1, &json!("deploy")), "{host}");
        assert!(server.pushed(&eve, theirs).await.is_empty(), "{host}: with the secret of another tenant");
        assert_eq!(server.told(&push.clone().with_id("another"), &their_secret).await, QUEUED, "{host}");
        assert_eq!((server.pushed(&admin, id).await.len(), server.pushed(&eve, theirs).await.len()), (1, 1), "{host}");
        for (person, id) in [(&admin, id), (&eve, theirs)] {
            let application = server.application(person, &json!(id)).await;
            let body = json!({ "id": id, "name": application["name"] });
            server.delete("/deploy/application").json(body).by(person).ok().await;
        }
        // What is being deleted is not there for code hosts.
        refused(push.signed(&secret, &bytes), bytes.clone(), "for an application that is being deleted").await;
    }
    // The newer scheme of GitLab.
    let (id, _) = server.of_host(&admin, "signed", "gitlab").await;
    let body = json!({ "secret": "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=" });
    server.post(&format!("/deploy/application/{id}/webhook/rotate"), body).by(&admin).ok().await;
    let push = sample("gitlab", "push-branch");
    let signature = standard_signature(b"0123456789abcdef0123456789abcdef", "msg_1", 1_767_225_600, &push.bytes());
    let mut headers = push.headers.clone();
    for (name, value) in
        [("webhook-id", "msg_1"), ("webhook-timestamp", "1767225600"), ("webhook-signature", &signature)]
    {
        headers.push((name.into(), value.into()));
    }
    let call = with_headers(server.call(Method::POST, "/webhook"), &headers).body(push.bytes());
    assert_eq!(call.send().await.json["message"], QUEUED);
}

async fn a_delivery_counts_once(server: TestServer) {
    let admin = server.admin().await;
    for host in HOSTS {
        let (id, secret) = server.of_host(&admin, host, host).await;
        let push = sample(host, "push-branch").with_id("7");
        // A stranger who uses the id first changes nothing.
        assert_eq!(server.deliver(&push, "wrong").await.status, 401);
        assert_eq!(server.told(&push, &secret).await, QUEUED, "{host}");
        let again = server.told(&push, &secret).await;
        assert_eq!(again, "Nothing was deployed. This delivery was received before.", "{host}");
        // The doubled prefix answers too.
        let call = signed_call(server.call_raw(Method::POST, "/api/v1/api/v1/webhook"), &push, &secret);
        assert_eq!(call.send().await.json["message"], again.as_str(), "{host}");
        // The same under another id, as when an attacker repeats it, or a hook is registered twice.
        let told = server.told(&push.with_id("8"), &secret).await;
        assert_eq!(told, "Nothing was deployed. The last push was of this commit too.", "{host}");
        assert_eq!(server.pushed(&admin, id).await.len(), 1, "{host}");
        let verdicts: Vec<_> =
            server.deliveries(&admin, id).await.iter().map(|one| one["verdict"].as_str().unwrap().to_owned()).collect();
        // Gitea and Forgejo have the same repository here, so the refused one is of either.
        assert_eq!(verdicts[..2], ["ignored", "accepted"], "{host}");
    }
}

async fn reasons_are_told(server: TestServer) {
    let admin = server.admin().await;
    for (host, name, expected) in [
        ("github", "ping", "The code host tried whether it can reach Windlass. It can."),
        ("gitea", "ping", "The code host tried whether it can reach Windlass. It can."),
        ("github", "push-skip", "The message of the last commit says [skip ci]."),
        ("github", "delete-branch", "The push was to feature/basket; main is deployed."),
        ("github", "push-unicode-branch", "The push was to feature/größe-日本; main is deployed."),
        ("github", "issue-comment", "Events of the kind issue_comment deploy nothing."),
        ("github", "push-tag", "The push was of the tag v1.0.0; tag_pattern is empty, so no tags are deployed."),
        ("gitlab", "push-skip", "The message of the last commit says [skip ci]."),
        ("gitlab", "issue-comment", "Events of the kind note deploy nothing."),
        ("bitbucket", "push-skip", "The message of the last commit says [skip ci]."),
        ("bitbucket", "issue-comment", "Events of the kind pullrequest:comment_created deploy nothing."),
        ("bitbucket-server", "push-skip", "The message of the last commit says [skip ci]."),
        ("forgejo", "push-skip", "The message of the last commit says [skip ci]."),
    ] {
        let (id, secret) = server.of_host(&admin, &format!("{host} {name}"), host).await;
        let told = server.told(&sample(host, name), &secret).await;
        assert_eq!(told, format!("Nothing was deployed. {expected}"), "{host} {name}");
        let deliveries = server.deliveries(&admin, id).await;
        assert_eq!((deliveries.len(), &deliveries[0]["reason"]), (1, &json!(expected)));
        assert_eq!((&deliveries[0]["verdict"], &deliveries[0]["deployment_id"]), (&json!("ignored"), &Value::Null));
        assert!(server.pushed(&admin, id).await.is_empty());
    }
    let (id, secret) = server.of_host(&admin, "Shop", "github").await;
    let mut number = 0;
    let mut push = async |name: &str, expected: &str| {
        number += 1;
        let told = server.told(&sample("github", name).with_id(&number.to_string()), &secret).await;
        assert_eq!(told, format!("Nothing was deployed. {expected}"));
    };
    server.change(&admin, id, json!({ "branch": "feature/basket" })).await;
    push("delete-branch", "It was deleted: the branch feature/basket. What runs goes on.").await;
    server.change(&admin, id, json!({ "branch": "main", "auto_deploy": false })).await;
    push("push-branch", "auto_deploy is off for this application.").await;
    server.change(&admin, id, json!({ "auto_deploy": true, "watch_paths": ["docs", "api/**"] })).await;
    push("push-branch", "None of the 4 changed files is in watch_paths.").await;
    server.change(&admin, id, json!({ "watch_paths": [] })).await;
    server.post("/deploy/application/stop", json!({ "id": id })).by(&admin).ok().await;
    push("push-branch", "The application is stopped.").await;
    // A branch with any name, and files that cannot be known.
    let (id, secret) = server.of_host(&admin, "Unicode", "github").await;
    server.change(&admin, id, json!({ "branch": "feature/größe-日本" })).await;
    assert_eq!(server.told(&sample("github", "push-unicode-branch"), &secret).await, QUEUED);
    let (id, secret) = server.of_host(&admin, "Forced", "github").await;
    server.change(&admin, id, json!({ "branch": "feature/basket", "watch_paths": ["docs"] })).await;
    assert_eq!(server.told(&sample("github", "push-branch-forced"), &secret).await, QUEUED);
}

/// A push from one commit to another, by their first digit.
fn push(from: char, to: char, at: Option<i64>) -> Sample {
    let hash = |digit: char| digit.to_string().repeat(40);
    let mut sample = sample("github", "push-branch").with_id(&format!("{from}{to}{at:?}"));
    (sample.body["before"], sample.body["after"]) = (json!(hash(from)), json!(hash(to)));
    sample.body["head_commit"]["id"] = json!(hash(to));
    sample.body["repository"]["pushed_at"] = json!(at);
    sample
}

async fn older_pushes_deploy_nothing(server: TestServer) {
    let admin = server.admin().await;
    let (id, secret) = server.of_host(&admin, "Shop", "github").await;
    let older = "Nothing was deployed. A newer push was received before this one.";
    for (sample, expected) in [
        (push('1', '2', Some(200)), QUEUED),
        // By the time of the host.
        (push('0', '1', Some(100)), older),
        // By what it led to: the one before has come already.
        (push('9', '1', None), older),
        (push('2', '3', None), QUEUED),
        // Back to a commit that was there before: forced, and newer.
        (push('3', '2', None), QUEUED),
        (push('2', '3', Some(300)), QUEUED),
        // Nothing is known of it, so it is deployed: the newest commit of the branch, whichever this one is.
        (push('7', '8', None), QUEUED),
    ] {
        assert_eq!(server.told(&sample, &secret).await, expected);
    }
    assert_eq!(server.pushed(&admin, id).await.len(), 5);
    let states: Vec<_> = server
        .pushed(&admin, id)
        .await
        .iter()
        .map(|one| one["status"]["status"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(states, ["queued", "cancelled", "cancelled", "cancelled", "cancelled"], "the newest one is left");
}

async fn a_repository_has_many_addresses(server: TestServer) {
    let admin = server.admin().await;
    for (number, address) in [
        "https://git.example.org/team/shop",
        "https://GIT.example.org:443/team/shop.git",
        "http://git.example.org:3000/team/shop.git",
        "ssh://git@git.example.org:2222/team/shop.git",
        "git@git.example.org:team/shop.git",
        "https://git.example.org/Team/Shop.git",
    ]
    .into_iter()
    .enumerate()
    {
        let application =
            server.running(&admin, json!({ "name": format!("Shop {number}"), "repository": address })).await;
        let secret = server.webhook_secret(&admin, id_of(&application)).await;
        let push = sample("gitea", "push-branch").with_id(&number.to_string());
        assert_eq!(server.told(&push, &secret).await, QUEUED, "{address}");
    }
    let application =
        server.running(&admin, json!({ "name": "No", "repository": "https://git.example.org/team/shops" })).await;
    let secret = server.webhook_secret(&admin, id_of(&application)).await;
    assert_eq!(server.deliver(&sample("gitea", "push-branch"), &secret).await.status, 401);
}

async fn one_push_deploys_several_applications(server: TestServer) {
    let admin = server.admin().await;
    let (web, secret) = server.of_host(&admin, "Web", "github").await;
    let (api, _) = server.of_host(&admin, "Api", "github").await;
    let (docs, _) = server.of_host(&admin, "Docs", "github").await;
    for id in [api, docs] {
        let body = json!({ "secret": secret, "grace_seconds": 0 });
        server.post(&format!("/deploy/application/{id}/webhook/rotate"), body).by(&admin).ok().await;
    }
    server.change(&admin, web, json!({ "watch_paths": ["web"] })).await;
    server.change(&admin, api, json!({ "watch_paths": ["src/*.rs"] })).await;
    server.change(&admin, docs, json!({ "watch_paths": ["docs"] })).await;
    let told = server.told(&sample("github", "push-branch"), &secret).await;
    let reason = "None of the 4 changed files is in watch_paths.";
    assert_eq!(told, format!("2 deployments were queued. Other applications were not deployed: {reason}"));
    for (id, count) in [(web, 1), (api, 1), (docs, 0)] {
        assert_eq!(server.pushed(&admin, id).await.len(), count);
        assert_eq!(server.deliveries(&admin, id).await.len(), 1);
    }
}

async fn a_secret_can_be_changed_without_a_gap(server: TestServer) {
    let admin = server.admin().await;
    let (id, first) = server.of_host(&admin, "Shop", "github").await;
    let rotate = format!("/deploy/application/{id}/webhook/rotate");
    let rotated = server.post(&rotate, json!({})).by(&admin).ok().await;
    let second = rotated["secret"].as_str().unwrap().to_owned();
    assert!(second != first && second.len() >= 40);
    assert_eq!(rotated["previous_secret_until"], "2026-01-02T00:00:00.000000Z");
    assert_eq!(server.deliver(&push('1', '2', None), &first).await.status, 200);
    assert_eq!(server.deliver(&push('2', '3', None), &second).await.status, 200);
    server.app.clock.advance_seconds(86_400);
    assert_eq!(server.deliver(&push('3', '4', None), &first).await.status, 401);
    assert_eq!(server.deliver(&push('3', '4', None), &second).await.status, 200);
    assert_eq!(server.webhook(&admin, id).await["previous_secret_until"], Value::Null);
    // At once, when it has leaked.
    let third = json!({ "secret": "0123456789abcdef", "grace_seconds": 0 });
    let rotated = server.post(&rotate, third).by(&admin).ok().await;
    assert_eq!((&rotated["secret"], &rotated["previous_secret_until"]), (&json!("0123456789abcdef"), &Value::Null));
    assert_eq!(server.deliver(&push('4', '5', None), &second).await.status, 401);
    assert_eq!(server.deliver(&push('4', '5', None), "0123456789abcdef").await.status, 200);
    for (body, problem) in [
        (json!({ "secret": "short" }), "secret: must have at least 16 characters"),
        (json!({ "secret": "with a space in it" }), "secret: must be visible ASCII characters"),
        (json!({ "grace_seconds": 604_801 }), "grace_seconds: must be a whole number from 0 to 604800"),
    ] {
        let message = server.post(&rotate, body).by(&admin).fails(400, "invalid_request").await;
        assert!(message.starts_with(problem), "{message}");
    }
}

async fn deliveries_are_listed_shown_and_replayed(server: TestServer) {
    let admin = server.admin().await;
    let (id, secret) = server.of_host(&admin, "Shop", "github").await;
    let viewer = server.join(&admin, "viewer", Role::Viewer).await;
    let mut push = push('1', '2', Some(100));
    // A host that puts the secret where it does not belong.
    push.body["hook"] = json!({ "config": { "secret": secret } });
    server.told(&push, &secret).await;
    server.told(&sample("github", "ping"), &secret).await;
    server.deliver(&sample("github", "push-branch"), "wrong").await;
    let path = format!("/deploy/application/{id}/deliveries");
    let verdicts = async |query: &str| {
        let page = server.get(&format!("{path}?{query}")).by(&viewer).ok().await;
        let verdicts = page["deliveries"].as_array().unwrap().iter();
        let verdicts: Vec<_> = verdicts.map(|one| one["verdict"].as_str().unwrap().to_owned()).collect();
        (verdicts.join(" "), page["pagination"]["total_count"].as_i64().unwrap())
    };
    assert_eq!(verdicts("").await, ("refused ignored accepted".into(), 3));
    assert_eq!(verdicts("page=2&page_size=2").await, ("accepted".into(), 3));
    assert_eq!(verdicts("verdict=ignored").await, ("ignored".into(), 1));
    assert_eq!(verdicts("verdict=refused&host=github").await.0, "refused");
    assert_eq!(verdicts("host=gitlab").await.0, "");
    server.get(&format!("{path}?verdict=bad")).by(&admin).fails(400, "invalid_request").await;

    let all = server.deliveries(&admin, id).await;
    let one = |number: usize| format!("/deploy/deliveries/{}", all[number]["id"].as_str().unwrap());
    let accepted = server.get(&one(2)).by(&admin).ok().await;
    assert_eq!(accepted["headers"]["x-github-event"], "push");
    assert!(accepted["headers"].as_object().unwrap().keys().all(|name| !name.contains("signature")), "{accepted}");
    let body: Value = serde_json::from_str(accepted["body"].as_str().unwrap()).unwrap();
    assert_eq!((&body["ref"], &body["hook"]["config"]["secret"]), (&json!("refs/heads/main"), &json!("********")));
    assert_eq!(accepted["deployment_id"], server.pushed(&admin, id).await[0]["id"]);
    assert_eq!((&accepted["reference"], &accepted["sender"]), (&json!("refs/heads/main"), &json!("ada")));
    // Nothing of what a stranger said is kept.
    let refused = server.get(&one(0)).by(&admin).ok().await;
    assert_eq!((&refused["body"], &refused["headers"], &refused["sender"]), (&json!(""), &json!({}), &json!("")));
    assert_eq!(refused["ip_address"], "127.0.0.1");
    server.get(&one(2)).by(&viewer).fails(403, "forbidden").await;
    server.get(&format!("/deploy/application/{id}/webhook")).by(&viewer).fails(403, "forbidden").await;
    let last = server.webhook(&admin, id).await["last_delivery"].clone();
    assert_eq!(last, all[0]);

    let replayed = server.post(&format!("{}/replay", one(2)), json!({})).by(&admin).ok().await;
    assert_eq!((&replayed["verdict"], &replayed["replay_of"]), (&json!("accepted"), &all[2]["id"]));
    assert_eq!(replayed["deployment_id"].as_str().map(str::len), Some(36));
    let message = server.post(&format!("{}/replay", one(0)), json!({})).by(&admin).fails(409, "conflict").await;
    assert_eq!(message, "What this delivery said was not kept, because it was refused or too long. Redeploy instead.");
    // With the application as it is now.
    server.change(&admin, id, json!({ "auto_deploy": false })).await;
    let replayed = server.post(&format!("{}/replay", one(2)), json!({})).by(&admin).ok().await;
    assert_eq!((&replayed["verdict"], &replayed["deployment_id"]), (&json!("ignored"), &Value::Null));
    assert_eq!(server.deliveries(&admin, id).await.len(), 5);
}

async fn refusals_say_nothing_and_take_the_same_time(server: TestServer) {
    let admin = server.admin().await;
    server.of_host(&admin, "Shop", "github").await;
    let mut elsewhere = sample("github", "push-branch");
    for name in ["clone_url", "ssh_url", "git_url", "html_url"] {
        elsewhere.body["repository"][name] = json!("https://github.com/team/none");
    }
    let mut replies = Vec::new();
    for sample in [sample("github", "push-branch"), elsewhere] {
        for headers in [sample.signed("wrong", &sample.bytes()), sample.headers.clone()] {
            let began = Instant::now();
            let reply = with_headers(server.call(Method::POST, "/webhook"), &headers).body(sample.bytes()).send().await;
            let took = began.elapsed();
            assert!(took >= Duration::from_millis(100), "{took:?}");
            replies.push((reply.status, reply.text));
        }
    }
    assert!(replies.iter().all(|reply| *reply == replies[0]), "{replies:?}");
    assert_eq!(replies[0].0, 401);
}

async fn tenants_do_not_hear_of_each_other(server: TestServer) {
    let admin = server.admin().await;
    let eve = server.stranger(&admin, "eve").await;
    let (id, secret) = server.of_host(&admin, "Shop", "github").await;
    // She names a repository that is not hers, and waits for what its code host sends.
    let (theirs, _) = server.of_host(&eve, "Shop", "github").await;
    server.told(&push('1', '2', None), &secret).await;
    server.deliver(&push('2', '3', None), "wrong").await;
    assert!(server.deliveries(&eve, theirs).await.is_empty());
    let own = server.deliveries(&admin, id).await;
    assert_eq!(own.len(), 1, "a refused one may be meant for either, so neither hears of it");
    let path = format!("/deploy/deliveries/{}", own[0]["id"].as_str().unwrap());
    server.get(&path).by(&eve).fails(404, "not_found").await;
    server.post(&format!("{path}/replay"), json!({})).by(&eve).fails(404, "not_found").await;
    server.get(&format!("/deploy/application/{id}/deliveries")).by(&eve).fails(404, "not_found").await;
}

async fn bodies_have_a_limit(server: TestServer) {
    let admin = server.admin().await;
    let (id, secret) = server.of_host(&admin, "Shop", "github").await;
    let most = 5 * 1024 * 1024;
    let mut push = push('1', '2', None);
    let filled = push.bytes().len() + r#","filling":"""#.len();
    push.body["filling"] = json!("x".repeat(most - filled));
    assert_eq!(push.bytes().len(), most);
    assert_eq!(server.told(&push, &secret).await, QUEUED);
    let kept = server.deliveries(&admin, id).await;
    let shown = server.get(&format!("/deploy/deliveries/{}", kept[0]["id"].as_str().unwrap())).by(&admin).ok().await;
    assert_eq!((&shown["body"], &shown["body_bytes"]), (&json!(""), &json!(most)), "too long to be kept");
    push.body["filling"] = json!("x".repeat(most - filled + 1));
    let reply = server.deliver(&push, &secret).await;
    assert_eq!((reply.status, &reply.json["error"]), (413, &json!("too_large")));
    assert_eq!(server.deliveries(&admin, id).await.len(), 1);
}

async fn tags_are_deployed_as_they_are(server: TestServer) {
    let admin = server.admin().await;
    for host in HOSTS {
        let (id, secret) = server.of_host(&admin, host, host).await;
        server.change(&admin, id, json!({ "tag_pattern": "v1.*" })).await;
        let tag = sample(host, "push-tag-annotated");
        assert_eq!(server.told(&tag, &secret).await, QUEUED, "{host}");
        let pushed = server.pushed(&admin, id).await;
        let delivery = &server.deliveries(&admin, id).await[0];
        assert_eq!(delivery["reference"], "refs/tags/v1.1.0", "{host}");
        assert_eq!(
            pushed[0]["commit_hash"], delivery["commit_hash"],
            "{host}: a branch is fetched as it is, a tag is not"
        );
        let told = server.told(&sample(host, "delete-tag").with_id("deleted"), &secret).await;
        assert!(told.starts_with("Nothing was deployed. It was deleted: the tag v1.0.0."), "{host}: {told}");
        server.change(&admin, id, json!({ "tag_pattern": "release-*" })).await;
        let told = server.told(&sample(host, "push-tag"), &secret).await;
        assert_eq!(told, "Nothing was deployed. The tag v1.0.0 does not fit the tag_pattern release-*.", "{host}");
    }
}

async fn triggers_are_fields_of_the_application(server: TestServer) {
    let admin = server.admin().await;
    let mut body = least("Shop");
    (body["auto_deploy"], body["watch_paths"]) = (json!(false), json!(["web", "!web/docs"]));
    let made = server.deploy(&admin, body).await;
    let expected = json!({
        "auto_deploy": false, "watch_paths": ["web", "!web/docs"], "tag_pattern": "", "auto_update": false,
        "previews": false, "preview_forks": false,
    });
    assert_eq!(made["triggers"], expected);
    let webhook = server.webhook(&admin, id_of(&made)).await;
    assert_eq!((&webhook["auto_deploy"], &webhook["watch_paths"]), (&json!(false), &expected["watch_paths"]));
    assert!(webhook["url"].as_str().unwrap().ends_with("/api/v1/webhook"), "{webhook}");
    // They act at once, so they never wait for a deploy.
    server.make_live(id_of(&made["deployments"][0])).await;
    server.change(&admin, id_of(&made), json!({ "tag_pattern": "v*" })).await;
    let shown = server.application(&admin, &made["id"]).await;
    assert_eq!((&shown["triggers"]["tag_pattern"], &shown["pending_fields"]), (&json!("v*"), &json!([])));
    for (change, problem) in [
        (json!({ "tag_pattern": "a b" }), "tag_pattern: must be the name of a tag or a pattern, such as v*"),
        (json!({ "watch_paths": ["a", "a"] }), "watch_paths: has a twice"),
        (json!({ "watch_paths": "web" }), "watch_paths: must be an array, not a string"),
        (json!({ "auto_deploy": "yes" }), "auto_deploy: must be a boolean, not a string"),
    ] {
        let mut change = change;
        change["id"] = made["id"].clone();
        let message = server.put("/deploy/application", change).by(&admin).fails(400, "invalid_request").await;
        assert!(message.starts_with(problem), "{message}");
    }
}

async fn strangers_have_a_limit(kind: Kind) {
    let server = TestServer::with(kind, &[("webhook-failures", "3")]).await;
    let admin = server.admin().await;
    let (id, secret) = server.of_host(&admin, "Shop", "github").await;
    for _ in 0..3 {
        assert_eq!(server.deliver(&push('1', '2', None), "wrong").await.status, 401);
    }
    let reply = server.deliver(&push('1', '2', None), "wrong").await;
    assert_eq!((reply.status, &reply.json["error"]), (429, &json!("rate_limited")));
    assert_eq!(reply.headers["retry-after"], "60");
    // Others send from the same address too: that of the code host.
    assert_eq!(server.told(&push('1', '2', None), &secret).await, QUEUED);
    assert_eq!(server.deliveries(&admin, id).await.len(), 4);
}

async fn what_is_kept_has_a_limit(kind: Kind) {
    let server =
        TestServer::with(kind, &[("kept-deliveries", "30"), ("delivery-days", "30"), ("session-days", "365")]).await;
    let admin = server.admin().await;
    let (id, secret) = server.of_host(&admin, "Shop", "github").await;
    for number in 0..35 {
        assert_eq!(server.deliver(&push('1', '2', None).with_id(&number.to_string()), &secret).await.status, 200);
    }
    for _ in 0..25 {
        server.deliver(&push('1', '2', None), "wrong").await;
    }
    let kept = server.deliveries(&admin, id).await;
    let refused = kept.iter().filter(|one| one["verdict"] == "refused").count();
    assert_eq!((kept.len(), refused), (50, 20), "strangers push nothing out that was believed");
    server.app.clock.advance_seconds(30 * 86_400 + 1);
    assert!(housekeeping::sweep(&server.app).await.unwrap() >= 50);
    assert!(server.deliveries(&admin, id).await.is_empty());
}
