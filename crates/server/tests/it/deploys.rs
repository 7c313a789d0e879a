//! Applications for tests, and what a worker would make of their deployments.

use std::sync::atomic::Ordering;

use axum::http::Method;
use serde_json::{Value, json};
use uuid::Uuid;
use windlass_api::{ContainerStatus, DeploymentState, LogStep, LogStream, SnapshotState};
use windlass_server::service::queue;
use windlass_store::certificate_orders::{self, CertificateOrder};
use windlass_store::jobs::Search;
use windlass_store::logs::{Batch, LogLine};
use windlass_store::releases::{Artifact, Image};
use windlass_store::snapshots::{self, Snapshot};
use windlass_store::{applications, deployments, jobs, releases, volumes};
use windlass_testing::certificates;
use windlass_testing::deliveries::sample;
use windlass_testing::gitea::Gitea;

use crate::deliveries::signed_call;
use crate::support::{Person, TestServer, id_of};
use crate::walk::{Operation, World};

pub const REPOSITORY: &str = "https://git.example.org/team/shop.git";
pub const SSH_KEY: &str =
    "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAA-not-a-real-one\n-----END OPENSSH PRIVATE KEY-----";

/// The least that `POST /deploy/application` takes.
pub fn least(name: &str) -> Value {
    json!({ "name": name, "repository": REPOSITORY })
}

/// Everything that `POST /deploy/application` takes. What is secret is called as `secrets.rs` knows it.
pub fn most(name: &str) -> Value {
    let mut all = json!({
        "name": name, "repository": REPOSITORY, "branch": "main", "base_path": "web", "dockerfile_path": "./ops/Dockerfile",
        "build_pack": "dockerfile", "environment": "staging", "port": 3000,
        "pre_run_command": "npm run migrate\nnpm run seed", "post_run_command": "npm run warm",
        "build_variables": { "NODE_ENV": "production", "token": "a very secret build variable" },
        "environment_variables": { "GREETING": "hello", "password": "a very secret variable" },
        "secret_names": ["token", "password"],
        "repository_token": "a very secret token", "repository_ssh_key": SSH_KEY,
        "health_path": "/health", "health_seconds": 90, "drain_seconds": 20, "stop_seconds": 5, "memory_mb": 256,
        "cpu_millis": 500, "pids": 200, "kept_releases": 5, "replicas": 3, "error_rate_percent": 20, "error_rate_seconds": 300,
        "volumes": [{ "name": "cache", "path": "/cache", "shared": true }], "pause": true, "snapshot_before_deploy": true,
        "auto_deploy": true, "watch_paths": ["web", "!web/docs"], "tag_pattern": "v*",
        "previews": true, "preview_forks": true, "preview_variables": { "GREETING": "preview" },
        "preview_secret_names": ["password"],
    });
    let building = json!({
        "language": "node", "language_version": "22", "program": "cmd/api", "build_target": "release", "git_in_context": true, "compose_file": "deploy/compose.yaml", "service": "web", "install_command": "npm ci",
        "build_command": "npm run build", "start_command": "npm start", "output_path": "/dist", "single_page": true,
    });
    all.as_object_mut().unwrap().extend(building.as_object().unwrap().clone());
    all
}

/// Variables that the applications of an environment share.
pub fn shared() -> Value {
    json!({
        "environment": "staging", "secret_names": ["password"],
        "variables": { "HOST": "db.example.org", "password": "a very secret shared variable" },
    })
}

impl TestServer {
    pub async fn deploy(&self, person: &Person, body: Value) -> Value {
        self.post("/deploy/application", body).by(person).ok().await
    }

    /// The application as the person sees it now.
    pub async fn application(&self, person: &Person, id: &Value) -> Value {
        self.get(&format!("/deploy/application?id={}", id.as_str().expect("an id"))).by(person).ok().await
    }

    /// A new application whose first deployment visitors are served by.
    pub async fn running(&self, person: &Person, body: Value) -> Value {
        let application = self.deploy(person, body).await;
        self.make_live(id_of(&application["deployments"][0])).await;
        self.application(person, &application["id"]).await
    }

