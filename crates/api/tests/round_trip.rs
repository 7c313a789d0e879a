//! Programs in Rust can use these types on both sides: each is written as it is read, with all of its fields filled.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a failure here is a failed test")]

use std::collections::BTreeSet;

use schemars::{JsonSchema, SchemaGenerator};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use windlass_api::*;

const ID: &str = "01900000-0000-7000-8000-000000000001";
const HASH: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
const TIME: &str = "2026-01-31T23:59:59.123456Z";
/// Links are followed this far; then they are cut off.
const DEPTH: usize = 3;

/// A value for each field that a schema describes, by what it says of the field, else by the field's name.
struct Filler {
    generator: SchemaGenerator,
}

impl Filler {
    fn object(&mut self, schema: &Value, depth: usize) -> Value {
        let properties = schema["properties"].as_object().cloned().unwrap_or_default();
        let filled = properties.iter().map(|(name, schema)| (name.clone(), self.value(name, schema, depth)));
        Value::Object(filled.collect::<Map<_, _>>())
    }

    fn value(&mut self, name: &str, schema: &Value, depth: usize) -> Value {
        if let Some(reference) = schema["$ref"].as_str() {
            let named = reference.rsplit('/').next().unwrap();
            let schema = self.generator.definitions()[named].clone();
            return self.value(name, &schema, depth + usize::from(named.ends_with("Link")));
        }
        if let Some(choices) = schema["anyOf"].as_array() {
            let end = if choices.iter().any(|choice| choice["type"] == "null") { Value::Null } else { json!({}) };
            return if depth > DEPTH { end } else { self.value(name, &choices[0], depth) };
        }
        if let Some(words) = schema["enum"].as_array() {
            return words.last().unwrap().clone();
        }
        let kind = schema["type"].as_array().map_or(&schema["type"], |kinds| &kinds[0]);
        match kind.as_str() {
            Some("boolean") => json!(true),
            Some("integer") => json!(least(schema).max(20).min(schema["maximum"].as_i64().unwrap_or(i64::MAX))),
            Some("number") => json!(20.5),
            Some("string") => json!(text(name, schema["format"].as_str())),
            // What contains itself without a link has to end somewhere.
            Some("array") if depth > DEPTH => json!([]),
            Some("array") => json!([self.value(name, &schema["items"], depth + 1)]),
            Some("object") if schema["properties"].is_object() => self.object(schema, depth),
            Some("object") if name == "users" => json!({ "anna": "correct-horse" }),
            Some("object") if name == "headers" => json!({ "x-name": "value" }),
            Some("object") if name == "pages" => json!({ "503": "value" }),
            Some("object") => json!({ "NAME": "value" }),
            // Of any type.
            None if name == "default_value" => json!("correct-horse"),
            _ => panic!("{name}: {schema}"),
        }
    }
}

/// The least that is more than 0.
fn least(schema: &Value) -> i64 {
    schema["not"]["exclusiveMaximum"].as_i64().or(schema["minimum"].as_i64()).unwrap_or_default()
}

fn text(name: &str, format: Option<&str>) -> &'static str {
    match (format, name) {
        (Some("uuid"), _) => ID,
        (Some("date-time"), _) => TIME,
        (Some("email"), _) => "ada@example.org",
        (_, "host") => "registry.example.org",
        (_, "repository") => "https://git.example.org/team/shop.git",
        (_, "repository_ssh_key") => "-----BEGIN OPENSSH PRIVATE KEY-----\nabc\n-----END OPENSSH PRIVATE KEY-----\n",
        (_, "certificate_chain") => "-----BEGIN CERTIFICATE-----\nabc\n-----END CERTIFICATE-----\n",
        (_, "private_key") => "-----BEGIN PRIVATE KEY-----\nabc\n-----END PRIVATE KEY-----\n",
        (_, "base_path" | "health_path" | "path" | "host_path" | "output_path") => "/web",
        (_, "connection_id" | "certificate_id") => ID,
        (_, "secret") => "correct-horse-battery",
        (_, "cron") => "30 3 * * *",
        (_, "language") => "pt-BR",
        (_, "allow" | "deny") => "192.0.2.0/24",
        (_, "before" | "after") => "20",
        (_, "text") => "NAME=value",
        (_, "sha256") => "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        (_, "content_hash" | "parent_content_hash") => HASH,
        _ => "correct-horse",
    }
}

