//! The links between entries. Each entry carries a MAC over itself and the MAC before it; the head carries one over their
//! number and the last of them. Without the key no entry can be changed, removed, inserted or cut off unseen.
//!
//! A head that is not what was written is never sealed again: work goes on, but the chain stays visibly broken. Only where an
//! older head that was once valid is put back, and what came after it is left, there is no place to go on: then changes fail.

use std::collections::{BTreeMap, BTreeSet};

use uuid::Uuid;
use windlass_store::audit::{self, Entry, Head, INSTANCE_CHAIN};
use windlass_store::{Result, Tx};

use super::{Action, Resource};
use crate::vault::ring::keyed_hash;

pub type Mac = [u8; 32];

/// What the first entry of a chain follows.
pub const BEGINNING: Mac = [0; 32];

/// What stands in place of a head's MAC when there was no head although there must have been one.
const NO_MAC: Mac = [0; 32];

/// Appends entries to their chains. The head is moved last, in the transaction of the change.
pub async fn append(tx: &mut Tx, key: &[u8; 32], entries: Vec<Entry>) -> Result<()> {
    let founded: BTreeSet<Uuid> = entries.iter().filter_map(founded_chain).collect();
    let mut chains: BTreeMap<Uuid, Vec<Entry>> = BTreeMap::new();
    for entry in entries {
        chains.entry(entry.chain_id).or_default().push(entry);
    }
    for (chain_id, entries) in chains {
        let mut head = held_head(tx, key, chain_id, founded.contains(&chain_id)).await?;
        let is_ours = seal_head(key, chain_id, head.count, &head.last_mac) == head.head_mac.as_slice();
        if !is_ours {
            tracing::error!(%chain_id, "an audit chain was changed by hand; `windlass audit verify` says where");
            // Behind whatever is left.
            head.count = head.count.max(audit::end(tx, chain_id).await?.1);
        }
        for mut entry in entries {
            head.count = head.count.saturating_add(1);
            entry.seq = head.count;
            entry.mac = link(key, &head.last_mac, &entry).to_vec();
            head.last_mac.clone_from(&entry.mac);
            if is_ours {
                head.head_mac = seal_head(key, chain_id, head.count, &head.last_mac).to_vec();
            }
            audit::append(tx, &entry, &head).await?;
        }
    }
    Ok(())
}

/// The head, which no other transaction can move until this one ends.
async fn held_head(tx: &mut Tx, key: &[u8; 32], chain_id: Uuid, is_founded: bool) -> Result<Head> {
    if let Some(head) = audit::lock_head(tx, chain_id).await? {
        return Ok(head);
    }
    // A chain begins with the organization that it belongs to. Any other one that has no head has lost it.
    let mut head = new_head(key, chain_id);
    if !is_founded {
        head.head_mac = NO_MAC.to_vec();
    }
    audit::begin_chain(tx, &head).await?;
    Ok(head)
}

fn new_head(key: &[u8; 32], chain_id: Uuid) -> Head {
    let head_mac = seal_head(key, chain_id, 0, &BEGINNING).to_vec();
    Head { id: chain_id, count: 0, last_mac: BEGINNING.to_vec(), head_mac }
}

/// Once, before anything can be written to it; so a missing head is always a lost one.
pub async fn begin_instance_chain(tx: &mut Tx, key: &[u8; 32]) -> Result<()> {
    audit::begin_chain(tx, &new_head(key, INSTANCE_CHAIN)).await?;
    Ok(())
}

/// The chain that begins with this entry, if one does.
pub fn founded_chain(entry: &Entry) -> Option<Uuid> {
    let founds =
        [Resource::Organization, Resource::AuditChain].iter().any(|resource| resource.as_str() == entry.resource);
    if founds && entry.action == Action::Create.as_str() { entry.resource_id.parse().ok() } else { None }
}

pub fn link(key: &[u8; 32], previous: &[u8], entry: &Entry) -> Mac {
    let Entry {
        chain_id,
        seq,
        id,
        actor_id,
        actor,
        action,
        resource,
        resource_id,
        message,
        metadata,
        search_text,
        created_at,
        mac: _,
    } = entry;
    let mut text = Fields::new(b"entry");
    text.add(previous).add(chain_id.as_bytes()).add(&seq.to_be_bytes()).add(id.as_bytes());
    text.add(actor_id.as_ref().map_or(&[], |id| id.as_bytes().as_slice()));
    for field in [actor, action, resource, resource_id, message, metadata, search_text] {
        text.add(field.as_bytes());
    }
    text.add(&created_at.micros().to_be_bytes());
    keyed_hash(key, &[&text.0])
}

pub fn seal_head(key: &[u8; 32], chain_id: Uuid, count: i64, last_mac: &[u8]) -> Mac {
    let mut text = Fields::new(b"head");
    text.add(chain_id.as_bytes()).add(&count.to_be_bytes()).add(last_mac);
    keyed_hash(key, &[&text.0])
}

/// Fields with their lengths, so that no two lists of fields give the same bytes.
struct Fields(Vec<u8>);

impl Fields {
    fn new(kind: &[u8]) -> Self {
        let mut fields = Self(Vec::with_capacity(512));
        fields.add(kind);
        fields
    }

    fn add(&mut self, field: &[u8]) -> &mut Self {
        self.0.extend((field.len() as u64).to_be_bytes());
        self.0.extend(field);
        self
    }
}
