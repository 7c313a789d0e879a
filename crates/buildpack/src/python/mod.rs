//! Python: `requirements.txt`, `pyproject.toml`, `Pipfile`.

mod dependencies;
mod start;

use crate::around;
use crate::detect::Sign;
use crate::dockerfile::Stage;
use crate::draft::{BUILD, Draft};
use crate::error::Result;
use crate::images::Base;
use crate::kind::Kind;
use crate::manifest::{first_line, tool_version};
use crate::plan::Plan;
use crate::source::Source;
use crate::version::Lines;
use crate::wishes::Wishes;

use dependencies::{Dependencies, PIPFILE, PROJECT, REQUIREMENTS, Tool};

const LINES: Lines =
    Lines { language: "Python", default: "3.13", all: &["3.14", "3.13", "3.12", "3.11", "3.10", "3.9"] };
const PORT: u16 = 8000;
const VENV: &str = "/opt/venv";
const CACHE: &str = "/root/.cache";
const MISSING: &str = "Add main.py, or an application of Django, Flask or FastAPI in a file with a usual name.";

/// Packages that are compiled, with what they are linked to. Most others come ready for use.
const COMPILED: [(&str, Option<&str>); 5] = [
    ("psycopg2", Some("libpq5")),
    ("psycopg", Some("libpq5")),
    ("mysqlclient", Some("libmariadb3")),
    ("uwsgi", None),
    ("pycairo", Some("libcairo2")),
];

pub fn find(source: &Source) -> Result<Option<Sign>> {
    let Some(file) =
        source.first_file(&[REQUIREMENTS, PIPFILE, "uv.lock", "poetry.lock", PROJECT, "setup.py", "manage.py"])
    else {
        return Ok(None);
    };
    let dependencies = dependencies::read(source)?;
    // A pyproject.toml with nothing but settings of tools is no application.
    if dependencies.tool == Tool::None && file == PROJECT {
        return Ok(None);
    }
    let is_sure = start::find(source, &dependencies)?.is_some();
    let found = if is_sure { "it is beside a file that starts" } else { "it is a manifest of Python" };
    Ok(Some(Sign { file, found: found.to_owned(), is_sure }))
}

pub fn plan(source: &Source, wishes: &Wishes) -> Result<Plan> {
    let mut draft = Draft::new(Kind::Python, source, wishes)?;
    let dependencies = dependencies::read(source)?;
    tell_tool(&mut draft, &dependencies);
    let version = version(&mut draft, &dependencies)?;
    let found = start::find(source, &dependencies)?;
    if let Some(found) = &found {
        start::tell(&mut draft, found);
    }
    send_needed(&mut draft, &dependencies)?;
    draft.port(PORT);
    draft.add_assets()?;
    let install = draft.install(install_command(&dependencies));
    let build = draft.build(found.as_ref().and_then(|found| found.build.clone()));
    let server = found.as_ref().and_then(|found| found.server).filter(|_| !draft.has_own_start());
    let needs_path =
        found.as_ref().is_some_and(|found| found.file.starts_with("src/") && !source.has_file(start::IN_SRC));
    let start = draft.start(found.map(|found| found.command), MISSING)?;
    let compiled: Vec<_> = COMPILED.iter().filter(|(name, _)| dependencies.has(name)).collect();
    let needs_compiler = dependencies.needs_git || !compiled.is_empty();
    let stage = build_stage(&draft, &dependencies, &version, needs_compiler, install, server, build);
    let mut run = draft.run_stage(Base::Python, &version);
    let libraries: Vec<&str> = compiled.iter().filter_map(|(_, library)| *library).collect();
    run.packages(&libraries);
    run.environment(&[("PATH", "/opt/venv/bin:$PATH"), ("PYTHONUNBUFFERED", "1"), ("PYTHONDONTWRITEBYTECODE", "1")]);
    if needs_path {
        run.environment(&[("PYTHONPATH", &format!("{}/src", draft.folder()))]);
    }
    run.copy_from(BUILD, VENV, VENV);
    draft.copy_built(&mut run);
    Ok(draft.serve(Some(stage), run, &start))
}

fn tell_tool(draft: &mut Draft<'_>, dependencies: &Dependencies) {
    draft.plan.package_manager = dependencies.tool.name();
    if let (Some(file), Some(name)) = (dependencies.file, dependencies.tool.name()) {
        draft.because(format!("{name} installs what it names"), file);
    }
    if dependencies.tool != Tool::Pip && dependencies.tool != Tool::None && !dependencies.has_lock {
        draft.warn("There is no lock file: each build may get other versions of the dependencies.");
    }
}

/// What lies around the folder and is installed with it.
fn send_needed(draft: &mut Draft<'_>, dependencies: &Dependencies) -> Result<()> {
    if let Some(root) = &dependencies.workspace {
        draft.because_at(root, "the folder is a part of this workspace, so the whole repository is sent", PROJECT);
        return draft.send_repository();
    }
    let file = match dependencies.tool {
        Tool::Pip => REQUIREMENTS,
        Tool::Pipenv => PIPFILE,
        Tool::Uv | Tool::Poetry | Tool::Project | Tool::None => PROJECT,
    };
    around::send_named(draft, file, &dependencies.local)
}

