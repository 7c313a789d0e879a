//! Go: `go.mod`.

use crate::detect::{Candidate, Planned, Sign};
use crate::dockerfile::{Stage, Step};
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
    if is_inside_module(source) {
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

/// A folder of a module, which is built from its root.
fn is_inside_module(source: &Source) -> bool {
    !source.has_file(MODULE)
        && !source.has_file(WORKSPACE)
        && !source.folder().is_empty()
        && source.root().has_file(MODULE)
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
    if is_inside_module(source) && is_plain_path(source.folder()) {
        let wishes = Wishes { program: Some(source.folder().to_owned()), ..wishes.clone() };
        let planned = plan(&source.root(), &wishes)?;
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
    draft.port(PORT);
    draft.add_assets()?;
    let install = draft.install(has_no_vendor(source).then(|| "go mod download".to_owned()));
    let package = if program == "." { ".".to_owned() } else { format!("./{program}") };
    let build =
        draft.build(Some(format!("go build -trimpath -ldflags=\"-s -w\" -tags timetzdata -o {PROGRAM} {package}")));
    let stage = build_stage(&draft, &version, needs_c.is_some(), install, build);
    // Only a shell runs a command of the user; the program itself needs nothing but itself.
    if draft.has_own_start() || needs_c.is_some() || wishes.output.is_some() {
        let mut run = draft.run_stage(Base::Debian, "");
        add_program(&draft, &mut run);
        let start = draft.start(Some("/app/app".to_owned()), "")?;
        return Ok(Planned::plan(draft.serve(Some(stage), run, &start)));
    }
    let mut run = Stage::scratch("run");
    run.add(Step::Folder(APP.to_owned()));
    add_program(&draft, &mut run);
    let start = draft.start(Some("/app/app".to_owned()), "")?;
    Ok(Planned::plan(draft.serve_program(stage, run, vec![start])))
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
    version: &str,
    needs_c: bool,
    install: Option<String>,
    build: Option<String>,
) -> Stage {
    let mut stage = draft.build_stage(Base::Go, version);
    // A module that asks for a newer Go than there is an image of gets it by itself.
    stage.environment(&[("CGO_ENABLED", if needs_c { "1" } else { "0" }), ("GOTOOLCHAIN", "auto")]);
    if let Some(install) = install {
        let files: Vec<_> = [MODULE, "go.sum"].into_iter().filter(|name| draft.source.has_file(name)).collect();
        // Modules that lie in the repository must be there when the others are fetched.
        let module = draft.source.text(MODULE).ok().flatten().unwrap_or_default();
        let has_own = module.contains("=> ./") || module.contains("=> ../");
        if draft.wishes.install.is_none() && !has_own {
            stage.copy(&files, "./");
        } else {
            draft.copy_source(&mut stage);
        }
        stage.run(&CACHES[..1], install);
    }
    draft.copy_source(&mut stage);
    if let Some(build) = build {
        stage.run(&CACHES, build);
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
    for folder in DATA.into_iter().filter(|folder| draft.source.has_folder(folder)) {
        run.copy_from(BUILD, &format!("{APP}/{folder}"), &format!("./{folder}"));
    }
    run.copy_from(BUILD, PROGRAM, "./app");
}
