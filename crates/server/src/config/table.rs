//! Every setting there is, one row each: section, name, a sentence, the commands that take it, type, default and range.
//! Flags, environment, file and guide come from these rows.

use std::time::Duration;

use windlass_api::SmtpSecurity;

use super::mail;
use super::parse::{
    account_key, build_proxy, database_url, directory, docker_socket, domain, email, metrics_token, name_server,
    network_pool, not_empty, not_empty_text, optional_file, optional_name_server, optional_text, origin, own_folder,
    own_image, profile, proxy, public_url, reach, secret_text, update_key,
};
use super::row::Table;
use super::setting::{Section, Subcommand};
use super::{AcmeSettings, BuildNetwork, Config, LogFormat, LogLevel, LogSource, MailSettings, ZoneSettings};
use crate::build_limits::BuildCeilings;
use crate::ceilings::{Ceilings, half_of_memory};
use crate::sites::SiteLimits;

const ALL: &[Subcommand] = &[
    Subcommand::Serve,
    Subcommand::Edge,
    Subcommand::Routes,
    Subcommand::Adopt,
    Subcommand::Ca,
    Subcommand::Stop,
    Subcommand::Admin,
    Subcommand::Audit,
];
const SERVE: &[Subcommand] = &[Subcommand::Serve];
const TRAFFIC: &[Subcommand] = &[Subcommand::Serve, Subcommand::Edge];
const DATABASE: &[Subcommand] = &[Subcommand::Serve, Subcommand::Adopt, Subcommand::Admin, Subcommand::Audit];
const ENGINE: &[Subcommand] = &[Subcommand::Serve, Subcommand::Adopt];
const STOP: &[Subcommand] = &[Subcommand::Serve, Subcommand::Edge, Subcommand::Stop];

