//! Rust: `Cargo.toml`.

use std::collections::BTreeSet;
use std::path::Path;

use crate::around::{self, below};
use crate::detect::{Candidate, Planned, Sign};
use crate::draft::{APP, BUILD, Draft};
use crate::error::{Result, unsuitable};
use crate::images::Base;
use crate::kind::Kind;
use crate::manifest::{at, first_line, text_at, toml, tool_version};
use crate::plan::Reason;
use crate::source::Source;
use crate::text::{is_plain_path, shown};
use crate::version::Lines;
use crate::wishes::Wishes;

const MANIFEST: &str = "Cargo.toml";
const LOCK: &str = "Cargo.lock";
/// `1` is the newest stable release; it builds what asks for an older one.
const LINES: Lines = Lines { language: "Rust", default: "1", all: &["1"] };
/// For those that name one release.
#[rustfmt::skip]
const PINNED: Lines = Lines {
    language: "Rust",
    default: "1.95",
    all: &[
        "1.95", "1.94", "1.93", "1.92", "1.91", "1.90", "1.89", "1.88", "1.87", "1.86", "1.85", "1.84", "1.83", "1.82", "1.81",
        "1.80", "1.79", "1.78", "1.77", "1.76", "1.75", "1.74", "1.73", "1.72", "1.71", "1.70",
    ],
};
const PORT: u16 = 8080;
const CACHES: [&str; 2] = ["/usr/local/cargo/registry", "/app/target"];
const MOST_MEMBERS: usize = 100;
/// Of one package. Who has more must say which one is meant anyway.
const MOST_PROGRAMS: usize = 50;
/// The folder `target` is kept, for all applications of an organization, and Cargo goes by times: what was checked out before another application's
/// build would count as built. Dependencies lie elsewhere, and stay built.
const MAKE_NEW: &str = "find /app -path /app/target -prune -o -type f -exec touch {} +";

/// A program, its package, and the folder of the package; empty for the root.
struct Program {
    name: String,
    package: String,
    folder: String,
}

pub fn find(source: &Source) -> Result<Option<Sign>> {
    if toml(source, MANIFEST)?.is_none() {
        return Ok(None);
    }
    let is_sure = !programs(source)?.is_empty();
    Ok(Some(Sign { file: MANIFEST, found: "it is a manifest of Cargo".to_owned(), is_sure }))
}

fn programs(source: &Source) -> Result<Vec<Program>> {
    let manifest = toml(source, MANIFEST)?.unwrap_or_default();
    let mut found = of_package(source, "", &manifest)?;
    // The root's package is what the repository is about.
    if !found.is_empty() {
        return Ok(found);
    }
    let members = at(&manifest, &["workspace", "members"]).and_then(toml::Value::as_array);
    let mut all = BTreeSet::new();
    for member in members.into_iter().flatten().filter_map(toml::Value::as_str).take(MOST_MEMBERS) {
        all.extend(folders(source, member)?);
    }
    for folder in all.into_iter().take(MOST_MEMBERS) {
        let package = source.at(&folder).ok().map(|member| toml(&member, MANIFEST)).transpose()?.flatten();
        found.extend(of_package(source, &folder, &package.unwrap_or_default())?);
    }
    Ok(found)
}

fn folders(source: &Source, pattern: &str) -> Result<Vec<String>> {
    let pattern = pattern.trim_end_matches('/');
    let Some(folder) = pattern.strip_suffix("/*") else {
        return Ok(Some(pattern.to_owned()).filter(|folder| is_plain_path(folder)).into_iter().collect());
    };
    if !is_plain_path(folder) {
        return Ok(Vec::new());
    }
    Ok(source.folders(folder)?.into_iter().take(MOST_MEMBERS).map(|name| format!("{folder}/{name}")).collect())
}