    /// What a worker does with a deployment that goes well: its job is gone, visitors are served by it.
    pub async fn make_live(&self, id: Uuid) {
        use DeploymentState::{Building, Cloning, Deployed, Deploying, Queued};
        let now = self.app.now();
        let mut tx = self.app.db.begin().await.unwrap();
        let row = deployments::get(&mut tx, id).await.unwrap().unwrap();
        assert!(jobs::withdraw(&mut tx, id).await.unwrap(), "it was waiting");
        for (from, to) in [(Queued, Cloning), (Cloning, Building), (Building, Deploying), (Deploying, Deployed)] {
            assert!(deployments::advance(&mut tx, id, from, to, now).await.unwrap());
        }
        if row.release_id == id {
            let hash = "8f2c1d0000000000000000000000000000000000";
            releases::set_commit(&mut tx, id, hash, "Ada <ada@example.org>", "Open the shop").await.unwrap();
            let image =
                Image { name: "windlass/shop".into(), id: format!("sha256:{}", id.simple()), port: 3000, bytes: 0 };
            releases::set_artifact(&mut tx, id, Some(&Artifact::Image(image))).await.unwrap();
        }
        releases::set_live_at(&mut tx, row.release_id, now).await.unwrap();
        deployments::set_container(&mut tx, id, "wl-shop", "c0ffee", ContainerStatus::Running, crate::support::START)
            .await
            .unwrap();
        applications::set_live(&mut tx, row.application_id, Some(id)).await.unwrap();
        applications::settle(&mut tx, row.application_id, now).await.unwrap();
        tx.commit().await.unwrap();
        self.print(id, ["Cloning", "Step 1/2 : FROM scratch"].map(str::to_owned).into_iter()).await;
    }

    /// As if containers had had all volumes of an application.
    pub async fn use_volumes(&self, application_id: Uuid) {
        let mut tx = self.app.db.begin().await.unwrap();
        for volume in volumes::of_application(&mut tx, application_id).await.unwrap() {
            volumes::set_used(&mut tx, &volume.engine_name, crate::support::START).await.unwrap();
        }
        tx.commit().await.unwrap();
    }

    /// As if the application was deleted, and its volume stayed.
    pub async fn kept_volume(&self, application_id: Uuid) -> Uuid {
        let mut tx = self.app.db.begin().await.unwrap();
        let volume = volumes::of_application(&mut tx, application_id).await.unwrap().remove(0);
        applications::delete(&mut tx, application_id).await.unwrap();
        tx.commit().await.unwrap();
        volume.id
    }

    /// As if the worker had written the file of a snapshot.
    pub async fn finish_snapshot(&self, id: Uuid) {
        let (content, folder) = ("as a tar\n", self.app.config.data_dir.join("snapshots"));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join(format!("{id}.tar")), content).unwrap();
        let mut tx = self.app.db.begin().await.unwrap();
        assert!(jobs::withdraw(&mut tx, id).await.unwrap(), "it was waiting");
        let row = snapshots::get(&mut tx, id).await.unwrap().unwrap();
        let row = Snapshot { size_bytes: content.len() as i64, sha256: "c0ffee".into(), ..row };
        assert!(snapshots::end(&mut tx, &row, SnapshotState::Ready, "", self.app.now()).await.unwrap());
        tx.commit().await.unwrap();
    }

    /// A worker has begun to work on a deployment, the only one that waits.
    pub async fn begin_work(&self, id: Uuid) {
        let mut tx = self.app.db.begin().await.unwrap();
        let kinds = [queue::DEPLOY, queue::ROLL_OUT];
        let search = Search { kinds: &kinds, sharing: &kinds, share: 10 };
        let claimed = jobs::claim(&mut tx, &search, Uuid::from_u128(77), self.app.now(), 3_600).await.unwrap();
        assert_eq!(claimed.map(|job| job.id), Some(id), "it was waiting");
        let (from, to) = (DeploymentState::Queued, DeploymentState::Cloning);
        assert!(deployments::advance(&mut tx, id, from, to, self.app.now()).await.unwrap());
        tx.commit().await.unwrap();
    }

    /// What the build of a deployment prints.
    pub async fn print(&self, id: Uuid, lines: impl Iterator<Item = String>) {
        let lines = lines.map(|text| self.line(LogStream::Stdout, LogStep::Build, text)).collect();
        self.store_lines(id, lines).await;
    }

    pub async fn store_lines(&self, deployment_id: Uuid, lines: Vec<LogLine>) {
        let row = deployments::get(&mut self.app.db.read().await.unwrap(), deployment_id).await.unwrap().unwrap();
        let batch = Batch { application_id: row.application_id, deployment_id, lines, progress: None };
        self.app.logs.write(batch).await.unwrap();
    }

    pub fn line(&self, stream: LogStream, step: LogStep, text: String) -> LogLine {
        LogLine { stream, ..LogLine::note(self.app.now(), step, text) }
    }
}