fn version(draft: &mut Draft<'_>, dependencies: &Dependencies) -> Result<String> {
    let source = draft.source;
    let mut asked = Vec::new();
    asked.extend(first_line(source, ".python-version")?);
    let runtime = first_line(source, "runtime.txt")?;
    asked.extend(runtime.map(|(file, line)| (file, line.trim_start_matches("python-").to_owned())));
    asked.extend(tool_version(source, &["python"])?);
    asked.extend(dependencies.asked_version.clone().map(|(file, version)| (source.path(file), version)));
    Ok(draft.version(&LINES, &asked))
}

impl Tool {
    fn name(self) -> Option<&'static str> {
        Some(match self {
            Self::Uv => "uv",
            Self::Poetry => "poetry",
            Self::Pipenv => "pipenv",
            Self::Pip | Self::Project => "pip",
            Self::None => return None,
        })
    }

    /// A program that installs; pip itself is in the image.
    fn installer(self) -> Option<&'static str> {
        self.name().filter(|name| *name != "pip")
    }
}

fn install_command(dependencies: &Dependencies) -> Option<String> {
    let frozen = if dependencies.has_lock { " --frozen" } else { "" };
    Some(match dependencies.tool {
        Tool::Uv => format!("uv sync{frozen} --no-dev --no-install-project"),
        Tool::Poetry => "poetry install --only main --no-root --no-interaction".to_owned(),
        Tool::Pipenv if dependencies.has_lock => {
            "pipenv requirements > /tmp/requirements.txt && pip install -r /tmp/requirements.txt".to_owned()
        }
        Tool::Pipenv => {
            "pipenv lock && pipenv requirements > /tmp/requirements.txt && pip install -r /tmp/requirements.txt"
                .to_owned()
        }
        Tool::Pip => "pip install -r requirements.txt".to_owned(),
        Tool::Project => "pip install .".to_owned(),
        Tool::None => return None,
    })
}

/// Installs the application itself, where it is a package.
fn install_itself(dependencies: &Dependencies) -> Option<&'static str> {
    match dependencies.tool {
        Tool::Uv if dependencies.is_package && dependencies.has_lock => Some("uv sync --frozen --no-dev"),
        Tool::Uv if dependencies.is_package => Some("uv sync --no-dev"),
        _ => None,
    }
}

fn build_stage(
    draft: &Draft<'_>,
    dependencies: &Dependencies,
    version: &str,
    needs_compiler: bool,
    install: Option<String>,
    server: Option<&str>,
    build: Option<String>,
) -> Stage {
    let base = if needs_compiler { Base::PythonBuild } else { Base::Python };
    let mut stage = draft.build_stage(base, version);
    stage.environment(&[("PIP_DISABLE_PIP_VERSION_CHECK", "1"), ("PIP_ROOT_USER_ACTION", "ignore")]);
    if let Some(installer) = dependencies.tool.installer() {
        stage.run_with_secrets(&[CACHE], format!("pip install {installer}"));
    }
    // uv makes its own.
    if dependencies.tool != Tool::Uv {
        stage.run(&[], format!("python -m venv {VENV}"));
    }
    stage.environment(&[("VIRTUAL_ENV", VENV), ("PATH", "/opt/venv/bin:$PATH")]);
    if dependencies.tool == Tool::Uv {
        stage.environment(&[
            ("UV_PROJECT_ENVIRONMENT", VENV),
            ("UV_LINK_MODE", "copy"),
            ("UV_PYTHON_DOWNLOADS", "never"),
        ]);
    }
    let manifests = manifests(draft, dependencies);
    let needs_source = manifests.is_empty() || draft.wishes.install.is_some();
    if needs_source {
        draft.copy_source(&mut stage);
    } else {
        stage.copy(&manifests, "./");
    }
    if let Some(install) = install {
        stage.run_with_secrets(&[CACHE], install);
    }
    if !needs_source {
        draft.copy_source(&mut stage);
    }
    if let Some(command) = install_itself(dependencies).filter(|_| draft.wishes.install.is_none()) {
        stage.run_with_secrets(&[CACHE], command);
    }
    if let Some(server) = server {
        let pip = if dependencies.tool == Tool::Uv { "uv pip" } else { "pip" };
        stage.run_with_secrets(&[CACHE], format!("{pip} install {server}"));
    }
    if let Some(build) = build {
        stage.run_with_secrets(&[], build);
    }
    if dependencies.tool != Tool::Uv {
        // The image has its own pip.
        stage.run(&[], format!("rm -rf {VENV}/lib/python*/site-packages/pip {VENV}/lib/python*/site-packages/pip-*"));
    }
    stage
}

/// Files that alone decide what is installed; none if the sources are needed for it.
fn manifests(draft: &Draft<'_>, dependencies: &Dependencies) -> Vec<&'static str> {
    if draft.sends_repository() || !dependencies.local.is_empty() {
        return Vec::new();
    }
    let names: &[&str] = match dependencies.tool {
        Tool::Uv => &[PROJECT, "uv.lock"],
        Tool::Poetry => &[PROJECT, "poetry.lock", "poetry.toml"],
        Tool::Pipenv => &[PIPFILE, "Pipfile.lock"],
        Tool::Pip => &[REQUIREMENTS],
        Tool::Project | Tool::None => &[],
    };
    names.iter().copied().filter(|name| draft.source.has_file(name)).collect()
}
