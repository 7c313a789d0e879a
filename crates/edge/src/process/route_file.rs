//! The route set on disk: enough to serve with, before the server is up.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use windlass_durable::file;

use crate::routes::RouteSet;

/// How many damaged files are kept aside.
const MOST_KEPT: usize = 10;

pub fn path(data_dir: &Path) -> PathBuf {
    data_dir.join("routes.json")
}

pub enum Loaded {
    Routes(RouteSet),
    /// There is none: no routes were ever applied.
    Nothing,
    /// It makes no sense. It was kept aside, so that the operator can look into it.
    Damaged(String),
}

pub fn load(data_dir: &Path) -> io::Result<Loaded> {
    let path = path(data_dir);
    let text = match fs::read(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(missing(&path)),
        Err(error) => return Err(error),
    };
    match parse(&text) {
        Ok(routes) => Ok(Loaded::Routes(routes)),
        Err(why) => {
            let aside = aside(&path);
            fs::rename(&path, &aside)?;
            Ok(Loaded::Damaged(format!(
                "{} cannot be used ({why}); it was kept as {}",
                path.display(),
                aside.display()
            )))
        }
    }
}

/// A file that was kept aside at an earlier start is still damaged as long as none has taken its place.
fn missing(path: &Path) -> Loaded {
    match kept(path).rfind(|kept| kept.exists()) {
        Some(kept) => {
            Loaded::Damaged(format!("{} could not be used and was kept as {}", path.display(), kept.display()))
        }
        None => Loaded::Nothing,
    }
}

pub fn save(data_dir: &Path, routes: &RouteSet) -> io::Result<()> {
    let text = serde_json::to_vec(routes)?;
    file::replace(&path(data_dir), &text)
}

fn parse(text: &[u8]) -> Result<RouteSet, String> {
    let routes: RouteSet = serde_json::from_slice(text).map_err(|error| error.to_string())?;
    routes.check().map_err(|problems| problems.join("; "))?;
    Ok(routes)
}

/// The first name that is free; the last one is used again and again.
fn aside(path: &Path) -> PathBuf {
    kept(path).find(|kept| !kept.exists()).unwrap_or_else(|| named(path, MOST_KEPT))
}

fn kept(path: &Path) -> impl DoubleEndedIterator<Item = PathBuf> {
    (1..=MOST_KEPT).map(|number| named(path, number))
}

fn named(path: &Path, number: usize) -> PathBuf {
    path.with_extension(format!("json.damaged-{number}"))
}
