//! A tar becomes a commit of the application's own repository.

use std::fs::File;
use std::io::{self, Write};

use bytes::{Bytes, BytesMut};
use tokio::io::AsyncWriteExt;
use tokio::process::{ChildStdin, Command};
use tokio::sync::mpsc::{self, Receiver, Sender};
use uuid::Uuid;
use windlass_api::ErrorCode;

use super::archive::{self, Head, Limits, Problem};
use super::room;
use crate::app::App;
use crate::error::{Error, Result};
use crate::programs::{Ended, Group};
use crate::pushed_repository::{self, Repository};

/// What is handed on at once, and how many of these wait for git.
const PIECE: usize = 256 << 10;
const PIECES: usize = 4;
/// After so many bytes it is looked again whether there is room.
const BETWEEN_LOOKS: usize = 64 << 20;

/// The hash of the commit. It has no parent, so that what was uploaded before takes no room for ever.
pub async fn import(app: &App, repository: &Repository, upload_id: Uuid, head: Head, tar: File) -> Result<String> {
    let limit = app.config.upload_limit;
    let reference = head.reference.clone();
    let importer = repository.importer(upload_id).await.map_err(failed)?;
    let importing = run(app, importer, head, tar);
    tokio::time::timeout(limit, importing).await.map_err(|_| {
        let seconds = limit.as_secs();
        let message = format!(
            "The tar was not unpacked within {seconds} seconds (upload-seconds). Try again, or send fewer or smaller files."
        );
        Error::unavailable(message, "git took too long")
    })??;
    repository.keep_imported(upload_id).await.map_err(failed)?;
    repository.commit(&reference).await.ok_or_else(|| failed("there is no commit"))
}

fn failed(cause: impl std::fmt::Display) -> Error {
    Error::unavailable("git could not store the folder. Try again in a moment.", cause)
}

async fn run(app: &App, importer: Command, head: Head, tar: File) -> Result<()> {
    let limits = Limits { bytes: app.config.fetch_bytes, entries: app.config.fetch_files };
    let mut group = Group::start_with_input(importer).map_err(failed)?;
    let input = group.input().ok_or_else(|| failed("git takes no input"))?;
    let (to, pieces) = mpsc::channel(PIECES);
    // It ends with the channel.
    let converting = tokio::task::spawn_blocking(move || {
        archive::convert(tar, limits, &head, Pieces { to, piece: BytesMut::new() })
    });
    let programs = group.run(pushed_repository::read, pushed_repository::read);
    let (fed, converted, ended) = tokio::join!(feed(app, input, pieces), converting, programs);
    match converted.map_err(Error::internal)? {
        Ok(()) | Err(Problem::Gone) => {}
        Err(Problem::Bad(text)) => return Err(Error::field("body", text)),
        Err(Problem::TooLarge(text)) => return Err(Error::new(ErrorCode::TooLarge, format!("body: {text}"))),
    }
    fed?;
    let Ended { status, read } = ended.map_err(failed)?;
    match status.success() {
        true => Ok(()),
        false => {
            let complaint = read.and_then(|(_, complaint)| complaint.ok()).unwrap_or_default();
            Err(failed(String::from_utf8_lossy(&complaint).trim()))
        }
    }
}

/// Ends the program's input when there is no more, and before its end when there is no room. A program that has ended has said why; that is
/// read elsewhere.
async fn feed(app: &App, mut input: ChildStdin, mut pieces: Receiver<Bytes>) -> Result<()> {
    let mut since_look = BETWEEN_LOOKS;
    while let Some(piece) = pieces.recv().await {
        if since_look >= BETWEEN_LOOKS {
            since_look = 0;
            room::check(app, piece.len() as u64).await?;
        }
        since_look += piece.len();
        if input.write_all(&piece).await.is_err() {
            break;
        }
    }
    Ok(())
}

/// Hands on what a blocking thread writes.
struct Pieces {
    to: Sender<Bytes>,
    piece: BytesMut,
}

impl Write for Pieces {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.piece.extend_from_slice(bytes);
        if self.piece.len() >= PIECE {
            self.flush()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let piece = self.piece.split().freeze();
        self.to.blocking_send(piece).map_err(|_| io::ErrorKind::BrokenPipe.into())
    }
}
