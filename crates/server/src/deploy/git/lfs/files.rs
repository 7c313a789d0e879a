//! The files of a tree that stand for others, and what takes their place. No link is followed on the way to them.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read};
use std::ops::ControlFlow::{Break, Continue};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags};

use super::pointer::{LONGEST, Pointer};
use crate::deploy::git::error::FetchError;
use crate::deploy::git::git_run::GitRun;

/// Of all names together, which are kept in memory.
const MOST_NAMES: usize = 16 << 20;

/// A file that stands for another.
pub struct PointerFile {
    /// From the root of the tree.
    pub path: PathBuf,
    pub pointer: Pointer,
}

/// Those that the tree's attributes send through Git LFS. Others with such a text are meant as they are.
pub async fn find(run: &GitRun<'_>) -> Result<Vec<PointerFile>, FetchError> {
    let mut names = Vec::new();
    let take = &mut |piece: &[u8]| {
        names.extend_from_slice(piece);
        if names.len() > MOST_NAMES { Break(()) } else { Continue(()) }
    };
    let list = run.command(&["ls-files", "-z", "--", ":(top,attr:filter=lfs)"])?;
    let (success, said) = run.run_command(list, take).await?;
    if names.len() > MOST_NAMES {
        return Err(FetchError::TooManyFiles { limit: run.most_files() });
    }
    run.check_success(success, &said)?;
    let tree = run.paths.folder.clone();
    Ok(tokio::task::spawn_blocking(move || read_all(&tree, &names)).await.map_err(io::Error::from)??)
}

fn read_all(tree: &Path, names: &[u8]) -> io::Result<Vec<PointerFile>> {
    let root: OwnedFd = File::open(tree)?.into();
    let paths = names.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    let paths = paths.map(|name| Path::new(OsStr::from_bytes(name)));
    paths.filter_map(|path| read(&root, path).transpose()).collect()
}

/// None for what is no file, such as a link, and for what stands for no other.
fn read(root: &OwnedFd, path: &Path) -> io::Result<Option<PointerFile>> {
    let Ok(file) = open(root, path, OFlags::RDONLY | OFlags::NONBLOCK) else { return Ok(None) };
    let file = File::from(file);
    let metadata = file.metadata()?;
    if !metadata.is_file() || metadata.len() > LONGEST {
        return Ok(None);
    }
    let mut text = Vec::new();
    file.take(LONGEST + 1).read_to_end(&mut text)?;
    Ok(Pointer::parse(&text).map(|pointer| PointerFile { path: path.to_owned(), pointer }))
}

fn open(root: &OwnedFd, path: &Path, flags: OFlags) -> io::Result<OwnedFd> {
    let within = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    Ok(rustix::fs::openat2(root, path, flags | OFlags::CLOEXEC, Mode::empty(), within)?)
}

/// Puts a file into each of these places of the tree, where it gets the mode of what is there.
pub fn put(tree: &Path, from: &Path, places: &[PathBuf]) -> io::Result<()> {
    let root: OwnedFd = File::open(tree)?.into();
    let copy = from.with_extension("copy");
    for (number, place) in places.iter().enumerate() {
        let is_last = number + 1 == places.len();
        if !is_last {
            fs::copy(from, &copy)?;
        }
        replace(&root, if is_last { from } else { &copy }, place)?;
    }
    Ok(())
}

fn replace(root: &OwnedFd, from: &Path, place: &Path) -> io::Result<()> {
    let before = File::from(open(root, place, OFlags::RDONLY | OFlags::NONBLOCK)?).metadata()?;
    let Some(name) = place.file_name().filter(|_| before.is_file()) else {
        return Err(io::Error::other(format!("{} is no file", place.display())));
    };
    fs::set_permissions(from, fs::Permissions::from_mode(before.permissions().mode() & 0o777))?;
    let parent = place.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let parent = open(root, parent, OFlags::PATH | OFlags::DIRECTORY)?;
    Ok(rustix::fs::renameat(CWD, from, parent, name)?)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    const POINTER: &str = "version https://git-lfs.github.com/spec/v1\n\
        oid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 5\n";

    #[test]
    fn nothing_behind_a_link_is_read_or_replaced() {
        let place = tempfile::tempdir().unwrap();
        let [tree, elsewhere, from] = ["tree", "elsewhere", "from"].map(|name| place.path().join(name));
        fs::create_dir_all(tree.join("plain")).unwrap();
        fs::create_dir(&elsewhere).unwrap();
        for file in [tree.join("plain/a"), tree.join("b"), elsewhere.join("a")] {
            fs::write(file, POINTER).unwrap();
        }
        fs::set_permissions(tree.join("b"), fs::Permissions::from_mode(0o755)).unwrap();
        symlink(&elsewhere, tree.join("folder")).unwrap();
        symlink("plain", tree.join("inside")).unwrap();
        symlink(elsewhere.join("a"), tree.join("file")).unwrap();
        let names = b"plain/a\0b\0folder/a\0inside/a\0file\0../elsewhere/a\0plain\0missing\0";
        let found = read_all(&tree, names).unwrap();
        let paths: Vec<_> = found.iter().map(|file| file.path.to_str().unwrap()).collect();
        assert_eq!(paths, ["plain/a", "b"]);

        for name in ["folder/a", "inside/a", "file", "../elsewhere/a", "plain"] {
            fs::write(&from, "whole").unwrap();
            assert!(put(&tree, &from, &[name.into()]).is_err(), "{name}");
        }
        assert_eq!(fs::read_to_string(elsewhere.join("a")).unwrap(), POINTER);
        put(&tree, &from, &["plain/a".into(), "b".into()]).unwrap();
        for name in ["plain/a", "b"] {
            assert_eq!(fs::read_to_string(tree.join(name)).unwrap(), "whole");
        }
        let mode = |name: &str| fs::metadata(tree.join(name)).unwrap().permissions().mode() & 0o111;
        assert_eq!((mode("plain/a"), mode("b")), (0, 0o111));
        assert!(!from.exists());
    }
}
