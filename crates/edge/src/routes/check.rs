//! What makes a table valid.

mod access;

pub use self::access::is_reserved_header;

use std::collections::HashSet;

use super::{
    ACCESS_VERSION, Certificate, Challenge, FIRST_VERSION, FilesSpec, HOLD_VERSION, HTTPS_VERSION, HealthSpec,
    HoldSpec, NEWEST_VERSION, RedirectSpec, Route, RouteSet, Serves, ServiceSpec, TargetsSpec,
};

/// More than one machine serves, and few enough for every table to be built in a moment.
const MOST_ROUTES: usize = 200_000;
const MOST_TARGETS: usize = 256;
/// Each is a connection of a visitor, and little more.
const MOST_WAITING: u32 = 100_000;
const MOST_CERTIFICATES: usize = 10_000;
/// As many as the authorities put into one certificate.
const MOST_CERTIFICATE_HOSTS: usize = 100;
const LONGEST_CHAIN: usize = 64 * 1024;
const LONGEST_KEY: usize = 16 * 1024;
/// Two years, as the lists that browsers come with ask for.
const LONGEST_HSTS: u64 = 63_072_000;
const MOST_CHALLENGES: usize = 10_000;
const LONGEST_TOKEN: usize = 256;
/// No more problems of a table are listed: these are enough to find its mistake.
const MOST_PROBLEMS: usize = 20;

impl RouteSet {
    /// Every problem, each with the place where it is.
    pub fn check(&self) -> Result<(), Vec<String>> {
        let mut problems = Problems::default();
        self.check_version(&mut problems);
        if self.routes.len() > MOST_ROUTES || self.services.len() > MOST_ROUTES {
            problems.add(format!("routes: more than {MOST_ROUTES}"));
            return problems.into_result();
        }
        let mut names = HashSet::new();
        for (index, service) in self.services.iter().enumerate() {
            service.check(&format!("services[{index}]"), &mut problems);
            if !names.insert(service.name.as_str()) {
                problems.add(format!("services[{index}].name: {:?} is there twice", service.name));
            }
        }
        let mut seen = HashSet::new();
        for (index, route) in self.routes.iter().enumerate() {
            route.check(&format!("routes[{index}]"), &mut problems);
            if !names.contains(route.service.as_str()) {
                problems.add(format!("routes[{index}].service: there is no service {:?}", route.service));
            }
            if !seen.insert((route.host.as_str(), route.path.trim_end_matches('/'))) {
                problems.add(format!("routes[{index}]: {}{} is there twice", route.host, route.path));
            }
        }
        self.check_certificates(&mut problems);
        self.check_challenges(&mut problems);
        problems.into_result()
    }

    fn check_version(&self, problems: &mut Problems) {
        if !(FIRST_VERSION..=NEWEST_VERSION).contains(&self.version) {
            let known = format!("{FIRST_VERSION} to {NEWEST_VERSION}");
            problems.add(format!("version: is {}, and this edge knows versions {known} only", self.version));
        } else if self.version < self.needed_version() {
            let needed = self.needed_version();
            let what = match needed {
                ACCESS_VERSION => "rules for who may visit a service",
                HTTPS_VERSION => "proofs, redirects and rules for https",
                HOLD_VERSION => "services that are held",
                _ => "certificates and challenges",
            };
            problems.add(format!("version: {what} need version {needed}"));
        }
    }

    fn check_certificates(&self, problems: &mut Problems) {
        for (field, certificates) in [("certificates", &self.certificates), ("proofs", &self.proofs)] {
            if certificates.len() > MOST_CERTIFICATES {
                return problems.add(format!("{field}: more than {MOST_CERTIFICATES}"));
            }
            let mut ids = HashSet::new();
            for (index, certificate) in certificates.iter().enumerate() {
                certificate.check(&format!("{field}[{index}]"), problems);
                if !ids.insert(certificate.id.as_str()) {
                    problems.add(format!("{field}[{index}].id: {:?} is there twice", certificate.id));
                }
            }
        }
    }

    fn check_challenges(&self, problems: &mut Problems) {
        if self.challenges.len() > MOST_CHALLENGES {
            return problems.add(format!("challenges: more than {MOST_CHALLENGES}"));
        }
        let mut asked = HashSet::new();
        for (index, challenge) in self.challenges.iter().enumerate() {
            challenge.check(&format!("challenges[{index}]"), problems);
            if !asked.insert((challenge.host.as_str(), challenge.token.as_str())) {
                problems.add(format!("challenges[{index}]: {:?} is there twice", challenge.token));
            }
        }
    }
}

