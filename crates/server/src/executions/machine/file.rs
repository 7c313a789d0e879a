//! Files and folders of the machine. What a step replaces or removes is kept beside the server's data until it is known that it will
//! not be needed again.

use std::fs::{self, File, Permissions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt, lchown, symlink};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use windlass_extension::{FileAction, Owner};

use super::Machine;
use crate::executions::failure::{StepFailure, StepResult};

/// The most that is kept for one step.
const MOST_SAVED: u64 = 1 << 30;

/// What was there before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Before {
    /// Whether there was something at the destination, which is kept.
    is_saved: bool,
    /// Folders that the step makes, from the uppermost on.
    made_folders: Vec<PathBuf>,
    /// Mode and owners of a folder that was there already.
    attributes: Option<(u32, u32, u32)>,
}

/// Keeps what the step is about to replace or remove. Can be repeated: what is kept already stays as it is.
pub async fn prepare(machine: &Machine, action: &FileAction, own_data: &Path) -> StepResult<Before> {
    let (action, saved, own_data) = (action.clone(), machine.saved.clone(), own_data.to_owned());
    blocking(move || {
        let dest = changed(&action);
        refuse_own_data(&own_data, dest)?;
        if let FileAction::Copy { from, .. } | FileAction::Move { from, .. } = &action {
            refuse_own_data(&own_data, from)?;
        }
        let is_replaced = !matches!(action, FileAction::MakeDirectory { .. });
        let made_folders = missing_folders(if is_replaced { dest.parent() } else { Some(dest) });
        refuse_nonsense(&action)?;
        let is_saved = is_replaced && save(dest, &saved)?;
        let found = if is_replaced { None } else { fs::metadata(dest).ok() };
        let attributes = found.map(|found| (found.mode() & 0o7777, found.uid(), found.gid()));
        Ok(Before { is_saved, made_folders, attributes })
    })
    .await
}

pub async fn act(action: &FileAction) -> StepResult<()> {
    let action = action.clone();
    blocking(move || match &action {
        FileAction::MakeDirectory { path, mode, owner } => {
            fs::create_dir_all(path)?;
            set_attributes(path, *mode, owner.as_ref())
        }
        FileAction::Write { path, content, mode, owner } => {
            make_parent(path)?;
            write_whole(path, content.as_bytes(), *mode)?;
            set_attributes(path, *mode, owner.as_ref())
        }
        FileAction::Copy { from, to, mode, owner } => {
            make_parent(to)?;
            replace_with_copy(from, to)?;
            set_attributes(to, *mode, owner.as_ref())
        }
        FileAction::Move { from, to } => {
            make_parent(to)?;
            if fs::symlink_metadata(to).is_ok_and(|found| found.is_dir()) {
                remove(to)?;
            }
            Ok(rename(from, to)?)
        }
        FileAction::Delete { path } => Ok(remove(path)?),
    })
    .await
}

/// Where something is made, replaced or removed.
fn changed(action: &FileAction) -> &Path {
    match action {
        FileAction::MakeDirectory { path, .. } | FileAction::Write { path, .. } | FileAction::Delete { path } => path,
        FileAction::Copy { to, .. } | FileAction::Move { to, .. } => to,
    }
}

pub async fn undo(machine: &Machine, action: &FileAction, before: &Before) -> StepResult<()> {
    let (action, saved, before) = (action.clone(), machine.saved.clone(), before.clone());
    blocking(move || {
        let dest = changed(&action);
        if let FileAction::Move { from, .. } = &action {
            match (exists(dest)?, exists(from)?) {
                (true, false) => rename(dest, from)?,
                // It was not moved, or what was moved and what is there now would be lost.
                (true, true) if !before.is_saved => {
                    let words = format!("{} is there again, so {} stays", from.display(), dest.display());
                    return Err(StepFailure::new(words));
                }
                _ => {}
            }
        }
        if let Some((mode, uid, gid)) = before.attributes {
            lchown(dest, Some(uid), Some(gid))?;
            fs::set_permissions(dest, Permissions::from_mode(mode))?;
        }
        if before.is_saved {
            replace_with_copy(&saved, dest)?;
        } else if !matches!(action, FileAction::MakeDirectory { .. } | FileAction::Delete { .. }) {
            remove(dest)?;
        }
        for folder in before.made_folders.iter().rev() {
            match fs::remove_dir(folder) {
                // What others have put there since stays.
                Err(error) if !matches!(error.kind(), ErrorKind::NotFound | ErrorKind::DirectoryNotEmpty) => {
                    return Err(error.into());
                }
                _ => {}
            }
        }
        Ok(())
    })
    .await
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> StepResult<T> + Send + 'static) -> StepResult<T> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(error) => Err(StepFailure::new(error)),
    }
}

