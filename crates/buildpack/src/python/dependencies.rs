//! What a Python application depends on, and the tool that installs it.

use std::collections::BTreeSet;

use crate::around::{below, matches};
use crate::error::Result;
use crate::manifest::{at, toml};
use crate::source::Source;

pub const REQUIREMENTS: &str = "requirements.txt";
pub const PROJECT: &str = "pyproject.toml";
pub const PIPFILE: &str = "Pipfile";
const UV_LOCK: &str = "uv.lock";
/// Of paths, and of patterns of a workspace.
const MOST_LOCAL: usize = 200;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tool {
    Uv,
    Poetry,
    Pipenv,
    Pip,
    /// `pip install .`
    Project,
    /// Nothing is installed.
    None,
}

pub struct Dependencies {
    pub tool: Tool,
    /// The file that decided about the tool.
    pub file: Option<&'static str>,
    pub has_lock: bool,
    /// Files and folders of the repository that are installed, as they are written.
    pub local: Vec<String>,
    /// The root of the workspace that the folder is a part of.
    pub workspace: Option<Source>,
    /// In lower case, with `-` for `_` and `.`
    pub names: BTreeSet<String>,
    /// Is something fetched by git?
    pub needs_git: bool,
    /// Is the application a package that is installed itself?
    pub is_package: bool,
    pub asked_version: Option<(&'static str, String)>,
}

impl Dependencies {
    pub fn has(&self, name: &str) -> bool {
        self.names.contains(name)
    }
}

pub fn read(source: &Source) -> Result<Dependencies> {
    let project = toml(source, PROJECT)?.unwrap_or_default();
    let pipfile = toml(source, PIPFILE)?;
    let requirements = source.text(REQUIREMENTS)?;
    let has_project = at(&project, &["project"]).is_some();
    let is_poetry = at(&project, &["tool", "poetry"]).is_some();
    let builds_by_poetry = at(&project, &["build-system", "build-backend"])
        .is_some_and(|backend| backend.as_str().is_some_and(|backend| backend.starts_with("poetry")));
    let workspace = workspace_around(source);
    let (tool, file) = if source.has_file(UV_LOCK) {
        (Tool::Uv, Some(UV_LOCK))
    } else if workspace.is_some() {
        (Tool::Uv, Some(PROJECT))
    } else if source.has_file("poetry.lock") {
        (Tool::Poetry, Some("poetry.lock"))
    } else if is_poetry || (builds_by_poetry && requirements.is_none()) {
        (Tool::Poetry, Some(PROJECT))
    } else if source.has_file("Pipfile.lock") || (pipfile.is_some() && requirements.is_none()) {
        (Tool::Pipenv, Some(if source.has_file("Pipfile.lock") { "Pipfile.lock" } else { PIPFILE }))
    } else if requirements.is_some() {
        (Tool::Pip, Some(REQUIREMENTS))
    } else if has_project && at(&project, &["tool", "uv"]).is_some() {
        (Tool::Uv, Some(PROJECT))
    } else if has_project || source.has_file("setup.py") {
        (Tool::Project, Some(if has_project { PROJECT } else { "setup.py" }))
    } else {
        (Tool::None, None)
    };
    let mut names = BTreeSet::new();
    let listed = at(&project, &["project", "dependencies"]).and_then(toml::Value::as_array);
    let listed = listed.into_iter().flatten().filter_map(toml::Value::as_str);
    names.extend(listed.clone().filter_map(name));
    let tables =
        [at(&project, &["tool", "poetry", "dependencies"]), pipfile.as_ref().and_then(|file| file.get("packages"))];
    for table in tables.into_iter().flatten().filter_map(toml::Value::as_table) {
        names.extend(table.keys().filter_map(|key| name(key)));
        // `fastapi = { extras = ["standard"] }` brings it along.
        if table
            .get("fastapi")
            .and_then(|value| value.get("extras")?.as_array())
            .is_some_and(|extras| extras.iter().any(|extra| matches!(extra.as_str(), Some("standard" | "all"))))
        {
            names.insert("uvicorn".to_owned());
        }
    }
    let lines = requirements.as_deref().unwrap_or_default().lines();
    names.extend(lines.clone().filter_map(name));
    let all: Vec<&str> = lines.chain(listed).collect();
    if all.iter().any(|line| line.starts_with("fastapi[") && (line.contains("standard") || line.contains("all"))) {
        names.insert("uvicorn".to_owned());
    }
    Ok(Dependencies {
        tool,
        file,
        has_lock: matches!(file, Some(UV_LOCK | "poetry.lock" | "Pipfile.lock"))
            || workspace.as_ref().is_some_and(|root| root.has_file(UV_LOCK)),
        local: local(tool, &project, pipfile.as_ref(), requirements.as_deref().unwrap_or_default()),
        workspace,
        names,
        needs_git: all.iter().any(|line| line.contains("git+")),
        is_package: at(&project, &["build-system"]).is_some(),
        asked_version: asked_version(&project, pipfile.as_ref()),
    })
}

/// The nearest workspace of uv around a folder that is a part of it.
fn workspace_around(source: &Source) -> Option<Source> {
    if !source.has_file(PROJECT) || source.has_file(UV_LOCK) {
        return None;
    }
    for root in source.around() {
        // What is wrong with the manifest of another application is not said about this one.
        let Ok(Some(project)) = toml(&root, PROJECT) else { continue };
        let lists = |key| at(&project, &["tool", "uv", "workspace", key]).and_then(toml::Value::as_array);
        let folder = below(root.folder(), source.folder());
        let names = |key| {
            let patterns = lists(key).into_iter().flatten().filter_map(toml::Value::as_str);
            patterns.take(MOST_LOCAL).any(|pattern| matches(pattern, folder))
        };
        if names("members") && !names("exclude") {
            return Some(root);
        }
    }
    None
}

/// What is installed of the repository itself: by a `path`, as a part of a workspace, or by a line of a list.
fn local(tool: Tool, project: &toml::Table, pipfile: Option<&toml::Table>, requirements: &str) -> Vec<String> {
    let tables: Vec<_> = match tool {
        Tool::Uv => vec![at(project, &["tool", "uv", "sources"])],
        Tool::Poetry => {
            let groups = at(project, &["tool", "poetry", "group"]).and_then(toml::Value::as_table);
            let groups = groups.into_iter().flat_map(|groups| groups.values());
            let groups = groups.map(|group| group.get("dependencies"));
            groups.chain([at(project, &["tool", "poetry", "dependencies"])]).collect()
        }
        Tool::Pipenv => vec![pipfile.and_then(|file| file.get("packages"))],
        Tool::Pip => return requirements.lines().filter_map(local_requirement).take(MOST_LOCAL).collect(),
        Tool::Project | Tool::None => Vec::new(),
    };
    let tables = tables.into_iter().flatten().filter_map(toml::Value::as_table);
    // `lib = { path = "../lib" }`, or a list of such tables with conditions.
    let sources = tables.flat_map(toml::Table::values).flat_map(|source| match source {
        toml::Value::Array(several) => several.iter().collect(),
        one => vec![one],
    });
    let of_source = |source: &toml::Value| {
        let is_part = source.get("workspace").and_then(toml::Value::as_bool) == Some(true);
        let path = source.get("path").or_else(|| source.get("file")).and_then(toml::Value::as_str);
        path.or(is_part.then_some(".")).map(str::to_owned)
    };
    let mut local: Vec<String> = sources.filter_map(of_source).take(MOST_LOCAL).collect();
    if tool == Tool::Uv && at(project, &["tool", "uv", "workspace"]).is_some() {
        local.push(".".to_owned());
    }
    let direct = at(project, &["project", "dependencies"]).and_then(toml::Value::as_array);
    let direct = direct.into_iter().flatten().filter_map(toml::Value::as_str);
    local.extend(direct.filter_map(direct_path).take(MOST_LOCAL));
    local
}

/// Of `lib @ file:../lib`; what is not relative to the folder counts as the folder itself.
fn direct_path(requirement: &str) -> Option<String> {
    let (_, path) = requirement.split_once("file:")?;
    let path = path.split([';', '#', ' ']).next().unwrap_or(path);
    Some(if path.starts_with('/') { ".".to_owned() } else { path.to_owned() })
}

/// `-e ../lib`, `-r more.txt` and `./lib`. Other addresses have nothing to do with the repository, but a file that names them may.
fn local_requirement(line: &str) -> Option<String> {
    const OPTIONS: [&str; 6] = ["--requirement", "--constraint", "--editable", "-r", "-c", "-e"];
    let line = line.trim();
    if let Some(rest) = OPTIONS.iter().find_map(|option| line.strip_prefix(option)) {
        let path = rest.trim_start_matches([' ', '=', '\t']);
        let is_address = path.contains("://");
        return direct_path(path).or_else(|| Some(if is_address { "." } else { path }.to_owned()));
    }
    let is_path = line.starts_with('.');
    direct_path(line).filter(|_| !line.starts_with('#')).or_else(|| is_path.then(|| line.to_owned()))
}

fn asked_version(project: &toml::Table, pipfile: Option<&toml::Table>) -> Option<(&'static str, String)> {
    let text = |value: Option<&toml::Value>| value.and_then(toml::Value::as_str).map(str::to_owned);
    let of_project = text(at(project, &["project", "requires-python"]));
    let of_poetry = text(at(project, &["tool", "poetry", "dependencies", "python"]));
    let of_pipfile = pipfile.and_then(|file| text(at(file, &["requires", "python_version"])));
    of_project.or(of_poetry).map(|version| (PROJECT, version)).or(of_pipfile.map(|version| (PIPFILE, version)))
}

/// `Flask[async]>=3 ; python_version > "3"` is `flask`. Options, comments and addresses have none.
fn name(line: &str) -> Option<String> {
    let line = line.trim();
    let name: String =
        line.chars().take_while(|character| character.is_ascii_alphanumeric() || "-_.".contains(*character)).collect();
    let is_name = !name.is_empty() && !line.starts_with(['-', '.']) && !line[name.len()..].starts_with([':', '/', '+']);
    is_name.then(|| name.to_ascii_lowercase().replace(['_', '.'], "-"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_requirements() {
        assert_eq!(name("Flask[async]>=3 ; python_version > \"3\"").as_deref(), Some("flask"));
        assert_eq!(name("  psycopg2_binary==2.9").as_deref(), Some("psycopg2-binary"));
        for line in ["# flask", "-r other.txt", "./local", "git+https://x", "https://x/y.whl", ""] {
            assert_eq!(name(line), None, "{line}");
        }
    }
}
