//! What the user sets. It beats what was found. Problems name the fields as users know them.

use serde::{Deserialize, Serialize};

use crate::command::checked;
use crate::error::{Error, Result};
use crate::kind::Kind;
use crate::text::{is_plain_path, plain_folder, shown};
use crate::version::is_version;

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Wishes {
    pub kind: Option<Kind>,
    /// Which of several programs: a package of Go (`cmd/api`), a binary of Cargo, a module of Java, a project of .NET.
    pub program: Option<String>,
    pub version: Option<String>,
    pub install: Option<String>,
    pub build: Option<String>,
    pub start: Option<String>,
    /// The folder that the build leaves. Its files are then served as they are.
    pub output: Option<String>,
    /// Is a path without a file answered with `index.html`?
    pub single_page: Option<bool>,
    pub port: Option<u16>,
    /// Is the repository itself sent to the engine, as `.git`?
    pub git_in_context: bool,
}

impl Wishes {
    /// Whether something is set that files alone have no use for.
    pub fn are_about_a_build(&self) -> bool {
        let Self { kind, program, version, install, build, start, .. } = self;
        kind.is_some() || [program, version, install, build, start].into_iter().any(Option::is_some)
    }

    /// The same without blanks and empty fields, or what is wrong with them.
    pub fn checked(&self) -> Result<Self> {
        let command = |wish: &Option<String>, field: &'static str| match wish.as_deref().map(str::trim) {
            None | Some("") => Ok(None),
            Some(text) => match checked(text, field) {
                Err(Error::Malformed { problem, .. }) => Err(Error::Wish { field, problem }),
                checked => checked.map(Some),
            },
        };
        let word = |wish: &Option<String>, field, what, is_good: &dyn Fn(&str) -> Option<String>| {
            let Some(text) = wish.as_deref().map(str::trim).filter(|text| !text.is_empty()) else { return Ok(None) };
            let problem = || Error::Wish { field, problem: format!("{} is not {what}", shown(text)) };
            is_good(text).map(Some).ok_or_else(problem)
        };
        let version = |text: &str| is_version(text).then(|| text.to_owned());
        let program = |text: &str| {
            let text = text.trim_start_matches("./").trim_matches('/');
            (text.is_empty() || is_plain_path(text))
                .then(|| if text.is_empty() { ".".to_owned() } else { text.to_owned() })
        };
        let folder = |text: &str| if matches!(text, "." | "./") { Some(".".to_owned()) } else { plain_folder(text) };
        if self.port == Some(0) {
            return Err(Error::Wish { field: "port", problem: "must be at least 1".to_owned() });
        }
        Ok(Self {
            kind: self.kind,
            program: word(&self.program, "program", "a plain name or path", &program)?,
            version: word(&self.version, "language_version", "a version of digits and dots", &version)?,
            install: command(&self.install, "install_command")?,
            build: command(&self.build, "build_command")?,
            start: command(&self.start, "start_command")?,
            output: word(&self.output, "output_path", "a plain path", &folder)?,
            single_page: self.single_page,
            port: self.port,
            git_in_context: self.git_in_context,
        })
    }
}
