//! Deno: `deno.json`.

use serde_json::Value;

use crate::command::checked;
use crate::detect::Sign;
use crate::draft::{BUILD, Draft};
use crate::error::Result;
use crate::images::Base;
use crate::kind::Kind;
use crate::manifest::{first_line, json_with_comments, tool_version};
use crate::plan::Plan;
use crate::source::Source;
use crate::version::{Lines, is_version};
use crate::wishes::Wishes;

const MANIFESTS: [&str; 2] = ["deno.json", "deno.jsonc"];
const ENTRIES: [&str; 8] =
    ["main.ts", "server.ts", "mod.ts", "index.ts", "app.ts", "main.tsx", "main.js", "src/main.ts"];
/// Its images have whole versions only.
const LINES: Lines = Lines { language: "Deno", default: "2.5.2", all: &["2.5.2", "1.46.3"] };
const PORT: u16 = 8000;
const CACHE: &str = "/deno-dir";
const MISSING: &str = "Add a task \"start\" to deno.json, or main.ts.";

pub fn find(source: &Source) -> Result<Option<Sign>> {
    let Some(file) = source.first_file(&[MANIFESTS[0], MANIFESTS[1], "deno.lock"]) else { return Ok(None) };
    let (_, manifest) = read(source)?;
    let is_sure = task(&manifest, "start").is_some() || source.first_file(&ENTRIES).is_some();
    Ok(Some(Sign { file, found: "it is a manifest of Deno".to_owned(), is_sure }))
}

fn read(source: &Source) -> Result<(&'static str, Value)> {
    let file = source.first_file(&MANIFESTS).unwrap_or(MANIFESTS[0]);
    Ok((file, json_with_comments(source, file)?.unwrap_or_default()))
}

/// A task is a text, or has one.
fn task<'a>(manifest: &'a Value, name: &str) -> Option<&'a str> {
    let task = &manifest["tasks"][name];
    task.as_str().or_else(|| task["command"].as_str()).filter(|task| !task.is_empty())
}

pub fn plan(source: &Source, wishes: &Wishes) -> Result<Plan> {
    let mut draft = Draft::new(Kind::Deno, source, wishes)?;
    let (file, manifest) = read(source)?;
    draft.plan.package_manager = Some("deno");
    if source.has_file(file) {
        draft.because("it is a manifest of Deno", file);
    }
    let mut asked: Vec<(String, String)> = Vec::new();
    asked.extend(first_line(source, ".dvmrc")?);
    asked.extend(tool_version(source, &["deno"])?);
    // An image has each version, so a whole one is taken as it is.
    let whole = asked.first().filter(|(_, asked)| is_version(asked) && asked.split('.').count() == 3).cloned();
    let version = match whole.filter(|_| wishes.version.is_none()) {
        Some((file, version)) => {
            draft.plan.version = Some(crate::version::Version { text: version.clone(), from: Some(file) });
            version
        }
        None => draft.version(&LINES, &asked),
    };
    draft.plan.framework = manifest["imports"]
        .as_object()
        .is_some_and(|imports| imports.keys().any(|name| name.contains("fresh")))
        .then_some("Fresh");
    draft.port(PORT);
    let entry = source.first_file(&ENTRIES);
    if let Some(entry) = entry {
        draft.because("it has a usual name for what starts", entry);
    }
    let install = match (entry, source.has_file("deno.lock")) {
        (Some(entry), true) => format!("deno cache --frozen {entry}"),
        (Some(entry), false) => format!("deno cache {entry}"),
        (None, _) => "deno install".to_owned(),
    };
    let install = draft.install(Some(install));
    let build = draft.build(task(&manifest, "build").map(|_| "deno task build".to_owned()));
    let start = match task(&manifest, "start") {
        Some(task) if !task.contains("--watch") => {
            draft.because("the task \"start\" is how it starts", file);
            checked(task, &source.path(file))?;
            Some("deno task start".to_owned())
        }
        _ => entry.map(|entry| format!("deno run --allow-net --allow-env --allow-read {entry}")),
    };
    let start = draft.start(start, MISSING)?;
    let mut stage = draft.build_stage(Base::Deno, &version);
    stage.environment(&[("DENO_DIR", CACHE)]);
    stage.copy(&["."], "./");
    for command in [install, build].into_iter().flatten() {
        stage.run_with_secrets(&[], command);
    }
    let mut run = draft.run_stage(Base::Deno, &version);
    run.environment(&[("DENO_DIR", CACHE), ("DENO_NO_UPDATE_CHECK", "1")]);
    run.copy_writable(BUILD, CACHE, CACHE);
    draft.copy_built(&mut run);
    Ok(draft.serve(Some(stage), run, &start))
}
