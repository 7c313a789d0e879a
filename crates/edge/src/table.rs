//! The table behind the one pointer: which service a request is for.

use std::collections::HashMap;
use std::sync::Arc;

use crate::files::FileCache;
use crate::routes::{HttpsPolicy, RouteSet};
use crate::targets::Target;
use crate::targets::service::Service;

#[derive(Default)]
pub struct Table {
    /// As it was given, to be handed on.
    pub routes: Arc<RouteSet>,
    pub services: HashMap<String, Arc<Service>>,
    exact: HashMap<String, Paths>,
    /// By the name that everything below belongs to.
    below: HashMap<String, Paths>,
    other: Paths,
    /// Whether any route or service says what is expected of visitors.
    has_rules: bool,
    /// By host and token.
    challenges: HashMap<(String, String), String>,
}

/// Where an authority asks for the answer to its challenge (RFC 8555, section 8.3).
const CHALLENGE_PATH: &str = "/.well-known/acme-challenge/";

/// Where a route leads.
struct Way {
    service: Arc<Service>,
    https: HttpsPolicy,
    /// Of a route for `*.name`: that name.
    above: Option<String>,
}

/// What is expected of a visitor before a request goes on.
#[derive(Default)]
pub struct Rules {
    pub https: HttpsPolicy,
    /// The service, if anything stands between it and visitors.
    pub guarded: Option<Arc<Service>>,
}

impl Rules {
    pub fn is_none(&self) -> bool {
        self.https.is_none() && self.guarded.is_none()
    }
}

/// The ways of one host by the beginning of the path, the longest first.
type Paths = Vec<(String, Way)>;

impl Table {
    /// The table for a checked set of routes. What is the same as before is kept as it is.
    pub fn new(routes: &Arc<RouteSet>, before: &Self, workers: usize, cache: &Arc<FileCache>) -> Self {
        let mut table = Self {
            routes: routes.clone(),
            has_rules: routes.routes.iter().any(|route| !route.https.is_none())
                || routes.services.iter().any(|service| service.access.is_some()),
            ..Self::default()
        };
        for challenge in &routes.challenges {
            let asked = (challenge.host.clone(), challenge.token.clone());
            table.challenges.insert(asked, challenge.key_authorization.clone());
        }
        for spec in &routes.services {
            let service = Service::new(spec, before.services.get(&spec.name), workers, cache);
            table.services.insert(spec.name.clone(), service);
        }
        for route in &routes.routes {
            // Checked: every route names a service of the set.
            let Some(service) = table.services.get(&route.service) else { continue };
            let paths = match route.host.strip_prefix("*.") {
                Some(name) => table.below.entry(name.to_owned()).or_default(),
                None if route.host == "*" => &mut table.other,
                None => table.exact.entry(route.host.clone()).or_default(),
            };
            let above = route.host.strip_prefix("*.").map(str::to_owned);
            let way = Way { service: service.clone(), https: route.https, above };
            paths.push((route.path.trim_end_matches('/').to_owned(), way));
        }
        let all = table.exact.values_mut().chain(table.below.values_mut()).chain([&mut table.other]);
        for paths in all {
            paths.sort_by_key(|(prefix, _)| std::cmp::Reverse(prefix.len()));
        }
        table
    }

    /// By the routes of the host, or else of the nearest `*.` name above it, or else of `*`. Only these are looked at: what is further up
    /// may be another organization's.
    pub fn find(&self, host: &str, path: &str) -> Option<&Arc<Service>> {
        self.way(host, path).map(|way| &way.service)
    }

    /// What is expected of a visitor who asks for this.
    pub fn rules(&self, host: &str, path: &str) -> Rules {
        let Some(way) = self.has_rules.then(|| self.way(host, path)).flatten() else { return Rules::default() };
        // A certificate for all names below one is not for those below them.
        let is_far_below = way.above.as_deref().is_some_and(|above| parent(host) != Some(above));
        Rules {
            https: if is_far_below { HttpsPolicy::default() } else { way.https },
            guarded: way.service.access.is_some().then(|| way.service.clone()),
        }
    }

    /// The answer to the challenge that is asked for, if it is one of this host's.
    pub fn challenge(&self, host: &str, path: &str) -> Option<&str> {
        let token = path.strip_prefix(CHALLENGE_PATH)?;
        self.challenges.get(&(host.to_owned(), token.to_owned())).map(String::as_str)
    }

