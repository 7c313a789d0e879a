//! The volumes that a service of a compose file asks for, by name.

use sha2::{Digest, Sha256};
use windlass_api::Slug;
use windlass_compose::{Mount, Service, Source};
use windlass_runtime::Image;

/// Path and name of each volume, as its row has it. What its image declares gets one too: what the engine would make by itself goes with the
/// container.
pub fn wanted(service: &Service, image: &Image) -> Vec<(String, String)> {
    let mut wanted = of_file(service);
    let covered = |path: &str| {
        service.volumes.iter().any(|mount| mount.target == path)
            || service.tmpfs.iter().any(|tmpfs| tmpfs.target == path)
    };
    let declared = image.volumes.iter().filter(|path| !covered(path));
    wanted.extend(declared.map(|path| (path.clone(), of_path(&service.name, path))));
    wanted
}

/// Those that the compose file names for it.
pub fn of_file(service: &Service) -> Vec<(String, String)> {
    let name = |mount: &Mount| match &mount.source {
        Source::Volume(name) => Some(slug(name)),
        Source::Anonymous => Some(of_path(&service.name, &mount.target)),
        Source::Bind(_) => None,
    };
    service.volumes.iter().filter_map(|mount| Some((mount.target.clone(), name(mount)?))).collect()
}

/// Made of the service's name and the path.
fn of_path(service: &str, path: &str) -> String {
    distinct(&format!("{service}:{path}"))
}

/// Names of volumes are lower-case letters, digits and hyphens. One that is not keeps what it can, and differs from all others.
fn slug(name: &str) -> String {
    match Slug::<63>::try_from(name) {
        Ok(name) => name.to_string(),
        Err(_) => distinct(name),
    }
}

fn distinct(name: &str) -> String {
    let lower = name.to_lowercase();
    let words = lower.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let readable: String = words.collect::<Vec<_>>().join("-").chars().take(50).collect();
    let hash: String = Sha256::digest(name.as_bytes()).iter().take(4).map(|byte| format!("{byte:02x}")).collect();
    format!("{}-{hash}", if readable.is_empty() { "data" } else { readable.trim_matches('-') })
}