/// Those that are named, those in `src/bin`, and the one of `src/main.rs`.
fn of_package(source: &Source, folder: &str, manifest: &toml::Table) -> Result<Vec<Program>> {
    let Some(package) = text_at(manifest, &["package", "name"]).filter(|name| is_plain_path(name)) else {
        return Ok(Vec::new());
    };
    let inside = |path: &str| if folder.is_empty() { path.to_owned() } else { format!("{folder}/{path}") };
    let named = manifest.get("bin").and_then(toml::Value::as_array).into_iter().flatten();
    let mut names: Vec<String> = named.clone().filter_map(|bin| bin.get("name")?.as_str()).map(str::to_owned).collect();
    let has_main_named = named.clone().any(|bin| bin.get("path").and_then(toml::Value::as_str) == Some("src/main.rs"));
    if source.has_file(&inside("src/main.rs")) && !has_main_named {
        names.push(package.to_owned());
    }
    for file in source.files_ending(&inside("src/bin"), ".rs")? {
        names.extend(file.strip_suffix(".rs").map(str::to_owned));
    }
    if let Some(chosen) = text_at(manifest, &["package", "default-run"]) {
        names = vec![chosen.to_owned()];
    }
    names.retain(|name| is_plain_path(name) && !name.contains('/'));
    names.sort_unstable();
    names.dedup();
    names.truncate(MOST_PROGRAMS);
    let program = |name| Program { name, package: package.to_owned(), folder: folder.to_owned() };
    Ok(names.into_iter().map(program).collect())
}

/// The workspace that a package is a part of. It is built from there.
fn workspace_around(source: &Source) -> Result<Option<Source>> {
    if !is_plain_path(source.folder()) || source.has_file(LOCK) || workspace(source)?.is_some() {
        return Ok(None);
    }
    for root in source.around() {
        let Some(workspace) = workspace(&root)? else { continue };
        let folder = below(root.folder(), source.folder());
        let excluded = workspace.get("exclude").and_then(toml::Value::as_array);
        let mut excluded = excluded.into_iter().flatten().filter_map(toml::Value::as_str);
        let is_excluded = excluded.any(|excluded| Path::new(folder).starts_with(excluded));
        return Ok(Some(root).filter(|_| !is_excluded));
    }
    Ok(None)
}

fn workspace(source: &Source) -> Result<Option<toml::Table>> {
    let manifest = toml(source, MANIFEST)?;
    Ok(manifest.and_then(|manifest| at(&manifest, &["workspace"])?.as_table().cloned()))
}

/// What the manifest names by paths: parts of the workspace, and dependencies.
fn named(manifest: &toml::Table) -> Vec<String> {
    let members = at(manifest, &["workspace", "members"]).and_then(toml::Value::as_array);
    let members = members.into_iter().flatten().filter_map(toml::Value::as_str);
    let lists: [&[&str]; 4] =
        [&["dependencies"], &["build-dependencies"], &["dev-dependencies"], &["workspace", "dependencies"]];
    let lists = lists.into_iter().filter_map(|path| at(manifest, path)?.as_table());
    let paths = lists.flat_map(toml::Table::values).filter_map(|one| one.get("path")?.as_str());
    members.chain(paths).take(MOST_MEMBERS).map(str::to_owned).collect()
}

pub fn plan(source: &Source, wishes: &Wishes) -> Result<Planned> {
    let manifest = toml(source, MANIFEST)?.unwrap_or_default();
    let planned = match workspace_around(source)? {
        Some(root) => {
            let folder = below(root.folder(), source.folder());
            plan_one(of_package(&root, folder, &manifest)?, &root, wishes, &[])?
        }
        None => plan_one(programs(source)?, source, wishes, &named(&manifest))?,
    };
    Ok(planned.with_base_path(source.folder()))
}