#[derive(Default)]
struct Problems(Vec<String>);

impl Problems {
    fn add(&mut self, problem: String) {
        if self.0.len() < MOST_PROBLEMS {
            self.0.push(problem);
        }
    }

    fn into_result(self) -> Result<(), Vec<String>> {
        if self.0.is_empty() { Ok(()) } else { Err(self.0) }
    }
}

impl Route {
    fn check(&self, field: &str, problems: &mut Problems) {
        if !is_host_pattern(&self.host) {
            problems.add(format!("{field}.host: {:?} is not a host name in lower case, nor *.name, nor *", self.host));
        }
        let visible = self.path.bytes().all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'?' | b'#'));
        if !self.path.starts_with('/') || !visible || self.path.len() > 1024 {
            problems.add(format!("{field}.path: {:?} is not a path, such as / or /api", self.path));
        }
        if self.https.hsts_seconds > LONGEST_HSTS {
            problems.add(format!("{field}.https.hsts_seconds: must be at most {LONGEST_HSTS}"));
        }
    }
}

fn is_host_pattern(host: &str) -> bool {
    let name = host.strip_prefix("*.").unwrap_or(host);
    host == "*" || is_host(name)
}

/// A name or an address, as it comes in a request once it is in lower case and without its port.
fn is_host(name: &str) -> bool {
    if let Some(inside) = name.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        return inside.parse::<std::net::Ipv6Addr>().is_ok_and(|address| address.to_string() == inside);
    }
    let label = |label: &str| {
        (1..=63).contains(&label.len())
            && label
                .bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'_'))
    };
    name.len() <= 253 && name.split('.').all(label)
}

impl ServiceSpec {
    fn check(&self, field: &str, problems: &mut Problems) {
        if !is_name(&self.name) {
            problems.add(format!("{field}.name: must be 1 to 200 visible ASCII characters"));
        }
        match &self.serves {
            Serves::Targets(targets) => targets.check(&format!("{field}.serves.targets"), problems),
            Serves::Files(files) => files.check(&format!("{field}.serves.files"), problems),
            Serves::Page(_) => {}
            Serves::Held(hold) => hold.check(&format!("{field}.serves.held"), problems),
            Serves::Redirect(redirect) => redirect.check(&format!("{field}.serves.redirect"), problems),
        }
        if let Some(access) = &self.access {
            access.check(&format!("{field}.access"), problems);
        }
    }
}

impl HoldSpec {
    fn check(&self, field: &str, problems: &mut Problems) {
        if !(1..=MOST_WAITING).contains(&self.most_waiting) {
            problems.add(format!("{field}.most_waiting: must be 1 to {MOST_WAITING}"));
        }
    }
}

impl RedirectSpec {
    fn check(&self, field: &str, problems: &mut Problems) {
        if !is_host(&self.host) {
            problems.add(format!("{field}.host: {:?} is not a host name in lower case", self.host));
        }
    }
}

impl TargetsSpec {
    fn check(&self, field: &str, problems: &mut Problems) {
        if self.addresses.is_empty() || self.addresses.len() > MOST_TARGETS {
            problems.add(format!("{field}.addresses: must be 1 to {MOST_TARGETS}"));
        }
        let mut seen = HashSet::new();
        for address in &self.addresses {
            if address.port() == 0 || address.ip().is_unspecified() || address.ip().is_multicast() {
                problems.add(format!("{field}.addresses: {address} cannot be connected to"));
            }
            if !seen.insert(address) {
                problems.add(format!("{field}.addresses: {address} is there twice"));
            }
        }
        let limits = &self.limits;
        let times = [
            ("connect_ms", limits.connect_ms),
            ("answer_ms", limits.answer_ms),
            ("idle_ms", limits.idle_ms),
            ("upgrade_idle_ms", limits.upgrade_idle_ms),
            ("total_ms", limits.total_ms),
        ];
        for (name, value) in times {
            check_time(&format!("{field}.limits.{name}"), value, problems);
        }
        if let Some(health) = &self.health {
            health.check(&format!("{field}.health"), problems);
        }
    }
}

impl HealthSpec {
    fn check(&self, field: &str, problems: &mut Problems) {
        if !self.path.starts_with('/') || !self.path.bytes().all(|byte| byte.is_ascii_graphic()) {
            problems.add(format!("{field}.path: {:?} is not a path, such as /health", self.path));
        }
        check_time(&format!("{field}.interval_ms"), self.interval_ms, problems);
        check_time(&format!("{field}.timeout_ms"), self.timeout_ms, problems);
        if self.interval_ms < 100 {
            problems.add(format!("{field}.interval_ms: must be at least 100"));
        }
        for (name, value) in [("unhealthy_after", self.unhealthy_after), ("healthy_after", self.healthy_after)] {
            if !(1..=1000).contains(&value) {
                problems.add(format!("{field}.{name}: must be 1 to 1000"));
            }
        }
    }
}

