//! What visitors of an application meet before it: as it is kept, and as the edge is told it.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use ipnet::IpNet;
use serde::{Deserialize, Serialize};
use uuid::Uuid;
use windlass_edge::routes::{AccessSpec, HeaderSpec, Limits, PageSpec, RateSpec, SignInSpec, SignInUser};
use windlass_store::Conn;
use windlass_store::application_access::{self, RoutedAccess};

/// What browsers are told where the application does not say it itself.
const SECURITY_HEADERS: [(&str, &str); 3] = [
    ("referrer-policy", "strict-origin-when-cross-origin"),
    ("x-content-type-options", "nosniff"),
    ("x-frame-options", "SAMEORIGIN"),
];
const REALM: &str = "Restricted";

/// As the row has it. An older server passes over a field that it does not know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct AccessSettings {
    pub allow: Vec<IpNet>,
    pub deny: Vec<IpNet>,
    pub users: Vec<SignInUser>,
    /// Empty for the usual one.
    pub realm: String,
    /// 0 for no limit.
    pub requests_per_minute: u32,
    /// 0 for as many as in a minute.
    pub request_burst: u32,
    /// 0 for no limit.
    pub body_bytes: u64,
    pub answer_seconds: u32,
    pub maintenance: bool,
    pub security_headers: bool,
    /// Empty to remove the header.
    pub headers: BTreeMap<String, String>,
    pub compress: bool,
    pub pages: BTreeMap<u16, String>,
}

impl Default for AccessSettings {
    fn default() -> Self {
        Self {
            allow: Vec::new(),
            deny: Vec::new(),
            users: Vec::new(),
            realm: String::new(),
            requests_per_minute: 0,
            request_burst: 0,
            body_bytes: 0,
            answer_seconds: 60,
            maintenance: false,
            security_headers: false,
            headers: BTreeMap::new(),
            compress: false,
            pages: BTreeMap::new(),
        }
    }
}

impl AccessSettings {
    /// As a row has it. One that cannot be read, or that the edge would not take, keeps visitors out: it may say who must not come in, and
    /// one service that the edge refuses would keep it from all others.
    pub fn read(application_id: Uuid, text: &str) -> Self {
        let read = serde_json::from_str::<Self>(text).map_err(|error| error.to_string());
        let read = read.and_then(|settings| match settings.problem() {
            Some(problem) => Err(problem),
            None => Ok(settings),
        });
        read.unwrap_or_else(|problem| {
            tracing::error!(problem, application = %application_id, "access settings cannot be used; visitors are kept out");
            Self::closed()
        })
    }

    fn closed() -> Self {
        Self { maintenance: true, ..Self::default() }
    }

    pub fn realm(&self) -> &str {
        if self.realm.is_empty() { REALM } else { &self.realm }
    }

    pub fn limits(&self) -> Limits {
        let answer_ms = u64::from(self.answer_seconds) * 1_000;
        Limits { answer_ms, body_bytes: self.body_bytes, ..Limits::default() }
    }

    /// Why an edge would not take it.
    pub fn problem(&self) -> Option<String> {
        self.clone().spec().and_then(|spec| spec.problems().into_iter().next())
    }

    /// None for what an edge need not be told.
    pub fn spec(self) -> Option<Arc<AccessSpec>> {
        let (headers, rate, sign_in) = (self.header_specs(), self.rate(), self.sign_in());
        let page = |(status, html)| PageSpec { status, html };
        let spec = AccessSpec {
            allow: self.allow,
            deny: self.deny,
            rate,
            sign_in,
            maintenance: self.maintenance,
            headers,
            compress: self.compress,
            own_targets: false,
            pages: self.pages.into_iter().map(page).collect(),
        };
        (spec != AccessSpec::default()).then(|| Arc::new(spec))
    }

    fn rate(&self) -> Option<RateSpec> {
        let burst = if self.request_burst == 0 { self.requests_per_minute } else { self.request_burst };
        // More at once than the edge counts is no limit on them.
        let burst = burst.min(MOST_BURST);
        (self.requests_per_minute > 0).then_some(RateSpec { per_minute: self.requests_per_minute, burst })
    }

    fn sign_in(&self) -> Option<SignInSpec> {
        let spec = SignInSpec { realm: self.realm().to_owned(), users: self.users.clone() };
        (!self.users.is_empty()).then_some(spec)
    }

    fn header_specs(&self) -> Vec<HeaderSpec> {
        let own = self.headers.iter().map(|(name, value)| HeaderSpec {
            name: name.clone(),
            value: Some(value.clone()).filter(|value| !value.is_empty()),
            unless_there: false,
        });
        let usual =
            SECURITY_HEADERS.iter().filter(|(name, _)| self.security_headers && !self.headers.contains_key(*name));
        let usual = usual.map(|(name, value)| HeaderSpec {
            name: (*name).to_owned(),
            value: Some((*value).to_owned()),
            unless_there: true,
        });
        own.chain(usual).collect()
    }
}

