//! Which certificate a domain is served with. Only those of the domain's own organization are looked at: a member of another one can
//! upload what it likes, for any name. What is the server's own belongs to no organization, and neither do its certificates.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use uuid::Uuid;
use windlass_api::Timestamp;
use windlass_edge::routes::{self as edge, PrivateKey};
use windlass_store::certificates::{self, Scope};
use windlass_store::domain_settings::DomainSettings;
use windlass_store::{Conn, Result};

use crate::app::App;
use crate::config::Config;

/// Domains of one certificate that the edge takes at once; those of a wildcard may be more, and are given as several.
const MOST_DOMAINS: usize = 100;
/// What the edge takes of all organizations together, with room for the rest of its table.
pub const MOST_CERTIFICATES: usize = 10_000;
const MOST_BYTES: usize = 48 << 20;

/// Every certificate, by organization and name, and what was chosen.
pub struct Choice {
    by_name: HashMap<(Option<Uuid>, String), Vec<Arc<Scope>>>,
    by_id: HashMap<(Option<Uuid>, Uuid), Arc<Scope>>,
    /// By organization and domain.
    chosen: HashMap<(Option<Uuid>, String), Uuid>,
    /// Names right below it are served with the server's own certificate, where they have no other; none for no such certificate.
    base_domain: Option<String>,
}

impl Choice {
    pub fn new(all: impl IntoIterator<Item = Scope>, settings: &[DomainSettings], config: &Config) -> Self {
        let base_domain = config.shares_certificate().then(|| config.base_domain.clone());
        Self::with_base(all, settings, base_domain)
    }

    /// The base domain is none where there is no certificate for what is below it.
    pub fn with_base(
        all: impl IntoIterator<Item = Scope>,
        settings: &[DomainSettings],
        base_domain: Option<String>,
    ) -> Self {
        let (mut by_name, mut by_id): (HashMap<_, Vec<_>>, _) = (HashMap::new(), HashMap::new());
        for scope in all.into_iter().map(Arc::new) {
            by_id.insert((scope.organization_id, scope.id), scope.clone());
            for name in scope.names.split(' ') {
                by_name.entry((scope.organization_id, name.to_owned())).or_default().push(scope.clone());
            }
        }
        let chosen = settings.iter().filter_map(|settings| {
            Some(((Some(settings.organization_id), settings.domain.clone()), settings.certificate_id?))
        });
        Self { by_name, by_id, chosen: chosen.collect(), base_domain }
    }

    /// The one that was chosen, as long as it is valid. Else a valid one before one that is not, the domain's own name before a wildcard,
    /// and then the one that ends last, or was uploaded last. When none is valid the last one stays: browsers then say that it has expired,
    /// not that there is no host.
    pub fn of(&self, organization_id: Option<Uuid>, domain: &str, now: Timestamp) -> Option<&Scope> {
        let names = names_for(domain);
        let is_shared = |name: &str| {
            let above = name.strip_prefix("*.").filter(|_| name != domain);
            above.is_some() && above == self.base_domain.as_deref()
        };
        let found = names.iter().enumerate().flat_map(|(place, name)| {
            let own = self.by_name.get(&(organization_id, name.clone()));
            let shared = self.by_name.get(&(None, name.clone())).filter(|_| is_shared(name));
            own.into_iter().chain(shared).flatten().map(move |scope| (scope, place == 0))
        });
        let chosen = self.chosen.get(&(organization_id, domain.to_owned()));
        let best = found.max_by_key(|(scope, is_own)| {
            let is_valid = scope.is_valid_at(now);
            (is_valid, is_valid && chosen == Some(&scope.id), *is_own, scope.not_after, scope.id)
        });
        best.map(|(scope, _)| &**scope)
    }

    /// Whether a certificate is for a domain; none if the organization does not have it.
    pub fn is_for(&self, organization_id: Option<Uuid>, id: Uuid, domain: &str) -> Option<bool> {
        let scope = self.by_id.get(&(organization_id, id))?;
        let names = names_for(domain);
        Some(scope.names.split(' ').any(|name| names.iter().any(|wanted| wanted == name)))
    }
}