fn check_time(field: &str, millis: u64, problems: &mut Problems) {
    const LONGEST: u64 = 7 * 86_400_000;
    if !(1..=LONGEST).contains(&millis) {
        problems.add(format!("{field}: must be 1 to {LONGEST}, in milliseconds"));
    }
}

impl FilesSpec {
    fn check(&self, field: &str, problems: &mut Problems) {
        if !self.folder.is_absolute() {
            problems.add(format!("{field}.folder: {} is not an absolute path", self.folder.display()));
        }
        if self.not_found.split('/').any(|part| matches!(part, "" | "." | "..")) || self.not_found.contains('\0') {
            problems.add(format!("{field}.not_found: {:?} is not a path inside the folder", self.not_found));
        }
    }
}

/// A name that the server or the operator has chosen.
fn is_name(name: &str) -> bool {
    (1..=200).contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_graphic())
}

impl Certificate {
    /// No problem shows anything of the key.
    fn check(&self, field: &str, problems: &mut Problems) {
        if !is_name(&self.id) {
            problems.add(format!("{field}.id: must be 1 to 200 visible ASCII characters"));
        }
        if !(1..=MOST_CERTIFICATE_HOSTS).contains(&self.hosts.len()) {
            problems.add(format!("{field}.hosts: must be 1 to {MOST_CERTIFICATE_HOSTS}"));
        }
        for host in &self.hosts {
            if host == "*" || !is_host_pattern(host) {
                problems.add(format!("{field}.hosts: {host:?} is not a host name in lower case, nor *.name"));
            }
        }
        if !is_pem(&self.chain_pem, "CERTIFICATE", LONGEST_CHAIN) {
            problems.add(format!("{field}.chain_pem: must be certificates in PEM, at most {LONGEST_CHAIN} bytes"));
        }
        if !is_pem(self.key_pem.pem(), "PRIVATE KEY", LONGEST_KEY) {
            problems.add(format!("{field}.key_pem: must be a private key in PEM, at most {LONGEST_KEY} bytes"));
        }
    }
}

/// Whether a text begins and ends as PEM of this kind does. What is inside is for the TLS library to judge.
fn is_pem(text: &str, kind: &str, longest: usize) -> bool {
    let is_text = |byte: u8| byte.is_ascii_graphic() || matches!(byte, b' ' | b'\r' | b'\n');
    let is_line = |line: &str, begin: &str| {
        line.strip_prefix(begin).and_then(|rest| rest.strip_suffix("-----")).is_some_and(|rest| rest.ends_with(kind))
    };
    let mut lines = text.lines();
    text.len() <= longest
        && text.bytes().all(is_text)
        && lines.next().is_some_and(|line| is_line(line, "-----BEGIN "))
        && lines.next_back().is_some_and(|line| is_line(line, "-----END "))
}

impl Challenge {
    fn check(&self, field: &str, problems: &mut Problems) {
        if !is_host(&self.host) {
            problems.add(format!("{field}.host: {:?} is not a host name in lower case", self.host));
        }
        if !is_base64_url(&self.token) {
            problems.add(format!("{field}.token: must be 1 to {LONGEST_TOKEN} characters of base64url"));
        }
        let thumbprint = self.key_authorization.strip_prefix(&self.token).and_then(|rest| rest.strip_prefix('.'));
        if !thumbprint.is_some_and(is_base64_url) {
            problems.add(format!("{field}.key_authorization: must be the token, a dot and a thumbprint"));
        }
    }
}