impl Config {
    /// The table.
    pub(super) fn read(table: &Table) -> Self {
        let server = table.section(Section::Server, SERVE);
        let containers = table.section(Section::Containers, SERVE);
        let accounts = table.section(Section::Accounts, SERVE);
        let deployments = table.section(Section::Deployments, SERVE);
        let logs = table.section(Section::Logs, SERVE);
        let requests = table.section(Section::Requests, SERVE);
        let visitors = table.section(Section::Visitors, TRAFFIC);
        let data_dir = server.row("data-dir", "Folder for everything that Windlass keeps").taken_by(ALL).text(
            "DIR",
            "windlass-data",
            not_empty,
        );
        let listen = server.row("listen", "Address and port of the API").addresses("127.0.0.1:7780");
        let database_url = server
            .row("database-url", "postgres://... to use PostgreSQL; empty for SQLite in the data folder")
            .taken_by(DATABASE)
            .secret("URL", "", database_url);
        let database_connections = server
            .row("database-connections", "Connections to the database; 0 means 4 for SQLite and 16 for PostgreSQL")
            .taken_by(DATABASE)
            .number(0, 0..=200);
        let public_url = server
            .row("public-url", "How people and code hosts reach this server; empty for the first listen address. With mail-host it must be set")
            .text("URL", "", public_url);
        let trusted_proxies = server
            .row("trusted-proxies", "Proxies in front whose X-Forwarded-For is believed; none by default")
            .taken_by(TRAFFIC)
            .list("ADDRESS", proxy);
        let cors_origins = server
            .row("cors-origins", "Web origins that may call the API from a browser; none by default")
            .list("ORIGIN", origin);
        let allow_private_targets = server
            .row(
                "allow-private-targets",
                "true lets webhooks, mail servers, code hosts and registries be at private addresses",
            )
            .switch(false);
        let metrics_token = server
            .row("metrics-token", "What a monitor sends to read /metrics; empty lets only admins with a login read it")
            .secret("TOKEN", "", metrics_token);
        let mail = MailSettings {
            host: server
                .row(
                    "mail-host",
                    "Mail server (SMTP) by which invitations, links for a new password and the like are sent; empty for none: then links are only shown",
                )
                .text("HOST", "", mail::host),
            port: server
                .row("mail-port", "Its port; 0 means 587 for starttls, 465 for tls and 25 for none")
                .number(0, 0..=65_535),
            security: server.row("mail-security", "How it is spoken to").one_of(
                "starttls",
                [("starttls", SmtpSecurity::Starttls), ("tls", SmtpSecurity::Tls), ("none", SmtpSecurity::None)],
            ),
            username: server
                .row("mail-username", "Name to log in there with; empty for no login")
                .text("NAME", "", optional_text),
            password: server
                .row("mail-password", "Password for this name; empty for no login")
                .secret("PASSWORD", "", secret_text),
            from: server
                .row("mail-from", "Whom these mails are from, as ADDRESS or NAME <ADDRESS>")
                .text("ADDRESS", "", mail::sender),
            roots_file: server
                .row("mail-roots-file", "PEM file of root certificates to trust when the mail server is called, beside the machine's")
                .text("FILE", "", mail::roots_file),
        };
        let log_format = server
            .row("log-format", "How lines of Windlass's own log are written")
            .taken_by(TRAFFIC)
            .one_of("text", [("text", LogFormat::Text), ("json", LogFormat::Json)]);
        let levels = [
            ("error", LogLevel::Error),
            ("warn", LogLevel::Warn),
            ("info", LogLevel::Info),
            ("debug", LogLevel::Debug),
            ("trace", LogLevel::Trace),
        ];
        let log_level =
            server.row("log-level", "How much Windlass's own log tells").taken_by(TRAFFIC).one_of("info", levels);
        let shutdown_limit = Duration::from_secs(
            server
                .row("shutdown-seconds", "How long a stop waits for requests under way")
                .taken_by(STOP)
                .number(20, 0..=600),
        );
        let docker_socket = containers
            .row("docker-socket", "Socket of the container engine; empty for DOCKER_HOST, else /var/run/docker.sock")
            .taken_by(ENGINE)
            .text("PATH", "", docker_socket);
        let network_pool = containers
            .row("network-pool", "Addresses for containers: each organization gets a /24 of it (prefix 8 to 24)")
            .text("SUBNET", "10.192.0.0/12", network_pool);
        Self {
            settings: Vec::new(),
            master_key: table.master_key(),
            data_dir: data_dir.into(),
            listen,
            database_connections: connections(database_connections, database_url.is_some()),
            database_url,
            public_url,
            cors_origins,
            allow_private_targets,
            metrics_token,
            mail,
            log_format,
            log_level,
            shutdown_limit,
            docker_socket,
            network_pool,
            container_reach: containers
                .row(
                    "container-reach",
                    "What containers and builds may reach of this machine's own addresses and of link-local ones, as ADDRESS[/BITS][:PORT]; nothing by default",
                )
                .list("ADDRESS", reach),
            base_images: containers
                .row(
                    "base-images",
                    "Images that Dockerfiles begin with which Windlass makes, in the place of the usual ones, as BASE=IMAGE or BASE:VERSION=IMAGE; {version} stands for the version",
                )
                .list("BASE=IMAGE", own_image)
                .into_iter()
                .collect(),
            build_network: containers
                .row(
                    "build-network",
                    "none gives the RUN steps of builds no network, unless their organization has host access; ADD still fetches",
                )
                .one_of("open", [("open", BuildNetwork::Open), ("none", BuildNetwork::None)]),
            build_proxy: containers
                .row(
                    "build-proxy",
                    "HTTP proxy that the RUN steps of those builds are told to use; empty for none",
                )
                .secret("URL", "", build_proxy),
            ceilings: Ceilings {
                memory_mb: most_memory(
                    containers
                        .row("container-memory-mib", "Most memory of one container; 0 means half of the machine's")
                        .number(0, 0..=16_777_216),
                ),
                cpu_millis: containers
                    .row(
                        "container-cpu-millis",
                        "Most thousandths of a processor of one container; 0 means all processors",
                    )
                    .number(0, 0..=1_000_000),
                pids: containers
                    .row("container-pids", "Most processes and threads of one container")
                    .limit(1_024, 16..=1_000_000),
            },
            build_ceilings: BuildCeilings {
                memory_mb: most_memory(
                    containers
                        .row("build-memory-mib", "Most memory of all builds together; 0 means half of the machine's")
                        .number(0, 0..=16_777_216),
                ),
                cpu_millis: containers
                    .row("build-cpu-millis", "Most thousandths of a processor of all builds together; 0 means all processors")
                    .number(0, 0..=1_000_000),
                pids: containers
                    .row("build-pids", "Most processes and threads of all builds together")
                    .limit(4_096, 64..=1_000_000),
            },
            base_domain: containers
                .row("base-domain", "Applications without a domain of their own get <name>.<base domain>")
                .text("DOMAIN", "localhost", domain),
            open_registration: accounts
                .row("open-registration", "true lets people register without an invitation")
                .switch(false),
            session_seconds: accounts
                .row("session-days", "How long a login lasts without being refreshed")
                .days(7, 1..=365),
            api_key_days: accounts
                .row("api-key-days", "How long an API key works unless its maker says otherwise")
                .limit(90, 1..=365),
            invitation_seconds: accounts
                .row("invitation-days", "How long an invitation can be accepted")
                .days(7, 1..=90),
            login_attempts: accounts
                .row(
                    "login-attempts",
                    "Logins and registrations a minute from one address; ten times as many for one account",
                )
                .limit(10, 1..=100_000),
            code_attempts: accounts
                .row("code-attempts", "Wrong second-factor codes an hour for one account")
                .limit(10, 1..=1_000),
            account_mails: accounts
                .row(
                    "account-mails",
                    "Mails an hour to one address with a link, and of each kind that tells a user what happened to their account; ten times as many that one user can have sent",
                )
                .limit(10, 1..=100_000),
            address_requests: accounts
                .row("address-requests", "Requests a minute from one address; 0 for no limit")
                .limit(6_000, 0..=10_000_000),
            account_requests: accounts
                .row("account-requests", "Requests a minute of one user, API keys included; 0 for no limit")
                .limit(3_000, 0..=10_000_000),
            key_requests: accounts
                .row("key-requests", "Requests a minute with one API key; 0 for no limit")
                .limit(1_200, 0..=10_000_000),
            webhook_failures: accounts
                .row(
                    "webhook-failures",
                    "Deliveries of code hosts a minute from one address that no application's secret fits; more are told to wait",
                )
                .limit(60, 1..=100_000),
            parallel_logins: accounts
                .row("parallel-logins", "Passwords checked at once; each takes 19 MiB")
                .limit(2, 1..=64),
            user_sessions: accounts
                .row("user-sessions", "Logins of one user at the same time; the oldest ends when there are more")
                .limit(50, 1..=1_000),
            user_organizations: accounts
                .row("user-organizations", "Organizations that one user can belong to")
                .limit(100, 1..=1_000),
            member_keys: accounts.row("member-keys", "API keys of one member of an organization").limit(50, 1..=1_000),
            open_invitations: accounts
                .row("open-invitations", "Open invitations of one organization")
                .limit(500, 1..=10_000),
            organization_connections: accounts
                .row("organization-connections", "Connections to code hosts of one organization")
                .limit(50, 1..=1_000),
            organization_registries: accounts
                .row("organization-registries", "Registries of images that one organization has credentials for")
                .limit(50, 1..=1_000),
            organization_certificates: accounts
                .row("organization-certificates", "Certificates of one organization")
                .limit(100, 1..=1_000),
            connection_calls: accounts
                .row("connection-calls", "Calls to code hosts a minute that members of one organization can ask for")
                .limit(120, 1..=100_000),
            organization_applications: deployments
                .row("organization-applications", "Applications of one organization")
                .limit(200, 1..=10_000),
            organization_containers: deployments
                .row(
                    "organization-containers",
                    "Containers of one organization, those that are being replaced among them",
                )
                .limit(200, 1..=253),
            organization_artifact_bytes: deployments
                .row(
                    "organization-images-mib",
                    "Images and sites of one organization's releases, each counted whole; beyond it nothing is built; 0 for no limit",
                )
                .mib(102_400, 0..=1_073_741_824),
            application_previews: deployments
                .row("application-previews", "Previews of one application at the same time")
                .limit(10, 0..=100),
            preview_seconds: deployments
                .row("preview-days", "How long a preview stays that is not deployed again")
                .days(7, 1..=365),
            preview_memory_mb: deployments
                .row("preview-memory-mb", "Most memory of a preview, unless its application has less; 0 for no limit")
                .limit(1_024, 0..=1_048_576),
            preview_cpu_millis: deployments
                .row("preview-cpu-millis", "Most thousandths of a processor of a preview, as above; 0 for no limit")
                .limit(1_000, 0..=1_000_000),
            kept_deployments: deployments
                .row("kept-deployments", "Deployments of one application that are remembered")
                .limit(500, 10..=100_000),
            kept_deliveries: deployments
                .row("kept-deliveries", "Deliveries of code hosts for one application that are remembered")
                .limit(1_000, 10..=100_000),
            domain_hold_seconds: deployments
                .row(
                    "domain-hold-days",
                    "How long a domain that an organization has given up is kept from other organizations; 0 for not at all",
                )
                .days(7, 0..=365),
            organization_domains: deployments
                .row("organization-domains", "Domains that one organization adds to its applications, beside their main ones")
                .limit(100, 0..=10_000),
            organization_access_bytes: deployments
                .row("organization-access-mib", "Access settings of one organization's applications in all, their pages included")
                .mib(1, 1..=64),
            delivery_seconds: deployments
                .row("delivery-days", "How long deliveries of code hosts are remembered")
                .days(30, 1..=365),
            delivery_body_bytes: deployments
                .row("delivery-body-kib", "Longest body of a delivery that is kept; a longer one cannot be replayed")
                .kib(256, 0..=5_120),
            parallel_deployments: deployments
                .row("parallel-deployments", "Deployments under way at once; more wait")
                .limit(2, 1..=64),
            parallel_starts: deployments
                .row(
                    "parallel-starts",
                    "Deployments that only wait for their container to be well, beside those; more keep their slot",
                )
                .limit(32, 1..=1_000),
            organization_share: deployments
                .row(
                    "organization-share",
                    "How many of the deployments that wait for their containers, or end, and of the commands under way may be one organization's, in percent; builds take turns",
                )
                .limit(50, 1..=100),
            hold_limit: deployments
                .row(
                    "hold-seconds",
                    "Longest time that visitors wait while the containers before are stopped and new ones start",
                )
                .seconds(60, 6..=3_600),
            hold_requests: deployments
                .row("hold-requests", "Requests to one application that wait at once meanwhile; more are told to come again")
                .number(1_000, 1..=1_000_000),
            application_volumes: deployments
                .row("application-volumes", "Volumes of one application")
                .limit(20, 1..=100),
            organization_volumes: deployments
                .row("organization-volumes", "Volumes of one organization")
                .limit(200, 1..=10_000),
            organization_data_bytes: deployments
                .row(
                    "organization-data-mib",
                    "Volumes and snapshots of one organization; beyond it no volume or snapshot is made; 0 for no limit",
                )
                .mib(102_400, 0..=1_073_741_824),
            volume_grace_seconds: deployments
                .row("volume-grace-hours", "How long a deleted volume can be attached again before it is removed")
                .hours(24, 0..=8_760),
            organization_extensions: deployments
                .row("organization-extensions", "Extensions of one organization, beside those that come with Windlass")
                .limit(200, 1..=10_000),
            organization_executions: deployments
                .row("organization-executions", "Runs of extensions of one organization that wait or are under way")
                .limit(20, 1..=1_000),
            organization_installations: deployments
                .row("organization-installations", "Installations of extensions of one organization")
                .limit(100, 1..=10_000),
            execution_seconds: deployments
                .row("execution-seconds", "Longest time for one run of an extension; no step is begun after it")
                .limit(3_600, 60..=86_400),
            kept_executions: deployments
                .row("kept-executions", "Runs of extensions of one organization that are remembered, beside those of what is installed")
                .limit(500, 10..=100_000),
            parallel_runs: deployments
                .row("parallel-runs", "Commands of applications under way at once, beside those of deployments")
                .limit(16, 1..=1_000),
            application_runs: deployments
                .row("application-runs", "Commands of one application that wait or are under way")
                .limit(10, 1..=1_000),
            organization_runs: deployments
                .row("organization-runs", "Commands of one organization that wait or are under way")
                .limit(50, 1..=10_000),
            run_seconds: deployments
                .row("run-seconds", "Longest time for a command of an application; it is ended after it")
                .limit(3_600, 1..=604_800),
            kept_runs: deployments
                .row("kept-runs", "Commands of one application that are remembered when they are over, beside those of schedules")
                .limit(100, 1..=10_000),
            application_schedules: deployments
                .row("application-schedules", "Schedules of one application")
                .limit(20, 1..=1_000),
            organization_uptime_checks: deployments
                .row("organization-uptime-checks", "Applications of one organization whose uptime is checked")
                .limit(100, 1..=10_000),
            image_check_seconds: deployments
                .row("image-check-seconds", "How often a registry is asked for an application with auto_update")
                .limit(3_600, 1..=604_800),
            snapshot_limit: deployments
                .row("snapshot-seconds", "Longest time for writing or restoring a snapshot of a volume")
                .seconds(600, 1..=86_400),
            snapshot_dir: deployments
                .row("snapshot-dir", "Folder for snapshots of volumes; empty for one in the data folder. Several servers need one that all reach")
                .text("DIR", "", own_folder),
            site_dir: deployments
                .row("site-dir", "Folder for sites, whose files the edge serves; empty for one in the data folder. Several servers need one that all reach")
                .text("DIR", "", own_folder),
            site_limits: SiteLimits {
                bytes: deployments.row("site-mib", "Largest site; each of its files and folders counts 4 KiB more than it has").mib(1_024, 1..=1_048_576),
                files: deployments.row("site-files", "Files and folders of one site").limit(100_000, 1..=10_000_000),
            },
            start_limit: deployments
                .row(
                    "start-seconds",
                    "Longest time until a container is well that an image's own health check can ask for",
                )
                .seconds(900, 60..=86_400),
            fetch_limit: deployments
                .row("fetch-seconds", "Longest time for fetching a repository")
                .seconds(300, 1..=7_200),
            fetch_bytes: deployments.row("fetch-mib", "Largest tree of a repository, files in Git LFS included, and largest history").mib(2_048, 1..=1_048_576),
            fetch_files: deployments
                .row("fetch-files", "Files and folders in the tree of a repository")
                .limit(500_000, 1..=100_000_000),
            git_memory: deployments
                .row("git-memory-mib", "Most memory that one process of git may have while it fetches or takes a push")
                .mib(1_024, 64..=1_048_576),
            repository_cache_bytes: deployments
                .row(
                    "repository-cache-mib",
                    "What is kept of fetched repositories so that the next fetch is faster; 0 for nothing",
                )
                .mib(4_096, 0..=1_048_576),
            push_bytes: deployments.row("push-mib", "Largest push by git to Windlass itself").mib(1_024, 1..=1_048_576),
            push_limit: deployments
                .row("push-seconds", "Longest time for the objects of a push to arrive")
                .seconds(600, 1..=7_200),
            parallel_pushes: deployments
                .row("parallel-pushes", "Pushes by git under way at once; more are told to come again")
                .limit(16, 1..=1_000),
            parallel_build_plans: deployments
                .row("parallel-build-plans", "Repositories looked at before a deploy at once, one for each organization; more are told to come again")
                .limit(2, 1..=100),
            push_dir: deployments
                .row("push-dir", "Folder for repositories that are pushed to; empty for one in the data folder. Several servers need one that all reach")
                .text("DIR", "", own_folder),
            upload_bytes: deployments.row("upload-mib", "Largest tar of a folder that is uploaded, as it is sent").mib(1_024, 1..=1_048_576),
            upload_limit: deployments
                .row("upload-seconds", "Longest time for one request of an upload to arrive, for an upload to wait for its turn, and for it to be unpacked")
                .seconds(600, 1..=7_200),
            kept_upload_seconds: deployments
                .row("upload-hours", "How long an upload in parts is kept, complete or not")
                .hours(24, 1..=720),
            organization_uploads: deployments
                .row("organization-uploads", "Uploads of one organization that are not complete")
                .limit(20, 1..=100_000),
            organization_upload_bytes: deployments
                .row("organization-uploads-mib", "Uploads of one organization that are not complete, together; one that comes in one request counts as upload-mib")
                .mib(10_240, 1..=1_073_741_824),
            user_uploads: deployments
                .row("user-uploads", "Uploads of one user that are not complete, in one organization")
                .limit(10, 1..=100_000),
            build_limit: deployments
                .row("build-seconds", "Longest time for building an image, and for copying the files of a site")
                .seconds(1_800, 1..=86_400),
            build_cache_bytes: deployments
                .row(
                    "build-cache-mib",
                    "What the engine may keep of builds so that the next one is faster; 0 leaves it to the engine",
                )
                .mib(20_480, 0..=16_777_216),
            figures_interval: deployments
                .row("figures-seconds", "How often what applications use and visitors ask of them is measured; 0 for never")
                .one_of("10", [("10", 10), ("20", 20), ("30", 30), ("60", 60), ("0", 0)]),
            figures_seconds: deployments
                .row("figures-days", "How long figures are kept: by ten seconds for an hour, by the minute for a day, by ten minutes for so many days")
                .days(30, 1..=365),
            log_source: logs
                .row(
                    "log-source",
                    "auto reads what containers print from the engine's files where it can; engine always asks it",
                )
                .one_of("auto", [("auto", LogSource::Auto), ("engine", LogSource::Engine)]),
            log_seconds: logs.row("log-days", "How long log lines are kept").days(30, 1..=3_650),
            log_bytes: logs
                .row("log-mib", "Text of log lines that is kept for one application; the oldest go first")
                .mib(512, 1..=1_048_576),
            organization_log_bytes: logs
                .row(
                    "organization-log-mib",
                    "Text of log lines that is kept for one organization; the applications with the most lose their oldest first",
                )
                .mib(10_240, 1..=16_777_216),
            run_log_bytes: logs
                .row("run-log-mib", "Text of log lines that is kept of one command of an application; the oldest go first")
                .mib(8, 1..=1_048_576),
            log_line_bytes: logs
                .row("log-line-kib", "Longest log line; the rest of it is cut off, with a mark")
                .kib(256, 1..=1_024),
            log_followers: logs
                .row("log-followers", "Clients that follow or download logs at once, of one organization and of one user; all of them use at most a quarter of max-connections")
                .limit(200, 1..=10_000),
            event_followers: logs
                .row("event-followers", "Clients that follow events at once, of one organization and of one user; all of them use at most a quarter of max-connections")
                .limit(200, 1..=10_000),
            parallel_notices: logs
                .row("parallel-notices", "Destinations that notifications are sent to at once; others wait")
                .limit(16, 1..=256),
            organization_notices: logs
                .row("organization-notices", "Notifications of one organization that wait to be sent; of more the oldest are not sent")
                .limit(10_000, 100..=1_000_000),
            notice_limit: logs
                .row("notice-seconds", "How long the receiver of a notification may take to answer")
                .seconds(10, 1..=60),
            kept_notice_seconds: logs
                .row("notice-days", "How many days notifications are remembered")
                .days(30, 1..=365),
            kept_notices: logs
                .row("kept-notices", "Notifications of one organization that are remembered")
                .limit(100_000, 100..=10_000_000),
            notice_tests: logs
                .row("notice-tests", "Tests of channels, and notifications sent again, a minute that one user can ask for")
                .limit(10, 1..=1_000),
            event_seconds: logs.row("event-days", "How many days events are kept").days(7, 1..=365),
            disk_low_percent: logs
                .row(
                    "disk-low-percent",
                    "With less free room than this share of a disk, disk.low is told to organizations with host access; 0 for never",
                )
                .limit(10, 0..=50),
            search_limit: logs
                .row("search-seconds", "How long one request may search log lines before it answers with what it found")
                .seconds(5, 1..=60),
            engine_log_bytes: logs
                .row(
                    "engine-log-mib",
                    "How long a file of a container's output may get before the engine begins the next",
                )
                .mib(64, 1..=4_096),
            engine_log_files: logs
                .row("engine-log-files", "How many such files the engine keeps of each container")
                .limit(3, 2..=100),
            body_limit: requests.row("body-limit-kib", "Largest request body").kib(1_024, 1..=65_536),
            webhook_body_limit: requests
                .row("webhook-body-kib", "Largest delivery of a code host")
                .kib(5_120, 1..=65_536),
            strangers_body_limit: requests
                .row("strangers-body-kib", "Largest request body of a caller who is not known yet")
                .kib(16, 1..=1_024),
            request_limit: requests.row("request-seconds", "Longest time for one request").seconds(30, 1..=600),
            idle_limit: requests
                .row("idle-seconds", "How long a connection may be silent, or not take its answer")
                .seconds(60, 1..=3_600),
            max_connections: requests
                .row("max-connections", "Connections served at once; for one more, the one that has been quiet the longest is closed, or it waits")
                .limit(1_024, 1..=65_535),
            account_requests_at_once: requests
                .row("account-requests-at-once", "Requests of one user under way at once, API keys included; 0 for no limit")
                .limit(256, 0..=65_535),
            address_connections: requests
                .row(
                    "address-connections",
                    "Connections from one address, one IPv6 /64, or one organization's containers; more are closed; 0 for no limit",
                )
                .limit(256, 0..=65_535),
            edge_http: visitors
                .row("edge-http", "Address and port at which visitors reach the applications")
                .addresses("127.0.0.1:7781"),
            edge_https: visitors
                .row("edge-https", "Address and port at which visitors reach the applications encrypted")
                .addresses("127.0.0.1:7743"),
            acme: AcmeSettings {
                directories: visitors
                    .row(
                        "acme-directories",
                        "Directories of the certificate authorities that certificates are ordered from, the first before the next; naming one agrees to its terms; none by default",
                    )
                    .taken_by(SERVE)
                    .list("URL", directory),
                email: visitors
                    .row("acme-email", "Address that the authorities may write to; empty for none")
                    .taken_by(SERVE)
                    .text("EMAIL", "", email),
                profile: visitors
                    .row("acme-profile", "Kind of certificate to order, where an authority has several; empty for its usual one")
                    .taken_by(SERVE)
                    .text("NAME", "", profile),
                roots_file: visitors
                    .row("acme-roots-file", "PEM file of root certificates to trust when authorities are called, beside the machine's")
                    .taken_by(SERVE)
                    .text("FILE", "", optional_file),
                key_id: visitors
                    .row("acme-key-id", "Id of the external account (EAB) at the authorities' own site, where they want one; empty for none")
                    .taken_by(SERVE)
                    .text("ID", "", optional_text),
                key: visitors
                    .row("acme-key", "Key of that account, in base64url as the authority shows it; empty for none")
                    .taken_by(SERVE)
                    .secret("KEY", "", account_key),
            },
            dns_servers: visitors
                .row("dns-servers", "Name servers that are asked where domains lead, as ADDRESS or ADDRESS:PORT; none for the machine's own")
                .taken_by(SERVE)
                .list("ADDRESS", name_server),
            zones: ZoneSettings {
                names: visitors
                    .row(
                        "dns-zones",
                        "Zones in which Windlass may set TXT records, to get certificates for every name below another; none by default",
                    )
                    .taken_by(SERVE)
                    .list("ZONE", domain),
                update_server: visitors
                    .row("dns-update-server", "Name server that takes changes of these zones (RFC 2136), as ADDRESS or ADDRESS:PORT; empty for none")
                    .taken_by(SERVE)
                    .text("ADDRESS", "", optional_name_server),
                update_key: visitors
                    .row("dns-update-key-file", "File with the key that this server knows, as tsig-keygen prints it; empty for none")
                    .taken_by(SERVE)
                    .text("FILE", "", update_key),
                cloudflare_token: visitors
                    .row("cloudflare-token", "Token of an account at Cloudflare that may read these zones and edit their records; empty for none")
                    .taken_by(SERVE)
                    .secret("TOKEN", "", secret_text),
                cloudflare_url: visitors
                    .row("cloudflare-url", "Address of Cloudflare's API, or of a proxy in front of it")
                    .taken_by(SERVE)
                    .text("URL", windlass_zone::Cloudflare::BASE_URL, not_empty_text),
                servers: visitors
                    .row(
                        "dns-zone-servers",
                        "Name servers that must have a record before an authority is told of it; none for those that DNS knows for the zone",
                    )
                    .taken_by(SERVE)
                    .list("ADDRESS", name_server),
            },
            organization_orders: visitors
                .row("organization-orders", "Orders of certificates for one organization in a week, beside renewals")
                .taken_by(SERVE)
                .limit(25, 1..=1_000),
            edge: windlass_edge::Settings {
                threads: threads(
                    visitors
                        .row("edge-threads", "Threads that serve visitors; 0 means one for each processor")
                        .number(0, 0..=256),
                ),
                max_connections: visitors
                    .row("edge-max-connections", "Connections of visitors served at once; more wait")
                    .limit(16_384, 1..=1_000_000),
                address_connections: visitors
                    .row(
                        "edge-address-connections",
                        "Connections of visitors from one address, one IPv6 /64, or one organization's containers; more are closed; 0 for no limit",
                    )
                    .limit(512, 0..=1_000_000),
                address_handshakes: visitors
                    .row(
                        "edge-address-handshakes",
                        "Encrypted connections that one address, or one IPv6 /64, may begin in a second, beyond a first few; more wait; 0 for no limit",
                    )
                    .number(50, 0..=1_000_000),
                service_requests: visitors
                    .row(
                        "edge-application-requests",
                        "Requests to one application under way at once; more are told to come again; 0 for no limit",
                    )
                    .number(4_096, 0..=1_000_000),
                containers: network_pool.into(),
                head_limit: visitors
                    .row("edge-head-seconds", "How long a visitor's request may take to say what it wants")
                    .seconds(10, 1..=600),
                head_bytes: visitors.row("edge-head-kib", "Largest head of a visitor's request").kib(64, 8..=1_024),
                idle_limit: visitors
                    .row("edge-idle-seconds", "How long a visitor's connection may be silent")
                    .seconds(60, 1..=3_600),
                hand_over_limit: Duration::from_secs(
                    visitors
                        .row(
                            "hand-over-seconds",
                            "How long requests may go on in an edge that another one has replaced",
                        )
                        .number(600, 1..=86_400),
                ),
                trusted_proxies: trusted_proxies.clone(),
                stop_limit: shutdown_limit,
            },
            trusted_proxies,
        }
    }
}

const fn connections(asked: u32, is_postgres: bool) -> u32 {
    match asked {
        0 if is_postgres => 16,
        0 => 4,
        connections => connections,
    }
}

fn most_memory(asked: u32) -> u32 {
    match asked {
        0 => half_of_memory(),
        memory => memory,
    }
}

fn threads(asked: usize) -> usize {
    match asked {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        threads => threads,
    }
}