fn filled<T: JsonSchema>() -> Value {
    let mut generator = SchemaGenerator::default();
    let schema = T::json_schema(&mut generator).to_value();
    Filler { generator }.object(&schema, 0)
}

/// The names of those that were tried.
#[derive(Default)]
struct Tried(BTreeSet<String>);

impl Tried {
    /// Whatever is a body: of a request, or an answer's `data`.
    fn json<T: JsonSchema + Serialize + DeserializeOwned>(&mut self) {
        let (name, before) = (T::schema_name(), filled::<T>());
        assert_ne!(before, json!({}), "{name}");
        let read: T =
            serde_json::from_value(before.clone()).unwrap_or_else(|error| panic!("{name}: {error}: {before}"));
        assert_eq!(serde_json::to_value(&read).unwrap(), before, "{name}");
        self.0.insert(name.into_owned());
    }
}

/// The parameters of a query, which are all texts.
fn query<T: JsonSchema + Serialize + DeserializeOwned>() {
    let (name, filled) = (T::schema_name(), filled::<T>());
    let plain = |value: &Value| match value {
        Value::String(text) => text.clone(),
        Value::Array(texts) => texts.iter().map(|text| text.as_str().unwrap()).collect::<Vec<_>>().join(","),
        other => other.to_string(),
    };
    let pairs: BTreeSet<(String, String)> =
        filled.as_object().unwrap().iter().map(|(name, value)| (name.clone(), plain(value))).collect();
    let before = serde_urlencoded::to_string(&pairs).unwrap();
    let read: T = serde_urlencoded::from_str(&before).unwrap_or_else(|error| panic!("{name}: {error}: {before}"));
    let after = serde_urlencoded::to_string(&read).unwrap();
    assert_eq!(serde_urlencoded::from_str::<BTreeSet<(String, String)>>(&after).unwrap(), pairs, "{name}");
}

