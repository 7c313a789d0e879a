//! Node: `package.json`.

mod framework;
mod manager;
mod package;
mod stages;
mod workspace;

use crate::around::{self, below};
use crate::command::mentions;
use crate::detect::Sign;
use crate::dockerfile::Stage;
use crate::draft::{ASSETS, Draft};
use crate::error::{Result, unsuitable};
use crate::kind::Kind;
use crate::manifest::{first_line, tool_version};
use crate::plan::Plan;
use crate::source::Source;
use crate::text::{is_plain_path, quoted, shown};
use crate::version::Lines;
use crate::wishes::Wishes;

use framework::{Found, Makes, WHOLE_APPLICATIONS};
use package::{NAME, Package};

const LINES: Lines = Lines { language: "Node", default: "22", all: &["24", "22", "20", "18", "16"] };
const PORT: u16 = 3000;
const MISSING: &str = "Add a script \"start\" to package.json.";

/// Programs that serve files for a developer, or files that the edge serves as well.
const FILE_SERVERS: [&str; 10] = [
    "vite",
    "serve",
    "http-server",
    "sirv",
    "react-scripts",
    "ng",
    "gatsby",
    "eleventy",
    "docusaurus",
    "vue-cli-service",
];
/// Programs that start again when a source changes.
const DEVELOPMENT: [&str; 6] = ["nodemon", "ts-node-dev", "webpack-dev-server", "expo", "parcel", "wrangler"];
const DEVELOPMENT_COMMANDS: [&str; 15] = [
    "next dev",
    "nuxt dev",
    "astro dev",
    "remix dev",
    "tsx watch",
    "node --watch",
    "nest start",
    "webpack serve",
    "craco start",
    "gatsby develop",
    "run dev",
    "run develop",
    "run start:dev",
    "yarn dev",
    "pnpm dev",
];

pub fn find(source: &Source) -> Result<Option<Sign>> {
    let Some(package) = package::read(source)? else { return Ok(None) };
    let start = start_script(&package);
    // What a framework complains about is said if Node is chosen.
    let framework = framework::find(source, &package).ok().flatten();
    let is_whole = framework.as_ref().is_some_and(|found| WHOLE_APPLICATIONS.contains(&found.name));
    let found = match (&framework, &start) {
        (Some(found), _) if is_whole => format!("it depends on {}", found.name),
        (_, Some(_)) => "it has a script \"start\"".to_owned(),
        (Some(found), None) => format!("it depends on {}", found.name),
        _ => "it is a manifest of Node".to_owned(),
    };
    let makes_files = framework.is_some_and(|found| matches!(found.makes, Makes::Files { .. }));
    let is_sure = is_whole || start.is_some() || (!makes_files && main_file(source, &package).is_some());
    Ok(Some(Sign { file: NAME, found, is_sure }))
}

