//! What a fetch leaves behind when its server is killed.

use std::io;
use std::path::Path;

use super::paths::FetchPaths;
use crate::folders::remove;
use crate::programs::end_marked;

/// Ends what a fetch has left running, and removes its folder and all that lies beside it.
pub async fn end_left_over(folder: &Path) -> io::Result<()> {
    let paths = FetchPaths::of(folder)?;
    let (name, value) = paths.mark();
    end_marked(name, value.as_os_str().as_encoded_bytes()).await?;
    tokio::task::spawn_blocking(move || {
        paths.clean()?;
        remove(&paths.folder)
    })
    .await?
}