#[test]
fn records_and_requests_are_written_as_they_are_read() {
    let mut tried = Tried::default();
    tried.json::<AcceptInvitation>();
    tried.json::<Availability>();
    tried.json::<Access>();
    tried.json::<AdminRegistered>();
    tried.json::<ApiKey>();
    tried.json::<ApiKeyCreated>();
    tried.json::<Application>();
    tried.json::<ApplicationDeployment>();
    tried.json::<ApplicationExtension>();
    tried.json::<ApplicationId>();
    tried.json::<ApplicationLog>();
    tried.json::<ApplicationLogs>();
    tried.json::<ApplicationStatus>();
    tried.json::<ApplicationTraffic>();
    tried.json::<ApplicationWebhook>();
    tried.json::<Applications>();
    tried.json::<AttachVolume>();
    tried.json::<AuditActivities>();
    tried.json::<AuditActivity>();
    tried.json::<AuditVerification>();
    tried.json::<BuildCache>();
    tried.json::<BuildChoice>();
    tried.json::<BuildPlan>();
    tried.json::<BuildReason>();
    tried.json::<BuildService>();
    tried.json::<ChangeEmail>();
    tried.json::<ChangePassword>();
    tried.json::<Certificate>();
    tried.json::<Certificates>();
    tried.json::<AddDomain>();
    tried.json::<EmailChange>();
    tried.json::<UpdateAccess>();
    tried.json::<UpdateDomain>();
    tried.json::<DnsRecord>();
    tried.json::<DomainCheck>();
    tried.json::<Domain>();
    tried.json::<Domains>();
    tried.json::<CommandRun>();
    tried.json::<CommandRunLog>();
    tried.json::<CommandRunLogs>();
    tried.json::<CommandRuns>();
    tried.json::<Connection>();
    tried.json::<Connections>();
    tried.json::<CreateApiKey>();
    tried.json::<CreateConnection>();
    tried.json::<CreateDeployment>();
    tried.json::<CrashLoop>();
    tried.json::<CurrentFigures>();
    tried.json::<CreateExtension>();
    tried.json::<CreateExtensionApplication>();
    tried.json::<CreateGithubApp>();
    tried.json::<CreateOrganization>();
    tried.json::<CreateRegistryCredential>();
    tried.json::<CreateSchedule>();
    tried.json::<CreateSmtpConfig>();
    tried.json::<CreateWebhookConfig>();
    tried.json::<DeleteApplication>();
    tried.json::<DeleteSmtpConfig>();
    tried.json::<DeleteWebhookConfig>();
    tried.json::<Deliveries>();
    tried.json::<Delivery>();
    tried.json::<Dependency>();
    tried.json::<DeployKey>();
    tried.json::<DeployPlan>();
    tried.json::<DeployPreview>();
    tried.json::<DeploymentId>();
    tried.json::<DeploymentInstance>();
    tried.json::<DeploymentStatus>();
    tried.json::<Deployments>();
    tried.json::<DiskSpace>();
    tried.json::<Event>();
    tried.json::<ExecutionLog>();
    tried.json::<ExecutionLogs>();
    tried.json::<ExecutionStep>();
    tried.json::<Extension>();
    tried.json::<ExtensionChange>();
    tried.json::<ExtensionExecution>();
    tried.json::<ExtensionExecutions>();
    tried.json::<ExtensionPlan>();
    tried.json::<ExtensionVariable>();
    tried.json::<Extensions>();
    tried.json::<FigureInstance>();
    tried.json::<FigureLines>();
    tried.json::<Figures>();
    tried.json::<ForkExtension>();
    tried.json::<GithubAppLink>();
    tried.json::<Health>();
    tried.json::<HostFigures>();
    tried.json::<HostLines>();
    tried.json::<HostedReference>();
    tried.json::<HostedReferences>();
    tried.json::<HostedRepositories>();
    tried.json::<HostedRepository>();
    tried.json::<ImportVariables>();
    tried.json::<ImportedVariables>();
    tried.json::<Installation>();
    tried.json::<InstallationLog>();
    tried.json::<InstallationLogs>();
    tried.json::<InstallationOffer>();
    tried.json::<Installations>();
    tried.json::<InstalledDomain>();
    tried.json::<InstalledService>();
    tried.json::<InstalledVolume>();
    tried.json::<Instance>();
    tried.json::<InstanceSetting>();
    tried.json::<InstanceUser>();
    tried.json::<InstanceUsers>();
    tried.json::<Invitation>();
    tried.json::<InvitationCreated>();
    tried.json::<ListedExtension>();
    tried.json::<LoggedIn>();
    tried.json::<Login>();
    tried.json::<NewVolume>();
    tried.json::<Organization>();
    tried.json::<OrganizationId>();
    tried.json::<OrganizationUser>();
    tried.json::<Outage>();
    tried.json::<Outages>();
    tried.json::<Pagination>();
    tried.json::<ParentOffer>();
    tried.json::<PasswordReset>();
    tried.json::<PlannedStep>();
    tried.json::<Preview>();
    tried.json::<Previews>();
    tried.json::<Queue>();
    tried.json::<RecoveryCodes>();
    tried.json::<Redeploy>();
    tried.json::<Register>();
    tried.json::<RegistryCredential>();
    tried.json::<RegistryCredentials>();
    tried.json::<ReleaseChange>();
    tried.json::<ReleaseComparison>();
    tried.json::<RemoveUser>();
    tried.json::<RequestPasswordReset>();
    tried.json::<ResetPassword>();
    tried.json::<Restart>();
    tried.json::<RestoreSnapshot>();
    tried.json::<Rollback>();
    tried.json::<ChannelTest>();
    tried.json::<Notice>();
    tried.json::<NoticeAttempt>();
    tried.json::<NoticeDetails>();
    tried.json::<Notices>();
    tried.json::<NotificationPreference>();
    tried.json::<NotificationPreferences>();
    tried.json::<RotateSigningSecret>();
    tried.json::<SigningSecret>();
    tried.json::<TestSmtp>();
    tried.json::<TestWebhook>();
    tried.json::<UpdateNotificationPreference>();
    tried.json::<RotateWebhook>();
    tried.json::<RunCommand>();
    tried.json::<RunExtension>();
    tried.json::<Schedule>();
    tried.json::<Schedules>();
    tried.json::<SendInvitation>();
    tried.json::<Session>();
    tried.json::<SetUpTwoFactor>();
    tried.json::<Settings>();
    tried.json::<SharedVariables>();
    tried.json::<SmtpConfig>();
    tried.json::<Snapshot>();
    tried.json::<Snapshots>();
    tried.json::<StatusPage>();
    tried.json::<StatusPageApplication>();
    tried.json::<SwitchOrganization>();
    tried.json::<TakeOffer>();
    tried.json::<Traffic>();
    tried.json::<Triggers>();
    tried.json::<TwoFactorCode>();
    tried.json::<TwoFactorSetup>();
    tried.json::<Uninstall>();
    tried.json::<UpdateApplication>();
    tried.json::<UpdateFromExtension>();
    tried.json::<UpdateAutoUpdate>();
    tried.json::<UpdateConnection>();
    tried.json::<UpdateExtension>();
    tried.json::<UpdateFont>();
    tried.json::<UpdateInstallation>();
    tried.json::<UpdateLabels>();
    tried.json::<UpdateLanguage>();
    tried.json::<UpdateOrganization>();
    tried.json::<UpdateRegistryCredential>();
    tried.json::<UpdateSchedule>();
    tried.json::<UpdateSharedVariables>();
    tried.json::<UpdateSmtpConfig>();
    tried.json::<UpdateTheme>();
    tried.json::<UpdateStatusPage>();
    tried.json::<UpdateUptime>();
    tried.json::<UpdateUserName>();
    tried.json::<UpdateUserRole>();
    tried.json::<UpdateVolume>();
    tried.json::<UpdateWebhookConfig>();
    tried.json::<Upload>();
    tried.json::<UploadCertificate>();
    tried.json::<Uptime>();
    tried.json::<UptimeCheck>();
    tried.json::<UptimeChecks>();
    tried.json::<User>();
    tried.json::<UserSettings>();
    tried.json::<VerifyEmail>();
    tried.json::<Volume>();
    tried.json::<Volumes>();
    tried.json::<WebhookConfig>();

    let described: Value = serde_json::from_str(include_str!("../../../openapi.json")).unwrap();
    for (name, schema) in described["components"]["schemas"].as_object().unwrap() {
        // That is `Envelope<()>`.
        let is_envelope = name == "Failure";
        assert!(schema["type"] != "object" || is_envelope || tried.0.contains(name), "{name} was not tried");
    }
}

