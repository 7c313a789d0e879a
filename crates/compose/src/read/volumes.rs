use windlass_yaml::nearest;

use super::Service;
use super::document::Declared;
use crate::at::At;
use crate::beside::{self, Beside};
use crate::bounds::MOST_VOLUMES;
use crate::mounts::{self, Mounted};
use crate::problems::{Problems, shown};
use crate::{Mount, Source, Volume};

const KEYS: &[&str] = &["driver", "driver_opts", "external", "labels", "name"];

/// The names under `volumes` of the document.
pub fn declared(at: &At<'_>, problems: &mut Problems) -> Vec<String> {
    let mut names = Vec::new();
    for (key, entry) in at.entries(MOST_VOLUMES, problems) {
        match mounts::volume_name(&key.text) {
            Ok(name) => names.push(name),
            Err(message) => problems.add(key.place, &entry.path, message),
        }
        for (option, field) in entry.fields(KEYS, problems) {
            check_option(option, &field, problems);
        }
    }
    names
}

fn check_option(option: &str, at: &At<'_>, problems: &mut Problems) {
    match option {
        "driver" if at.text(problems).as_deref() != Some("local") => {
            at.problem(problems, "must be local, or be left out");
        }
        // They can mount any folder of the host.
        "driver_opts" if at.node.as_map().is_none_or(|options| !options.is_empty()) => {
            at.problem(problems, "options of a driver are not supported; leave them out");
        }
        "external" if at.node.as_map().is_some() || at.boolean(problems) != Some(false) => {
            at.problem(problems, "a project uses volumes of its own only; leave it out");
        }
        // "labels" and "name" are the platform's.
        _ => {}
    }
}

/// Reads `volumes` of a service: into its mounts, its folders in memory and its files.
pub fn read(at: &At<'_>, service: &mut Service, declared: &Declared<'_>, problems: &mut Problems) {
    for item in at.one_or_more(problems) {
        match mounts::read(&item, declared.beside.is_some(), problems) {
            Some(Mounted::Mount(mount)) if is_beside(&mount) => {
                if let Err(message) = mount_beside(mount, service, declared) {
                    item.problem(problems, message);
                }
            }
            // Nothing is wrong about the same one twice, and the engine takes it once only.
            Some(Mounted::Mount(mount)) if service.volumes.contains(&mount) => {}
            Some(Mounted::Mount(mount)) => {
                service.places.set(format!("volumes[{}]", service.volumes.len()), item.path, item.node.place);
                service.volumes.push(mount);
            }
            Some(Mounted::Tmpfs(tmpfs)) => service.tmpfs.push(tmpfs),
            Some(Mounted::File(file)) => service.files.push(file),
            None => {}
        }
    }
}

/// Whether it has a path of the repository, not of the host.
fn is_beside(mount: &Mount) -> bool {
    matches!(&mount.source, Source::Bind(path) if !path.starts_with('/'))
}

/// Puts what lies in the repository into the service. A host that runs it does not have the repository, so nothing is mounted from there.
fn mount_beside(mut mount: Mount, service: &mut Service, declared: &Declared<'_>) -> Result<(), String> {
    let (Source::Bind(path), Some(look), false) = (&mount.source, declared.beside, declared.room.is_full()) else {
        return Ok(());
    };
    let files = match look(path) {
        Beside::Text(content) => vec![declared.room.file(mount.target, content)?],
        Beside::Folder(files) if !files.is_empty() => declared.room.files(&mount.target, files)?,
        Beside::Folder(_) | Beside::Missing => {
            let name = beside::volume(path, declared.volumes.as_deref().unwrap_or_default());
            mount.source = Source::Volume(name);
            // It has no place, because nothing is missing if the document does not declare it.
            if !service.volumes.contains(&mount) {
                service.volumes.push(mount);
            }
            return Ok(());
        }
        Beside::Refused(reason) => return Err(format!("{} {reason}", shown(path))),
    };
    for file in files {
        // As with volumes, nothing is wrong about the same one twice.
        if !service.files.contains(&file) {
            service.files.push(file);
        }
    }
    Ok(())
}

/// The named volumes that services mount. A document that declares some must declare all of them, because one that is missing there is
/// most likely misspelt; one that declares none just uses them.
pub fn used(services: &[Service], declared: Option<&[String]>, problems: &mut Problems) -> Vec<Volume> {
    let mut names: Vec<&str> = Vec::new();
    for service in services {
        for (index, mount) in service.volumes.iter().enumerate() {
            let Source::Volume(name) = &mount.source else { continue };
            if let Some(declared) = declared.filter(|declared| !declared.contains(name))
                && let Some((path, place)) = service.places.get(&format!("volumes[{index}]"))
            {
                problems.add(*place, path, undeclared(name, declared));
            }
            if !names.contains(&name.as_str()) {
                names.push(name);
            }
        }
    }
    names.into_iter().map(|name| Volume { name: name.into() }).collect()
}

fn undeclared(name: &str, declared: &[String]) -> String {
    let known: Vec<&str> = declared.iter().map(String::as_str).collect();
    match nearest(name, &known) {
        Some(meant) => format!("there is no volume {}; did you mean {meant:?}?", shown(name)),
        None => format!("there is no volume {}; add it under \"volumes\" of the document", shown(name)),
    }
}
