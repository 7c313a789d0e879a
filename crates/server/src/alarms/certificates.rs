//! Certificates that members have uploaded and that end soon. No order renews them, so a member has to upload others.

use std::collections::{BTreeMap, BTreeSet};

use uuid::Uuid;
use windlass_api::Timestamp;
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
    let served = served(app, &mut conn, organization_id).await?;
    let mut changes = Vec::new();
    for scope in ending {
        let near_end = served.near_end.get(&scope.id);
        let is_told = alarms::of_subject(&mut conn, scope.id).await?.contains(&AlarmKind::UploadedCertificate);
        match (near_end, is_told) {
            (Some(domains), false) => changes.push((scope, Turn::Wrong(domains.clone()))),
            (None, true) => changes.push((scope, Turn::of_end(served.well_instead_of(scope)))),
            (Some(_), true) | (None, false) => {}
        }
    }
    drop(conn);
    for (scope, turn) in changes {
        tell(app, organization_id, scope, &turn).await?;
    }
    Ok(())
}

/// What is to be told of a certificate, with the domains that it is about.
enum Turn {
    Wrong(BTreeSet<String>),
    /// They have another one.
    Well(BTreeSet<String>),
    /// It is served for nothing any more, and nothing else is in its place here: that is neither wrong nor well.
    Over,
}

impl Turn {
    fn of_end(well: BTreeSet<String>) -> Self {
        if well.is_empty() { Self::Over } else { Self::Well(well) }
    }
}

/// How the domains of an organization are served.
#[derive(Default)]
struct Served {
    /// With a certificate that is near its end or past it, and that Windlass orders no other for: the order of one tells how it is.
    near_end: BTreeMap<Uuid, BTreeSet<String>>,
    /// With one that is good for long.
    well: BTreeSet<String>,
}

impl Served {
    /// The domains that this certificate is for, and that are served with a good one.
    fn well_instead_of(&self, scope: &Scope) -> BTreeSet<String> {
        let choice = Choice::with_base([scope.clone()], &[], None);
        let is_for = |domain: &&String| choice.is_for(scope.organization_id, scope.id, domain) == Some(true);
        self.well.iter().filter(is_for).cloned().collect()
    }
}

async fn served(app: &App, conn: &mut Conn, organization_id: Uuid) -> Result<Served> {
    let orders = certificate_orders::of_organization(conn, organization_id).await?;
    let ordered: BTreeSet<String> = orders.into_iter().map(|order| order.domain).collect();
    let all = certificates::scopes_of_organization(conn, organization_id).await?;
    let (choice, now) = (Choice::new(all, &[], &app.config), app.now());
    let mut served = Served::default();
    for domain in domains::of_organization(conn, organization_id).await? {
        let domain = domain.domain;
        let Some(scope) = choice.of(Some(organization_id), &domain, now) else { continue };
        let is_near_end = is_near_end(scope.not_before, scope.not_after, now);
        if is_near_end && !ordered.contains(&domain) {
            served.near_end.entry(scope.id).or_default().insert(domain);
        } else if !is_near_end && scope.is_valid_at(now) {
            served.well.insert(domain);
        }
    }
    Ok(served)
}

async fn tell(app: &App, organization_id: Uuid, scope: &Scope, turned: &Turn) -> Result<()> {
    let kind = AlarmKind::UploadedCertificate;
    let mut work = app.begin_step().await?;
    let (is_wrong, domains) = match turned {
        Turn::Wrong(domains) => (true, domains),
        Turn::Well(domains) => (false, domains),
        Turn::Over => {
            alarms::forget(&mut work, kind, scope.id).await?;
            return work.commit().await;
        }
    };
    let (domain, ends) = (named(domains.iter().map(String::as_str)), scope.not_after.to_string());
    let reason = reason(scope, &ends, app.now());
    let details = match is_wrong {
        true => vec![("domain", domain.as_str()), ("reason", reason.as_str()), ("ends", ends.as_str())],
        false => vec![("domain", domain.as_str())],
    };
    let audience = Audience::of_organization(Some(organization_id));
    if turn(&mut work, kind, scope.id, is_wrong, audience, &details).await? {
        work.commit().await?;
    }
    Ok(())
}

fn reason(scope: &Scope, ends: &str, now: Timestamp) -> String {
    let (verb, what) = match now < scope.not_after {
        true => ("ends", "Windlass orders no other one for it"),
        false => ("ended", "Browsers refuse it, and Windlass orders no other one"),
    };
    format!("The certificate that was uploaded for it {verb} at {ends}. {what}. Upload another one.")
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