/// What a certificate must have among its names: the domain itself, or the wildcard above it.
fn names_for(domain: &str) -> Vec<String> {
    let wildcard = domain.split_once('.').map(|(_, above)| format!("*.{above}"));
    std::iter::once(domain.to_owned()).chain(wildcard.filter(|name| name != domain)).collect()
}

/// Certificates with the domains that each is served for.
#[derive(Default)]
pub struct Served(BTreeMap<Uuid, (Option<Uuid>, BTreeSet<String>)>);

impl Served {
    /// Once for each of its paths.
    pub fn add(&mut self, scope: &Scope, domain: &str) {
        let (_, domains) = self.0.entry(scope.id).or_insert_with(|| (scope.organization_id, BTreeSet::new()));
        domains.insert(domain.to_owned());
    }

    /// The domains of one of them.
    pub fn take(&mut self, id: Uuid) -> Vec<String> {
        self.0.remove(&id).map(|(_, domains)| domains.into_iter().collect()).unwrap_or_default()
    }

    /// As the edge is given them. What it was given before is taken from there: a row never changes, and reading and opening ten
    /// thousand of them takes seconds. When there are more than it takes, organizations take turns.
    pub async fn load(
        self,
        app: &App,
        conn: &mut Conn,
        before: &[Arc<edge::Certificate>],
    ) -> Result<Vec<Arc<edge::Certificate>>> {
        let before: HashMap<&str, _> =
            before.iter().map(|certificate| (certificate.id.as_str(), certificate)).collect();
        let (mut all, mut bytes) = (Vec::new(), 0);
        for (id, part, hosts) in self.in_turn() {
            let name = format!("{id}.{part}");
            let certificate = match before.get(name.as_str()) {
                Some(same) if same.hosts == hosts => Some(Arc::clone(same)),
                Some(same) => Some(Arc::new(edge::Certificate { hosts, ..edge::Certificate::clone(same) })),
                None => read(app, conn, id, name, hosts).await?.map(Arc::new),
            };
            let Some(certificate) = certificate else { continue };
            bytes += certificate.chain_pem.len() + certificate.key_pem.pem().len();
            if all.len() == MOST_CERTIFICATES || bytes > MOST_BYTES {
                tracing::error!(
                    served = all.len(),
                    "there are more certificates than the edge takes; some are left out"
                );
                break;
            }
            all.push(certificate);
        }
        Ok(all)
    }

    /// Each certificate in parts that the edge takes, the first of every organization before the second of any.
    fn in_turn(self) -> Vec<(Uuid, usize, Vec<String>)> {
        let mut turns: HashMap<Option<Uuid>, usize> = HashMap::new();
        let mut all = Vec::new();
        for (id, (organization_id, domains)) in self.0 {
            let domains: Vec<String> = domains.into_iter().collect();
            for (part, domains) in domains.chunks(MOST_DOMAINS).enumerate() {
                let turn = turns.entry(organization_id).or_default();
                all.push((*turn, id, part, domains.to_vec()));
                *turn += 1;
            }
        }
        all.sort_unstable();
        all.into_iter().map(|(_, id, part, domains)| (id, part, domains)).collect()
    }
}

