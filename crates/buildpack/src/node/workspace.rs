//! Workspaces: several packages in one repository, installed together from its root.

use windlass_yaml::Limits;

use crate::error::Result;
use crate::manifest::malformed;
use crate::node::package::{self, Package};
use crate::source::Source;

const PNPM: &str = "pnpm-workspace.yaml";
/// Of packages that are looked at.
const MOST_PACKAGES: usize = 200;

/// The root of the workspace that a folder is a part of.
pub fn around(source: &Source) -> Result<Option<(Source, Package)>> {
    let root = source.root();
    if source.folder().is_empty() {
        return Ok(None);
    }
    let Some(package) = package::read(&root)? else { return Ok(None) };
    let is_part = patterns(&root, &package)?.iter().any(|pattern| matches(pattern, source.folder()));
    Ok(is_part.then_some((root, package)))
}

/// Folders of the packages of a workspace, sorted.
pub fn members(root: &Source, package: &Package) -> Result<Vec<String>> {
    let patterns = patterns(root, package)?;
    let mut found = Vec::new();
    for pattern in &patterns {
        match pattern.split_once('*') {
            None => found.push(pattern.clone()),
            // Packages are one level below the folder; deeper patterns are rare, and their packages can be named by base_path.
            Some((folder, _)) => {
                let folder = folder.trim_end_matches('/');
                let inside = |name| if folder.is_empty() { name } else { format!("{folder}/{name}") };
                found.extend(root.folders(folder)?.into_iter().take(MOST_PACKAGES).map(inside));
            }
        }
    }
    found.retain(|folder| patterns.iter().any(|pattern| matches(pattern, folder)));
    found.retain(|folder| root.has_file(&format!("{folder}/{}", package::NAME)));
    found.sort_unstable();
    found.dedup();
    found.truncate(MOST_PACKAGES);
    Ok(found)
}

/// Is it the root of one?
pub fn has(source: &Source, package: &Package) -> bool {
    !package.workspaces.is_empty() || source.has_file(PNPM)
}

fn patterns(root: &Source, package: &Package) -> Result<Vec<String>> {
    let mut patterns = package.workspaces.clone();
    if let Some(text) = root.text(PNPM)? {
        let limits = Limits::default();
        let tree =
            windlass_yaml::parse(&text, &limits).map_err(|problem| malformed(root, PNPM, &problem.to_string()))?;
        let listed = tree.get("packages").and_then(|packages| packages.as_list()).unwrap_or_default();
        patterns.extend(listed.iter().filter_map(|pattern| pattern.as_text()).map(str::to_owned));
    }
    patterns.truncate(MOST_PACKAGES);
    Ok(patterns.into_iter().map(|pattern| pattern.trim_start_matches("./").trim_end_matches('/').to_owned()).collect())
}

/// `apps/*` is one level, `apps/**` any.
fn matches(pattern: &str, folder: &str) -> bool {
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
    fn patterns_match_folders() {
        assert!(matches("apps/*", "apps/web"));
        assert!(matches("apps/**", "apps/a/b"));
        assert!(matches("web", "web"));
        assert!(!matches("apps/*", "apps/a/b"));
        assert!(!matches("apps/*", "packages/a"));
        assert!(!matches("apps/*", "apps"));
    }
}
