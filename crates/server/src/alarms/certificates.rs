//! Certificates that members have uploaded and that end soon. No order renews them, so a member has to upload others.

use std::collections::{BTreeMap, BTreeSet};

use uuid::Uuid;
use windlass_store::alarms::{self, AlarmKind};
use windlass_store::certificates::{self, Scope};
use windlass_store::{Conn, Result, certificate_orders, domains};

use super::{Audience, turn};
use crate::app::App;
use crate::orders::{NEAR_END_SECONDS, is_near_end};
use crate::served_certificates::Choice;

/// Looked at together: those that end last, or have ended last.
const MOST: i64 = 1_000;
/// Of the domains of one certificate.
const MOST_NAMED: usize = 5;

pub async fn look(app: &App) -> Result<()> {
    let before = app.now().plus_seconds(NEAR_END_SECONDS);
    let ending = certificates::uploaded_that_end(&mut app.db.read().await?, before, MOST).await?;
    let mut by_organization: BTreeMap<Uuid, Vec<Scope>> = BTreeMap::new();
    for scope in ending {
        if let Some(organization_id) = scope.organization_id {
            by_organization.entry(organization_id).or_default().push(scope);
        }
    }
    for (organization_id, ending) in by_organization {
        look_at(app, organization_id, &ending).await?;
    }
    Ok(())
}

async fn look_at(app: &App, organization_id: Uuid, ending: &[Scope]) -> Result<()> {
    let mut conn = app.db.read().await?;
    let in_use = in_use(app, &mut conn, organization_id).await?;
    let mut changes = Vec::new();
    for scope in ending {
        let served = in_use.get(&scope.id).filter(|_| is_near_end(scope.not_before, scope.not_after, app.now()));
        let is_told = alarms::of_subject(&mut conn, scope.id).await?.contains(&AlarmKind::UploadedCertificate);
        match (served, is_told) {
            (Some(served), false) => changes.push((scope, Some(served))),
            (None, true) => changes.push((scope, None)),
            (Some(_), true) | (None, false) => {}
        }
    }
    drop(conn);
    for (scope, served) in changes {
        tell(app, organization_id, scope, served).await?;
    }
    Ok(())
}

/// Which certificate each domain is served with in the end: those are left out that Windlass orders one for, because the order tells how it is.
async fn in_use(app: &App, conn: &mut Conn, organization_id: Uuid) -> Result<BTreeMap<Uuid, BTreeSet<String>>> {
    let orders = certificate_orders::of_organization(conn, organization_id).await?;
    let ordered: BTreeSet<String> = orders.into_iter().map(|order| order.domain).collect();
    let all = certificates::scopes_of_organization(conn, organization_id).await?;
    let choice = Choice::new(all, &[], &app.config);
    let mut in_use: BTreeMap<Uuid, BTreeSet<String>> = BTreeMap::new();
    for domain in domains::of_organization(conn, organization_id).await? {
        let domain = domain.domain;
        let found = choice.of(Some(organization_id), &domain, app.now()).filter(|_| !ordered.contains(&domain));
        if let Some(scope) = found {
            in_use.entry(scope.id).or_default().insert(domain);
        }
    }
    Ok(in_use)
}

async fn tell(app: &App, organization_id: Uuid, scope: &Scope, served: Option<&BTreeSet<String>>) -> Result<()> {
    let ends = scope.not_after.to_string();
    let names = match served {
        Some(served) => named(served.iter().map(String::as_str)),
        None => named(scope.names.split(' ')),
    };
    let reason = format!("The certificate that was uploaded for it ends at {ends}. Upload another one.");
    let details = match served {
        Some(_) => vec![("domain", names.as_str()), ("reason", reason.as_str()), ("ends", ends.as_str())],
        None => vec![("domain", names.as_str())],
    };
    let (kind, audience) = (AlarmKind::UploadedCertificate, Audience::of_organization(Some(organization_id)));
    let mut work = app.begin_step().await?;
    if turn(&mut work, kind, scope.id, served.is_some(), audience, &details).await? {
        work.commit().await?;
    }
    Ok(())
}

fn named<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.collect();
    let some = names[..names.len().min(MOST_NAMED)].join(", ");
    match names.len().checked_sub(MOST_NAMED) {
        None | Some(0) => some,
        Some(more) => format!("{some} and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use super::named;

    #[test]
    fn a_few_domains_are_named() {
        let first = |count: usize| named(["a", "b", "c", "d", "e", "f", "g"].into_iter().take(count));
        assert_eq!(
            (first(1), first(5), first(7)),
            ("a".into(), "a, b, c, d, e".into(), "a, b, c, d, e and 2 more".into())
        );
    }
}