/// An extension must not pull the rug from under the server that runs it.
fn refuse_own_data(own_data: &Path, path: &Path) -> StepResult<()> {
    if path.starts_with(own_data) || own_data.starts_with(path) {
        let words = format!("{} holds the data of Windlass itself, or is in it; choose another path", path.display());
        return Err(StepFailure::new(words));
    }
    Ok(())
}

/// The folders on the way that are not there, from the uppermost on.
fn missing_folders(folder: Option<&Path>) -> Vec<PathBuf> {
    let missing = folder.into_iter().flat_map(Path::ancestors).take_while(|folder| !folder.exists());
    let mut folders: Vec<PathBuf> = missing.map(Path::to_owned).collect();
    folders.reverse();
    folders
}

fn exists(path: &Path) -> io::Result<bool> {
    match fs::symlink_metadata(path) {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Whether there is something to keep. A copy that was not completed is made anew.
fn save(path: &Path, saved: &Path) -> StepResult<bool> {
    if exists(saved)? {
        return Ok(true);
    }
    if !exists(path)? {
        return Ok(false);
    }
    if size_of(path)? > MOST_SAVED {
        let words =
            format!("{} has more than 1 GiB, too much to be kept so that the step can be undone", path.display());
        return Err(StepFailure::new(words));
    }
    make_parent(saved)?;
    let half = saved.with_extension("half");
    remove(&half)?;
    copy(path, &half)?;
    fs::rename(&half, saved)?;
    Ok(true)
}

fn size_of(path: &Path) -> io::Result<u64> {
    let found = fs::symlink_metadata(path)?;
    if !found.is_dir() {
        return Ok(found.len());
    }
    fs::read_dir(path)?.try_fold(0_u64, |sum, entry| Ok(sum.saturating_add(size_of(&entry?.path())?)))
}

fn make_parent(path: &Path) -> StepResult<()> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    Ok(())
}

/// A reader sees the old file or the new one, never a half.
fn write_whole(path: &Path, bytes: &[u8], mode: Option<u32>) -> StepResult<()> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".windlass-new");
    let beside = path.with_file_name(name);
    remove(&beside)?;
    let before = fs::metadata(path).ok();
    let mut file = File::create_new(&beside)?;
    let mode = mode.or(before.as_ref().map(|before| before.mode() & 0o7777)).unwrap_or(0o644);
    file.set_permissions(Permissions::from_mode(mode))?;
    if let Some(before) = &before {
        lchown(&beside, Some(before.uid()), Some(before.gid()))?;
    }
    file.write_all(bytes)?;
    file.sync_all()?;
    Ok(fs::rename(&beside, path)?)
}

/// One that is not there is fine.
fn remove(path: &Path) -> io::Result<()> {
    let removed = match fs::symlink_metadata(path) {
        Ok(found) if found.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) => Err(error),
    };
    match removed {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

/// With everything in it, its owners and its modes. The mode comes last, because the kernel takes bits of it away when the owner changes.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    let found = fs::symlink_metadata(from)?;
    if found.is_symlink() {
        symlink(fs::read_link(from)?, to)?;
        return lchown(to, Some(found.uid()), Some(found.gid()));
    }
    if found.is_dir() {
        fs::create_dir(to)?;
        for entry in fs::read_dir(from)? {
            let entry = entry?;
            copy(&entry.path(), &to.join(entry.file_name()))?;
        }
    } else if found.is_file() {
        fs::copy(from, to)?;
    } else {
        return Err(io::Error::other(format!("{} is neither a file, a folder nor a link", from.display())));
    }
    lchown(to, Some(found.uid()), Some(found.gid()))?;
    fs::set_permissions(to, found.permissions())
}