fn is_base64_url(text: &str) -> bool {
    let is_digit = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    (1..=LONGEST_TOKEN).contains(&text.len()) && text.bytes().all(is_digit)
}

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::PrivateKey;
    use super::*;

    const KEY: &str = "-----BEGIN PRIVATE KEY-----\nc2VjcmV0\n-----END PRIVATE KEY-----\n";

    fn secured() -> RouteSet {
        let certificate = Certificate {
            id: "one".into(),
            hosts: vec!["shop.example.org".into(), "*.example.org".into()],
            chain_pem: "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n".into(),
            key_pem: PrivateKey::new(KEY),
        };
        let challenge = Challenge {
            host: "shop.example.org".into(),
            token: "to-ken_1".into(),
            key_authorization: "to-ken_1.thumb_print-2".into(),
        };
        RouteSet {
            version: NEWEST_VERSION,
            certificates: vec![certificate.into()],
            challenges: vec![challenge],
            ..RouteSet::default()
        }
    }

    fn first(routes: &mut RouteSet) -> &mut Certificate {
        Arc::make_mut(&mut routes.certificates[0])
    }

    /// The one problem of a table that was valid before the change.
    fn problem(change: impl FnOnce(&mut RouteSet)) -> String {
        let mut routes = secured();
        routes.check().unwrap();
        change(&mut routes);
        let problems = routes.check().unwrap_err();
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert!(!problems[0].contains("c2VjcmV0"), "{problems:?}");
        problems[0].clone()
    }

    #[test]
    fn certificates_and_challenges_have_bounds() {
        let begins = |problem: String, field: &str| assert!(problem.starts_with(&format!("{field}: ")), "{problem}");
        begins(problem(|routes| routes.version = FIRST_VERSION), "version");
        begins(problem(|routes| routes.version = NEWEST_VERSION + 1), "version");
        begins(problem(|routes| first(routes).id = String::new()), "certificates[0].id");
        begins(problem(|routes| routes.certificates.push(routes.certificates[0].clone())), "certificates[1].id");
        begins(problem(|routes| first(routes).hosts.clear()), "certificates[0].hosts");
        begins(problem(|routes| first(routes).hosts = vec!["a.b".into(); 101]), "certificates[0].hosts");
        for host in ["*", "Shop.example.org", "shop.example.org:443", ""] {
            begins(problem(|routes| first(routes).hosts[0] = host.into()), "certificates[0].hosts");
        }
        for pem in ["", "MIIB", KEY, "-----BEGIN CERTIFICATE-----"] {
            begins(problem(|routes| first(routes).chain_pem = pem.into()), "certificates[0].chain_pem");
        }
        let long = KEY.replace("c2VjcmV0", &"c2VjcmV0\n".repeat(2000));
        for pem in ["", "c2VjcmV0", "(hidden)", &KEY.replace("PRIVATE", "PUBLIC"), &long] {
            begins(problem(|routes| first(routes).key_pem = PrivateKey::new(pem)), "certificates[0].key_pem");
        }
        begins(problem(|routes| routes.challenges[0].host = "*.example.org".into()), "challenges[0].host");
        begins(problem(|routes| routes.challenges.push(routes.challenges[0].clone())), "challenges[1]");
        for authorization in ["", "to-ken_1", "to-ken_1.", "other.thumb", "to-ken_1.a b"] {
            let change = |routes: &mut RouteSet| routes.challenges[0].key_authorization = authorization.into();
            begins(problem(change), "challenges[0].key_authorization");
        }
        let (token, authorization) = ("../etc", "../etc.thumb");
        begins(
            problem(|routes| {
                routes.challenges[0].token = token.into();
                routes.challenges[0].key_authorization = authorization.into();
            }),
            "challenges[0].token",
        );
        let many = |routes: &mut RouteSet| {
            routes.challenges = vec![routes.challenges[0].clone(); MOST_CHALLENGES + 1];
        };
        begins(problem(many), "challenges");
        let many = |routes: &mut RouteSet| {
            routes.certificates = vec![routes.certificates[0].clone(); MOST_CERTIFICATES + 1];
        };
        begins(problem(many), "certificates");
    }

    #[test]
    fn a_table_with_certificates_is_read_as_it_was_written() {
        let text = serde_json::to_string(&secured()).unwrap();
        assert_eq!(serde_json::from_str::<RouteSet>(&text).unwrap(), secured());
        assert!(text.contains("c2VjcmV0"));
    }

    #[test]
    fn a_table_without_them_is_what_it_was() {
        let text = r#"{"version":1,"routes":[],"services":[]}"#;
        assert_eq!(serde_json::to_string(&RouteSet::default()).unwrap(), text);
        assert_eq!(serde_json::from_str::<RouteSet>(text).unwrap(), RouteSet::default());
        assert_eq!(secured().for_version(FIRST_VERSION), RouteSet::default());
        assert_eq!(secured().for_version(NEWEST_VERSION), secured());
        assert_eq!(RouteSet::default().for_version(NEWEST_VERSION), RouteSet::default());
    }

    #[test]
    fn keys_are_not_shown() {
        let shown = serde_json::to_string(&secured().without_keys()).unwrap();
        for text in [shown, format!("{:?}", secured()), format!("{:#?}", secured())] {
            assert!(text.contains("(hidden)") && !text.contains("c2VjcmV0") && !text.contains("PRIVATE"), "{text}");
        }
    }
}