fn plan_one(mut programs: Vec<Program>, source: &Source, wishes: &Wishes, named: &[String]) -> Result<Planned> {
    if let Some(wished) = &wishes.program {
        programs.retain(|program| program.name == *wished);
    }
    if programs.len() > 1 {
        return Ok(Planned::Choice(programs.iter().map(|program| candidate(source, program)).collect()));
    }
    let Some(program) = programs.pop() else {
        return match &wishes.program {
            Some(wished) => unsuitable(format!("there is no program {wished} of Cargo.")),
            None => unsuitable("Cargo.toml has no program: there is no src/main.rs, and no [[bin]]."),
        };
    };
    let mut draft = Draft::new(Kind::Rust, source, wishes)?;
    draft.plan.package_manager = Some("cargo");
    draft.because(format!("the program is {}", program.name), MANIFEST);
    around::send_named(&mut draft, MANIFEST, named)?;
    let version = version(&mut draft)?;
    draft.port(PORT);
    draft.add_assets()?;
    let lock = source.glance(LOCK)?;
    if lock.is_none() {
        draft.warn("There is no Cargo.lock: each build may get other versions of the dependencies.");
    }
    let uses = |name: &str| lock.as_deref().is_some_and(|lock| lock.contains(&format!("name = \"{name}\"")));
    let needs_ssl = uses("openssl-sys") && !uses("openssl-src");
    if needs_ssl {
        draft.because("openssl-sys is linked with OpenSSL", LOCK);
    }
    let locked = if lock.is_some() { " --locked" } else { "" };
    let name = &program.name;
    let package = if program.folder.is_empty() { String::new() } else { format!(" --package {}", program.package) };
    let build = draft.build(Some(format!("cargo build --release{locked}{package} --bin {name}")));
    let install = draft.install(None);
    let mut stage = draft.build_stage(Base::Rust, &version);
    if needs_ssl {
        stage.packages(&["pkg-config", "libssl-dev"]);
    }
    if draft.sends_repository() {
        stage.environment(&[("CARGO_TARGET_DIR", CACHES[1])]);
    }
    draft.copy_source(&mut stage);
    if let Some(install) = install {
        stage.run_with_secrets(&CACHES, install);
    }
    if let Some(build) = build {
        // The folder `target` is a cache, and not there afterwards.
        stage.run_with_secrets(
            &CACHES,
            format!("{MAKE_NEW} && {build} && mkdir -p /out && cp /app/target/release/{name} /out/app"),
        );
    }
    let mut run = draft.run_stage(Base::Debian, "");
    if needs_ssl {
        run.packages(&["libssl3"]);
    }
    run.copy_from(BUILD, "/etc/ssl/certs/ca-certificates.crt", "/etc/ssl/certs/");
    run.copy_from(BUILD, "/out/app", &format!("/usr/local/bin/{name}")).own_folder(APP);
    for folder in DATA.into_iter().filter(|folder| source.has_folder(folder)) {
        run.copy_writable(BUILD, &format!("{}/{folder}", draft.folder()), &format!("./{folder}"));
    }
    let start = draft.start(Some(name.clone()), "")?;
    Ok(Planned::plan(draft.serve(Some(stage), run, &start)))
}

/// What programs often read at run time, from where they start.
const DATA: [&str; 6] = ["assets", "config", "migrations", "public", "static", "templates"];

fn candidate(source: &Source, program: &Program) -> Candidate {
    let found = format!("{} is a program", program.name);
    let file = if program.folder.is_empty() { MANIFEST.to_owned() } else { format!("{}/{MANIFEST}", program.folder) };
    Candidate {
        kind: Kind::Rust,
        base_path: source.folder().to_owned(),
        program: Some(program.name.clone()),
        reasons: vec![Reason { found, file: Some(source.path(&file)) }],
    }
}

fn version(draft: &mut Draft<'_>) -> Result<String> {
    const TOOLCHAIN: &str = "rust-toolchain.toml";
    let source = draft.source;
    let mut asked = Vec::new();
    let toolchain = toml(source, TOOLCHAIN)?.unwrap_or_default();
    let channel =
        text_at(&toolchain, &["toolchain", "channel"]).map(|channel| (source.path(TOOLCHAIN), channel.to_owned()));
    asked.extend(channel);
    asked.extend(first_line(source, "rust-toolchain")?.filter(|(_, line)| !line.starts_with('[')));
    asked.extend(tool_version(source, &["rust"])?);
    let Some((file, channel)) = asked.first().cloned() else { return Ok(draft.version(&LINES, &[])) };
    if channel.starts_with(|first: char| first.is_ascii_digit()) {
        return Ok(draft.version(&PINNED, &[(file, channel)]));
    }
    // The image has rustup, which gets what the file names.
    draft.since(format!("the toolchain is {}", shown(&channel)));
    Ok(draft.version(&LINES, &[]))
}
