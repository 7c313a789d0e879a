//! Access settings as the API shows them.

use ipnet::IpNet;
use uuid::Uuid;
use windlass_api as api;
use windlass_api::MASK;

use crate::access::AccessSettings;

pub fn access(application_id: Uuid, settings: &AccessSettings) -> api::Access {
    let texts = |networks: &[IpNet]| networks.iter().map(ToString::to_string).collect();
    api::Access {
        application_id,
        allow: texts(&settings.allow),
        deny: texts(&settings.deny),
        users: settings.users.iter().map(|user| (user.name.clone(), MASK.to_owned())).collect(),
        realm: settings.realm().to_owned(),
        requests_per_minute: settings.requests_per_minute.into(),
        request_burst: settings.request_burst.into(),
        body_bytes: i64::try_from(settings.body_bytes).unwrap_or(i64::MAX),
        answer_seconds: settings.answer_seconds.into(),
        maintenance: settings.maintenance,
        security_headers: settings.security_headers,
        headers: settings.headers.clone(),
        compress: settings.compress,
        pages: settings.pages.iter().map(|(status, html)| (status.to_string(), html.clone())).collect(),
    }
}
