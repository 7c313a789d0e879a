//! The compose file of a repository: which one it is, what its services are, and which of them visitors reach. The same of an extension.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::Read as _;
use std::path::{Path, PathBuf};

use windlass_api::{Configuration, Failure, Variables};
use windlass_compose::{Beside, Condition, Project, Protocol, Service, dotenv};
use windlass_extension::application::Stack;
use windlass_yaml::{Limits, Problem};

use super::dockerfile;
use super::failure::{Result, failed};
use super::pack::Basis;

/// In this order, as Compose looks for them.
const USUAL: [&str; 4] = ["compose.yaml", "compose.yml", "docker-compose.yaml", "docker-compose.yml"];
/// A hostile file has thousands.
const MOST_PROBLEMS: usize = 10;
/// Of a file beside it, and of the files of a folder: more belongs into an image.
const MOST_FILE_BYTES: u64 = 256 * 1024;
const MOST_FILES: usize = 100;
const MOST_FOLDER_BYTES: u64 = 1024 * 1024;
/// Files that are there because git keeps no empty folder.
const PLACEHOLDERS: [&str; 4] = [".empty", ".gitignore", ".gitkeep", ".keep"];
/// In the place of a value that is not to be seen.
const SECRET: &str = "secret";
/// Of all that a compose file names: entries of folders, links included, and bytes that are read.
const MOST_LOOKED_AT: usize = 20_000;
const MOST_READ_BYTES: u64 = 16 * 1024 * 1024;

/// What a compose file describes.
pub struct Compose {
    /// The file, from the repository's root.
    pub file: String,
    /// The folder that its paths begin at.
    pub folder: PathBuf,
    pub project: Project,
    /// The service that visitors of the main domain reach.
    pub main: String,
    /// Folders beside it whose files are copied into containers.
    copied: BTreeSet<String>,
    /// Where services listen of which something else than the file says it.
    ports: BTreeMap<String, u16>,
}

impl Compose {
    /// Of an extension, whose domains say which service visitors reach, and where it listens. Nothing lies beside it.
    pub fn of_template(file: String, stack: Stack) -> std::result::Result<Self, String> {
        let ports = stack.ports();
        let main = stack.main().map(|route| route.service.clone()).unwrap_or_default();
        let main = main_service(&stack.project, &main)?;
        Ok(Self { file, folder: PathBuf::new(), project: stack.project, main, copied: BTreeSet::new(), ports })
    }

    /// Where a service listens, as far as it is said.
    pub fn port_of(&self, service: &Service) -> Option<u16> {
        self.ports.get(&service.name).copied().or_else(|| port_of(service))
    }

    /// What the user may want to know.
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        if !self.project.left_out.is_empty() {
            let names = self.project.left_out.join(", ");
            warnings.push(format!("Not deployed, because they have profiles: {names}."));
        }
        if !self.copied.is_empty() {
            let paths = self.copied.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
            warnings.push(format!(
                "Copied from the repository into containers, where changes are not kept: {paths}. For data, use a named volume."
            ));
        }
        let published = self.project.services.iter().filter(|service| {
            let is_reached = service.name == self.main && service.ports.len() == 1;
            !service.ports.is_empty() && !is_reached
        });
        let names: Vec<&str> = published.map(|service| service.name.as_str()).collect();
        if !names.is_empty() {
            warnings.push(format!(
                "No ports of the machine are opened. Other services reach these by name, and visitors by a domain that is added for the service: {}.",
                names.join(", ")
            ));
        }
        warnings
    }
}

/// Whether there is one with a usual name.
pub async fn is_there(tree: &Path, context: &Path) -> bool {
    usual(tree, context).await.is_some()
}

async fn usual(tree: &Path, context: &Path) -> Option<PathBuf> {
    for name in USUAL {
        let path = context.join(name);
        if dockerfile::is_file_inside(tree, &path).await {
            return Some(path);
        }
    }
    None
}

