//! How a Python application starts: by its framework, or by a file with a usual name.

use crate::draft::Draft;
use crate::error::Result;
use crate::python::dependencies::Dependencies;
use crate::source::Source;
use crate::text::{is_identifier, is_plain_path, shown};

/// Where applications are usually made, with the name of the module.
const FILES: [(&str, &str); 16] = [
    ("main.py", "main"),
    ("app.py", "app"),
    ("wsgi.py", "wsgi"),
    ("asgi.py", "asgi"),
    ("server.py", "server"),
    ("application.py", "application"),
    ("api.py", "api"),
    ("run.py", "run"),
    ("app/main.py", "app.main"),
    ("app/app.py", "app.app"),
    ("app/__init__.py", "app"),
    ("src/main.py", "src.main"),
    ("src/app.py", "src.app"),
    ("src/app/main.py", "src.app.main"),
    ("api/main.py", "api.main"),
    ("backend/main.py", "backend.main"),
];
const MANAGE: &str = "manage.py";
/// With this file `src` is a package itself; without it, packages are looked for in it.
pub const IN_SRC: &str = "src/__init__.py";

pub struct Start {
    pub framework: Option<&'static str>,
    pub command: String,
    /// A server that is installed beside what the application asks for.
    pub server: Option<&'static str>,
    pub build: Option<String>,
    pub file: String,
    pub found: String,
}

pub fn find(source: &Source, dependencies: &Dependencies) -> Result<Option<Start>> {
    if let Some(start) = django(source, dependencies)? {
        return Ok(Some(start));
    }
    for (class, framework) in
        [("FastAPI", "FastAPI"), ("Starlette", "Starlette"), ("Litestar", "Litestar"), ("Flask", "Flask")]
    {
        if let Some(made) = made_by(source, class)? {
            return Ok(Some(served(dependencies, framework, &made)));
        }
    }
    let file = source.first_file(&["main.py", "app.py", "server.py", "run.py", "bot.py", "__main__.py"]);
    Ok(file.map(|file| Start {
        framework: None,
        command: format!("python {file}"),
        server: None,
        build: None,
        file: file.to_owned(),
        found: "it has a usual name for what starts".to_owned(),
    }))
}

struct Made {
    file: &'static str,
    /// `main:app`
    object: String,
    is_factory: bool,
}

/// `app = FastAPI(...)` at the beginning of a line, or a function `create_app`.
fn made_by(source: &Source, class: &str) -> Result<Option<Made>> {
    let call = format!("{class}(");
    for (file, module) in FILES {
        let Some(text) = source.glance(file)? else { continue };
        let module = if source.has_file(IN_SRC) { module } else { module.strip_prefix("src.").unwrap_or(module) };
        if !text.contains(&call) {
            continue;
        }
        let variable = text.lines().find_map(|line| {
            let (name, value) = line.split_once('=')?;
            let name = name.split(':').next().unwrap_or(name).trim_end();
            let value = value.trim();
            let is_made = value.starts_with(&call) || value.contains(&format!(".{call}"));
            (is_made && is_identifier(name) && !line.starts_with(char::is_whitespace)).then(|| name.to_owned())
        });
        if let Some(name) = variable {
            return Ok(Some(Made { file, object: format!("{module}:{name}"), is_factory: false }));
        }
        let factory = ["create_app", "make_app"].into_iter().find(|name| text.contains(&format!("\ndef {name}(")));
        if let Some(name) = factory {
            return Ok(Some(Made { file, object: format!("{module}:{name}"), is_factory: true }));
        }
    }
    Ok(None)
}

fn served(dependencies: &Dependencies, framework: &'static str, made: &Made) -> Start {
    let (server, command) = if framework == "Flask" {
        let object = if made.is_factory { format!("'{}()'", made.object) } else { made.object.clone() };
        ("gunicorn", format!("gunicorn --bind 0.0.0.0:$PORT {object}"))
    } else if dependencies.has("hypercorn") && !dependencies.has("uvicorn") {
        ("hypercorn", format!("hypercorn --bind 0.0.0.0:$PORT {}", made.object))
    } else {
        let factory = if made.is_factory { " --factory" } else { "" };
        ("uvicorn", format!("uvicorn {}{factory} --host 0.0.0.0 --port $PORT", made.object))
    };
    Start {
        framework: Some(framework),
        command,
        server: Some(server).filter(|server| !dependencies.has(server)),
        build: None,
        file: made.file.to_owned(),
        found: format!("{framework} is made there"),
    }
}

fn django(source: &Source, dependencies: &Dependencies) -> Result<Option<Start>> {
    let Some(manage) = source.glance(MANAGE)? else { return Ok(None) };
    let settings = manage.split_once("DJANGO_SETTINGS_MODULE").map(|(_, rest)| rest).unwrap_or_default();
    let settings = settings.split(['"', '\'']).find(|part| part.contains('.') && part.split('.').all(is_identifier));
    let Some(settings) = settings else { return Ok(None) };
    let module = settings.split(".settings").next().unwrap_or(settings).to_owned();
    let folder = module.replace('.', "/");
    if !is_plain_path(&folder) {
        return Ok(None);
    }
    let has_wsgi = source.has_file(&format!("{folder}/wsgi.py"));
    let has_asgi = source.has_file(&format!("{folder}/asgi.py"));
    let uses_uvicorn = has_asgi && dependencies.has("uvicorn") && !dependencies.has("gunicorn");
    let (server, command) = if uses_uvicorn || (has_asgi && !has_wsgi) {
        ("uvicorn", format!("uvicorn {module}.asgi:application --host 0.0.0.0 --port $PORT"))
    } else {
        ("gunicorn", format!("gunicorn --bind 0.0.0.0:$PORT {module}.wsgi:application"))
    };
    let collects = dependencies.has("whitenoise") && names_static_root(source, settings)?;
    Ok(Some(Start {
        framework: Some("Django"),
        command,
        server: Some(server).filter(|server| !dependencies.has(server)),
        build: collects.then(|| "python manage.py collectstatic --noinput".to_owned()),
        file: MANAGE.to_owned(),
        found: format!("the settings are {}", shown(settings)),
    }))
}

/// Without it, files cannot be collected.
fn names_static_root(source: &Source, settings: &str) -> Result<bool> {
    let path = settings.replace('.', "/");
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    for file in [format!("{path}.py"), format!("{path}/__init__.py"), format!("{folder}/base.py")] {
        if source.glance(&file)?.is_some_and(|text| text.contains("STATIC_ROOT")) {
            return Ok(true);
        }
    }
    Ok(false)
}

pub fn tell(draft: &mut Draft<'_>, start: &Start) {
    draft.plan.framework = start.framework;
    draft.because(&start.found, &start.file);
    if let Some(server) = start.server.filter(|_| !draft.has_own_start()) {
        draft.warn(format!(
            "{server} is not among the dependencies, and is installed in its newest version. Add it to them."
        ));
    }
}
