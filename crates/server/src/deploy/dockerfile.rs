//! Which Dockerfile is built; and when there is none, those that could be meant.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};

use windlass_api::{BuildPack, Configuration, Failure};

use super::failure::{Result, failed};

const USUAL: &str = "Dockerfile";
/// As Docker does, where there is none of the usual name.
const LOWER_CASE: &str = "dockerfile";

/// How many files and folders are looked at, and how many Dockerfiles are listed.
const MOST_LOOKED_AT: usize = 20_000;
const MOST_LISTED: usize = 15;
/// What package managers bring along is not the application.
const FOREIGN: [&str; 3] = [".git", "node_modules", "vendor"];

/// The part of the tree that is built.
pub async fn context(configuration: &Configuration, tree: &Path) -> Result<PathBuf> {
    let base_path = &configuration.base_path;
    let folder = tree.join(base_path.trim_matches('/'));
    match inside(tree, &folder).await {
        Some(folder) if tokio::fs::metadata(&folder).await.is_ok_and(|found| found.is_dir()) => Ok(folder),
        _ => failed(
            Failure::NoBuildPack,
            format!("base_path: the repository has no folder {base_path}. Give one that it has, or / for its root."),
        ),
    }
}

/// What a repository has.
pub enum Found {
    /// The Dockerfile's path inside the context. It may be a link to a file elsewhere in the tree.
    Path(String),
    /// None where it was looked for, and one may be made. The sentence names those that are elsewhere.
    None { others: String },
}

pub async fn find(configuration: &Configuration, tree: &Path, context: &Path) -> Result<Found> {
    let path = configuration.dockerfile_path.as_str();
    let lower_case = Some(LOWER_CASE).filter(|_| path == USUAL);
    for path in [Some(path), lower_case].into_iter().flatten() {
        if is_file_inside(tree, &context.join(path)).await {
            return Ok(Found::Path(path.to_owned()));
        }
    }
    let base_path = &configuration.base_path;
    let others = list_of_others(tree).await;
    // With another name, a Dockerfile was asked for.
    if configuration.build_pack == BuildPack::Auto && path == USUAL {
        return Ok(Found::None { others });
    }
    failed(Failure::NoBuildPack, format!("dockerfile_path: there is no {path} in {base_path}.{others}"))
}

pub async fn is_file_inside(tree: &Path, path: &Path) -> bool {
    match inside(tree, path).await {
        Some(file) => tokio::fs::metadata(&file).await.is_ok_and(|found| found.is_file()),
        None => false,
    }
}

/// Where a path leads, if that is inside: a repository's links must not lead out of it.
pub async fn inside(folder: &Path, path: &Path) -> Option<PathBuf> {
    let folder = tokio::fs::canonicalize(folder).await.ok()?;
    let path = tokio::fs::canonicalize(path).await.ok()?;
    path.starts_with(&folder).then_some(path)
}

async fn list_of_others(tree: &Path) -> String {
    let tree = tree.to_owned();
    let found = tokio::task::spawn_blocking(move || dockerfiles_in(&tree)).await.unwrap_or_default();
    if found.is_empty() {
        return String::new();
    }
    let more = if found.len() > MOST_LISTED { ", and more" } else { "" };
    let shown = found[..found.len().min(MOST_LISTED)].join(", ");
    format!(" There are: {shown}{more}. Set base_path or dockerfile_path.")
}

/// Sorted, from the tree's root. Folders near the root are looked at first, and links are not followed.
fn dockerfiles_in(tree: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = VecDeque::from([tree.to_owned()]);
    let mut left = MOST_LOOKED_AT;
    while let Some(folder) = folders.pop_front() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            if left == 0 {
                folders.clear();
                break;
            }
            left -= 1;
            let (name, path) = (entry.file_name(), entry.path());
            let name = name.to_string_lossy();
            match entry.file_type() {
                Ok(kind) if kind.is_dir() && !FOREIGN.contains(&&*name) => folders.push_back(path),
                Ok(kind) if !kind.is_dir() && is_dockerfile(&name) => {
                    let path = path.strip_prefix(tree).unwrap_or(&path).display().to_string();
                    found.extend(Some(path).filter(|path| !path.contains(char::is_control)));
                }
                _ => {}
            }
        }
    }
    found.sort_unstable();
    found
}

/// `Dockerfile`, `Dockerfile.web`, `web.Dockerfile`.
fn is_dockerfile(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let is_named = name == LOWER_CASE || name.starts_with("dockerfile.") || name.ends_with(".dockerfile");
    is_named && !name.ends_with(".dockerignore")
}
