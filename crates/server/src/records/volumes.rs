//! Volumes and snapshots. Neither embeds anything.

use windlass_api as api;
use windlass_api::Timestamp;
use windlass_store::snapshots::Snapshot;
use windlass_store::volumes::Volume;

/// `grace_seconds` is how long a deleted one waits.
pub fn volume(row: Volume, grace_seconds: i64) -> api::Volume {
    let deleted_at = row.deleted_at.map(Timestamp::from_micros);
    api::Volume {
        id: row.id,
        application_id: row.application_id,
        installation_id: row.installation_id,
        application_name: row.application_name,
        name: row.name,
        path: row.path,
        shared: row.shared,
        host_path: row.host_path,
        origin: row.origin,
        size_bytes: row.size_bytes,
        measured_at: row.measured_at.map(Timestamp::from_micros),
        last_used_at: row.used_at.map(Timestamp::from_micros),
        snapshot_hours: row.snapshot_hours,
        kept_snapshots: row.kept_snapshots,
        before_snapshot: row.before_snapshot,
        after_snapshot: row.after_snapshot,
        next_snapshot_at: row.next_snapshot_at.map(Timestamp::from_micros),
        deleted_at,
        removed_after: deleted_at.map(|deleted_at| deleted_at.plus_seconds(grace_seconds)),
        created_at: row.created_at,
        updated_at: row.updated_at,
    }
}

pub fn snapshot(row: Snapshot) -> api::Snapshot {
    api::Snapshot {
        id: row.id,
        application_id: row.application_id,
        application_name: row.application_name,
        volume_id: row.volume_id,
        volume_name: row.volume_name,
        origin: row.origin,
        deployment_id: row.deployment_id,
        release_id: row.live_release_id,
        state: row.state,
        reason: row.reason,
        size_bytes: row.size_bytes,
        sha256: row.sha256,
        created_at: row.created_at,
        completed_at: row.finished_at.map(Timestamp::from_micros),
    }
}