    fn way(&self, host: &str, path: &str) -> Option<&Way> {
        let mut above = std::iter::successors(parent(host), |name| parent(name));
        let nearest = || above.find_map(|name| self.below.get(name));
        longest(self.exact.get(host).or_else(nearest).unwrap_or(&self.other), path)
    }

    /// The targets of `self` that `next` no longer sends requests to.
    pub fn targets_missing_in(&self, next: &Self) -> Vec<(String, Arc<Target>)> {
        let mut missing = Vec::new();
        for (name, service) in &self.services {
            let stays = next.services.get(name);
            if stays.is_some_and(|next| Arc::ptr_eq(next, service)) {
                continue;
            }
            let kept = stays.map(|service| service.targets()).unwrap_or_default();
            let gone = service.targets().iter().filter(|target| !kept.iter().any(|kept| Arc::ptr_eq(kept, target)));
            missing.extend(gone.map(|target| (name.clone(), target.clone())));
        }
        missing
    }
}

fn parent(host: &str) -> Option<&str> {
    host.split_once('.').map(|(_, parent)| parent)
}

fn longest<'a>(paths: &'a Paths, path: &str) -> Option<&'a Way> {
    let matching =
        |prefix: &str| path.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    paths.iter().find(|(prefix, _)| prefix.is_empty() || matching(prefix)).map(|(_, way)| way)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::routes::{NEWEST_VERSION, Notice, Route, Serves, ServiceSpec};

    fn table(routes: &[(&str, &str, &str)]) -> Table {
        let mut set = RouteSet::default();
        for (host, path, service) in routes {
            set.routes.push(Route { path: (*path).into(), ..Route::new(*host, *service) });
            let page = Serves::Page(Notice::Starting);
            set.services.push(ServiceSpec { name: (*service).into(), serves: page, access_log: false, access: None });
        }
        set.check().unwrap();
        Table::new(&Arc::new(set), &Table::default(), 1, &Arc::new(FileCache::new(0)))
    }

    #[test]
    fn exact_before_wildcard_before_the_rest_and_the_longest_path() {
        let table = table(&[
            ("shop.example.org", "/", "shop"),
            ("shop.example.org", "/api", "api"),
            ("shop.example.org", "/api/v2/", "api2"),
            ("*.example.org", "/", "wild"),
            ("*.deep.example.org", "/", "deep"),
            ("only.deep.example.org", "/admin", "admin"),
            ("*", "/status", "status"),
            ("*.part.example.org", "/api", "part"),
        ]);
        for (host, path, service) in [
            ("shop.example.org", "/", Some("shop")),
            ("shop.example.org", "*", Some("shop")),
            ("shop.example.org", "/apiary", Some("shop")),
            ("shop.example.org", "/api", Some("api")),
            ("shop.example.org", "/api/v2", Some("api2")),
            ("shop.example.org", "/api/v2/x", Some("api2")),
            ("shop.example.org", "/api/v21", Some("api")),
            ("a.example.org", "/", Some("wild")),
            ("a.b.example.org", "/", Some("wild")),
            ("example.org", "/", None),
            ("x.deep.example.org", "/", Some("deep")),
            ("only.deep.example.org", "/admin/x", Some("admin")),
            ("only.deep.example.org", "/", None),
            ("only.deep.example.org", "/status", None),
            ("x.part.example.org", "/api", Some("part")),
            ("x.part.example.org", "/", None),
            ("elsewhere", "/", None),
            ("elsewhere", "/status", Some("status")),
        ] {
            let found = table.find(host, path).map(|service| service.spec.name.as_str());
            assert_eq!(found, service, "{host}{path}");
        }
    }

    #[test]
    fn visitors_are_sent_to_https_where_a_certificate_can_be() {
        let https = HttpsPolicy { redirect: true, hsts_seconds: 0 };
        let mut set = RouteSet { version: NEWEST_VERSION, ..RouteSet::default() };
        for host in ["shop.example.org", "*.example.org"] {
            set.routes.push(Route { https, ..Route::new(host, "shop") });
        }
        let page = Serves::Page(Notice::Starting);
        set.services.push(ServiceSpec { name: "shop".into(), serves: page, access_log: false, access: None });
        set.check().unwrap();
        let table = Table::new(&Arc::new(set), &Table::default(), 1, &Arc::new(FileCache::new(0)));
        for (host, is_sent) in
            [("shop.example.org", true), ("a.example.org", true), ("a.b.example.org", false), ("example.org", false)]
        {
            assert_eq!(table.rules(host, "/").https.redirect, is_sent, "{host}");
        }
    }
}