impl World {
    /// The body of a new application with a name of its own.
    pub fn application(&self) -> Value {
        let number = self.applications.fetch_add(1, Ordering::SeqCst) + 1;
        most(&format!("Shop {number}"))
    }

    /// An application of the owner's that visitors are served by.
    pub async fn running(&self) -> Value {
        self.server.running(self.owner(), self.application()).await
    }

    /// The same, changed since, of a repository that can be asked.
    async fn changed(&self) -> Value {
        let mut body = self.application();
        body["repository"] = json!(format!("{}/shop.git", self.git.url()));
        body.as_object_mut().unwrap().retain(|field, _| !["branch", "repository_token"].contains(&field.as_str()));
        let application = self.server.running(self.owner(), body).await;
        let change =
            json!({ "id": application["id"], "port": 4000, "environment_variables": { "GREETING": "good morning" } });
        self.server.put("/deploy/application", change).by(self.owner()).ok().await
    }

    /// A call about an application.
    pub async fn about_application(&self, operation: &Operation) -> (String, Value) {
        let path = operation.path.clone();
        let owner = self.owner();
        match operation.id.as_str() {
            "handle_deploy" => (path, self.application()),
            "preview_build" => {
                (path, json!({ "name": "New shop", "repository": format!("{}/shop.git", self.git.url()) }))
            }
            "list_applications" => {
                self.running().await;
                (path, Value::Null)
            }
            "get_application" | "list_deployments" => {
                (format!("{path}?id={}", id_of(&self.running().await)), Value::Null)
            }
            "update_application" => {
                let mut body = self.application();
                body["id"] = self.running().await["id"].clone();
                let label = body["name"].as_str().unwrap().to_lowercase().replace(' ', "-");
                body["domain"] = json!(format!("{label}.example.org"));
                body["port"] = json!(4000);
                (path, body)
            }
            "delete_application" => {
                let application = self.running().await;
                (path, json!({ "id": application["id"], "name": application["name"] }))
            }
            "update_labels" => {
                (format!("{path}?id={}", id_of(&self.running().await)), json!({ "labels": ["web", "eu"] }))
            }
            "redeploy_application" => {
                (path, json!({ "id": self.running().await["id"], "force_without_cache": true, "force": false }))
            }
            "restart_application" | "stop_application" => (path, json!({ "id": self.running().await["id"] })),
            "start_application" => {
                let id = self.running().await["id"].clone();
                self.server.post("/deploy/application/stop", json!({ "id": id })).by(owner).ok().await;
                (path, json!({ "id": id }))
            }
            "roll_back_application" => (path, json!({ "id": self.running().await["deployments"][0]["id"] })),
            "cancel_deployment" => {
                let application = self.server.deploy(owner, self.application()).await;
                (path, json!({ "id": application["deployments"][0]["id"] }))
            }
            "get_logs_of_an_application" | "follow_logs_of_an_application" | "download_logs_of_an_application" => {
                let id = id_of(&self.running().await);
                (path.replace("{application_id}", &id.to_string()), Value::Null)
            }
            "follow_events" => {
                self.running().await;
                (format!("{path}?after=0"), Value::Null)
            }
            "get_deployment_by_id" | "get_deployment_logs" | "follow_deployment_logs" | "download_deployment_logs" => {
                let id = id_of(&self.running().await["deployments"][0]);
                (path.replace("{deployment_id}", &id.to_string()), Value::Null)
            }
            "compare_releases" => {
                let application = self.running().await;
                let id = id_of(&application["deployments"][0]);
                let path = path.replace("{application_id}", &id_of(&application).to_string());
                (format!("{path}?from={id}&to={id}"), Value::Null)
            }
            "get_extension_of_application" | "update_application_from_extension" => {
                let number = self.applications.fetch_add(1, Ordering::SeqCst);
                let id = self.server.application_of_extension(owner, &format!("tool-{number}")).await;
                let newer = crate::extensions::text(&format!("tool-{number}")).replace("1.2.3", "1.2.4");
                let newer = json!({ "yaml_content": newer });
                self.server.put(&format!("/extensions/tool-{number}"), newer).by(owner).ok().await;
                let body = match operation.id.as_str() {
                    "get_extension_of_application" => Value::Null,
                    _ => json!({ "variables": { "port": "9090" } }),
                };
                (path.replace("{application_id}", &id.to_string()), body)
            }
            "plan_deploy" => {
                let id = id_of(&self.changed().await);
                (path.replace("{application_id}", &id.to_string()), Value::Null)
            }
            "download_variables" => {
                let path = path.replace("{application_id}", &id_of(&self.running().await).to_string());
                (path.replace("{kind}", "environment"), Value::Null)
            }
            "import_variables" => {
                let body = json!({
                    "kind": "environment", "text": "GREETING='good morning'\nNEW=1\n", "mode": "replace", "secret_names": ["NEW"],
                });
                (path.replace("{application_id}", &id_of(&self.running().await).to_string()), body)
            }
            "get_shared_variables" => {
                self.server.put(&path, shared()).by(owner).ok().await;
                (format!("{path}?environment=staging"), Value::Null)
            }
            "update_shared_variables" => (path, shared()),
            "get_figures" => {
                let id = id_of(&self.running().await);
                (format!("{}?step=1200", path.replace("{application_id}", &id.to_string())), Value::Null)
            }
            "get_traffic" => {
                let id = id_of(&self.running().await);
                (format!("{path}?id={id}"), Value::Null)
            }
            "upload_application" | "get_upload" | "continue_upload" | "delete_upload" => {
                self.about_upload(operation).await
            }
            _ => self.about_delivery(operation).await,
        }
    }

