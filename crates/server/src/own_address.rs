//! The server itself behind the edge, at the host of `public-url`.

use std::sync::Arc;

use windlass_edge::routes::{AccessSpec, HttpsPolicy, Notice, Route, RouteSet, Serves, ServiceSpec, TargetsSpec};

use crate::app::App;

/// No application has such a name: theirs are ids.
const SERVICE: &str = "windlass";

/// The only route of its host: what an application had there is the operator's now. As long as there is no certificate visitors are told to wait: a password must not travel unencrypted.
pub fn add_route(app: &App, set: &mut RouteSet, host: &str, has_certificate: bool, https: HttpsPolicy) {
    let serves = match app.address_for_edge.filter(|_| has_certificate) {
        Some(address) => {
            Serves::Targets(TargetsSpec { addresses: vec![address], health: None, limits: Default::default() })
        }
        None => Serves::Page(Notice::Starting),
    };
    // While this server is stopped, its port is free for others on the machine.
    let access = AccessSpec { own_targets: true, ..AccessSpec::default() };
    // Over http also when the certificate has expired: a browser then says so.
    let https = HttpsPolicy { redirect: true, ..https };
    set.routes.retain(|route| route.host != host);
    set.routes.push(Route { https, ..Route::new(host, SERVICE) });
    set.services.push(ServiceSpec { name: SERVICE.into(), serves, access_log: false, access: Some(Arc::new(access)) });
}
