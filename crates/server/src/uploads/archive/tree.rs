//! What the entries of a tar make together, in some bytes for each.

use std::collections::HashMap;
use std::hash::{BuildHasher, DefaultHasher, Hasher, RandomState};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Folder,
    File,
    Symlink,
}

/// `git fast-import` looks at what is in a folder one by one, for each path below it. So many looks take it some seconds.
const MOST_LOOKS: u64 = 2_000_000_000;

/// Why an entry is not taken.
#[derive(Debug)]
pub enum Refusal {
    Bad(&'static str),
    TooLarge(String),
}

#[derive(Clone, Copy)]
struct Node {
    kind: Kind,
    /// How many are in it.
    children: u32,
}

/// Which path is what. Paths are known by their hashes, with keys that no client knows.
pub struct Tree {
    keys: RandomState,
    nodes: HashMap<u64, Node>,
    most: usize,
    /// In the folder that was sent.
    children: u32,
    /// What git has looked at until now.
    looks: u64,
}

impl Tree {
    pub fn new(most: usize) -> Self {
        Self { keys: RandomState::new(), nodes: HashMap::new(), most, children: 0, looks: 0 }
    }

    /// What git finds at a path.
    pub fn find(&mut self, path: &[u8]) -> Result<Option<Kind>, Refusal> {
        let prefixes: Vec<_> = self.prefixes(path).collect();
        self.look(&prefixes)?;
        Ok(prefixes.last().and_then(|hash| self.nodes.get(hash)).map(|node| node.kind))
    }

    /// With the folders that it is in.
    pub fn add(&mut self, path: &[u8], kind: Kind) -> Result<(), Refusal> {
        let prefixes: Vec<_> = self.prefixes(path).collect();
        self.look(&prefixes)?;
        let last = prefixes.len().saturating_sub(1);
        let mut parent = None;
        for (index, hash) in prefixes.into_iter().enumerate() {
            let kind = if index == last { kind } else { Kind::Folder };
            match self.nodes.get(&hash).map(|node| node.kind) {
                Some(Kind::Folder) if kind == Kind::Folder => {}
                Some(_) if index < last => return Err(Refusal::Bad("is inside of what is no folder")),
                Some(_) => return Err(Refusal::Bad("is in the tar twice")),
                None if self.nodes.len() >= self.most => {
                    let most = self.most;
                    let text = format!("is one too many: there may be {most} files and folders (fetch-files)");
                    return Err(Refusal::TooLarge(text));
                }
                None => self.insert(hash, parent, kind),
            }
            parent = Some(hash);
        }
        Ok(())
    }

    /// Into the folder that was sent, if it has no parent.
    fn insert(&mut self, hash: u64, parent: Option<u64>, kind: Kind) {
        self.nodes.insert(hash, Node { kind, children: 0 });
        match parent {
            None => self.children += 1,
            Some(parent) => {
                if let Some(node) = self.nodes.get_mut(&parent) {
                    node.children += 1;
                }
            }
        }
    }

    /// Counts what git looks at in each folder that a path is in.
    fn look(&mut self, prefixes: &[u64]) -> Result<(), Refusal> {
        let folders = prefixes.iter().rev().skip(1).filter_map(|hash| self.nodes.get(hash));
        let below: u64 = folders.map(|folder| u64::from(folder.children)).sum();
        self.looks = self.looks.saturating_add(below + u64::from(self.children));
        match self.looks > MOST_LOOKS {
            true => {
                Err(Refusal::TooLarge("is one too many: there are too many files and folders in one folder".into()))
            }
            false => Ok(()),
        }
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

    fn text(refused: Result<(), Refusal>) -> String {
        match refused.unwrap_err() {
            Refusal::Bad(text) => text.to_owned(),
            Refusal::TooLarge(text) => text,
        }
    }

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
            assert!(text(add(path, kind)).contains(problem), "{path}");
        }
        add("d", Kind::File).unwrap();
        assert!(text(add("e", Kind::File)).contains("one too many: there may be 6 "));
        assert_eq!(tree.find(b"c").unwrap(), Some(Kind::Folder));
        assert_eq!(tree.find(b"none").unwrap(), None);
    }

    fn added(folder: &str, count: usize) -> usize {
        let mut tree = Tree::new(1_000_000);
        let add = |number: usize| tree.add(format!("{folder}{number}").as_bytes(), Kind::File);
        (0..count).map(add).take_while(Result::is_ok).count()
    }

    #[test]
    fn how_many_may_be_in_one_folder() {
        // Each is looked for among all that came before it: half of the square of their number.
        for folder in ["", "a/", "a/b/"] {
            let most = added(folder, 70_000);
            assert!((63_000..63_500).contains(&most), "{folder}: {most}");
        }
    }

    #[test]
    fn what_links_lead_to_counts_too() {
        let mut tree = Tree::new(1_000_000);
        for number in 0..40_000 {
            tree.add(format!("a/{number}").as_bytes(), Kind::File).unwrap();
        }
        let found = (0..60_000).map(|_| tree.find(b"a/1")).take_while(Result::is_ok).count();
        assert!((29_000..31_000).contains(&found), "{found}");
    }

    #[test]
    fn many_in_many_folders_are_taken() {
        let mut tree = Tree::new(1_000_000);
        for number in 0..200_000 {
            tree.add(format!("a/{}/{number}", number % 1_000).as_bytes(), Kind::File).unwrap();
        }
    }
}
