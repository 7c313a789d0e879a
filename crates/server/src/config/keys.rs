//! Every setting there is. Flags, environment, file and documentation all come from this table.

/// One setting: `--<name>`, `WINDLASS_<NAME>`, and `<name>` in `windlass.toml` with underscores for hyphens.
pub struct Key {
    pub name: &'static str,
    pub value_name: &'static str,
    /// May be given several times; in the environment separated by commas, in the file as an array.
    pub is_list: bool,
    pub default: &'static str,
    pub help: &'static str,
}

impl Key {
    pub fn environment_name(&self) -> String {
        format!("WINDLASS_{}", self.name.replace('-', "_").to_uppercase())
    }

    /// Whether it bounds what callers can do or use up.
    pub fn is_limit(&self) -> bool {
        let counted = [
            "-attempts",
            "-requests",
            "-days",
            "-seconds",
            "-kib",
            "-mib",
            "-connections",
            "-logins",
            "-deployments",
            "-applications",
            "-starts",
            "-followers",
            "-files",
        ];
        let kept = ["user-sessions", "user-organizations", "member-keys", "open-invitations"];
        let is_own = matches!(self.name, "database-connections" | "shutdown-seconds" | "hand-over-seconds");
        !is_own && (kept.contains(&self.name) || counted.iter().any(|ending| self.name.ends_with(ending)))
    }

    pub fn file_name(&self) -> String {
        self.name.replace('-', "_")
    }
}

const fn key(name: &'static str, value_name: &'static str, default: &'static str, help: &'static str) -> Key {
    Key { name, value_name, is_list: false, default, help }
}

const fn list(name: &'static str, value_name: &'static str, default: &'static str, help: &'static str) -> Key {
    Key { name, value_name, is_list: true, default, help }
}

