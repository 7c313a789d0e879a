//! npm, pnpm, yarn and bun: which of them, and their commands.

use crate::draft::Draft;
use crate::error::Result;
use crate::manifest::written_setting;
use crate::node::package::{NAME, Package};
use crate::source::Source;
use crate::text::shown;
use crate::version::is_version;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manager {
    Npm,
    Pnpm,
    Yarn,
    /// From version 2 on, which is another program.
    NewYarn,
    Bun,
}

/// Lock files, in the order in which they decide.
const LOCKS: [(&str, Manager); 6] = [
    ("pnpm-lock.yaml", Manager::Pnpm),
    ("bun.lock", Manager::Bun),
    ("bun.lockb", Manager::Bun),
    ("yarn.lock", Manager::Yarn),
    ("package-lock.json", Manager::Npm),
    ("npm-shrinkwrap.json", Manager::Npm),
];
const YARN_SETTINGS: &str = ".yarnrc.yml";

/// A package manager, as this application uses it.
#[derive(Debug)]
pub struct Chosen {
    pub manager: Manager,
    pub lock: Option<&'static str>,
    /// What must be in the image before it runs.
    pub setup: Option<String>,
    /// Files beside manifest and lock without which it does not install.
    pub settings: Vec<&'static str>,
    /// Would its packages be no plain files in `node_modules`?
    pub has_own_loader: bool,
    /// Can Yarn leave packages out by itself? It needed a plugin before version 4.
    can_focus: bool,
}

pub fn choose(draft: &mut Draft<'_>, source: &Source, package: &Package) -> Result<Chosen> {
    let locks: Vec<_> = LOCKS.iter().filter(|(lock, _)| source.has_file(lock)).collect();
    let asked = package.manager.as_deref().and_then(|asked| asked.split_once('@'));
    let asked = asked.map(|(name, version)| (name, version.split('+').next().unwrap_or_default()));
    let asked = asked.filter(|(_, version)| is_version(version));
    let mut manager = match (asked.map(|(name, _)| name), locks.first()) {
        (Some("pnpm"), _) => Manager::Pnpm,
        (Some("yarn"), _) => Manager::Yarn,
        (Some("bun"), _) => Manager::Bun,
        (Some("npm"), _) => Manager::Npm,
        (_, Some((_, manager))) => *manager,
        _ => Manager::Npm,
    };
    let lock = locks.iter().find(|(_, of)| *of == manager).map(|(lock, _)| *lock);
    tell(draft, source, package, &locks, manager, lock);
    let version = asked.map(|(_, version)| version.to_owned());
    let yarn = source.text(YARN_SETTINGS)?;
    let is_new = version.as_deref().is_some_and(|version| !version.starts_with("1.") && version != "1");
    if manager == Manager::Yarn && (is_new || yarn.is_some()) {
        manager = Manager::NewYarn;
    }
    let mut settings: Vec<_> = [".npmrc", "pnpm-workspace.yaml", YARN_SETTINGS, "bunfig.toml"].to_vec();
    settings.retain(|name| source.has_file(name));
    let is_linked =
        yarn.as_deref().and_then(|text| written_setting(text, "nodeLinker")).is_some_and(|kind| kind != "pnp");
    let has_program = yarn.as_deref().is_some_and(|text| text.contains("yarnPath:"));
    let major = version.as_deref().and_then(|version| version.split('.').next()?.parse::<u32>().ok());
    Ok(Chosen {
        manager,
        lock,
        can_focus: major.is_some_and(|major| major >= 4),
        setup: setup(
            manager,
            version,
            has_program,
            lock.map(|lock| source.glance(lock)).transpose()?.flatten().as_deref(),
        ),
        settings,
        has_own_loader: manager == Manager::NewYarn && !is_linked,
    })
}

/// Has a folder a lock file of its own?
pub fn has_lock(source: &Source) -> bool {
    LOCKS.iter().any(|(lock, _)| source.has_file(lock))
}

