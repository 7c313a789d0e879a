//! Elixir: `mix.exs`. It is a program, of which only a few words are looked for.

use crate::detect::Sign;
use crate::draft::{APP, BUILD, Draft};
use crate::error::{Result, unsuitable};
use crate::images::Base;
use crate::kind::Kind;
use crate::manifest::tool_version;
use crate::plan::Plan;
use crate::source::Source;
use crate::text::is_identifier;
use crate::version::Lines;
use crate::wishes::Wishes;

const MANIFEST: &str = "mix.exs";
const LOCK: &str = "mix.lock";
const LINES: Lines =
    Lines { language: "Elixir", default: "1.18", all: &["1.19", "1.18", "1.17", "1.16", "1.15", "1.14"] };
const PORT: u16 = 4000;

pub fn find(source: &Source) -> Result<Option<Sign>> {
    let found = source.has_file(MANIFEST);
    Ok(found.then(|| Sign { file: MANIFEST, found: "it is a project of Elixir".to_owned(), is_sure: true }))
}

pub fn plan(source: &Source, wishes: &Wishes) -> Result<Plan> {
    let mut draft = Draft::new(Kind::Elixir, source, wishes)?;
    let manifest = source.text(MANIFEST)?.unwrap_or_default();
    let Some(name) = atom(&manifest, "app:") else {
        return unsuitable("mix.exs does not say the name of the application.");
    };
    let release = manifest
        .split_once("releases: [")
        .and_then(|(_, rest)| rest.trim_start().split_once(':'))
        .map(|(name, _)| name);
    let name = release.filter(|name| is_identifier(name)).unwrap_or(name);
    draft.plan.package_manager = Some("mix");
    draft.because(format!("the application is {name}"), MANIFEST);
    let is_phoenix = manifest.contains("{:phoenix,");
    draft.plan.framework = is_phoenix.then_some("Phoenix");
    let mut asked: Vec<(String, String)> = Vec::new();
    let tool = tool_version(source, &["elixir"])?;
    asked.extend(tool.map(|(file, version)| (file, version.split('-').next().unwrap_or_default().to_owned())));
    let written = manifest.split_once("elixir:").and_then(|(_, rest)| rest.split('"').nth(1));
    asked.extend(written.map(|version| (source.path(MANIFEST), version.to_owned())));
    let version = draft.version(&LINES, &asked);
    draft.port(PORT);
    let install = draft.install(Some("mix deps.get --only prod && mix deps.compile".to_owned()));
    let assets = if manifest.contains("assets.deploy") { "mix assets.deploy && " } else { "" };
    let build = draft.build(Some(format!("{assets}mix compile && mix release --overwrite")));
    let start = draft.start(Some(format!("/app/bin/{name} start")), "")?;
    let mut stage = draft.build_stage(Base::ElixirBuild, &version);
    stage.environment(&[("MIX_ENV", "prod")]);
    stage.run(&[], "mix local.hex --force && mix local.rebar --force");
    if wishes.install.is_some() {
        stage.copy(&["."], "./");
    } else {
        let files: Vec<_> = [MANIFEST, LOCK].into_iter().filter(|file| source.has_file(file)).collect();
        stage.copy(&files, "./");
        if source.has_folder("config") {
            stage.copy(&["config"], "./config/");
        }
    }
    if let Some(install) = install {
        stage.run_with_secrets(&[], install);
    }
    stage.copy(&["."], "./");
    if let Some(build) = build {
        stage.run_with_secrets(&[], build);
    }
    let mut run = draft.run_stage(Base::Elixir, &version);
    run.environment(&[("LANG", "C.UTF-8"), ("MIX_ENV", "prod"), ("RELEASE_TMP", "/tmp")]);
    if is_phoenix {
        run.environment(&[("PHX_SERVER", "true")]);
    }
    // The release writes its settings when it starts: below RELEASE_TMP, or else beside itself.
    run.own_folder(APP).copy_writable(BUILD, &format!("/app/_build/prod/rel/{name}"), "./");
    Ok(draft.serve(Some(stage), run, &start))
}

/// `app: :shop` is `shop`.
fn atom<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(key)?;
    let rest = rest.trim_start().strip_prefix(':')?;
    let end = rest.find(|character: char| !character.is_ascii_alphanumeric() && character != '_').unwrap_or(rest.len());
    Some(&rest[..end]).filter(|name| is_identifier(name))
}
