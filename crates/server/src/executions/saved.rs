//! What executions have replaced or removed on the machine, kept beside the server's data as long as it can be brought back.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use uuid::Uuid;
use windlass_store::executions;

use crate::app::App;

/// Of one execution; a folder or a file for each step.
pub fn folder(app: &App, execution_id: Uuid) -> PathBuf {
    all(app).join(execution_id.to_string())
}

fn all(app: &App) -> PathBuf {
    app.config.data_dir.join("executions")
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

/// What is left of executions that are not remembered any more.
pub async fn sweep(app: Arc<App>) {
    let folder = all(&app);
    let found = tokio::task::spawn_blocking(move || ids_in(&folder)).await.unwrap_or_default();
    for id in found {
        let row = match app.db.read().await {
            Ok(mut conn) => executions::get(&mut conn, id).await,
            Err(error) => Err(error),
        };
        match row {
            Ok(Some(_)) => {}
            Ok(None) => forget(&app, id).await,
            Err(error) => {
                tracing::warn!(%error, "what old executions have kept could not be looked for; the next start does it");
                return;
            }
        }
    }
}

fn ids_in(folder: &Path) -> Vec<Uuid> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}
