//! Two organizations on one builder: neither reads what the builds of the other have left.

use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use windlass_testing::git::Repository;
use windlass_testing::{Kind, testapp};

use super::engine_lost::is_alone;
use super::support::*;
use crate::process::token_in;

/// Ada's organization, and Eve's.
pub struct Tenants {
    pub platform: Platform,
    tokens: [String; 2],
}

pub const ADA: usize = 0;
pub const EVE: usize = 1;

impl Tenants {
    async fn start() -> Self {
        Self::with(&[]).await
    }

    pub async fn with(arguments: &[&str]) -> Self {
        let arguments = [&["--open-registration", "true"][..], arguments].concat();
        let platform = Platform::on(Kind::Sqlite, &arguments).await;
        let eve = r#"{"email":"eve@example.org","password":"correct horse"}"#;
        let eve = token_in(&platform.process().request("POST", "/auth/register", "", eve));
        let tokens = [platform.token().to_owned(), eve];
        Self { platform, tokens }
    }

    pub fn repository(&self, dockerfile: &str) -> Repository {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let name = format!("of-tenants-{}", COUNT.fetch_add(1, Ordering::Relaxed));
        let repository = self.platform.git.repository(&name);
        repository.commit(&[("Dockerfile", dockerfile), ("version", "v1")], "v1");
        repository
    }

    /// The deployment of a new application, when it has ended.
    pub async fn deploy(&mut self, tenant: usize, name: &str, repository: &Repository, fields: &Value) -> Value {
        self.platform.use_token(&self.tokens[tenant]);
        let mut body = body(name, repository);
        for (field, value) in fields.as_object().expect("fields") {
            body[field] = value.clone();
        }
        let application = self.platform.deploy(&body);
        self.platform.ended(&newest_deployment(&application)).await
    }

