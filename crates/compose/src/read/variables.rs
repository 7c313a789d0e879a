//! Variables that come from files of the repository.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;

use crate::at::At;
use crate::beside::{self, Beside, Look};
use crate::bounds::{LONGEST_ENVIRONMENT, LONGEST_FILES, MOST_ENV_FILES, MOST_VARIABLES};
use crate::dotenv;
use crate::interpolate::Lookup;
use crate::problems::{Problems, shown};

/// Compose files name these as often as repositories leave them out: they have what differs between machines.
const LOCAL: [&str; 2] = [".env", "./.env"];

type Variables = Vec<(String, String)>;

/// The variables, nothing for a file that is not there, or what is wrong.
type Found = Result<Option<Variables>, String>;

/// Files of variables that were read, because services often share one.
pub struct Files<'a> {
    lookup: Lookup<'a>,
    /// By path and whether it is raw.
    known: RefCell<HashMap<(String, bool), Found>>,
    /// Bytes that further files may have.
    left: Cell<usize>,
}

impl<'a> Files<'a> {
    pub fn new(lookup: Lookup<'a>) -> Self {
        Self { lookup, known: RefCell::default(), left: Cell::new(LONGEST_FILES) }
    }

    fn variables(&self, file: &File, look: Look<'_>) -> Result<Variables, String> {
        let key = (file.path.clone(), file.is_raw);
        let known = self.known.borrow().get(&key).cloned();
        let found = known.unwrap_or_else(|| {
            let read = self.read(file, look);
            self.known.borrow_mut().insert(key, read.clone());
            read
        })?;
        match found {
            Some(variables) => Ok(variables),
            None if !file.is_required || LOCAL.contains(&file.path.as_str()) => Ok(Vec::new()),
            None => Err(format!(
                "{} is not in the repository; commit it, or name its variables in \"environment\" and set them in the application",
                shown(&file.path)
            )),
        }
    }

    fn read(&self, file: &File, look: Look<'_>) -> Found {
        let path = shown(&file.path);
        let text = match look(&file.path) {
            Beside::Text(text) => text,
            Beside::Missing => return Ok(None),
            Beside::Folder(_) => return Err(format!("{path} is a folder; name a file of it")),
            Beside::Refused(reason) => return Err(format!("{path} {reason}")),
        };
        let left = self.left.get().checked_sub(text.len()).filter(|_| text.len() <= LONGEST_ENVIRONMENT);
        self.left.set(left.ok_or_else(|| {
            format!(
                "{path} has {} bytes; at most {LONGEST_ENVIRONMENT} are allowed, and {LONGEST_FILES} in all such files",
                text.len()
            )
        })?);
        let read = if file.is_raw { dotenv::read_raw } else { dotenv::read };
        read(&text, self.lookup).map(Some).map_err(|(line, message)| format!("{path}, line {line}: {message}"))
    }
}

/// Reads `env_file`: paths, each perhaps in a map with what is to be done with it. Later files win.
pub fn read(at: &At<'_>, look: Look<'_>, files: &Files<'_>, problems: &mut Problems) -> Variables {
    let items = at.one_or_more(problems);
    if items.len() > MOST_ENV_FILES {
        at.problem(problems, format!("has {} files; at most {MOST_ENV_FILES} are allowed", items.len()));
        return Vec::new();
    }
    let mut all = Vec::new();
    for item in items {
        let Some(file) = file(&item, problems) else { continue };
        match files.variables(&file, look) {
            Ok(variables) => all = merged(all, variables),
            Err(message) => item.problem(problems, message),
        }
    }
    all
}

struct File {
    path: String,
    is_required: bool,
    is_raw: bool,
}

fn file(at: &At<'_>, problems: &mut Problems) -> Option<File> {
    let mut file = File { path: String::new(), is_required: true, is_raw: false };
    if at.node.as_map().is_none() {
        file.path = at.parse(problems, beside::path)?;
        return Some(file);
    }
    for (key, field) in at.fields(&["format", "path", "required"], problems) {
        match key {
            "path" => file.path = field.parse(problems, beside::path)?,
            "required" => file.is_required = field.boolean(problems)?,
            _ => file.is_raw = field.parse(problems, format)?,
        }
    }
    if file.path.is_empty() {
        at.problem(problems, "needs \"path\", a file beside the compose file");
        return None;
    }
    Some(file)
}

/// Whether values are taken as they stand.
fn format(text: &str) -> Result<bool, String> {
    if text == "raw" { Ok(true) } else { Err(format!("must be raw, or be left out, and is {}", shown(text))) }
}

/// All variables of both; those of the second win.
pub fn merged(mut first: Variables, second: Variables) -> Variables {
    for (name, value) in second {
        match first.iter_mut().find(|(known, _)| *known == name) {
            Some(known) => known.1 = value,
            None => first.push((name, value)),
        }
    }
    first
}

/// Files and `environment` may be too much together, even if each alone is not.
pub fn check(all: &[(String, String)], at: &At<'_>, problems: &mut Problems) {
    let bytes: usize = all.iter().map(|(name, value)| name.len() + value.len()).sum();
    if all.len() > MOST_VARIABLES || bytes > LONGEST_ENVIRONMENT {
        at.problem(
            problems,
            format!(
                "makes {} variables with {bytes} bytes in all; at most {MOST_VARIABLES} with {LONGEST_ENVIRONMENT} are allowed",
                all.len()
            ),
        );
    }
}