/// None if it is gone, or cannot be opened: the other domains must be served nevertheless.
async fn read(
    app: &App,
    conn: &mut Conn,
    id: Uuid,
    name: String,
    hosts: Vec<String>,
) -> Result<Option<edge::Certificate>> {
    let Some(material) = certificates::material(conn, id).await? else { return Ok(None) };
    match app.vault.certificate_key(id, &material.sealed_key).await {
        Ok(key) => {
            let key_pem = PrivateKey::new(key);
            Ok(Some(edge::Certificate { id: name, hosts, chain_pem: material.chain_pem, key_pem }))
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
    const THEIRS: Uuid = Uuid::from_u128(2);

    fn scope(id: u128, organization_id: Uuid, names: &str, not_after: i64) -> Scope {
        Scope {
            id: Uuid::from_u128(id),
            organization_id: Some(organization_id),
            names: names.into(),
            not_before: Timestamp::from_micros(0),
            not_after: Timestamp::from_micros(not_after),
        }
    }

    fn chosen(all: &[Scope], now: i64) -> Option<u128> {
        let choice = Choice::with_base(all.to_vec(), &[], None);
        choice.of(Some(OURS), "shop.example.org", Timestamp::from_micros(now)).map(|found| found.id.as_u128())
    }

    #[test]
    fn another_organizations_certificate_is_not_served() {
        let theirs = scope(1, THEIRS, "shop.example.org", 100);
        assert_eq!(chosen(std::slice::from_ref(&theirs), 50), None);
        let ours = scope(2, OURS, "*.example.org", 60);
        assert_eq!(chosen(&[theirs, ours], 50), Some(2));
    }

    /// What is the server's own is for names that it gives out, and for no others.
    #[test]
    fn names_below_the_base_domain_share_the_servers_certificate() {
        let shared = Scope { organization_id: None, ..scope(1, OURS, "*.example.org *.example.net", 100) };
        let choice =
            Choice::with_base([shared, scope(2, OURS, "own.example.org", 100)], &[], Some("example.org".into()));
        let of =
            |domain: &str| choice.of(Some(OURS), domain, Timestamp::from_micros(50)).map(|found| found.id.as_u128());
        assert_eq!((of("shop.example.org"), of("own.example.org")), (Some(1), Some(2)));
        for other in ["example.org", "a.shop.example.org", "*.example.org", "shop.example.net"] {
            assert_eq!(of(other), None, "{other}");
        }
    }

    #[test]
    fn the_best_one_is_served() {
        let wide = scope(1, OURS, "example.org *.example.org", 1_000);
        let own = scope(2, OURS, "shop.example.org", 100);
        let later = scope(3, OURS, "other.example.org shop.example.org", 200);
        let of_another_host = scope(4, OURS, "example.org a.shop.example.org *.shop.example.org *.org", 5_000);
        let all = [wide, own, later, of_another_host];
        assert_eq!(chosen(&all, 50), Some(3));
        assert_eq!(chosen(&all[..2], 50), Some(2));
        assert_eq!(chosen(&all, 500), Some(1));
        assert_eq!(chosen(&all[1..], 500), Some(3));
        assert_eq!(chosen(&all[3..], 50), None);
    }

    #[test]
    fn the_chosen_one_is_served_while_it_is_valid() {
        let (wide, own) = (scope(1, OURS, "*.example.org", 100), scope(2, OURS, "shop.example.org", 1_000));
        let other = scope(3, OURS, "other.example.net", 1_000);
        let choose = |id: u128, organization_id| DomainSettings {
            certificate_id: Some(Uuid::from_u128(id)),
            ..DomainSettings::usual("shop.example.org", organization_id)
        };
        let chosen = |settings: DomainSettings, now: i64| {
            let choice = Choice::with_base([wide.clone(), own.clone(), other.clone()], &[settings], None);
            choice.of(Some(OURS), "shop.example.org", Timestamp::from_micros(now)).map(|found| found.id.as_u128())
        };
        assert_eq!(chosen(choose(1, OURS), 50), Some(1));
        assert_eq!(chosen(choose(1, OURS), 500), Some(2), "it has expired");
        assert_eq!(chosen(choose(1, THEIRS), 50), Some(2), "another organization had the domain");
        assert_eq!(chosen(choose(3, OURS), 50), Some(2), "it is not for the domain");
        let choice = Choice::with_base([wide.clone(), other.clone()], &[], None);
        let is_for = |id: u128| choice.is_for(Some(OURS), Uuid::from_u128(id), "shop.example.org");
        assert_eq!([is_for(1), is_for(3), is_for(4)], [Some(true), Some(false), None]);
    }

    #[test]
    fn organizations_take_turns_and_many_domains_are_several_parts() {
        let mut served = Served::default();
        let (wide, second, theirs) = (scope(1, OURS, "", 0), scope(2, OURS, "", 0), scope(3, THEIRS, "", 0));
        for number in 0..MOST_DOMAINS + 1 {
            served.add(&wide, &format!("{number}.example.org"));
        }
        served.add(&second, "a.example.org");
        served.add(&theirs, "b.example.org");
        let parts: Vec<_> =
            served.in_turn().into_iter().map(|(id, part, hosts)| (id.as_u128(), part, hosts.len())).collect();
        assert_eq!(parts, [(1, 0, MOST_DOMAINS), (3, 0, 1), (1, 1, 1), (2, 0, 1)]);
    }
}