/// Only on one disk: between two disks a move is a copy and a removal, of which the half could be left.
fn rename(from: &Path, to: &Path) -> io::Result<()> {
    fs::rename(from, to).map_err(|error| match error.kind() {
        ErrorKind::CrossesDevices => io::Error::other("it is on another disk; copy and delete it instead"),
        _ => error,
    })
}

/// What is there goes only when the copy is whole.
fn replace_with_copy(from: &Path, to: &Path) -> io::Result<()> {
    let mut name = to.file_name().unwrap_or_default().to_owned();
    name.push(".windlass-copy");
    let beside = to.with_file_name(name);
    remove(&beside)?;
    copy(from, &beside)?;
    if fs::symlink_metadata(to).is_ok_and(|found| found.is_dir()) {
        remove(to)?;
    }
    fs::rename(&beside, to)
}

/// What is told before anything is touched: a source that is not there, a folder where a file would be put, one inside the other.
fn refuse_nonsense(action: &FileAction) -> StepResult<()> {
    if let FileAction::Write { path, .. } = action
        && fs::symlink_metadata(path).is_ok_and(|found| found.is_dir())
    {
        return Err(StepFailure::new(format!("{} is a folder; name a file in it", path.display())));
    }
    let (FileAction::Copy { from, to, .. } | FileAction::Move { from, to }) = action else { return Ok(()) };
    let source =
        fs::symlink_metadata(from).map_err(|error| StepFailure::new(format!("{}: {error}", from.display())))?;
    if from.starts_with(to) || to.starts_with(from) {
        let words = format!("{} and {} are the same, or one is in the other", from.display(), to.display());
        return Err(StepFailure::new(words));
    }
    match fs::symlink_metadata(to) {
        Ok(found) if found.is_dir() != source.is_dir() => {
            let words =
                format!("{} is there and is not of the same kind; name the new file or folder itself", to.display());
            Err(StepFailure::new(words))
        }
        _ => Ok(()),
    }
}

fn set_attributes(path: &Path, mode: Option<u32>, owner: Option<&Owner>) -> StepResult<()> {
    if let Some(owner) = owner {
        let entry = look_up("/etc/passwd", &owner.user)?;
        let uid = number(entry.first(), &owner.user)?;
        let gid = match &owner.group {
            Some(group) => number(look_up("/etc/group", group)?.first(), group)?,
            None => number(entry.get(1), &owner.user)?,
        };
        lchown(path, Some(uid), Some(gid))?;
    }
    if let Some(mode) = mode {
        fs::set_permissions(path, Permissions::from_mode(mode))?;
    }
    Ok(())
}

/// The numbers of a user or of a group: what follows the password. A number stands for itself.
fn look_up(file: &str, name: &str) -> StepResult<Vec<String>> {
    if name.bytes().all(|byte| byte.is_ascii_digit()) {
        return Ok(vec![name.to_owned(), name.to_owned()]);
    }
    let text = fs::read_to_string(file)?;
    let mut entries = text.lines().map(|line| line.split(':').collect::<Vec<_>>());
    let found = entries.find(|entry| entry.first() == Some(&name));
    let found = found.ok_or_else(|| StepFailure::new(format!("{name} is not in {file}")))?;
    Ok(found.iter().skip(2).take(2).map(|field| (*field).to_owned()).collect())
}

fn number(field: Option<&String>, name: &str) -> StepResult<u32> {
    field.and_then(|field| field.parse().ok()).ok_or_else(|| StepFailure::new(format!("{name} has no number")))
}
