//! The server itself behind the edge, at the host of `public-url`.

use windlass_edge::routes::{HttpsPolicy, Notice, Route, RouteSet, Serves, ServiceSpec, TargetsSpec};

use crate::app::App;

/// No application has such a name: theirs are ids.
const SERVICE: &str = "windlass";

/// Before all other routes. As long as there is no certificate visitors are told to wait: a password must not travel unencrypted.
pub fn add_route(app: &App, set: &mut RouteSet, host: &str, has_certificate: bool, https: HttpsPolicy) {
    let serves = match app.address_for_edge.filter(|_| has_certificate) {
        Some(address) => {
            Serves::Targets(TargetsSpec { addresses: vec![address], health: None, limits: Default::default() })
        }
        None => Serves::Page(Notice::Starting),
    };
    // Over http also when the certificate has expired: a browser then says so.
    let https = HttpsPolicy { redirect: true, ..https };
    set.routes.insert(0, Route { https, ..Route::new(host, SERVICE) });
    set.services.push(ServiceSpec { name: SERVICE.into(), serves, access_log: false, access: None });
}