/// The folders of a workspace's applications, if its root is none itself.
pub fn applications(source: &Source) -> Result<Vec<String>> {
    let Some(package) = package::read(source)? else { return Ok(Vec::new()) };
    let is_application = find(source)?.is_some_and(|sign| sign.is_sure) || framework::find(source, &package)?.is_some();
    if is_application || !workspace::has(source, &package) {
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    for folder in workspace::members(source, &package)? {
        let member = source.at(&folder)?;
        let Some(package) = package::read(&member)? else { continue };
        let is_application = start_script(&package).is_some()
            || framework::find(&member, &package)
                .ok()
                .flatten()
                .is_some_and(|found| WHOLE_APPLICATIONS.contains(&found.name) || package.script("build").is_some());
        if is_application {
            found.push(folder);
        }
    }
    Ok(found)
}

pub fn plan(source: &Source, wishes: &Wishes) -> Result<Plan> {
    let Some(package) = package::read(source)? else {
        return unsuitable("this is to be built as Node, and there is no package.json.");
    };
    let mut draft = Draft::new(Kind::Node, source, wishes)?;
    let workspace = workspace::around(source)?.filter(|_| !manager::has_lock(source));
    if let Some((root, _)) = &workspace {
        if !is_plain_path(source.folder()) {
            return unsuitable(
                "the folder is a part of a workspace, and its path is not plain: letters, digits and . _ - @ + only.",
            );
        }
        draft.because_at(root, "the folder is a part of this workspace, which is installed as a whole", NAME);
        draft.send_from(root)?;
    }
    if workspace.is_none() {
        around::send_named(&mut draft, NAME, &package.local())?;
    }
    let (root, root_package) = workspace.as_ref().map_or((source, &package), |(root, package)| (root, package));
    let chosen = manager::choose(&mut draft, root, root_package)?;
    draft.plan.package_manager = Some(chosen.manager.name());
    let version = if chosen.manager == manager::Manager::Bun {
        draft.version(&BUN, &[])
    } else {
        let asked = asked_version(source, &package)?;
        draft.version(&LINES, &asked)
    };
    let found = framework::find(source, &package)?;
    if let Some(found) = &found {
        tell_framework(&mut draft, found);
    }
    let cache = found.as_ref().and_then(|found| found.cache.clone());
    let app = stages::App {
        folder: workspace.as_ref().map_or("", |(root, _)| below(root.folder(), source.folder())),
        root,
        package: &package,
        runs_at_install: package.runs_at_install() || root_package.runs_at_install(),
        is_workspace: workspace.is_some() || workspace::has(source, &package),
        chosen: &chosen,
        version: &version,
        cache: cache.as_deref(),
    };
    let build = draft.build(build_command(&package, found.as_ref(), &app));
    let install = draft.install(Some(chosen.install()));
    match makes(&mut draft, source, &package, found) {
        Makes::Files { folder, single_page } => {
            let folder = wishes.output.clone().unwrap_or(folder);
            let output = if app.folder.is_empty() { folder } else { format!("{}/{folder}", app.folder) };
            let stage = app.build_stage(&draft, install, build);
            draft.plan.stages.push(stage);
            Ok(draft.files(output, single_page))
        }
        Makes::Server { start } => {
            let start = draft.start(start, MISSING)?;
            set_port(&mut draft, &start);
            let needs_development = needs_development(&mut draft, &package, &start);
            let stage = app.build_stage(&draft, install, build);
            let (stage, run) = app.server_stages(&draft, stage, &start, needs_development);
            Ok(draft.serve(Some(stage), run, &start))
        }
        Makes::Whole { folders, entry } => {
            let entry = if app.folder.is_empty() { entry.to_owned() } else { format!("{}/{entry}", app.folder) };
            let start = draft.start(Some(format!("node {entry}")), MISSING)?;
            set_port(&mut draft, &start);
            let stage = app.build_stage(&draft, install, build);
            let run = app.whole_stage(&draft, &folders);
            Ok(draft.serve(Some(stage), run, &start))
        }
    }
}

const BUN: Lines = Lines { language: "Bun", default: "1", all: &["1"] };

/// Scripts and styles for a backend: a stage that leaves the repository with them.
pub fn assets(draft: &mut Draft<'_>) -> Result<Option<Stage>> {
    let source = draft.source;
    let Some(package) = package::read(source)? else { return Ok(None) };
    if package.script("build").is_none() {
        draft.because("it has no script \"build\", and is left out", NAME);
        return Ok(None);
    }
    draft.because("its script \"build\" makes scripts and styles", NAME);
    let chosen = manager::choose(draft, source, &package)?;
    let asked = asked_version(source, &package)?;
    let version = asked.first().and_then(|(_, asked)| LINES.fitting(asked)).unwrap_or(LINES.default);
    let app = stages::App {
        folder: "",
        root: source,
        package: &package,
        runs_at_install: package.runs_at_install(),
        is_workspace: workspace::has(source, &package),
        chosen: &chosen,
        version,
        cache: None,
    };
    let build = chosen.manager.run("build");
    let mut stage = app.build_stage(draft, Some(chosen.install()), Some(build));
    stage.name = ASSETS;
    stage.run(&[], "rm -rf node_modules");
    Ok(Some(stage))
}

fn tell_framework(draft: &mut Draft<'_>, found: &Found) {
    draft.plan.framework = Some(found.name);
    draft.because(format!("it depends on {}", found.name), NAME);
    if let Some((file, text)) = &found.reason {
        draft.because(text, file);
    }
}

fn asked_version(source: &Source, package: &Package) -> Result<Vec<(String, String)>> {
    let mut asked = Vec::new();
    for file in [".nvmrc", ".node-version"] {
        asked.extend(first_line(source, file)?);
    }
    asked.extend(tool_version(source, &["nodejs", "node"])?);
    asked.extend(package.engine.clone().map(|engine| (source.path(NAME), engine)));
    Ok(asked)
}

fn build_command(package: &Package, found: Option<&Found>, app: &stages::App<'_>) -> Option<String> {
    let manager = app.chosen.manager;
    if package.script("build").is_none() {
        let build = found.and_then(|found| found.build).map(str::to_owned);
        return build.map(|build| app.in_folder(&build));
    }
    let name = package.name.as_deref();
    if app.folder.is_empty() {
        return Some(manager.run("build"));
    }
    // Packages that this one depends on are built before it, by those that can.
    match name {
        Some(name) if app.root.has_file("turbo.json") => Some(format!("turbo run build --filter={}", quoted(name))),
        Some(name) if manager == manager::Manager::Pnpm => Some(format!("pnpm --filter {}... run build", quoted(name))),
        _ => Some(app.in_folder(&manager.run("build"))),
    }
}

/// How the result is served: the framework says it, and a script `start` of the application's own can say otherwise.
fn makes(draft: &mut Draft<'_>, source: &Source, package: &Package, found: Option<Found>) -> Makes {
    let script = start_script(package);
    let has_own_start = draft.has_own_start();
    if script.is_none() && package.script("start").is_some() && !has_own_start {
        draft.because("the script \"start\" is for development, and is not used", NAME);
    }
    match found.map(|found| found.makes) {
        Some(Makes::Files { .. }) if has_own_start => Makes::Server { start: None },
        Some(Makes::Files { .. }) if script.as_deref().is_some_and(|script| !mentions(script, &FILE_SERVERS)) => {
            draft.because("the script \"start\" is how it starts", NAME);
            Makes::Server { start: script }
        }
        Some(Makes::Server { start: default }) => {
            if script.is_some() && !has_own_start {
                draft.because("the script \"start\" is how it starts", NAME);
            }
            Makes::Server { start: script.or(default).or_else(|| main_file(source, package)) }
        }
        Some(whole_or_files) => whole_or_files,
        None => {
            if script.is_some() && !has_own_start {
                draft.because("the script \"start\" is how it starts", NAME);
            }
            Makes::Server { start: script.or_else(|| main_file(source, package)) }
        }
    }
}

/// The text of the script, which runs without a package manager between it and signals.
fn start_script(package: &Package) -> Option<String> {
    let names: &[&str] =
        if package.depends_on("@nestjs/core") { &["start:prod", "start"] } else { &["start", "start:prod"] };
    let (name, script) = names.iter().find_map(|name| {
        let script = package.script(name).filter(|script| is_for_production(script))?;
        Some((*name, script))
    })?;
    // The package manager would set these variables.
    if script.contains("npm_package_") || script.contains("npm_config_") {
        return Some(format!("npm run {name}"));
    }
    match package.script(&format!("pre{name}")) {
        Some(before) => Some(format!("{before} && {script}")),
        None => Some(script.to_owned()),
    }
}

fn is_for_production(script: &str) -> bool {
    let starts_vite = script.split_whitespace().next() == Some("vite");
    !mentions(script, &DEVELOPMENT)
        && !DEVELOPMENT_COMMANDS.iter().any(|command| script.contains(command))
        && !starts_vite
        && !script.contains("react-scripts start")
        && !script.contains("ng serve")
}

fn main_file(source: &Source, package: &Package) -> Option<String> {
    let main = package.main.as_deref().map(|main| main.trim_start_matches("./")).filter(|main| is_plain_path(main));
    // What a build makes is not there yet.
    if let Some(main) =
        main.filter(|main| main.starts_with("dist/") || main.starts_with("build/") || source.has_file(main))
    {
        return Some(format!("node {main}"));
    }
    let file = source.first_file(&[
        "server.js",
        "index.js",
        "app.js",
        "main.js",
        "server.mjs",
        "index.mjs",
        "src/index.js",
        "src/server.js",
    ]);
    file.map(|file| format!("node {file}"))
}

/// A port that is written into the start command beats the usual one.
fn set_port(draft: &mut Draft<'_>, start: &str) {
    let words: Vec<&str> = start.split_whitespace().collect();
    let pair = words.windows(2).find(|pair| matches!(pair[0], "-p" | "--port")).map(|pair| pair[1]);
    let written = pair
        .or_else(|| words.iter().find_map(|word| word.strip_prefix("--port=").or_else(|| word.strip_prefix("PORT="))));
    let written = written.and_then(|port| port.parse::<u16>().ok()).filter(|port| *port > 0);
    if let Some(port) = written {
        draft.since(format!("the start command says port {port}"));
    }
    draft.port(written.unwrap_or(PORT));
}

/// Does the start command run a program of a dependency that is only for development?
fn needs_development(draft: &mut Draft<'_>, package: &Package, start: &str) -> bool {
    let is_run = |name: &&String| {
        let program = name.rsplit('/').next().unwrap_or(name);
        let program = if *name == "typescript" {
            "tsc"
        } else if *name == "dotenv-cli" {
            "dotenv"
        } else {
            program
        };
        mentions(start, &[program]) && !name.starts_with("@types/")
    };
    let Some(name) = package.development.keys().find(is_run) else { return false };
    draft.warn(format!(
        "The start command runs {}, which is one of devDependencies: they all stay in the image. Move it to dependencies.",
        shown(name)
    ));
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::with_exec;

    #[test]
    fn scripts_for_development_are_known() {
        for script in ["vite", "next dev", "nodemon index.js", "react-scripts start", "ng serve", "nest start --watch"]
        {
            assert!(!is_for_production(script), "{script}");
        }
        for script in ["next start", "node dist/main", "serve -s build", "cross-env NODE_ENV=production node ."] {
            assert!(is_for_production(script), "{script}");
            assert!(with_exec(script).starts_with("exec "));
        }
    }
}