pub async fn read(basis: &Basis<'_>, tree: &Path, context: &Path) -> Result<Compose> {
    let path = find(basis.configuration, tree, context).await?;
    let file = path.strip_prefix(tree).unwrap_or(&path).display().to_string();
    let folder = path.parent().unwrap_or(context).to_owned();
    let (tree, variables) = (tree.to_owned(), basis.variables.clone());
    let reader = Reader::new(tree, folder.clone(), variables);
    let reading = tokio::task::spawn_blocking(move || {
        let project = reader.read(&path);
        project.map(|project| (project, reader.copied.into_inner()))
    });
    let (project, copied) = match reading.await {
        Ok(Ok(read)) => read,
        Ok(Err(problems)) => return failed(Failure::NoBuildPack, format!("{file}: {}", listed(&problems))),
        Err(error) => return failed(Failure::Internal, error),
    };
    if project.services.is_empty() {
        return failed(
            Failure::NoBuildPack,
            format!("{file}: no service is left to start: \"services\" is empty, or all have profiles"),
        );
    }
    let main = main_service(&project, &basis.configuration.settings.service)
        .or_else(|problem| failed(Failure::NoBuildPack, format!("{file}: {problem}")))?;
    Ok(Compose { file, folder, project, main, copied, ports: BTreeMap::new() })
}

async fn find(configuration: &Configuration, tree: &Path, context: &Path) -> Result<PathBuf> {
    let (base_path, given) = (&configuration.base_path, configuration.settings.compose_file.as_str());
    if given.is_empty() {
        let names = USUAL.join(", ");
        return match usual(tree, context).await {
            Some(path) => Ok(path),
            None => failed(
                Failure::NoBuildPack,
                format!("there is no compose file in {base_path} ({names}). Set compose_file or base_path."),
            ),
        };
    }
    let path = context.join(given);
    match dockerfile::is_file_inside(tree, &path).await {
        true => Ok(path),
        false => failed(Failure::NoBuildPack, format!("compose_file: there is no {given} in {base_path}.")),
    }
}

fn listed(problems: &[Problem]) -> String {
    let more = problems.len().saturating_sub(MOST_PROBLEMS);
    let more = (more > 0).then(|| format!("and {more} more"));
    problems.iter().take(MOST_PROBLEMS).map(Problem::to_string).chain(more).collect::<Vec<_>>().join("\n")
}

/// The one that was set; else the only one with `ports`; of several, the only one of them that is built. Else the only one with `expose`, the
/// only one that is built, or the only one. Those whose end others wait for do not count.
fn main_service(project: &Project, set: &str) -> std::result::Result<String, String> {
    let serving: Vec<&Service> = project.services.iter().filter(|service| !is_task(project, &service.name)).collect();
    let names = |all: &[&Service]| all.iter().map(|one| one.name.as_str()).collect::<Vec<_>>().join(", ");
    if !set.is_empty() {
        return match serving.iter().find(|service| service.name == set) {
            Some(service) => Ok(service.name.clone()),
            None => Err(format!(
                "service: {set} is not in the file, has a profile, or is one whose end others wait for. Choose one of: {}.",
                names(&serving)
            )),
        };
    }
    let published = serving.iter().copied().filter(|service| !service.ports.is_empty()).collect::<Vec<_>>();
    let rules: &[fn(&Service) -> bool] = match published.is_empty() {
        false => &[|_| true, |service| service.build.is_some()],
        true => &[|service| !service.expose.is_empty(), |service| service.build.is_some(), |_| true],
    };
    let candidates = if published.is_empty() { &serving } else { &published };
    let only = |rule: &fn(&Service) -> bool| {
        let mut found = candidates.iter().filter(|service| rule(service));
        found.next().filter(|_| found.next().is_none())
    };
    match rules.iter().find_map(only) {
        Some(found) => Ok(found.name.clone()),
        None => Err(format!(
            "several services could be the one that visitors reach. Set service to one of them: {}.",
            names(&serving)
        )),
    }
}

/// Whether others begin only when it has ended.
pub fn is_task(project: &Project, name: &str) -> bool {
    let waits = |service: &Service| {
        service.depends_on.iter().any(|need| need.service == name && need.condition == Condition::Completed)
    };
    project.services.iter().any(waits)
}

