//! What lies beside a document in a repository, and what becomes of it.

use std::cell::Cell;

use crate::at::At;
use crate::bounds::{LONGEST_FILES, LONGEST_NAME, LONGEST_PATH, MOST_FILES};
use crate::files::{File, MODE};
use crate::problems::{Problems, shown};
use crate::units;

/// Of a file that names the program which runs it.
const PROGRAM_MODE: u32 = 0o555;

/// What lies at a path beside the document.
#[derive(Clone)]
pub enum Beside {
    /// A file with this content.
    Text(String),
    /// A folder: its files, each by its path below it.
    Folder(Vec<(String, String)>),
    Missing,
    /// It cannot be used, with the reason as it stands after the path: `is larger than 1 MiB`.
    Refused(String),
}

/// Gets a path as it is written, which [`path`] has checked.
pub type Look<'a> = &'a dyn Fn(&str) -> Beside;

/// A path that stays below the folder of the document.
pub fn path(text: &str) -> Result<String, String> {
    if text.split(['/', '\\']).any(|part| part == "..") {
        return Err(format!(
            "{} has \"..\", which leads out of the folder of the compose file; move the compose file to the folder \
             that has everything it names, and write the path from there",
            shown(text)
        ));
    }
    path_anywhere(text)
}

/// The same, also above the folder of the document. The caller refuses what leads out of the repository.
pub fn path_anywhere(text: &str) -> Result<String, String> {
    if text.is_empty() || text.len() > LONGEST_PATH || text.chars().any(char::is_control) {
        return Err(format!("must be a path of 1 to {LONGEST_PATH} visible characters, and is {}", shown(text)));
    }
    if text.starts_with('/') {
        return Err(format!(
            "{} is a path of the host; use one of the repository, beside the compose file, such as \"./x\"",
            shown(text)
        ));
    }
    if text.starts_with('~') {
        return Err(format!(
            "{} is in the home folder of a user; use a path of the repository such as \"./x\"",
            shown(text)
        ));
    }
    Ok(text.into())
}

/// The content of the file that is named here.
pub fn text(at: &At<'_>, look: Look<'_>, if_missing: &str, problems: &mut Problems) -> Option<String> {
    let path = at.parse(problems, path)?;
    let message = match look(&path) {
        Beside::Text(text) => return Some(text),
        Beside::Folder(_) => format!("{} is a folder; name a file of it", shown(&path)),
        Beside::Missing => format!("{} is not in the repository; {if_missing}", shown(&path)),
        Beside::Refused(reason) => format!("{} {reason}", shown(&path)),
    };
    at.problem(problems, message);
    None
}

/// How much the files that services mount from the repository may still have.
pub struct Room {
    bytes: Cell<usize>,
    files: Cell<usize>,
    is_full: Cell<bool>,
}

impl Room {
    pub fn new() -> Self {
        Self { bytes: Cell::new(LONGEST_FILES), files: Cell::new(MOST_FILES), is_full: Cell::new(false) }
    }

    /// Whether something did not fit, which was said then.
    pub fn is_full(&self) -> bool {
        self.is_full.get()
    }

    fn take(&self, bytes: usize) -> Result<(), String> {
        let left = self.bytes.get().checked_sub(bytes).zip(self.files.get().checked_sub(1));
        let Some((bytes, files)) = left else {
            self.is_full.set(true);
            return Err(format!(
                "the files that services mount from the repository are more than {MOST_FILES} or have more than \
                 {LONGEST_FILES} bytes; put larger files into the image with COPY"
            ));
        };
        self.bytes.set(bytes);
        self.files.set(files);
        Ok(())
    }

    /// A file of the repository as a file of a container.
    pub fn file(&self, path: String, content: String) -> Result<File, String> {
        self.take(content.len())?;
        let mode = if content.starts_with("#!") { PROGRAM_MODE } else { MODE };
        Ok(File { path, content, mode, uid: None, gid: None })
    }

    /// The files of a folder, each below the target.
    pub fn files(&self, target: &str, files: Vec<(String, String)>) -> Result<Vec<File>, String> {
        let file =
            |(path, content): (String, String)| self.file(units::absolute_path(&format!("{target}/{path}"))?, content);
        files.into_iter().map(file).collect()
    }
}