    /// What the application of this name serves as its version.
    pub async fn served(&mut self, tenant: usize, name: &str, repository: &Repository, fields: &Value) -> String {
        let deployment = self.deploy(tenant, name, repository, fields).await;
        let story = self.platform.story(&id_of(&deployment));
        assert_eq!(deployment["status"]["status"], "deployed", "{story}");
        self.platform.visit(&format!("{name}.localhost"), "/").await.1
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cache_mount_is_the_organizations_own() {
    let mut tenants = Tenants::start().await;
    let write = "RUN --mount=type=cache,id=kept,target=/kept cat version > /kept/left";
    let read =
        "RUN --mount=type=cache,id=kept,target=/kept cat /kept/left > /version 2>/dev/null || echo empty > /version";
    let (writer, reader) =
        (tenants.repository(&testapp::dockerfile(write)), tenants.repository(&testapp::dockerfile(read)));
    tenants.served(ADA, "writer", &writer, &json!({})).await;
    let spying = tenants.served(EVE, "spying", &reader, &json!({})).await;
    assert_eq!(spying.trim(), "empty");
    // In the organization it is shared, or it would not be worth having.
    let reading = tenants.served(ADA, "reading", &reader, &json!({})).await;
    assert_eq!(reading.trim(), "v1");
}

/// The cache knows nothing of secrets: to it, both are the same step.
#[tokio::test(flavor = "multi_thread")]
async fn a_layer_made_with_a_secret_is_the_organizations_own() {
    let mut tenants = Tenants::start().await;
    let run = "RUN --mount=type=secret,id=TOKEN cp /run/secrets/TOKEN /version";
    let repository = tenants.repository(&testapp::dockerfile(run));
    let fields = |secret: &str| json!({ "build_variables": { "TOKEN": secret }, "secret_names": ["TOKEN"] });
    assert_eq!(tenants.served(ADA, "hers", &repository, &fields("of ada")).await, "of ada");
    assert_eq!(tenants.served(EVE, "mine", &repository, &fields("of eve")).await, "of eve");
    let again = tenants.deploy(ADA, "again", &repository, &fields("of ada")).await;
    let story = tenants.platform.story(&id_of(&again));
    assert!(story.contains("CACHED"), "an organization has the use of its own cache: {story}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_image_of_another_organization_is_no_base() {
    let mut tenants = Tenants::start().await;
    let repository = tenants.repository(&testapp::dockerfile("RUN echo of ada > /private"));
    let hers = tenants.deploy(ADA, "hers", &repository, &json!({})).await;
    let (application, deployment) = (hers["application_id"].as_str().unwrap(), id_of(&hers));
    let simple = |id: &str| id.replace('-', "");
    let shown = hers["container_image"].as_str().unwrap().to_owned();
    let names = docker(&["image", "inspect", "--format", "{{join .RepoTags \" \"}}", &shown]);
    // With the name it would work: that the name is not told is all that protects the image.
    let seen = format!("{hers} {} {}", tenants.platform.application(application), tenants.platform.story(&deployment));
    assert!(!names.is_empty() && !names.split(' ').any(|name| seen.contains(name)), "{names}: {seen}");
    let guesses = [shown, format!("windlass/{}:{}", simple(application), simple(&deployment))];
    for (number, guess) in guesses.iter().enumerate() {
        let spy = tenants.repository(&testapp::dockerfile(&format!("COPY --from={guess} /private /version")));
        let spying = tenants.deploy(EVE, &format!("spying{number}"), &spy, &json!({})).await;
        let story = tenants.platform.story(&id_of(&spying));
        assert_eq!(spying["failure"], "build_failed", "{guess}: {story}");
        assert!(!story.contains("/private\": not found"), "the image is found: {story}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_container_has_more_than_the_operator_gives() {
    let limits = ["--container-memory-mib", "256", "--container-cpu-millis", "500", "--container-pids", "100"];
    let platform = Platform::on(Kind::Sqlite, &limits).await;
    let repository = repository(&platform, "greedy", "v1");
    let mut wanted = body("greedy", &repository);
    for (field, most) in [("memory_mb", 256), ("cpu_millis", 500), ("pids", 100)] {
        wanted[field] = json!(most + 1);
        let (status, answer) = platform.try_call("POST", "/deploy/application", &wanted);
        let message = answer["message"].as_str().unwrap();
        assert_eq!((status, message.contains(&format!("{field}: must be at most {most}"))), (400, true), "{message}");
        wanted.as_object_mut().unwrap().remove(field);
    }
    // Without a value it gets the most there is, and what is inside cannot get more.
    let application = platform.deploy(&wanted);
    platform.deployed(&newest_deployment(&application)).await;
    let [name] = containers_of(&id_of(&application)).try_into().unwrap();
    let given = docker(&[
        "inspect",
        "--format",
        "{{.HostConfig.Memory}} {{.HostConfig.NanoCpus}} {{.HostConfig.PidsLimit}}",
        &name,
    ]);
    assert_eq!(given, "268435456 500000000 100");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_longest_variables_that_are_accepted_reach_the_build() {
    let mut tenants = Tenants::start().await;
    let repository =
        tenants.repository(&testapp::dockerfile("ARG A\nARG B\nRUN printf %s \"$A$B\" | wc -c > /version"));
    let mut body = body("long", &repository);
    body["build_variables"] = json!({ "A": "\u{1}".repeat(8_000) });
    let (status, answer) = tenants.platform.try_call("POST", "/deploy/application", &body);
    let message = answer["message"].as_str().unwrap();
    assert_eq!((status, message.contains("build_variables: take 64")), (400, true), "{message}");
    let fields = json!({ "build_variables": { "A": "a".repeat(32_000), "B": "b".repeat(27_900) } });
    assert_eq!(tenants.served(ADA, "long", &repository, &fields).await.trim(), "59900");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_organization_gets_no_more_than_the_operator_gives() {
    let limits = ["--organization-containers", "3", "--organization-images-mib", "5"];
    let mut tenants = Tenants::with(&limits).await;
    let repository = tenants.repository(&testapp::dockerfile("RUN true"));
    let failed = async |tenants: &mut Tenants, name: &str, replicas: u32| {
        let deployment = tenants.deploy(EVE, name, &repository, &json!({ "replicas": replicas })).await;
        assert_eq!(
            (&deployment["status"]["status"], &deployment["failure"]),
            (&json!("failed"), &json!("ceiling_reached"))
        );
        deployment["reason"].as_str().unwrap().to_owned()
    };
    let reason = failed(&mut tenants, "many", 4).await;
    assert!(
        reason.contains("has 3 containers, and 3 is the most") && reason.contains("organization-containers"),
        "{reason}"
    );
    // Nothing of it is left, and what fits is served; then its images fill the organization's room.
    tenants.platform.settled().await;
    assert_eq!(tenants.served(EVE, "few", &repository, &json!({ "replicas": 3 })).await, "v1");
    let reason = failed(&mut tenants, "more", 1).await;
    assert!(reason.contains("5 MiB is the most") && reason.contains("organization-images-mib"), "{reason}");
    // Ada has her own.
    assert_eq!(tenants.served(ADA, "shop", &repository, &json!({})).await, "v1");
}

/// BuildKit has one limit for all builds. It is set once there is an application that they could starve.
#[tokio::test(flavor = "multi_thread")]
async fn builds_cannot_take_all_of_the_machine() {
    // The limit holds for all builds of an engine.
    if !is_alone("tenants::builds_cannot_take_all_of_the_machine") {
        return;
    }
    let mut tenants = Tenants::with(&["--build-memory-mib", "96", "--build-pids", "200"]).await;
    let shop = tenants.repository(&testapp::dockerfile("RUN true"));
    assert_eq!(tenants.served(ADA, "shop", &shop, &json!({})).await, "v1");
    let greedy = tenants
        .repository(&testapp::dockerfile("RUN dd if=/dev/zero of=/dev/null bs=300M count=1 && echo large > /version"));
    let deployment = tenants.deploy(EVE, "greedy", &greedy, &json!({})).await;
    let story = tenants.platform.story(&id_of(&deployment));
    assert_eq!(deployment["status"]["status"], "failed", "{story}");
    assert_eq!(tenants.platform.visit("shop.localhost", "/").await, (200, "v1".into()));
    // What fits is built.
    let modest = tenants
        .repository(&testapp::dockerfile("RUN dd if=/dev/zero of=/dev/null bs=30M count=1 && echo small > /version"));
    assert_eq!(tenants.served(EVE, "modest", &modest, &json!({})).await.trim(), "small");
}
