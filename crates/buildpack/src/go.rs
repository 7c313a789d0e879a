//! Go: `go.mod`.

use crate::around::{self, below, matches};
use crate::detect::{Candidate, Planned, Sign};
use crate::dockerfile::Stage;
use crate::draft::{APP, BUILD, Draft};
use crate::error::{Result, unsuitable};
use crate::images::Base;
use crate::kind::Kind;
use crate::plan::Reason;
use crate::source::Source;
use crate::text::is_plain_path;
use crate::version::Lines;
use crate::wishes::Wishes;

const MODULE: &str = "go.mod";
const WORKSPACE: &str = "go.work";
const COMMANDS: &str = "cmd";
/// Go builds modules that ask for an older version as that version would.
const LINES: Lines = Lines { language: "Go", default: "1.24", all: &["1.26", "1.25", "1.24"] };
const PORT: u16 = 8080;
const PROGRAM: &str = "/out/app";
const CACHES: [&str; 2] = ["/go/pkg/mod", "/root/.cache/go-build"];
/// Of sources of one folder that are looked at.
const MOST_SOURCES: usize = 50;
/// What programs often read at run time, from where they start.
const DATA: [&str; 9] = ["assets", "config", "configs", "i18n", "migrations", "public", "static", "templates", "views"];
/// Packages that are C inside.
const COMPILED: [&str; 3] =
    ["github.com/mattn/go-sqlite3", "github.com/confluentinc/confluent-kafka-go", "gocv.io/x/gocv"];

pub fn find(source: &Source) -> Result<Option<Sign>> {
    if module_around(source).is_some() {
        let is_program = is_program(source, "")?;
        return Ok(is_program.then(|| Sign {
            file: "",
            found: "it is a program of a module of Go".to_owned(),
            is_sure: true,
        }));
    }
    let Some(file) = source.first_file(&[MODULE, WORKSPACE]) else { return Ok(None) };
    let is_sure = !programs(source)?.is_empty();
    Ok(Some(Sign { file, found: "it is a module of Go".to_owned(), is_sure }))
}

/// What says that a file is run by hand, and not a part of its package.
const IGNORED: [&str; 2] = ["//go:build ignore", "// +build ignore"];

/// The module that a folder without one is a part of. It is built from there.
fn module_around(source: &Source) -> Option<Source> {
    if source.first_file(&[MODULE, WORKSPACE]).is_some() {
        return None;
    }
    source.around().find(|root| root.has_file(MODULE))
}

/// Packages that are programs, `.` for the root. One in the root is what the module is about.
fn programs(source: &Source) -> Result<Vec<String>> {
    if is_program(source, "")? {
        return Ok(vec![".".to_owned()]);
    }
    let mut found = Vec::new();
    for name in source.folders(COMMANDS)? {
        let folder = format!("{COMMANDS}/{name}");
        if is_program(source, &folder)? {
            found.push(folder);
        }
    }
    if found.is_empty() && is_program(source, COMMANDS)? {
        found.push(COMMANDS.to_owned());
    }
    Ok(found)
}

fn is_program(source: &Source, folder: &str) -> Result<bool> {
    let names = source.files_ending(folder, ".go")?;
    for name in names.iter().filter(|name| !name.ends_with("_test.go")).take(MOST_SOURCES) {
        let path = if folder.is_empty() { name.clone() } else { format!("{folder}/{name}") };
        let text = source.glance(&path)?.unwrap_or_default();
        if IGNORED.iter().any(|mark| text.contains(mark)) {
            continue;
        }
        if text.lines().any(|line| line.trim_end() == "package main") {
            return Ok(true);
        }
    }
    Ok(false)
}