    /// A call about what code hosts send.
    async fn about_delivery(&self, operation: &Operation) -> (String, Value) {
        let path = operation.path.clone();
        match operation.id.as_str() {
            "handle_webhook_from_a_code_host" => {
                self.accepting().await;
                let id = self.server.app.new_id().to_string();
                (path, json!({ "host": "github", "name": "push-branch", "id": id }))
            }
            "get_webhook_of_an_application" | "list_deliveries" => {
                let (application, _) = self.delivered().await;
                (path.replace("{application_id}", &application.to_string()), Value::Null)
            }
            "rotate_webhook_secret" => {
                let id = id_of(&self.running().await);
                let body = json!({ "secret": "a-very-secret-webhook-secret", "grace_seconds": 60 });
                (path.replace("{application_id}", &id.to_string()), body)
            }
            "get_delivery" | "replay_delivery" => {
                let (_, delivery) = self.delivered().await;
                (path.replace("{delivery_id}", &delivery.to_string()), Value::Null)
            }
            _ => self.about_preview(operation).await,
        }
    }

    /// A call about a preview of a pull request.
    async fn about_preview(&self, operation: &Operation) -> (String, Value) {
        let of = |path: &str, name: &str, id: &Value| path.replace(name, id.as_str().expect("an id"));
        match operation.id.as_str() {
            "list_previews" => {
                let preview = self.preview().await;
                (of(&operation.path, "{application_id}", &preview["application_id"]), Value::Null)
            }
            "deploy_preview" => {
                let application = self.running().await;
                let body = json!({ "pull_request": 7, "branch": "blue", "title": "Make it blue" });
                (of(&operation.path, "{application_id}", &application["id"]), body)
            }
            "get_preview" | "remove_preview" => {
                (of(&operation.path, "{preview_id}", &self.preview().await["id"]), Value::Null)
            }
            _ => self.about_connection(operation).await,
        }
    }

