//! What of the repository around a folder belongs to it: the workspace that it is a part of, and what its manifest names by a path.

use crate::draft::Draft;
use crate::error::{Result, unsuitable};
use crate::text::shown;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    Folder,
    Repository,
    /// Beyond the repository: no build has it.
    Outside,
}

/// How far a relative path leads from a folder of the repository.
pub fn reach(folder: &str, path: &str) -> Reach {
    let begin = folder.split('/').filter(|part| !part.is_empty()).count();
    let (mut level, mut least) = (Some(begin), begin);
    // Windows writes the other slash.
    for part in path.split(['/', '\\']) {
        level = match part {
            "" | "." => level,
            ".." => level.and_then(|level| level.checked_sub(1)),
            _ => level.map(|level| level + 1),
        };
        least = least.min(level.unwrap_or_default());
    }
    match level {
        None => Reach::Outside,
        Some(_) if least < begin => Reach::Repository,
        Some(_) => Reach::Folder,
    }
}

/// Sends what a manifest names by these paths to the engine, or says that it is not there.
pub fn send_named(draft: &mut Draft<'_>, file: &str, paths: &[String]) -> Result<()> {
    for path in paths {
        match reach(draft.source.folder(), path) {
            Reach::Folder => {}
            Reach::Repository => {
                draft.because(format!("it needs {}, so the whole repository is sent", shown(path)), file);
                return draft.send_repository();
            }
            Reach::Outside => {
                let file = draft.source.path(file);
                return unsuitable(format!("{file} needs {}, which is outside of the repository.", shown(path)));
            }
        }
    }
    Ok(())
}

/// The folder from one around it: `web` of `apps/web` from `apps`.
pub fn below<'a>(root: &str, folder: &'a str) -> &'a str {
    folder.strip_prefix(root).unwrap_or(folder).trim_start_matches('/')
}

/// `apps/*` is one level, `apps/**` any.
pub fn matches(pattern: &str, folder: &str) -> bool {
    let pattern = pattern.trim_start_matches("./").trim_end_matches('/');
    let (mut wanted, mut given) = (pattern.split('/'), folder.split('/'));
    loop {
        match (wanted.next(), given.next()) {
            (Some("**"), Some(_)) => return true,
            (Some("*"), Some(_)) => {}
            (Some(wanted), Some(given)) if wanted == given => {}
            (None, None) => return true,
            _ => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_lead_out_of_folders() {
        for (folder, path, far) in [
            ("", "lib", Reach::Folder),
            ("", "./lib/../x", Reach::Folder),
            ("", "../lib", Reach::Outside),
            ("api", "../lib", Reach::Repository),
            ("api", "..\\lib\\lib.csproj", Reach::Repository),
            ("api", "../../lib", Reach::Outside),
            ("api", "../../api/lib", Reach::Outside),
            ("services/api", "../../lib", Reach::Repository),
            ("services/api", "lib/../..", Reach::Repository),
        ] {
            assert_eq!(reach(folder, path), far, "{folder} {path}");
        }
        assert_eq!(below("apps", "apps/web"), "web");
        assert_eq!(below("", "apps/web"), "apps/web");
    }

    #[test]
    fn patterns_match_folders() {
        assert!(matches("apps/*", "apps/web"));
        assert!(matches("apps/**", "apps/a/b"));
        assert!(matches("./web/", "web"));
        assert!(!matches("apps/*", "apps/a/b"));
        assert!(!matches("apps/*", "packages/a"));
        assert!(!matches("apps/*", "apps"));
    }
}
