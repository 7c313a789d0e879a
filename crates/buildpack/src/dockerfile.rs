//! Stages, and the text of a Dockerfile.
//!
//! Commands are arguments of `/bin/sh -c` in JSON: on one line, whatever they are. All other words come from this crate, or were checked to be
//! plain. Nothing here is newer than version 1.2 of the format, which Docker 20.10 understands without a `# syntax` line.

use crate::images::{Base, BaseImages};
use crate::variables::BuildVariables;

/// Who runs the application.
pub const USER: &str = "10001:10001";

#[derive(Clone, Debug)]
pub struct Stage {
    pub name: &'static str,
    pub from: From,
    pub steps: Vec<Step>,
}

#[derive(Clone, Debug)]
pub enum From {
    Base(Base, String),
    Scratch,
}

#[derive(Clone, Debug)]
pub enum Step {
    /// Here the variables of the build are declared.
    Variables,
    /// What commands of the build find in their environment, unless a variable of the build of the same name says otherwise.
    Defaults(Vec<(&'static str, &'static str)>),
    Folder(String),
    Environment(Vec<(&'static str, String)>),
    Copy(Copy),
    Run {
        caches: Vec<String>,
        has_secrets: bool,
        command: String,
    },
    User,
    Port(u16),
    /// A command for the shell, which should have `exec`.
    Start(String),
    /// A program with its arguments, for images without a shell.
    StartProgram(Vec<String>),
}

#[derive(Clone, Debug, Default)]
pub struct Copy {
    /// A stage, or an image; nothing for the context.
    pub from: Option<Origin>,
    /// Will it belong to the application's user, which may then change it?
    pub is_writable: bool,
    pub sources: Vec<String>,
    pub to: String,
}

#[derive(Clone, Debug)]
pub enum Origin {
    Stage(&'static str),
    Image(Base),
}

impl Stage {
    pub fn new(name: &'static str, base: Base, version: &str) -> Self {
        Self { name, from: From::Base(base, version.to_owned()), steps: Vec::new() }
    }

    pub fn scratch(name: &'static str) -> Self {
        Self { name, from: From::Scratch, steps: Vec::new() }
    }

    pub fn add(&mut self, step: Step) -> &mut Self {
        self.steps.push(step);
        self
    }

    pub fn environment(&mut self, variables: &[(&'static str, &str)]) -> &mut Self {
        let variables = variables.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
        self.add(Step::Environment(variables))
    }

    pub fn defaults(&mut self, variables: &[(&'static str, &'static str)]) -> &mut Self {
        self.add(Step::Defaults(variables.to_vec()))
    }

    pub fn run(&mut self, caches: &[&str], command: impl Into<String>) -> &mut Self {
        let caches = caches.iter().map(|path| (*path).to_owned()).collect();
        self.add(Step::Run { caches, has_secrets: false, command: command.into() })
    }

    /// A command that installs or builds: a registry may ask it for a token.
    pub fn run_with_secrets(&mut self, caches: &[&str], command: impl Into<String>) -> &mut Self {
        let caches = caches.iter().map(|path| (*path).to_owned()).collect();
        self.add(Step::Run { caches, has_secrets: true, command: command.into() })
    }

    /// Packages of Debian, without the lists that apt leaves behind.
    pub fn packages(&mut self, packages: &[&str]) -> &mut Self {
        if packages.is_empty() {
            return self;
        }
        let packages = packages.join(" ");
        self.run(
            &[],
            format!(
                "apt-get update && apt-get install -y --no-install-recommends {packages} && rm -rf /var/lib/apt/lists/*"
            ),
        )
    }

    /// From here on nothing is done as root, and what is done is done in a folder of the application's user. The engine makes it for
    /// whom `USER` names by then.
    pub fn own_folder(&mut self, path: &str) -> &mut Self {
        self.add(Step::User).add(Step::Folder(path.to_owned()))
    }

    /// From the context.
    pub fn copy(&mut self, sources: &[impl AsRef<str>], to: &str) -> &mut Self {
        let sources = sources.iter().map(|source| source.as_ref().to_owned()).collect();
        self.add(Step::Copy(Copy { sources, to: to.to_owned(), ..Copy::default() }))
    }

    pub fn copy_from(&mut self, stage: &'static str, source: &str, to: &str) -> &mut Self {
        let from = Some(Origin::Stage(stage));
        self.add(Step::Copy(Copy { from, sources: vec![source.to_owned()], to: to.to_owned(), is_writable: false }))
    }

    /// What the application may change. The engine gives it to its user while it copies: a `chown` after that would store all files once more.
    pub fn copy_writable(&mut self, stage: &'static str, source: &str, to: &str) -> &mut Self {
        let from = Some(Origin::Stage(stage));
        self.add(Step::Copy(Copy { from, sources: vec![source.to_owned()], to: to.to_owned(), is_writable: true }))
    }
}

pub fn write(stages: &[Stage], images: &BaseImages, variables: BuildVariables<'_>) -> String {
    let mut lines = Vec::new();
    for (index, stage) in stages.iter().enumerate() {
        let is_last = index + 1 == stages.len();
        let image = match &stage.from {
            From::Base(base, version) => images.image(*base, version),
            From::Scratch => "scratch".to_owned(),
        };
        if index > 0 {
            lines.push(String::new());
        }
        lines.push(if is_last { format!("FROM {image}") } else { format!("FROM {image} AS {}", stage.name) });
        lines.extend(stage.steps.iter().flat_map(|step| instructions(step, images, variables)));
    }
    lines.join("\n") + "\n"
}

fn instructions(step: &Step, images: &BaseImages, variables: BuildVariables<'_>) -> Vec<String> {
    let one = match step {
        Step::Variables => return variables.arguments().map(|name| format!("ARG {name}")).collect(),
        Step::Defaults(defaults) => {
            return defaults.iter().map(|(name, value)| format!("ARG {name}={value}")).collect();
        }
        Step::Folder(path) => format!("WORKDIR {path}"),
        Step::Environment(variables) => {
            let pairs: Vec<_> = variables.iter().map(|(name, value)| format!("{name}={value}")).collect();
            format!("ENV {}", pairs.join(" "))
        }
        Step::Copy(copy) => {
            let from = match &copy.from {
                Some(Origin::Stage(stage)) => format!("--from={stage} "),
                Some(Origin::Image(base)) => format!("--from={} ", images.image(*base, "")),
                None => String::new(),
            };
            let owner = if copy.is_writable { format!("--chown={USER} ") } else { String::new() };
            let paths: Vec<_> = copy.sources.iter().chain([&copy.to]).map(String::as_str).collect();
            format!("COPY {owner}{from}{}", json(&paths))
        }
        Step::Run { caches, has_secrets, command } => {
            // One build at a time writes to a cache: not every package manager expects another.
            let mount = |path: &String| format!("--mount=type=cache,target={path},sharing=locked ");
            let mounts: String = caches.iter().map(mount).collect();
            let variables = if *has_secrets { variables } else { BuildVariables::default() };
            let (secrets, command) = variables.given(command);
            format!("RUN {mounts}{secrets}{}", json(&["/bin/sh", "-c", &command]))
        }
        Step::User => format!("USER {USER}"),
        Step::Port(port) => format!("EXPOSE {port}"),
        Step::Start(command) => format!("CMD {}", json(&["/bin/sh", "-c", command])),
        Step::StartProgram(words) => {
            format!("CMD {}", json(&words.iter().map(String::as_str).collect::<Vec<_>>()))
        }
    };
    vec![one]
}

/// On one line. `<<` would begin a here-document for newer versions of the format.
fn json(words: &[&str]) -> String {
    // Texts can always be written as JSON.
    serde_json::to_string(words).unwrap_or_default().replace("<<", "\\u003c\\u003c")
}

impl Stage {
    /// What it begins with, and what it copies from.
    pub fn images(&self, images: &BaseImages) -> Vec<String> {
        let mut all = Vec::new();
        if let From::Base(base, version) = &self.from {
            all.push(images.image(*base, version));
        }
        for step in &self.steps {
            if let Step::Copy(Copy { from: Some(Origin::Image(base)), .. }) = step {
                all.push(images.image(*base, ""));
            }
        }
        all
    }
}