/// The edge takes no more.
const MOST_BURST: u32 = 100_000;
/// Of the settings of all applications together that an edge is told: well below what it takes in one line, also when each character is
/// written as two.
const MOST_BYTES: usize = 64 << 20;

/// What every application has, by its id.
pub struct AccessByApplication {
    settings: HashMap<Uuid, AccessSettings>,
}

impl AccessByApplication {
    pub async fn load(conn: &mut Conn) -> windlass_store::Result<Self> {
        Ok(Self { settings: within_room(application_access::all(conn).await?, MOST_BYTES) })
    }

    pub fn take(&mut self, application_id: Uuid) -> AccessSettings {
        self.settings.remove(&application_id).unwrap_or_default()
    }
}

/// When there is more than the edge can be told, the applications of the organizations with the most stay closed.
fn within_room(rows: Vec<RoutedAccess>, most: usize) -> HashMap<Uuid, AccessSettings> {
    let mut bytes: HashMap<Uuid, usize> = HashMap::new();
    for row in &rows {
        *bytes.entry(row.organization_id).or_default() += row.settings.len();
    }
    let mut organizations: Vec<(usize, Uuid)> = bytes.into_iter().map(|(id, bytes)| (bytes, id)).collect();
    organizations.sort_unstable();
    let mut left = most;
    let mut without_room = HashSet::new();
    for (bytes, id) in organizations {
        match left.checked_sub(bytes) {
            Some(rest) => left = rest,
            None => drop(without_room.insert(id)),
        }
    }
    if !without_room.is_empty() {
        let organizations = without_room.len();
        tracing::error!(
            organizations,
            "more access settings than the edge can be told; the applications of some stay closed"
        );
    }
    let read = |row: RoutedAccess| match without_room.contains(&row.organization_id) {
        true => (row.application_id, AccessSettings::closed()),
        false => (row.application_id, AccessSettings::read(row.application_id, &row.settings)),
    };
    rows.into_iter().map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_usual_is_not_told() {
        assert_eq!(AccessSettings::default().spec(), None);
        assert_eq!(AccessSettings::default().limits(), Limits::default());
        assert_eq!(serde_json::from_str::<AccessSettings>("{}").unwrap(), AccessSettings::default());
    }

    #[test]
    fn what_cannot_be_used_keeps_visitors_out() {
        for text in ["nonsense", r#"{"maintenance": 5}"#, r#"{"headers": {"proxy-x": "1"}}"#] {
            assert!(AccessSettings::read(Uuid::nil(), text).maintenance, "{text}");
        }
        assert!(!AccessSettings::read(Uuid::nil(), "{}").maintenance);
    }

    #[test]
    fn organizations_with_the_most_are_left_out_first() {
        let row = |id: u128, organization: u128, bytes: usize| RoutedAccess {
            application_id: Uuid::from_u128(id),
            organization_id: Uuid::from_u128(organization),
            settings: format!("{{}}{}", " ".repeat(bytes - 2)),
        };
        let rows = vec![row(1, 1, 40), row(2, 2, 60), row(3, 1, 30), row(4, 3, 20)];
        let read = within_room(rows, 100);
        let closed = |id: u128| read[&Uuid::from_u128(id)].maintenance;
        assert_eq!([closed(1), closed(2), closed(3), closed(4)], [true, false, true, false]);
    }

    #[test]
    fn the_edge_is_told_what_was_set() {
        let settings = AccessSettings {
            requests_per_minute: 60,
            security_headers: true,
            headers: [("x-frame-options".into(), "DENY".into()), ("server".into(), String::new())].into(),
            pages: [(503, "<h1>Later</h1>".into())].into(),
            body_bytes: 7,
            answer_seconds: 2,
            ..AccessSettings::default()
        };
        assert_eq!((settings.limits().body_bytes, settings.limits().answer_ms), (7, 2_000));
        let spec = settings.spec().unwrap();
        assert_eq!(spec.rate, Some(RateSpec { per_minute: 60, burst: 60 }));
        let headers: Vec<_> = spec
            .headers
            .iter()
            .map(|header| (header.name.as_str(), header.value.as_deref(), header.unless_there))
            .collect();
        assert_eq!(
            headers,
            [
                ("server", None, false),
                ("x-frame-options", Some("DENY"), false),
                ("referrer-policy", Some("strict-origin-when-cross-origin"), true),
                ("x-content-type-options", Some("nosniff"), true),
            ]
        );
        assert_eq!(spec.pages, [PageSpec { status: 503, html: "<h1>Later</h1>".into() }]);
    }
}
