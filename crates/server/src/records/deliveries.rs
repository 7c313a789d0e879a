//! Deliveries of code hosts.

use std::collections::BTreeMap;

use windlass_api as api;
use windlass_store::deliveries::{Content, Delivery};

/// Without what was sent.
pub fn delivery(row: Delivery) -> api::Delivery {
    api::Delivery {
        id: row.id,
        application_id: row.application_id,
        host: row.host,
        event: row.event,
        delivery_id: row.delivery_id,
        verdict: row.verdict,
        reason: row.reason,
        reference: row.reference,
        commit_hash: row.commit_hash,
        sender: row.sender,
        deployment_id: row.deployment_id,
        replay_of: row.replay_of,
        ip_address: row.ip_address,
        headers: BTreeMap::new(),
        body: String::new(),
        body_bytes: row.body_bytes,
        created_at: row.created_at,
    }
}

pub fn whole_delivery(row: Delivery, content: &Content) -> api::Delivery {
    api::Delivery {
        headers: serde_json::from_str(&content.headers).unwrap_or_default(),
        body: String::from_utf8_lossy(&content.body).into_owned(),
        ..delivery(row)
    }
}
