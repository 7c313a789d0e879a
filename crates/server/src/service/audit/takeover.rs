//! Entries that were written before there were chains become the beginning of them.

use serde_json::{Map, Value};
use windlass_api::Timestamp;
use windlass_store::audit::{self, Entry, INSTANCE_CHAIN, Unchained};
use windlass_store::{Result, Tx};

use super::{Action, Actor, Change, Resource, chain, entry, search_text};
use crate::clock::Ids;

/// In the transaction that gives the database its first key, and never again: later, entries outside of a chain are entries
/// that somebody has put there.
pub async fn take_over(tx: &mut Tx, key: &[u8; 32], ids: &Ids, now: Timestamp) -> Result<()> {
    let old = audit::take_unchained(tx).await?;
    if old.is_empty() {
        return Ok(());
    }
    let mut organizations: Vec<_> = old.iter().filter_map(|entry| entry.organization_id).collect();
    organizations.sort_unstable();
    organizations.dedup();
    let taken = old.len();
    let mut entries: Vec<_> = old.into_iter().map(chained).collect();
    // So that the instance's chain knows of each of the others.
    for organization_id in organizations {
        let change = Change {
            organization_id: None,
            action: Action::Create,
            resource: Resource::AuditChain,
            resource_id: organization_id,
            summary: &format!("began the audit chain of organization {organization_id}"),
            details: &[],
        };
        entries.push(entry(ids.next(now), now, &Actor::operator(), &change));
    }
    chain::append(tx, key, entries).await?;
    tracing::info!(taken, "linked the audit entries of an earlier version into chains");
    Ok(())
}

fn chained(old: Unchained) -> Entry {
    let mut metadata: Map<String, Value> = serde_json::from_str(&old.metadata).unwrap_or_default();
    for (name, value) in [("ip_address", old.ip_address), ("request_id", old.request_id)] {
        if !value.is_empty() {
            metadata.insert(name.into(), value.into());
        }
    }
    let message = format!("{}: {} {}", old.actor, old.action, old.resource);
    Entry {
        chain_id: old.organization_id.unwrap_or(INSTANCE_CHAIN),
        seq: 0,
        id: old.id,
        actor_id: old.actor_id,
        actor: old.actor,
        action: old.action,
        resource: old.resource,
        search_text: search_text(&message, &old.resource_id, &metadata),
        resource_id: old.resource_id,
        message,
        metadata: Value::Object(metadata).to_string(),
        created_at: old.created_at,
        mac: Vec::new(),
    }
}
