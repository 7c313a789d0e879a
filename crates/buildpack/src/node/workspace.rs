//! Workspaces: several packages in one repository, installed together from its root.

use windlass_yaml::Limits;

use crate::around::{below, matches};
use crate::error::Result;
use crate::manifest::malformed;
use crate::node::package::{self, Package};
use crate::source::Source;

const PNPM: &str = "pnpm-workspace.yaml";
/// Of packages that are looked at.
const MOST_PACKAGES: usize = 200;

/// The root of the nearest workspace that a folder is a part of.
pub fn around(source: &Source) -> Result<Option<(Source, Package)>> {
    for root in source.around() {
        let Some(package) = package::read(&root)? else { continue };
        let folder = below(root.folder(), source.folder());
        if patterns(&root, &package)?.iter().any(|pattern| matches(pattern, folder)) {
            return Ok(Some((root, package)));
        }
    }
    Ok(None)
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