    async fn preview(&self) -> Value {
        let application = self.running().await;
        self.server.preview(self.owner(), id_of(&application), 7).await
    }

    /// A call about a connection to a code host, or through one.
    async fn about_connection(&self, operation: &Operation) -> (String, Value) {
        let path = operation.path.clone();
        let of_application = |id: Uuid| path.replace("{application_id}", &id.to_string());
        match operation.id.as_str() {
            "list_registry_credentials" => {
                self.registry_credential().await;
                (path, Value::Null)
            }
            "create_registry_credential" => (path, self.new_registry_credential()),
            "get_registry_credential" | "delete_registry_credential" => {
                (path.replace("{credential_id}", &self.registry_credential().await.to_string()), Value::Null)
            }
            "update_registry_credential" => {
                let body = json!({ "username": "eve", "password": "another very secret registry password" });
                (path.replace("{credential_id}", &self.registry_credential().await.to_string()), body)
            }
            "list_connections" => {
                self.connection().await;
                (path, Value::Null)
            }
            "create_connection" => (path, self.new_connection()),
            "create_github_app" => {
                // Asking for the link calls no code host.
                let (name, base_url) = (self.new_connection()["name"].clone(), self.gitea.url());
                (path, json!({ "name": name, "base_url": base_url, "github_organization": "team" }))
            }
            "get_connection" | "delete_connection" | "list_repositories_of_a_connection" => {
                (path.replace("{connection_id}", &self.connection().await.to_string()), Value::Null)
            }
            "update_connection" => {
                let body = json!({ "name": self.new_connection()["name"], "token": Gitea::TOKEN });
                (path.replace("{connection_id}", &self.connection().await.to_string()), body)
            }
            "list_branches_of_a_repository" | "list_tags_of_a_repository" => {
                let id = self.connection().await;
                (format!("{}?repository=ada/shop", path.replace("{connection_id}", &id.to_string())), Value::Null)
            }
            "register_webhook" => (of_application(self.connected("https").await), Value::Null),
            "unregister_webhook" => {
                let id = self.connected("https").await;
                let register = format!("/deploy/application/{id}/webhook/register");
                self.server.call(Method::POST, &register).by(self.owner()).ok().await;
                (of_application(id), Value::Null)
            }
            "create_deploy_key" => (of_application(self.connected("ssh").await), Value::Null),
            "get_deploy_key" | "delete_deploy_key" => {
                let id = self.connected("ssh").await;
                let create = format!("/deploy/application/{id}/deploy-key");
                self.server.call(Method::POST, &create).by(self.owner()).ok().await;
                (of_application(id), Value::Null)
            }
            _ => self.about_certificate(operation).await,
        }
    }

    /// A call about a certificate.
    async fn about_certificate(&self, operation: &Operation) -> (String, Value) {
        let path = operation.path.clone();
        match operation.id.as_str() {
            "list_certificates" => {
                self.certificate().await;
                (path, Value::Null)
            }
            "upload_certificate" => (path, self.new_certificate()),
            "get_certificate" | "delete_certificate" => {
                (path.replace("{certificate_id}", &self.certificate().await.to_string()), Value::Null)
            }
            "get_access_settings" => {
                (path.replace("{application_id}", &id_of(&self.running().await).to_string()), Value::Null)
            }
            "update_access_settings" => {
                // The user is called `password` because secrets are found by the names of their fields.
                let users = json!({ "password": "staple battery horse" });
                let body = json!({ "users": users, "realm": "Staging", "deny": ["192.0.2.7/24"], "headers": { "X-Team": "blue" } });
                (path.replace("{application_id}", &id_of(&self.running().await).to_string()), body)
            }
            "list_domains" => {
                self.running().await;
                (path, Value::Null)
            }
            "add_domain" => {
                let number = self.applications.fetch_add(1, Ordering::SeqCst) + 1;
                let body = json!({ "domain": format!("www-{number}.example.org"), "redirect": "permanent" });
                (path.replace("{application_id}", &id_of(&self.running().await).to_string()), body)
            }
            "remove_domain" => {
                let (application, added) = self.added_domain().await;
                let path = path.replace("{application_id}", &application.to_string());
                (path.replace("{domain_id}", &id_of(&added).to_string()), Value::Null)
            }
            "update_domain" => {
                let (_, added) = self.added_domain().await;
                (path.replace("{domain}", added["domain"].as_str().unwrap()), json!({ "https_only": false }))
            }
            "check_domain" => {
                let (_, added) = self.added_domain().await;
                (path.replace("{domain}", added["domain"].as_str().unwrap()), Value::Null)
            }
            "order_certificate_again" => (path.replace("{domain}", &self.refused_domain().await), Value::Null),
            _ => self.about_data(operation).await,
        }
    }

