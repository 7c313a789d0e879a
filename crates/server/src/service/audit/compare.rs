//! The database against a copy of the log that was exported earlier. This finds what no chain can show by itself: that it was put
//! back, head and all, to what it was at some earlier time.

use std::collections::BTreeMap;
use std::io::BufRead;

use serde::Deserialize;
use uuid::Uuid;
use windlass_store::audit::{self, INSTANCE_CHAIN};
use windlass_store::{Db, Result};

use super::verify::Broken;

/// The last entry of each chain in the copy: its number and its link, which covers all before it.
pub type Known = BTreeMap<Uuid, (i64, String)>;

#[derive(Deserialize)]
struct Line {
    organization_id: Option<Uuid>,
    seq: i64,
    mac: String,
}

pub fn read(copy: &mut dyn BufRead) -> std::result::Result<Known, String> {
    let mut known = Known::new();
    for (number, line) in copy.lines().enumerate() {
        let unreadable = |error: String| format!("against: line {}: {error}", number + 1);
        let line = line.map_err(|error| unreadable(error.to_string()))?;
        let line: Line = serde_json::from_str(&line).map_err(|error| unreadable(error.to_string()))?;
        let last = known.entry(line.organization_id.unwrap_or(INSTANCE_CHAIN)).or_default();
        if line.seq > last.0 {
            *last = (line.seq, line.mac);
        }
    }
    Ok(known)
}

pub async fn compare(db: &Db, known: &Known) -> Result<Vec<Broken>> {
    let mut conn = db.read().await?;
    let mut broken = Vec::new();
    for (chain_id, (seq, mac)) in known {
        let found = audit::after(&mut conn, *chain_id, seq - 1, 1).await?;
        let is_same = found.first().is_some_and(|entry| entry.seq == *seq && hex(&entry.mac) == *mac);
        if !is_same {
            let problem = "it is not the one of the copy: the chain was put back or replaced".to_owned();
            broken.push(Broken { chain_id: *chain_id, seq: *seq, problem });
        }
    }
    Ok(broken)
}

pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
