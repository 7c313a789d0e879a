//! The chains as lines of JSON, links included, to be kept elsewhere: `audit verify --against` holds the database
//! against such a copy.

use std::io::Write;

use serde_json::json;
use uuid::Uuid;
use windlass_store::audit::{self, Entry, INSTANCE_CHAIN};
use windlass_store::{Conn, Db};

use super::compare::hex;

const BATCH: i64 = 1_000;

/// Whole chains one after another, each from its beginning.
pub async fn export(db: &Db, only: Option<Uuid>, out: &mut impl Write) -> Result<(), String> {
    write_chains(db, only, out).await?;
    out.flush().map_err(|error| format!("standard output: {error}"))
}

async fn write_chains(db: &Db, only: Option<Uuid>, out: &mut impl Write) -> Result<(), String> {
    let mut conn = db.read().await.map_err(|error| error.to_string())?;
    if let Some(chain_id) = only {
        let (head, last) = audit::end(&mut conn, chain_id).await.map_err(|error| error.to_string())?;
        if head.is_none() && last == 0 {
            return Err(format!("organization: there are no entries of {chain_id}"));
        }
        return export_chain(&mut conn, chain_id, out).await;
    }
    export_chain(&mut conn, INSTANCE_CHAIN, out).await?;
    let mut last = INSTANCE_CHAIN;
    while let Some(id) = audit::next_chain(&mut conn, last).await.map_err(|error| error.to_string())? {
        export_chain(&mut conn, id, out).await?;
        last = id;
    }
    Ok(())
}

async fn export_chain(conn: &mut Conn, chain_id: Uuid, out: &mut impl Write) -> Result<(), String> {
    let mut seq = i64::MIN;
    loop {
        let batch = audit::after(conn, chain_id, seq, BATCH).await.map_err(|error| error.to_string())?;
        let Some(last) = batch.last() else { return Ok(()) };
        seq = last.seq;
        for entry in &batch {
            writeln!(out, "{}", line(entry)).map_err(|error| format!("standard output: {error}"))?;
        }
    }
}

fn line(entry: &Entry) -> serde_json::Value {
    let metadata: serde_json::Value = serde_json::from_str(&entry.metadata).unwrap_or_default();
    let organization_id = (entry.chain_id != INSTANCE_CHAIN).then_some(entry.chain_id);
    json!({
        "organization_id": organization_id,
        "seq": entry.seq,
        "id": entry.id,
        "timestamp": entry.created_at,
        "actor_id": entry.actor_id,
        "actor": entry.actor,
        "action": entry.action,
        "resource": entry.resource,
        "resource_id": entry.resource_id,
        "message": entry.message,
        "metadata": metadata,
        "mac": hex(&entry.mac),
    })
}