    /// A domain beside the main one, with the application that it was added to.
    async fn added_domain(&self) -> (Uuid, Value) {
        let application = id_of(&self.running().await);
        let number = self.applications.fetch_add(1, Ordering::SeqCst) + 1;
        let body = json!({ "domain": format!("www-{number}.example.org") });
        let path = format!("/deploy/application/{application}/domains");
        (application, self.server.post(&path, body).by(self.owner()).ok().await)
    }

    /// One for which a certificate was ordered in vain.
    async fn refused_domain(&self) -> String {
        let mut body = self.application();
        let (app, name) = (&self.server.app, body["name"].as_str().unwrap().to_lowercase());
        let domain = format!("{}.example.org", name.replace(' ', "-"));
        body["domain"] = json!(domain);
        self.server.deploy(self.owner(), body).await;
        windlass_server::orders::keeper::look(app).await.unwrap();
        let mut tx = app.db.begin().await.unwrap();
        let order = certificate_orders::of_domain(&mut tx, &domain).await.unwrap().unwrap();
        let (problem, updated_at) = ("DNS has no address for it yet.".into(), app.now().plus_seconds(-3_600));
        let order = CertificateOrder { problem, updated_at, failures: 1, next_at: app.now().plus_seconds(60), ..order };
        certificate_orders::update(&mut tx, &order).await.unwrap();
        tx.commit().await.unwrap();
        domain
    }

    /// The body of a new certificate, with a name of its own.
    fn new_certificate(&self) -> Value {
        let number = self.applications.fetch_add(1, Ordering::SeqCst) + 1;
        let chain = certificates::certificate(&["*.example.org", &format!("shop-{number}.example.org")]);
        json!({ "certificate_chain": chain, "private_key": certificates::KEY })
    }

    async fn certificate(&self) -> Uuid {
        id_of(&self.server.post("/certificates", self.new_certificate()).by(self.owner()).ok().await)
    }

    /// For a registry of its own.
    fn new_registry_credential(&self) -> Value {
        let number = self.applications.fetch_add(1, Ordering::SeqCst) + 1;
        let password = "a very secret registry password";
        json!({ "host": format!("registry{number}.example.org"), "username": "ada", "password": password })
    }

    async fn registry_credential(&self) -> Uuid {
        let body = self.new_registry_credential();
        id_of(&self.server.post("/registry-credentials", body).by(self.owner()).ok().await)
    }

    /// The body of a new connection with a name of its own.
    fn new_connection(&self) -> Value {
        let number = self.applications.fetch_add(1, Ordering::SeqCst) + 1;
        json!({ "name": format!("Gitea {number}"), "host": "gitea", "base_url": self.gitea.url(), "token": Gitea::TOKEN })
    }

    async fn connection(&self) -> Uuid {
        id_of(&self.server.post("/connections", self.new_connection()).by(self.owner()).ok().await)
    }

    /// An application of a repository at the code host, over this transport.
    async fn connected(&self, transport: &str) -> Uuid {
        let mut body = self.application();
        body["connection_id"] = json!(self.connection().await);
        // A key of its own would be in the way of one that is made.
        body["repository_ssh_key"] = Value::Null;
        body["repository"] = match transport {
            "ssh" => json!("ssh://git@127.0.0.1:2222/ada/shop.git"),
            _ => json!(format!("{}/ada/shop.git", self.gitea.url())),
        };
        id_of(&self.server.running(self.owner(), body).await)
    }