fn tell(
    draft: &mut Draft<'_>,
    source: &Source,
    package: &Package,
    locks: &[&(&str, Manager)],
    manager: Manager,
    lock: Option<&str>,
) {
    let name = manager.name();
    match (&package.manager, lock) {
        (Some(asked), _) => draft.because_at(source, &format!("packageManager is {}", shown(asked)), NAME),
        (None, Some(lock)) => draft.because_at(source, &format!("{name} has written it"), lock),
        (None, None) => draft.since(format!("there is no lock file, so {name} is used")),
    }
    if lock.is_none() {
        draft.warn(format!("There is no lock file of {name}: each build may get other versions of the dependencies."));
    }
    let others: Vec<_> = locks.iter().filter(|(_, of)| *of != manager).map(|(lock, _)| *lock).collect();
    if !others.is_empty() {
        draft.warn(format!("{name} is used; {} of other package managers can be removed.", others.join(", ")));
    }
}

/// The node image brings npm and the first yarn.
fn setup(manager: Manager, version: Option<String>, has_program: bool, lock: Option<&str>) -> Option<String> {
    match manager {
        Manager::Npm | Manager::Yarn | Manager::Bun => None,
        Manager::Pnpm => {
            let fitting = || pnpm_of(lock.unwrap_or_default()).to_owned();
            Some(format!("npm install -g pnpm@{}", version.unwrap_or_else(fitting)))
        }
        Manager::NewYarn if has_program => None,
        Manager::NewYarn => {
            let version = version.unwrap_or_else(|| "4".to_owned());
            Some(format!("npm install -g --force @yarnpkg/cli-dist@{version}"))
        }
    }
}

/// The newest that reads a lock file of this version.
fn pnpm_of(lock: &str) -> &'static str {
    let version = lock.lines().take(20).find_map(|line| line.strip_prefix("lockfileVersion:"));
    match version.map(|version| version.trim().trim_matches(['\'', '"'])) {
        Some(version) if version.starts_with("5.") => "7",
        Some(version) if version.starts_with("6.") => "8",
        _ => "10",
    }
}

impl Manager {
    pub fn name(self) -> &'static str {
        match self {
            Self::Npm => "npm",
            Self::Pnpm => "pnpm",
            Self::Yarn | Self::NewYarn => "yarn",
            Self::Bun => "bun",
        }
    }

    pub fn run(self, script: &str) -> String {
        format!("{} run {script}", self.name())
    }

    /// Where it keeps what it has downloaded.
    pub fn cache(self) -> &'static str {
        match self {
            Self::Npm => "/root/.npm",
            Self::Pnpm => "/root/.local/share/pnpm/store",
            Self::Yarn => "/usr/local/share/.cache/yarn",
            Self::NewYarn => "/root/.yarn/berry/cache",
            Self::Bun => "/root/.bun/install/cache",
        }
    }
}

impl Chosen {
    /// With what the build needs, also if a variable of the build says `NODE_ENV=production`. The newer yarn and bun do not ask for it.
    pub fn install(&self) -> String {
        match (self.manager, self.lock.is_some()) {
            (Manager::Npm, true) => "npm ci --include=dev",
            (Manager::Npm, false) => "npm install --include=dev",
            (Manager::Pnpm, true) => "pnpm install --frozen-lockfile --prod=false",
            (Manager::Pnpm, false) => "pnpm install --no-frozen-lockfile --prod=false",
            (Manager::Yarn, true) => "yarn install --frozen-lockfile --production=false",
            (Manager::Yarn, false) => "yarn install --production=false",
            (Manager::NewYarn, true) => "yarn install --immutable",
            (Manager::NewYarn, false) => "yarn install --no-immutable",
            (Manager::Bun, true) => "bun install --frozen-lockfile",
            (Manager::Bun, false) => "bun install",
        }
        .to_owned()
    }

    /// Leaves only what the application needs when it runs. Scripts have run before, and may need what is removed here.
    /// None where it could only be installed anew, without what those scripts have made, such as the client of Prisma.
    pub fn prune(&self, is_workspace: bool) -> Option<String> {
        let frozen = if self.lock.is_some() { " --frozen-lockfile" } else { "" };
        match self.manager {
            Manager::Npm => Some("npm prune --omit=dev --ignore-scripts".to_owned()),
            // It asks before it removes, unless it is told that nothing answers.
            Manager::Pnpm if !is_workspace => Some("CI=true pnpm prune --prod --ignore-scripts".to_owned()),
            Manager::Yarn => Some(format!("yarn install --production{frozen} --prefer-offline --ignore-scripts")),
            Manager::NewYarn if self.can_focus => Some("yarn workspaces focus --all --production".to_owned()),
            Manager::Pnpm | Manager::NewYarn | Manager::Bun => None,
        }
    }
}