/// Where a service listens, as far as the file says it.
fn port_of(service: &Service) -> Option<u16> {
    let opened = service.ports.iter().find(|port| port.protocol == Protocol::Tcp).map(|port| port.container);
    opened.or_else(|| service.expose.first().copied())
}

/// Reads a file and what lies beside it, never out of the tree. For a thread that may block.
struct Reader {
    tree: PathBuf,
    folder: PathBuf,
    variables: Variables,
    /// Folders that become files of containers.
    copied: RefCell<BTreeSet<String>>,
    /// What was looked at: many services may name one path.
    seen: RefCell<HashMap<String, Beside>>,
    /// Entries of folders, and bytes, that may still be looked at.
    entries_left: Cell<usize>,
    bytes_left: Cell<u64>,
}

impl Reader {
    fn new(tree: PathBuf, folder: PathBuf, variables: Variables) -> Self {
        Self {
            tree,
            folder,
            variables,
            copied: RefCell::default(),
            seen: RefCell::default(),
            entries_left: Cell::new(MOST_LOOKED_AT),
            bytes_left: Cell::new(MOST_READ_BYTES),
        }
    }

    fn read(&self, path: &Path) -> std::result::Result<Project, Vec<Problem>> {
        let problem = |message: String| vec![Problem::new(windlass_yaml::Place::START, "", message)];
        let limits = Limits::default();
        let text = match self.text(path, limits.bytes as u64) {
            Beside::Text(text) => text,
            Beside::Refused(reason) => return Err(problem(format!("the file {reason}"))),
            Beside::Folder(_) | Beside::Missing => return Err(problem("the file cannot be read".into())),
        };
        let document = windlass_yaml::parse(&text, &limits).map_err(|problem| vec![problem])?;
        let defaults = self.defaults().map_err(problem)?;
        let read = |variables: &Variables| {
            let lookup = |name: &str| {
                let own = variables.environment.get(name).or_else(|| variables.build.get(name)).cloned();
                own.or_else(|| defaults.iter().rev().find(|(known, _)| known == name).map(|(_, value)| value.clone()))
            };
            windlass_compose::read_in_repository(&document, &lookup, &|path| self.look(path))
        };
        // Problems quote a part of what is wrong, in which the mask of the log would not find the whole value of a secret.
        read(&self.variables).map_err(|problems| {
            let masked = read(&without_secrets(&self.variables)).err().unwrap_or_default();
            problems.into_iter().map(|problem| without_secret(problem, &masked)).collect()
        })
    }

    /// What `.env` beside it says, if the repository has one. The application's own variables go before it.
    fn defaults(&self) -> std::result::Result<Vec<(String, String)>, String> {
        let Beside::Text(text) = self.look(".env") else { return Ok(Vec::new()) };
        dotenv::read(&text, &|name| self.variables.environment.get(name).cloned())
            .map_err(|(line, message)| format!(".env line {line}: {message}"))
    }

    fn look(&self, path: &str) -> Beside {
        if let Some(seen) = self.seen.borrow().get(path) {
            return seen.clone();
        }
        let found = self.look_anew(path);
        self.seen.borrow_mut().insert(path.to_owned(), found.clone());
        found
    }

    fn look_anew(&self, path: &str) -> Beside {
        let Ok(real) = std::fs::canonicalize(self.folder.join(path)) else { return Beside::Missing };
        if !real.starts_with(&self.tree) {
            return Beside::Refused("leads out of the repository".into());
        }
        if !real.is_dir() {
            return self.text(&real, MOST_FILE_BYTES);
        }
        let found = self.folder(&real);
        if matches!(&found, Beside::Folder(files) if !files.is_empty()) {
            self.copied.borrow_mut().insert(path.to_owned());
        }
        found
    }

