//! The server itself behind the edge, at the host of `public-url`.

use std::sync::Arc;

use windlass_edge::routes::{AccessSpec, HttpsPolicy, Notice, Route, RouteSet, Serves, ServiceSpec, TargetsSpec};

use crate::app::App;

/// No application has such a name: theirs are ids.
const SERVICE: &str = "windlass";

pub struct OwnAddress {
    pub host: String,
    pub https: HttpsPolicy,
}

/// The only route of its host: what an application had there is the operator's now. After the certificates: as long as the table has none
/// for the host, visitors are told to wait, because a password must not travel unencrypted.
pub fn add_route(app: &App, set: &mut RouteSet, own: &OwnAddress) {
    let OwnAddress { host, https } = own;
    let has_certificate = set.certificates.iter().any(|certificate| certificate.hosts.contains(host));
    let serves = match app.address_for_edge.filter(|_| has_certificate) {
        Some(address) => {
            Serves::Targets(TargetsSpec { addresses: vec![address], health: None, limits: Default::default() })
        }
        None => Serves::Page(Notice::Starting),
    };
    // While this server is stopped, its port is free for others on the machine.
    let access = AccessSpec { own_targets: true, ..AccessSpec::default() };
    // Visitors are sent to https even if the certificate has expired: the browser warns them, and no password goes unencrypted.
    let https = HttpsPolicy { redirect: true, ..*https };
    set.routes.retain(|route| route.host != *host);
    set.routes.push(Route { https, ..Route::new(host, SERVICE) });
    let access = Some(Arc::new(access));
    set.services.push(ServiceSpec { name: SERVICE.into(), serves, access_log: false, access });
}