pub fn plan(source: &Source, wishes: &Wishes) -> Result<Planned> {
    if let Some(module) = module_around(source).filter(|_| is_plain_path(source.folder())) {
        let program = below(module.folder(), source.folder()).to_owned();
        let planned = plan(&module, &Wishes { program: Some(program), ..wishes.clone() })?;
        return Ok(planned.with_base_path(source.folder()));
    }
    let programs = programs(source)?;
    let program = match (&wishes.program, programs.as_slice()) {
        (Some(wished), _) => wished.clone(),
        (None, [program]) => program.clone(),
        (None, []) if wishes.build.is_some() => ".".to_owned(),
        (None, []) => {
            return unsuitable(
                "the module of Go has no program in its root or in cmd. Set program, or base_path, to the folder of the program.",
            );
        }
        (None, several) => {
            return Ok(Planned::Choice(several.iter().map(|program| candidate(source, program)).collect()));
        }
    };
    let mut draft = Draft::new(Kind::Go, source, wishes)?;
    draft.plan.package_manager = Some("go");
    draft.because("it is a module of Go", source.first_file(&[MODULE]).unwrap_or(WORKSPACE));
    draft.since(format!("the program is {program}"));
    let module = source.text(MODULE)?.unwrap_or_default();
    let version = version(&mut draft, &module);
    let needs_c = COMPILED.iter().find(|package| module.contains(*package));
    if let Some(package) = needs_c {
        draft.because(format!("{package} is compiled with C"), MODULE);
    }
    let has_workspace = send_needed(&mut draft, &module)?;
    draft.port(PORT);
    draft.add_assets()?;
    let install = draft.install(has_no_vendor(source).then(|| "go mod download".to_owned()));
    let package = if program == "." { ".".to_owned() } else { format!("./{program}") };
    let build =
        draft.build(Some(format!("go build -trimpath -ldflags=\"-s -w\" -tags timetzdata -o {PROGRAM} {package}")));
    let mut stage = draft.build_stage(Base::Go, &version);
    if draft.sends_repository() && !has_workspace {
        // One that does not name this module may lie around it.
        stage.environment(&[("GOWORK", "off")]);
    }
    let stage = build_stage(&draft, stage, needs_c.is_some(), install, build);
    // Only a shell runs a command of the user; the program itself needs nothing but itself.
    if draft.has_own_start() || needs_c.is_some() || wishes.output.is_some() {
        let mut run = draft.run_stage(Base::Debian, "");
        add_program(&draft, &mut run);
        let start = draft.start(Some("/app/app".to_owned()), "")?;
        return Ok(Planned::plan(draft.serve(Some(stage), run, &start)));
    }
    let mut run = Stage::scratch("run");
    add_program(&draft, &mut run);
    let start = draft.start(Some("/app/app".to_owned()), "")?;
    Ok(Planned::plan(draft.serve_program(stage, run, vec![start])))
}

/// Modules beside this one: of a workspace, or by paths of its own. Is a workspace around it, and in force?
fn send_needed(draft: &mut Draft<'_>, module: &str) -> Result<bool> {
    let source = draft.source;
    if let Some(text) = source.text(WORKSPACE)? {
        around::send_named(draft, WORKSPACE, &used(&text))?;
        return Ok(true);
    }
    // The nearest one counts, and it must name all modules that are built below it.
    let found = source.around().find(|root| root.has_file(WORKSPACE));
    if let Some(root) = found.filter(|_| source.has_file(MODULE)) {
        let text = root.text(WORKSPACE)?.unwrap_or_default();
        if used(&text).iter().any(|folder| matches(folder, below(root.folder(), source.folder()))) {
            let found = "the folder is a part of this workspace, so the whole repository is sent";
            draft.because_at(&root, found, WORKSPACE);
            draft.send_repository()?;
            return Ok(true);
        }
    }
    around::send_named(draft, MODULE, &replaced(module))?;
    Ok(false)
}