    /// An application of the repository that the samples are about.
    async fn accepting(&self) -> Uuid {
        let mut body = self.application();
        body["repository"] = json!("https://github.com/team/shop.git");
        let id = id_of(&self.server.running(self.owner(), body).await);
        *self.webhook_secret.lock().unwrap() = self.server.webhook_secret(self.owner(), id).await;
        id
    }

    /// The application, and a delivery for it.
    async fn delivered(&self) -> (Uuid, Uuid) {
        let application = self.accepting().await;
        let sample = sample("github", "push-branch").with_id(&self.server.app.new_id().to_string());
        let secret = self.webhook_secret.lock().unwrap().clone();
        signed_call(self.server.call(Method::POST, "/webhook"), &sample, &secret).ok().await;
        let path = format!("/deploy/application/{application}/deliveries");
        let all = self.server.get(&path).by(self.owner()).ok().await;
        (application, id_of(&all["deliveries"][0]))
    }

    /// An application with a volume that a container has had.
    async fn with_volume(&self) -> Uuid {
        let mut body = self.application();
        (body["volumes"], body["replicas"]) = (json!([{ "name": "data", "path": "/data" }]), json!(1));
        let id = id_of(&self.server.running(self.owner(), body).await);
        self.server.use_volumes(id).await;
        id
    }

    /// One that waits to be removed.
    async fn deleted_volume(&self) -> (Uuid, Uuid) {
        let id = self.with_volume().await;
        let path = format!("/deploy/application/{id}/volumes");
        let volumes = self.server.get(&path).by(self.owner()).ok().await;
        self.server.delete(&format!("{path}/data")).by(self.owner()).ok().await;
        (id, id_of(&volumes["volumes"][0]))
    }

    /// A snapshot that is ready, with its file.
    async fn snapshot(&self) -> (Uuid, Uuid) {
        let id = self.with_volume().await;
        let path = format!("/deploy/application/{id}/volumes/data/snapshots");
        let snapshot = id_of(&self.server.post(&path, Value::Null).by(self.owner()).ok().await);
        self.server.finish_snapshot(snapshot).await;
        (id, snapshot)
    }

    /// A call about a volume or a snapshot.
    async fn about_data(&self, operation: &Operation) -> (String, Value) {
        let path = operation.path.clone();
        let named = |id: Uuid| path.replace("{application_id}", &id.to_string()).replace("{volume_name}", "data");
        match operation.id.as_str() {
            "list_volumes" => {
                self.deleted_volume().await;
                (path, Value::Null)
            }
            "list_volumes_of_an_application" | "delete_volume" | "create_snapshot" => {
                (named(self.with_volume().await), Value::Null)
            }
            "create_volume" => {
                let body = json!({
                    "name": "uploads", "path": "/srv/uploads", "shared": true, "snapshot_hours": 24, "kept_snapshots": 3,
                    "before_snapshot": "sync", "after_snapshot": "echo done",
                });
                (named(self.with_volume().await), body)
            }
            "update_volume" => (named(self.with_volume().await), json!({ "name": "uploads", "path": "/uploads" })),
            "attach_volume" => {
                let (application, volume) = self.deleted_volume().await;
                let body = json!({ "application_id": application, "name": "again", "path": "/again" });
                (path.replace("{volume_id}", &volume.to_string()), body)
            }
            "discard_volume" => {
                let volume = self.server.kept_volume(self.with_volume().await).await;
                (path.replace("{volume_id}", &volume.to_string()), Value::Null)
            }
            "list_snapshots" => {
                self.snapshot().await;
                (path, Value::Null)
            }
            "list_snapshots_of_a_volume" => (named(self.snapshot().await.0), Value::Null),
            "get_snapshot" | "download_snapshot" | "delete_snapshot" => {
                (path.replace("{snapshot_id}", &self.snapshot().await.1.to_string()), Value::Null)
            }
            "restore_snapshot" => {
                let (application, snapshot) = self.snapshot().await;
                (named(application), json!({ "snapshot_id": snapshot }))
            }
            "get_status_page" | "update_status_page" => self.about_status_page(operation).await,
            name if name.contains("uptime") || name == "list_outages" => self.about_uptime(operation).await,
            _ => match self.about_run(operation).await {
                Some(call) => call,
                None => self.about_extension(operation).await,
            },
        }
    }
}
