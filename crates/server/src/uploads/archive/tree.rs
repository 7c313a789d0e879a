//! What the entries of a tar make together, in some bytes for each.

use std::collections::HashMap;
use std::hash::{BuildHasher, DefaultHasher, Hasher, RandomState};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Folder,
    File,
    Symlink,
}

/// Which path is what. Paths are known by their hashes, with keys that no client knows.
pub struct Tree {
    keys: RandomState,
    kinds: HashMap<u64, Kind>,
    most: usize,
}

impl Tree {
    pub fn new(most: usize) -> Self {
        Self { keys: RandomState::new(), kinds: HashMap::new(), most }
    }

    pub fn kind(&self, path: &[u8]) -> Option<Kind> {
        self.prefixes(path).last().and_then(|hash| self.kinds.get(&hash).copied())
    }

    /// With the folders that it is in.
    pub fn add(&mut self, path: &[u8], kind: Kind) -> Result<(), String> {
        let prefixes: Vec<_> = self.prefixes(path).collect();
        let last = prefixes.len().saturating_sub(1);
        for (index, hash) in prefixes.into_iter().enumerate() {
            let kind = if index == last { kind } else { Kind::Folder };
            match self.kinds.insert(hash, kind) {
                Some(Kind::Folder) if kind == Kind::Folder => {}
                Some(_) if index < last => return Err("is inside of what is no folder".into()),
                Some(_) => return Err("is in the tar twice".into()),
                None if self.kinds.len() > self.most => {
                    return Err(format!("is one too many: there may be {} files and folders (fetch-files)", self.most));
                }
                None => {}
            }
        }
        Ok(())
    }

    /// Hashes of the folders that a path is in, from the root on, and its own.
    fn prefixes<'a>(&self, path: &'a [u8]) -> impl Iterator<Item = u64> + use<'a> {
        let mut hasher: DefaultHasher = self.keys.build_hasher();
        path.split(|byte| *byte == b'/').map(move |part| {
            hasher.write(part);
            hasher.write_u8(b'/');
            hasher.finish()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_go_together() {
        let mut tree = Tree::new(6);
        let mut add = |path: &str, kind| tree.add(path.as_bytes(), kind);
        add("a/b/file", Kind::File).unwrap();
        add("a", Kind::Folder).unwrap();
        add("a/b", Kind::Folder).unwrap();
        add("a/link", Kind::Symlink).unwrap();
        add("c", Kind::Folder).unwrap();
        for (path, kind, problem) in [
            ("a/b/file", Kind::File, "twice"),
            ("a/b/file/x", Kind::File, "inside of what is no folder"),
            ("a/link/x", Kind::File, "inside of what is no folder"),
        ] {
            assert!(add(path, kind).unwrap_err().contains(problem), "{path}");
        }
        add("d", Kind::File).unwrap();
        assert!(add("e", Kind::File).unwrap_err().contains("one too many: there may be 6 "));
        assert_eq!((tree.kind(b"c"), tree.kind(b"none")), (Some(Kind::Folder), None));
    }
}
