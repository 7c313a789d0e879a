//! Room on the disk that uploads are received and unpacked on. The database may be on the same one.

use std::io;

use super::{no_room, part_file};
use crate::app::App;
use crate::error::Result;

/// What must stay free on the disk: the larger of some bytes and a part of the whole.
const RESERVE: u64 = 256 << 20;
const LEAST_FREE_PART: u64 = 20;

/// Whether so many bytes more leave enough of it. Others write meanwhile, so who writes much looks again and again.
pub async fn check(app: &App, bytes: u64) -> Result<()> {
    match app.disks.space(&part_file::folder(&app.config)).await {
        Some(space) if space.free < bytes.saturating_add(RESERVE.max(space.whole / LEAST_FREE_PART)) => {
            Err(no_room(io::ErrorKind::StorageFull.into()))
        }
        _ => Ok(()),
    }
}