/// The volume that stands for a path at which nothing is: Compose would make an empty folder there, which keeps what is written to it.
///
/// The name follows from the path alone, so a volume stays the same when other lines of the document change. Only a declared volume of that
/// name makes it another one.
pub fn volume(path: &str, declared: &[String]) -> String {
    let parts: Vec<&str> = path.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
    let path = parts.join("/");
    let slug = slug(&path);
    let is_plain = path.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'/'));
    let mut name = format!("folder-{slug}");
    let mut round = 0;
    // Two paths may have one slug.
    if !is_plain || slug.is_empty() || name.len() > LONGEST_NAME {
        name = numbered(&slug, &path, round);
    }
    while declared.contains(&name) {
        round += 1;
        name = numbered(&slug, &path, round);
    }
    name
}

/// Lower case letters, digits and single hyphens.
fn slug(path: &str) -> String {
    let mut slug = String::new();
    for c in path.chars().map(|c| c.to_ascii_lowercase()) {
        if c.is_ascii_alphanumeric() {
            slug.push(c);
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
    }
    slug.trim_end_matches('-').into()
}

fn numbered(slug: &str, path: &str, round: usize) -> String {
    let number = checksum(&format!("{path}{}", "/".repeat(round)));
    // The slug is ASCII: it can be cut anywhere.
    let slug = &slug[..slug.len().min(40)];
    if slug.is_empty() { format!("folder-{number:08x}") } else { format!("folder-{slug}-{number:08x}") }
}

/// FNV-1a, which is the same in every version of the product.
fn checksum(text: &str) -> u32 {
    text.bytes().fold(0x811c_9dc5, |sum, byte| (sum ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_stay_below_the_folder() {
        for text in [".", "./a", "a/b", ".env", "./a b/c.conf", "..a", "a/...", "ä"] {
            assert_eq!(path(text), Ok(text.into()));
        }
        let long = "a/".repeat(513);
        for text in
            ["", "/a", "~", "~/a", "..", "../a", "a/../b", "a/..", "./..", "..\\a", "a\0b", "a\nb", "\u{1b}", &long]
        {
            let message = path(text).unwrap_err();
            assert!(message.len() < 400 && !message.contains(['\0', '\n']), "{message}");
        }
    }

    #[test]
    fn volumes_are_named_by_their_path() {
        let declared = ["folder-data".to_string()];
        for (path, name) in [
            ("./data", "folder-data"),
            ("data/", "folder-data"),
            (".//var/./lib/db", "folder-var-lib-db"),
            ("./Data", "folder-data-3f5279c5"),
            ("./.cache", "folder-cache-a8fa1a21"),
            ("./a-b", "folder-a-b-2a89df63"),
            (".", "folder-811c9dc5"),
            ("ä", "folder-199de0e2"),
        ] {
            assert_eq!(volume(path, &[]), name, "{path}");
        }
        let other = volume("./data", &declared);
        assert!(other.starts_with("folder-data-"), "{other}");
        assert_eq!(volume("./other", &declared), "folder-other");
        let both = [declared[0].clone(), other.clone()];
        assert!(!both.contains(&volume("./data", &both)));
    }

    #[test]
    fn names_of_volumes_are_names() {
        for path in ["a".repeat(1000), "/-".repeat(500), "A".repeat(64), "a/b/".repeat(200), "\u{1f600}".into()] {
            let name = volume(&path, &[]);
            assert!(units::name(&name, LONGEST_NAME).is_ok(), "{name}");
        }
    }

    #[test]
    fn files_are_counted() {
        let room = Room::new();
        assert_eq!(room.file("/a".into(), "#!/bin/sh\n".into()).unwrap().mode, 0o555);
        assert_eq!(room.file("/a".into(), "x".into()).unwrap().mode, 0o444);
        let files = |count: usize| vec![("b/c".to_string(), String::new()); count];
        assert_eq!(room.files("/a", files(1)).unwrap()[0].path, "/a/b/c");
        assert!(room.files("/a", vec![("../b".into(), String::new())]).is_err());
        assert!(room.files("/a", vec![("b\n".into(), String::new())]).is_err());
        assert!(room.file("/a".into(), "x".repeat(LONGEST_FILES)).is_err() && room.is_full());
        let room = Room::new();
        assert!(room.files("/a", files(MOST_FILES)).is_ok() && !room.is_full());
        assert!(room.files("/a", files(1)).unwrap_err().contains("put larger files into the image with COPY"));
    }
}