#[test]
fn queries_are_written_as_they_are_read() {
    query::<ComparisonQuery>();
    query::<InstanceUsersQuery>();
    query::<TrafficQuery>();
    query::<ApplicationQuery>();
    query::<ApplicationsQuery>();
    query::<AuditQuery>();
    query::<DeliveriesQuery>();
    query::<DeploymentsQuery>();
    query::<EventsQuery>();
    query::<ExecutionLogsQuery>();
    query::<ExecutionsQuery>();
    query::<ExtensionsQuery>();
    query::<FiguresQuery>();
    query::<FollowLogsQuery>();
    query::<InstallationsQuery>();
    query::<LogDeployment>();
    query::<LogFilter>();
    query::<LogsQuery>();
    query::<NoticesQuery>();
    query::<OrganizationQuery>();
    query::<ReferencesQuery>();
    query::<RepositoriesQuery>();
    query::<RunsQuery>();
    query::<SharedVariablesQuery>();
    query::<UploadPartQuery>();
    query::<UploadQuery>();
    query::<UptimeQuery>();
}

#[test]
fn answers_are_read_in_their_envelope() {
    let told = serde_json::to_string(&Envelope::success("Done", AdminRegistered { admin_registered: true })).unwrap();
    let read: Envelope<AdminRegistered> = serde_json::from_str(&told).unwrap();
    assert!(read.data.admin_registered && read.error.is_none());
}

/// A request is sent with its secrets; what is printed of it has none.
#[test]
fn secrets_are_sent_and_not_shown() {
    let login: Login = serde_json::from_value(filled::<Login>()).unwrap();
    assert!(serde_json::to_string(&login).unwrap().contains("correct-horse"));
    assert!(!format!("{login:?}").contains("correct-horse"), "{login:?}");
    let mut request = filled::<CreateDeployment>();
    request["environment_variables"] = json!({ "TOKEN": "hunter2" });
    let request: CreateDeployment = serde_json::from_value(request).unwrap();
    assert!(serde_json::to_string(&request).unwrap().contains("hunter2"));
    let shown = format!("{request:?}");
    assert!(!shown.contains("hunter2") && !shown.contains("PRIVATE KEY"), "{shown}");
}

/// What a caller leaves out is not sent, so that the server keeps or chooses it.
#[test]
fn what_is_absent_stays_absent() {
    let text = r#"{"name":"shop","repository":"https://git.example.org/shop"}"#;
    let request: CreateDeployment = serde_json::from_str(text).unwrap();
    assert_eq!(serde_json::to_string(&request).unwrap(), text);
    assert_eq!(serde_urlencoded::to_string(LogsQuery::default()).unwrap(), "");
}
