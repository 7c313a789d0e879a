//! Walks every chain and names the first link that does not hold.

use std::collections::BTreeSet;

use uuid::Uuid;
use windlass_store::audit::{self, Entry, Head, INSTANCE_CHAIN};
use windlass_store::{Conn, Db, Result};

use super::chain;

const BATCH: i64 = 1_000;

/// What a walk has found.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Report {
    pub chains: u64,
    pub entries: i64,
    /// The first broken link of each broken chain.
    pub broken: Vec<Broken>,
}

#[derive(Debug, PartialEq, Eq)]
pub struct Broken {
    pub chain_id: Uuid,
    pub seq: i64,
    pub problem: String,
}

impl std::fmt::Display for Broken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.chain_id {
            INSTANCE_CHAIN => write!(f, "the instance's chain, entry {}: {}", self.seq, self.problem),
            id => write!(f, "the chain of organization {id}, entry {}: {}", self.seq, self.problem),
        }
    }
}

/// While a server runs beside it: each chain is walked up to where it ended when the walk of it began.
pub async fn verify(db: &Db, key: &[u8; 32]) -> Result<Report> {
    let mut conn = db.read().await?;
    let mut report = Report::default();
    let mut founded = BTreeSet::new();
    walk(&mut conn, key, INSTANCE_CHAIN, &mut report, |entry| founded.extend(chain::founded_chain(entry))).await?;
    let mut last = INSTANCE_CHAIN;
    while let Some(id) = audit::next_chain(&mut conn, last).await? {
        founded.remove(&id);
        walk(&mut conn, key, id, &mut report, |_| {}).await?;
        last = id;
    }
    report.chains += founded.len() as u64;
    let gone =
        founded.into_iter().map(|chain_id| Broken { chain_id, seq: 1, problem: "the whole chain is missing".into() });
    report.broken.extend(gone);
    Ok(report)
}

/// The same for the chain of one organization.
pub async fn verify_one(db: &Db, key: &[u8; 32], organization_id: Uuid) -> Result<Report> {
    let mut conn = db.read().await?;
    let mut report = Report::default();
    walk(&mut conn, key, organization_id, &mut report, |_| {}).await?;
    Ok(report)
}

async fn walk(
    conn: &mut Conn,
    key: &[u8; 32],
    chain_id: Uuid,
    report: &mut Report,
    mut look: impl FnMut(&Entry),
) -> Result<()> {
    report.chains += 1;
    let (head, last_seq) = audit::end(conn, chain_id).await?;
    let mut walk = Walk { key, seq: 0, mac: chain::BEGINNING };
    // From before the first: what stands there was put there.
    let mut cursor = i64::MIN;
    let broken = loop {
        let mut batch = audit::after(conn, chain_id, cursor, BATCH).await?;
        batch.retain(|entry| entry.seq <= last_seq);
        let Some(last) = batch.last() else { break walk.ends_at(chain_id, head.as_ref()) };
        cursor = last.seq;
        let broken = batch.iter().find_map(|entry| {
            let broken = walk.follow(entry);
            if broken.is_none() {
                look(entry);
            }
            broken
        });
        if broken.is_some() {
            break broken;
        }
    };
    report.entries += walk.seq;
    report.broken.extend(broken.map(|(seq, problem)| Broken { chain_id, seq, problem }));
    Ok(())
}

struct Walk<'a> {
    key: &'a [u8; 32],
    seq: i64,
    mac: chain::Mac,
}

impl Walk<'_> {
    /// The problem with the next entry, if there is one.
    fn follow(&mut self, entry: &Entry) -> Option<(i64, String)> {
        let expected = self.seq + 1;
        if entry.seq < expected {
            return Some((entry.seq, "there can be no entry of this number".into()));
        }
        if entry.seq > expected {
            return Some((expected, "it is missing".into()));
        }
        let mac = chain::link(self.key, &self.mac, entry);
        if mac != entry.mac.as_slice() {
            return Some((expected, "it is not what was written, or not in its place".into()));
        }
        (self.seq, self.mac) = (expected, mac);
        None
    }

    fn ends_at(&self, chain_id: Uuid, head: Option<&Head>) -> Option<(i64, String)> {
        let Some(head) = head else {
            return Some((self.seq + 1, "the chain has no head".into()));
        };
        let is_ours = chain::seal_head(self.key, chain_id, head.count, &head.last_mac) == head.head_mac.as_slice();
        if !is_ours {
            return Some((self.seq, "the head of the chain is not what was written".into()));
        }
        if head.count > self.seq {
            return Some((self.seq + 1, format!("it and all up to entry {} are cut off", head.count)));
        }
        if head.count < self.seq || head.last_mac != self.mac {
            return Some((head.count + 1, "it was added behind the end of the chain".into()));
        }
        None
    }
}
