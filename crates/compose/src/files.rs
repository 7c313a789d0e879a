//! Files whose content is in the document or beside it: `configs` and `secrets`.

use std::cell::Cell;
use std::fmt;

use serde::{Deserialize, Serialize};
use windlass_yaml::{Key, nearest};

use crate::at::At;
use crate::beside::{self, Look};
use crate::bounds::{LONGEST_FILES, LONGEST_NAME, MOST_ITEMS};
use crate::interpolate::Lookup;
use crate::problems::{Problems, shown};
use crate::units;

/// What a file can be read by if nothing else is said: everybody in the container.
pub const MODE: u32 = 0o444;

/// A file that a container has when it starts.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct File {
    /// Where it is in the container.
    pub path: String,
    pub content: String,
    pub mode: u32,
    pub uid: Option<u32>,
    pub gid: Option<u32>,
}

/// Its content may be a secret.
impl fmt::Debug for File {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("File").field("path", &self.path).finish_non_exhaustive()
    }
}

/// The entries of `configs` or of `secrets` of the document.
pub struct Contents {
    /// In a message.
    kind: &'static str,
    folder: &'static str,
    entries: Vec<(String, String)>,
    /// Bytes that the files of services may still have.
    left: Cell<usize>,
}

impl Contents {
    pub fn configs() -> Self {
        Self::new("config", "")
    }

    pub fn secrets() -> Self {
        Self::new("secret", "/run/secrets")
    }

    fn new(kind: &'static str, folder: &'static str) -> Self {
        Self { kind, folder, entries: Vec::new(), left: Cell::new(LONGEST_FILES) }
    }

    /// Reads the definitions.
    pub fn define(&mut self, at: &At<'_>, lookup: Lookup<'_>, beside: Option<Look<'_>>, problems: &mut Problems) {
        for (key, entry) in at.entries(MOST_ITEMS, problems) {
            if let Err(message) = units::name(&key.text, LONGEST_NAME) {
                problems.add(key.place, &entry.path, message);
            }
            let content = self.content(key, &entry, lookup, beside, problems);
            // One that is wrong is known all the same: what uses it has no problem of its own.
            self.entries.push((key.text.clone(), content.unwrap_or_default()));
        }
    }

    fn content(
        &self,
        key: &Key,
        at: &At<'_>,
        lookup: Lookup<'_>,
        beside: Option<Look<'_>>,
        problems: &mut Problems,
    ) -> Option<String> {
        let mut content = None;
        for (field, value) in at.fields(&["content", "environment", "external", "file", "labels", "name"], problems) {
            match field {
                "content" => content = Some(value.text(problems)?),
                "environment" => content = Some(variable(&value, lookup, problems)?),
                "file" if beside.is_some() => content = Some(self.beside(&value, beside?, problems)?),
                "file" => value
                    .problem(problems, "there are no files beside the document; write the content into \"content\""),
                "external" if value.boolean(problems) != Some(false) => {
                    value.problem(
                        problems,
                        "nothing is defined outside of the document; write the content into \"content\"",
                    );
                }
                _ => {}
            }
            if matches!(field, "file" | "external") {
                content.get_or_insert_default();
            }
        }
        if content.is_none() {
            let or_file = if beside.is_some() { ", or the path of a file in \"file\"" } else { "" };
            problems.add(key.place, &at.path, format!("the {} needs its text in \"content\"{or_file}", self.kind));
        }
        content
    }

    /// The content of a file of the repository. All of them together are bounded, whether a service has them or not.
    fn beside(&self, at: &At<'_>, look: Look<'_>, problems: &mut Problems) -> Option<String> {
        const IF_MISSING: &str =
            "commit the file, write what it says into \"content\", or name a variable in \"environment\"";
        let text = beside::text(at, look, IF_MISSING, problems)?;
        let others: usize = self.entries.iter().map(|(_, content)| content.len()).sum();
        if others + text.len() > LONGEST_FILES {
            at.problem(
                problems,
                format!(
                    "the {}s have more than {LONGEST_FILES} bytes; put larger files into the image with COPY",
                    self.kind
                ),
            );
            return None;
        }
        Some(text)
    }

    /// Reads which of them a service has, and where.
    pub fn used(&self, at: &At<'_>, problems: &mut Problems) -> Vec<File> {
        at.items(problems).iter().filter_map(|item| self.file(item, problems)).collect()
    }

    fn file(&self, at: &At<'_>, problems: &mut Problems) -> Option<File> {
        let mut file = File { path: String::new(), content: String::new(), mode: MODE, uid: None, gid: None };
        let mut source = None;
        if at.node.as_map().is_none() {
            source = at.text(problems);
        }
        for (key, field) in at
            .node
            .as_map()
            .map(|_| at.fields(&["gid", "mode", "source", "target", "uid"], problems))
            .unwrap_or_default()
        {
            match key {
                "source" => source = field.text(problems),
                "target" => file.path = field.parse(problems, |text| self.target(text))?,
                "mode" => file.mode = field.parse(problems, units::mode)?,
                "uid" => file.uid = Some(id(&field, problems)?),
                _ => file.gid = Some(id(&field, problems)?),
            }
        }
        let source = source?;
        let Some((name, content)) = self.entries.iter().find(|(name, _)| *name == source) else {
            at.problem(problems, self.unknown(&source));
            return None;
        };
        if file.path.is_empty() {
            file.path = format!("{}/{name}", self.folder);
        }
        let Some(left) = self.left.get().checked_sub(content.len()) else {
            at.problem(problems, format!("the files of all services have more than {LONGEST_FILES} bytes"));
            return None;
        };
        self.left.set(left);
        file.content.clone_from(content);
        Some(file)
    }

    /// A path; a name alone is a file of the folder where such files are.
    fn target(&self, text: &str) -> Result<String, String> {
        if text.starts_with('/') {
            units::absolute_path(text)
        } else {
            units::absolute_path(&at_folder(self.folder, text))
        }
    }

    fn unknown(&self, name: &str) -> String {
        let known: Vec<&str> = self.entries.iter().map(|(name, _)| name.as_str()).collect();
        let kind = self.kind;
        match nearest(name, &known) {
            Some(meant) => format!("there is no {kind} {}; did you mean {meant:?}?", shown(name)),
            None => {
                format!("there is no {kind} {}; define it under {:?} of the document", shown(name), format!("{kind}s"))
            }
        }
    }
}

fn at_folder(folder: &str, name: &str) -> String {
    format!("{folder}/{name}")
}

fn id(at: &At<'_>, problems: &mut Problems) -> Option<u32> {
    at.number(0..=i64::from(u32::MAX), problems).and_then(|id| u32::try_from(id).ok())
}

/// The value of the variable that is named here.
fn variable(at: &At<'_>, lookup: Lookup<'_>, problems: &mut Problems) -> Option<String> {
    let name = at.text(problems)?;
    let value = lookup(&name);
    if value.is_none() {
        at.problem(problems, format!("the variable {} has no value", shown(&name)));
    }
    value
}
