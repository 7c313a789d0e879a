//! What DNS says about a domain at this moment, and what it should.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::time::Duration;

use uuid::Uuid;
use windlass_api::{DnsRecord, DomainCheck, DomainName, RecordType};
use windlass_dns::{DnsError, Issuer};
use windlass_outgoing::is_public;

use crate::app::App;
use crate::dns;
use crate::error::Result;
use crate::service::{domain_owners, domains};

/// How long name servers may take to answer all questions of one check.
const LIMIT: Duration = Duration::from_secs(10);

/// `GET /domains/{domain}/check`.
pub async fn check(app: &App, organization_id: Uuid, domain: &DomainName) -> Result<DomainCheck> {
    let row = domains::own(&mut app.db.read().await?, organization_id, domain).await?;
    let name = row.domain.strip_prefix("*.").unwrap_or(&row.domain);
    let resolver = dns::resolver(app);
    let proof_name = domain_owners::record_name(name);
    let asking = async {
        let (found, here, texts, issuers) = tokio::join!(
            resolver.addresses(&row.domain),
            dns::here(app, &resolver),
            resolver.texts(&proof_name),
            resolver.issuers(name)
        );
        // The name of the proof is longer than the domain's, and may be too long.
        let texts = if matches!(texts, Err(DnsError::BadName(_))) { Vec::new() } else { texts? };
        Ok::<_, DnsError>((found?, here, texts, issuers?))
    };
    let answer = match tokio::time::timeout(LIMIT, asking).await {
        Ok(answer) => answer.map_err(|error| error.to_string()),
        Err(_) => Err("the name servers took too long".to_owned()),
    };
    let (problem, (found, here, texts, issuers)) = match answer {
        Ok(answer) => (String::new(), answer),
        Err(problem) => (format!("DNS could not be asked: {problem}."), Default::default()),
    };
    let value = domain_owners::record_value(organization_id);
    Ok(DomainCheck {
        records: here.iter().map(|address| leading_to(&row.domain, *address, &found)).collect(),
        proof: DnsRecord { kind: RecordType::Txt, name: proof_name, is_found: texts.contains(&value), value },
        // What a name inside the operator's own network leads to is not for tenants to know.
        addresses: found
            .iter()
            .filter(|found| is_public(**found) || here.contains(found))
            .map(IpAddr::to_string)
            .collect(),
        issuers: who_may_issue(&issuers, row.domain.starts_with("*.")),
        domain: row.domain,
        problem,
    })
}

/// None where every authority may. What is said of wildcards goes before the rest for them (RFC 8659).
fn who_may_issue(issuers: &[Issuer], is_wildcard: bool) -> Option<Vec<String>> {
    let of_wildcards = is_wildcard && issuers.iter().any(|issuer| issuer.of_wildcards);
    let mut that_count = issuers.iter().filter(|issuer| issuer.of_wildcards == of_wildcards).peekable();
    that_count.peek()?;
    let names: BTreeSet<String> = that_count.filter_map(|issuer| issuer.name.clone()).collect();
    Some(names.into_iter().collect())
}

fn leading_to(domain: &str, address: IpAddr, found: &[IpAddr]) -> DnsRecord {
    let kind = if address.is_ipv4() { RecordType::A } else { RecordType::Aaaa };
    DnsRecord { kind, name: domain.to_owned(), value: address.to_string(), is_found: found.contains(&address) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_say_who_may_issue() {
        let issuer = |name: &str, of_wildcards| Issuer {
            name: Some(name.to_owned()).filter(|name| !name.is_empty()),
            of_wildcards,
        };
        let names = |names: &[&str]| Some(names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>());
        let both = [issuer("b", false), issuer("a", false), issuer("c", true)];
        for (records, of_host, of_wildcard) in [
            (&[][..], None, None),
            (&both, names(&["a", "b"]), names(&["c"])),
            (&both[..2], names(&["a", "b"]), names(&["a", "b"])),
            (&both[2..], None, names(&["c"])),
            (&[issuer("", false)], names(&[]), names(&[])),
        ] {
            assert_eq!(who_may_issue(records, false), of_host);
            assert_eq!(who_may_issue(records, true), of_wildcard);
        }
    }
}
