//! Which certificate a domain is served with. Only those of the domain's own organization are looked at: a member of another one can
//! upload what it likes, for any name.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use uuid::Uuid;
use windlass_api::Timestamp;
use windlass_certificate::covers;
use windlass_edge::routes::{self as edge, PrivateKey};
use windlass_store::certificates::{self, Certificate};
use windlass_store::{Conn, Result};

use crate::app::App;

/// Every certificate, by organization.
pub struct Choice(HashMap<Uuid, Vec<Certificate>>);

impl Choice {
    pub fn new(all: Vec<Certificate>) -> Self {
        let mut by_organization: HashMap<_, Vec<_>> = HashMap::new();
        for certificate in all {
            by_organization.entry(certificate.organization_id).or_default().push(certificate);
        }
        Self(by_organization)
    }

    /// A valid one before one that is not, the domain's own name before a wildcard, and then the one that ends last. When none is
    /// valid the last one stays: visitors are told the truth by their browsers, and not that the host is gone.
    pub fn of(&self, organization_id: Uuid, domain: &str, now: Timestamp) -> Option<&Certificate> {
        let rank = |certificate: &&Certificate| {
            let is_own = certificate.names().any(|name| name == domain);
            (certificate.is_valid_at(now), is_own, certificate.not_after, certificate.id)
        };
        let own = self.0.get(&organization_id)?;
        own.iter().filter(|certificate| certificate.names().any(|name| covers(name, domain))).max_by_key(rank)
    }
}

/// What an edge is given: each certificate with the domains that it is for.
#[derive(Default)]
pub struct Served(BTreeMap<Uuid, Vec<String>>);

impl Served {
    pub fn add(&mut self, certificate: &Certificate, domain: &str) {
        self.0.entry(certificate.id).or_default().push(domain.to_owned());
    }

    /// What was given before is taken from there: a row never changes, and reading and opening ten thousand of them takes seconds.
    pub async fn load(
        self,
        app: &App,
        conn: &mut Conn,
        before: &[Arc<edge::Certificate>],
    ) -> Result<Vec<Arc<edge::Certificate>>> {
        let before: HashMap<&str, _> =
            before.iter().map(|certificate| (certificate.id.as_str(), certificate)).collect();
        let mut all = Vec::with_capacity(self.0.len());
        for (id, hosts) in self.0 {
            let name = id.to_string();
            let certificate = match before.get(name.as_str()) {
                Some(same) if same.hosts == hosts => Some(Arc::clone(same)),
                Some(same) => Some(Arc::new(edge::Certificate { hosts, ..edge::Certificate::clone(same) })),
                None => read(app, conn, id, hosts).await?.map(Arc::new),
            };
            all.extend(certificate);
        }
        Ok(all)
    }
}

/// None if it is gone, or cannot be opened: the other domains must be served nevertheless.
async fn read(app: &App, conn: &mut Conn, id: Uuid, hosts: Vec<String>) -> Result<Option<edge::Certificate>> {
    let Some(material) = certificates::material(conn, id).await? else { return Ok(None) };
    match app.vault.certificate_key(id, &material.sealed_key).await {
        Ok(key) => {
            let (id, key_pem) = (id.to_string(), PrivateKey::new(key));
            Ok(Some(edge::Certificate { id, hosts, chain_pem: material.chain_pem, key_pem }))
        }
        Err(error) => {
            tracing::error!(certificate = %id, cause = error.cause, "the key of a certificate cannot be opened");
            Ok(None)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OURS: Uuid = Uuid::from_u128(1);

    fn certificate(id: u128, organization_id: Uuid, names: &str, not_after: i64) -> Certificate {
        Certificate {
            id: Uuid::from_u128(id),
            organization_id,
            user_id: Uuid::nil(),
            names: names.into(),
            issuer: String::new(),
            serial_number: String::new(),
            fingerprint: String::new(),
            key_type: String::new(),
            not_before: Timestamp::from_micros(0),
            not_after: Timestamp::from_micros(not_after),
            created_at: Timestamp::from_micros(0),
        }
    }

    fn chosen(all: &[Certificate], now: i64) -> Option<u128> {
        let choice = Choice::new(all.to_vec());
        choice.of(OURS, "shop.example.org", Timestamp::from_micros(now)).map(|found| found.id.as_u128())
    }

    #[test]
    fn another_organizations_certificate_is_not_served() {
        let theirs = certificate(1, Uuid::from_u128(2), "shop.example.org", 100);
        assert_eq!(chosen(std::slice::from_ref(&theirs), 50), None);
        let ours = certificate(2, OURS, "*.example.org", 60);
        assert_eq!(chosen(&[theirs, ours], 50), Some(2));
    }

    #[test]
    fn the_best_one_is_served() {
        let wide = certificate(1, OURS, "example.org *.example.org", 1_000);
        let own = certificate(2, OURS, "shop.example.org", 100);
        let later = certificate(3, OURS, "other.example.org shop.example.org", 200);
        let of_another_host = certificate(4, OURS, "example.org a.shop.example.org *.shop.example.org", 5_000);
        let all = [wide, own, later, of_another_host];
        assert_eq!(chosen(&all, 50), Some(3));
        assert_eq!(chosen(&all[..2], 50), Some(2));
        assert_eq!(chosen(&all, 500), Some(1));
        assert_eq!(chosen(&all[1..], 500), Some(3));
        assert_eq!(chosen(&all[3..], 50), None);
    }
}