/// The folders that `use` names, alone or in brackets.
fn used(workspace: &str) -> Vec<String> {
    let mut folders = Vec::new();
    let mut is_listed = false;
    for line in workspace.lines() {
        let line = line.split("//").next().unwrap_or(line).trim();
        let alone = line.strip_prefix("use").filter(|rest| rest.starts_with([' ', '\t', '('])).map(str::trim);
        match alone {
            Some("(") => is_listed = true,
            Some(folder) => folders.push(folder),
            None if line == ")" => is_listed = false,
            None if is_listed && !line.is_empty() => folders.push(line),
            None => {}
        }
    }
    folders.into_iter().take(MOST_SOURCES).map(|folder| folder.trim_matches('"').to_owned()).collect()
}

/// `replace example.org/lib => ../lib`
fn replaced(module: &str) -> Vec<String> {
    let paths = module.lines().filter_map(|line| line.split_once("=>")?.1.split_whitespace().next());
    paths.filter(|path| path.starts_with('.')).take(MOST_SOURCES).map(str::to_owned).collect()
}

fn candidate(source: &Source, program: &str) -> Candidate {
    let found = format!("{program} is a program");
    Candidate {
        kind: Kind::Go,
        base_path: source.folder().to_owned(),
        program: Some(program.to_owned()),
        reasons: vec![Reason { found, file: Some(source.path(program)) }],
    }
}

fn version(draft: &mut Draft<'_>, module: &str) -> String {
    let line = |word: &str| {
        let line = module.lines().find_map(|line| line.trim().strip_prefix(word)?.strip_prefix(' '));
        line.map(|version| version.trim().trim_start_matches("go").to_owned())
    };
    let asked = line("toolchain").or_else(|| line("go"));
    // The version is the least that will do.
    let least = |version: String| {
        let least = format!(">={version}");
        if LINES.fitting(&least) == Some(LINES.default) { least } else { version }
    };
    let asked = asked.map(|version| (draft.source.path(MODULE), least(version)));
    draft.version(&LINES, &asked.into_iter().collect::<Vec<_>>())
}

fn has_no_vendor(source: &Source) -> bool {
    source.has_file(MODULE) && !source.has_file(WORKSPACE) && !source.has_file("vendor/modules.txt")
}

fn build_stage(
    draft: &Draft<'_>,
    mut stage: Stage,
    needs_c: bool,
    install: Option<String>,
    build: Option<String>,
) -> Stage {
    // A module that asks for a newer Go than there is an image of gets it by itself.
    stage.environment(&[("CGO_ENABLED", if needs_c { "1" } else { "0" }), ("GOTOOLCHAIN", "auto")]);
    let mut needs_source = false;
    if let Some(install) = install {
        let files: Vec<_> = [MODULE, "go.sum"].into_iter().filter(|name| draft.source.has_file(name)).collect();
        // Modules that lie in the repository must be there when the others are fetched.
        let module = draft.source.text(MODULE).ok().flatten().unwrap_or_default();
        needs_source = draft.wishes.install.is_some() || draft.sends_repository() || !replaced(&module).is_empty();
        if needs_source {
            draft.copy_source(&mut stage);
        } else {
            stage.copy(&files, "./");
        }
        stage.run_with_secrets(&CACHES[..1], install);
    }
    if !needs_source {
        draft.copy_source(&mut stage);
    }
    if let Some(build) = build {
        stage.run_with_secrets(&CACHES, build);
    }
    stage.run(&[], "mkdir -p /out/tmp");
    stage
}

fn add_program(draft: &Draft<'_>, run: &mut Stage) {
    let is_scratch = matches!(run.from, crate::dockerfile::From::Scratch);
    run.copy_from(BUILD, "/etc/ssl/certs/ca-certificates.crt", "/etc/ssl/certs/");
    if is_scratch {
        run.copy_writable(BUILD, "/out/tmp", "/tmp");
    }
    run.own_folder(APP);
    for folder in DATA.into_iter().filter(|folder| draft.source.has_folder(folder)) {
        run.copy_writable(BUILD, &format!("{}/{folder}", draft.folder()), &format!("./{folder}"));
    }
    run.copy_from(BUILD, PROGRAM, "./app");
}
