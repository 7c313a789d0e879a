//! What executions have replaced or removed on the machine, kept beside the server's data as long as it can be brought back.

use std::path::PathBuf;

use uuid::Uuid;

use crate::app::App;

/// Of one execution; a folder or a file for each step.
pub fn folder(app: &App, execution_id: Uuid) -> PathBuf {
    app.config.data_dir.join("executions").join(execution_id.to_string())
}

/// None of it will be needed again.
pub async fn forget(app: &App, execution_id: Uuid) {
    let folder = folder(app, execution_id);
    let removed = tokio::task::spawn_blocking(move || match std::fs::remove_dir_all(&folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    });
    if let Ok(Err(error)) = removed.await {
        tracing::warn!(%error, %execution_id, "what an execution has kept could not be removed");
    }
}