pub const KEYS: [Key; 62] = [
    key("data-dir", "DIR", "windlass-data", "Folder for everything that Windlass keeps"),
    list("listen", "ADDRESS", "127.0.0.1:7780", "Address and port of the API"),
    list("edge-http", "ADDRESS", "127.0.0.1:7781", "Address and port at which visitors reach the applications"),
    key("database-url", "URL", "", "postgres://... to use PostgreSQL; empty for SQLite in the data folder"),
    key("database-connections", "N", "0", "Connections to the database; 0 means 4 for SQLite and 16 for PostgreSQL"),
    key(
        "docker-socket",
        "PATH",
        "",
        "Socket of the container engine; empty for DOCKER_HOST, else /var/run/docker.sock",
    ),
    key(
        "network-pool",
        "SUBNET",
        "10.192.0.0/12",
        "Addresses for containers: each organization gets a /24 of it (prefix 8 to 24)",
    ),
    key("base-domain", "DOMAIN", "localhost", "Applications without a domain of their own get <name>.<base domain>"),
    key("public-url", "URL", "", "How people reach this server, for links; empty for the first listen address"),
    list("trusted-proxies", "ADDRESS", "", "Proxies in front whose X-Forwarded-For is believed; none by default"),
    list("cors-origins", "ORIGIN", "", "Web origins that may call the API from a browser; none by default"),
    key("allow-private-targets", "BOOL", "false", "true lets webhooks and mail servers be at private addresses"),
    key("log-format", "FORMAT", "text", "text or json"),
    key("log-level", "LEVEL", "info", "error, warn, info, debug or trace"),
    key("open-registration", "BOOL", "false", "true lets anybody register; false asks for an invitation"),
    key("session-days", "DAYS", "7", "How long a login lasts without being refreshed (1 to 365)"),
    key("api-key-days", "DAYS", "90", "How long an API key works unless its maker says otherwise (1 to 365)"),
    key("invitation-days", "DAYS", "7", "How long an invitation can be accepted (1 to 90)"),
    key(
        "login-attempts",
        "N",
        "10",
        "Logins and registrations a minute from one address; ten times as many for one account (1 to 100000)",
    ),
    key("code-attempts", "N", "10", "Wrong second-factor codes an hour for one account (1 to 1000)"),
    key("address-requests", "N", "6000", "Requests a minute from one address; 0 for no limit (0 to 10000000)"),
    key(
        "account-requests",
        "N",
        "3000",
        "Requests a minute of one user, API keys included; 0 for no limit (0 to 10000000)",
    ),
    key("key-requests", "N", "1200", "Requests a minute with one API key; 0 for no limit (0 to 10000000)"),
    key("parallel-logins", "N", "2", "Passwords checked at once; each takes 19 MiB (1 to 64)"),
    key(
        "user-sessions",
        "N",
        "50",
        "Logins of one user at the same time; the oldest ends when there are more (1 to 1000)",
    ),
    key("user-organizations", "N", "100", "Organizations that one user can belong to (1 to 1000)"),
    key("member-keys", "N", "50", "API keys of one member of an organization (1 to 1000)"),
    key("open-invitations", "N", "500", "Open invitations of one organization (1 to 10000)"),
    key("organization-applications", "N", "200", "Applications of one organization (1 to 10000)"),
    key("kept-deployments", "N", "500", "Deployments of one application that are remembered (10 to 100000)"),
    key("parallel-deployments", "N", "2", "Deployments under way at once; more wait (1 to 64)"),
    key(
        "parallel-starts",
        "N",
        "32",
        "Deployments that only wait for their container to be well, beside those; more keep their place (1 to 1000)",
    ),
    key(
        "organization-share",
        "PERCENT",
        "50",
        "How much of the places for jobs one organization may use, so that others find some (1 to 100)",
    ),
    key(
        "start-seconds",
        "SECONDS",
        "900",
        "Longest time until a container is well that an image's own health check can ask for (60 to 86400)",
    ),
    key("fetch-seconds", "SECONDS", "300", "Longest time for fetching a repository (1 to 7200)"),
    key("fetch-mib", "MIB", "2048", "Largest tree of a repository (1 to 1048576)"),
    key(
        "repository-cache-mib",
        "MIB",
        "4096",
        "What is kept of fetched repositories so that the next fetch is faster; 0 for nothing (0 to 1048576)",
    ),
    key("build-seconds", "SECONDS", "1800", "Longest time for building an image (1 to 86400)"),
    key(
        "build-cache-mib",
        "MIB",
        "20480",
        "What the engine may keep of builds so that the next one is faster; 0 leaves it to the engine (0 to 16777216)",
    ),
    key(
        "log-source",
        "SOURCE",
        "auto",
        "auto reads what containers print from the engine's own files where it can, and asks the engine elsewhere; engine always asks",
    ),
    key("log-days", "DAYS", "30", "How long log lines are kept (1 to 3650)"),
    key(
        "log-mib",
        "MIB",
        "512",
        "Text of log lines that is kept for one application; the oldest go first (1 to 1048576)",
    ),
    key("log-line-kib", "KIB", "256", "Longest log line; the rest of it is cut off, with a mark (1 to 1024)"),
    key("log-followers", "N", "200", "Who can follow or download the logs of one organization at once (1 to 10000)"),
    key("event-followers", "N", "200", "Who can follow the events of one organization at once (1 to 10000)"),
    key("event-days", "DAYS", "7", "How long events are kept (1 to 365)"),
    key(
        "search-seconds",
        "SECONDS",
        "5",
        "How long one request may search log lines before it answers with what it found (1 to 60)",
    ),
    key(
        "engine-log-mib",
        "MIB",
        "64",
        "How long a file of a container's output may get before the engine begins the next (1 to 4096)",
    ),
    key("engine-log-files", "N", "3", "How many such files the engine keeps of each container (2 to 100)"),
    key("body-limit-kib", "KIB", "1024", "Largest request body (1 to 65536)"),
    key("strangers-body-kib", "KIB", "16", "Largest request body of somebody who is not known yet (1 to 1024)"),
    key("request-seconds", "SECONDS", "30", "Longest time for one request (1 to 600)"),
    key("idle-seconds", "SECONDS", "60", "How long a connection may be silent, or not take its answer (1 to 3600)"),
    key("max-connections", "N", "1024", "Connections served at once; more wait (1 to 65535)"),
    key("edge-threads", "N", "0", "Threads that serve visitors; 0 means one for each processor (0 to 256)"),
    key("edge-max-connections", "N", "16384", "Connections of visitors served at once; more wait (1 to 1000000)"),
    key(
        "edge-address-connections",
        "N",
        "512",
        "Connections of visitors from one address; more are closed; 0 for no limit (0 to 1000000)",
    ),
    key("edge-head-seconds", "SECONDS", "10", "How long a visitor's request may take to say what it wants (1 to 600)"),
    key("edge-head-kib", "KIB", "64", "Largest head of a visitor's request (8 to 1024)"),
    key("edge-idle-seconds", "SECONDS", "60", "How long a visitor's connection may be silent (1 to 3600)"),
    key(
        "hand-over-seconds",
        "SECONDS",
        "600",
        "How long requests may go on in an edge that another one has replaced (1 to 86400)",
    ),
    key("shutdown-seconds", "SECONDS", "20", "How long a stop waits for requests under way (0 to 600)"),
];
