//! A setting as documents and commands see it: its name, its section, who takes it and what it can be.

/// One setting: `--<name>`, `WINDLASS_<NAME>`, and `<name>` in the file with underscores for hyphens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    pub name: &'static str,
    pub section: Section,
    /// Which commands take it as a flag. The environment and the file may hold it for all of them.
    pub commands: &'static [Subcommand],
    /// One sentence without its full stop.
    pub help: &'static str,
    pub kind: Kind,
    /// What stands for its value in a command's help.
    pub value_name: String,
    /// The values that it can have, where that is a range or a choice.
    pub allowed: String,
    pub default: String,
    /// What it is set to; masked where it is a secret. Several values are separated by commas.
    pub value: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Number,
    /// A number that bounds what callers can do or use up; the API's description lists these.
    Limit,
    Switch,
    Text,
    /// May be given several times; in the environment separated by commas, in the file as an array.
    List,
}

/// Sections of the guide, in its order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Section {
    Server,
    Containers,
    Accounts,
    Deployments,
    Logs,
    Requests,
    Visitors,
}

impl Section {
    pub const ALL: [Self; 7] =
        [Self::Server, Self::Containers, Self::Accounts, Self::Deployments, Self::Logs, Self::Requests, Self::Visitors];

    pub const fn title(self) -> &'static str {
        match self {
            Self::Server => "Windlass itself",
            Self::Containers => "Containers and their names",
            Self::Accounts => "Accounts and organizations",
            Self::Deployments => "Applications and deployments",
            Self::Logs => "Logs of applications",
            Self::Requests => "Requests to the API",
            Self::Visitors => "Visitors of applications",
        }
    }
}

/// The commands of the binary that take settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subcommand {
    Serve,
    Edge,
    Routes,
    Adopt,
    Ca,
    Stop,
    Admin,
    Audit,
}

impl Subcommand {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Serve => "serve",
            Self::Edge => "edge",
            Self::Routes => "routes",
            Self::Adopt => "adopt",
            Self::Ca => "ca",
            Self::Stop => "stop",
            Self::Admin => "admin",
            Self::Audit => "audit",
        }
    }
}

impl Setting {
    pub fn environment_name(&self) -> String {
        format!("WINDLASS_{}", self.name.replace('-', "_").to_uppercase())
    }

    pub fn file_name(&self) -> String {
        self.name.replace('-', "_")
    }

    /// The sentence about it, with the values that it can have.
    pub fn help_and_values(&self) -> String {
        match (self.kind, self.allowed.as_str()) {
            (Kind::Switch, _) | (_, "") => self.help.to_owned(),
            (_, allowed) => format!("{} ({allowed})", self.help),
        }
    }
}