    /// A file of the repository that is a regular one.
    fn text(&self, path: &Path, most: u64) -> Beside {
        let Ok(real) = std::fs::canonicalize(path) else { return Beside::Missing };
        if !real.starts_with(&self.tree) {
            return Beside::Refused("leads out of the repository".into());
        }
        if !std::fs::metadata(&real).is_ok_and(|found| found.is_file()) {
            return Beside::Refused("is no file".into());
        }
        let mut bytes = Vec::new();
        let read = std::fs::File::open(&real).and_then(|file| file.take(most + 1).read_to_end(&mut bytes));
        if let Err(error) = read {
            return Beside::Refused(format!("cannot be read: {error}"));
        }
        let Some(left) = self.bytes_left.get().checked_sub(bytes.len() as u64) else {
            return Beside::Refused(format!(
                "is too much: of all files together, {} MiB are read; copy them into an image instead",
                MOST_READ_BYTES / (1024 * 1024)
            ));
        };
        self.bytes_left.set(left);
        if bytes.len() as u64 > most {
            return Beside::Refused(format!("has more than {} KiB; copy it into an image instead", most / 1024));
        }
        match String::from_utf8(bytes) {
            Ok(text) => Beside::Text(text),
            Err(_) => Beside::Refused("is not UTF-8 text; copy it into an image instead".into()),
        }
    }

    /// Links below it are left out: they may lead anywhere, and in a circle.
    fn folder(&self, folder: &Path) -> Beside {
        let (mut files, mut bytes) = (Vec::new(), 0);
        let mut folders = vec![folder.to_owned()];
        while let Some(next) = folders.pop() {
            let mut entries: Vec<_> = std::fs::read_dir(&next).into_iter().flatten().flatten().collect();
            entries.sort_by_key(std::fs::DirEntry::file_name);
            let Some(left) = self.entries_left.get().checked_sub(entries.len() + 1) else {
                return Beside::Refused(format!(
                    "is too much: of all folders together, {MOST_LOOKED_AT} entries are looked at"
                ));
            };
            self.entries_left.set(left);
            for entry in entries {
                let (Ok(kind), path) = (entry.file_type(), entry.path()) else { continue };
                if kind.is_dir() {
                    if entry.file_name() != ".git" {
                        folders.push(path);
                    }
                    continue;
                }
                let is_placeholder = entry.file_name().to_str().is_some_and(|name| PLACEHOLDERS.contains(&name));
                if !kind.is_file() || is_placeholder {
                    continue;
                }
                let text = match self.text(&path, MOST_FILE_BYTES) {
                    Beside::Text(text) => text,
                    Beside::Refused(reason) => {
                        let name = path.strip_prefix(folder).unwrap_or(&path).display();
                        return Beside::Refused(format!("has the file {name}, which {reason}"));
                    }
                    Beside::Folder(_) | Beside::Missing => continue,
                };
                bytes += text.len() as u64;
                let Some(name) = path.strip_prefix(folder).ok().and_then(Path::to_str) else { continue };
                files.push((name.to_owned(), text));
                if files.len() > MOST_FILES || bytes > MOST_FOLDER_BYTES {
                    return Self::too_much();
                }
            }
        }
        Beside::Folder(files)
    }

    fn too_much() -> Beside {
        let kib = MOST_FOLDER_BYTES / 1024;
        Beside::Refused(format!("has more than {MOST_FILES} files or {kib} KiB; copy it into an image instead"))
    }
}

/// The same, with a word in the place of each value that is marked secret.
fn without_secrets(variables: &Variables) -> Variables {
    let mut variables = variables.clone();
    let Variables { environment, build, secret_names, .. } = &mut variables;
    for (_, value) in environment.iter_mut().chain(build.iter_mut()).filter(|(name, _)| secret_names.contains(name)) {
        SECRET.clone_into(value);
    }
    variables
}

/// In the words of the problem that is at the same place without secrets. Where there is none, a secret makes it.
fn without_secret(problem: Problem, masked: &[Problem]) -> Problem {
    let same = masked.iter().find(|other| (other.place, &other.path) == (problem.place, &problem.path));
    let message = same.map_or("cannot be used: the value of a secret variable does not fit here", |same| &same.message);
    Problem { message: message.to_owned(), ..problem }
}
