//! How the image of a service is built from its repository.

use std::fmt;

use serde::{Deserialize, Serialize};
use windlass_yaml::Key;

use crate::at::At;
use crate::bounds::{LONGEST_NAME, MOST_ITEMS};
use crate::interpolate::Lookup;
use crate::problems::{Problems, shown};
use crate::{beside, keys, pairs, units};

#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Build {
    /// The folder that the build sees, from that of the document: `.` if none is named.
    pub context: String,
    /// From the context.
    pub dockerfile: Option<String>,
    /// What the Dockerfile says, instead of one in the repository.
    pub dockerfile_inline: Option<String>,
    /// The stage that becomes the image, if it is not the last one.
    pub target: Option<String>,
    pub args: Vec<(String, String)>,
}

impl Default for Build {
    fn default() -> Self {
        Self { context: ".".into(), dockerfile: None, dockerfile_inline: None, target: None, args: Vec::new() }
    }
}

/// Its arguments may be secrets.
impl fmt::Debug for Build {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Build").field("context", &self.context).finish_non_exhaustive()
    }
}

/// The folder alone, or a map.
pub fn read(at: &At<'_>, lookup: Lookup<'_>, problems: &mut Problems) -> Build {
    let mut build = Build::default();
    if at.node.scalar_text().is_some() {
        if let Some(context) = at.parse(problems, context) {
            build.context = context;
        }
        return build;
    }
    for (key, field) in at.entries(MOST_ITEMS, problems) {
        set(key, &field, &mut build, lookup, problems);
    }
    if build.dockerfile.is_some() && build.dockerfile_inline.is_some() {
        at.problem(problems, "has both \"dockerfile\" and \"dockerfile_inline\"; remove one of them");
    }
    build
}

fn set(key: &Key, at: &At<'_>, build: &mut Build, lookup: Lookup<'_>, problems: &mut Problems) {
    let name = key.text.as_str();
    if let Some(reason) = keys::refused_in_build(name) {
        return problems.add(key.place, &at.path, reason);
    }
    if !keys::BUILD.contains(&name) {
        if !keys::ignored_in_build(name) {
            problems.add(key.place, &at.path, keys::unknown(name, keys::BUILD));
        }
        return;
    }
    if at.is_blank() {
        return;
    }
    match name {
        "context" => build.context = at.parse(problems, context).unwrap_or_default(),
        "dockerfile" => build.dockerfile = at.parse(problems, beside::path),
        "dockerfile_inline" => build.dockerfile_inline = at.text(problems),
        "target" => build.target = at.parse(problems, |text| units::name(text, LONGEST_NAME)),
        _ => build.args = pairs::environment(at, lookup, problems),
    }
}

fn context(text: &str) -> Result<String, String> {
    if text.contains("://") || text.starts_with("git@") {
        return Err(format!(
            "{} is elsewhere, and a build sees its own repository only; add it as a submodule and name its folder, \
             or name an image in \"image\"",
            shown(text)
        ));
    }
    beside::path_anywhere(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contexts_are_folders_of_the_repository() {
        for text in [".", "./app", "services/web/", "a b", "..", "../app"] {
            assert_eq!(context(text), Ok(text.into()));
        }
        for text in ["https://github.com/a/b.git", "git@github.com:a/b", "git://a/b", "/srv/app", "~/a", "a\n"] {
            assert!(context(text).is_err(), "{text}");
        }
    }

    #[test]
    fn each_key_is_decided_once() {
        let decided = keys::BUILD_IGNORED.iter().chain(keys::BUILD_REFUSED).map(|(name, _)| name).chain(keys::BUILD);
        assert_eq!(decided.clone().collect::<std::collections::HashSet<_>>().len(), decided.count());
        assert!(keys::BUILD.is_sorted() && keys::BUILD_IGNORED.is_sorted() && keys::BUILD_REFUSED.is_sorted());
    }

    #[test]
    fn printing_shows_no_arguments() {
        let build = Build { args: vec![("TOKEN".into(), "s3cr3t".into())], ..Build::default() };
        assert_eq!(format!("{build:?}"), "Build { context: \".\", .. }");
    }
}
