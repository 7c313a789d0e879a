//! .NET: project files.
//!
//! Of a project only three words are looked for, each between two tags or quotes. That needs no parser of XML, which would bring entities and their bombs along.

use crate::detect::{Candidate, Planned, Sign};
use crate::draft::{BUILD, Draft};
use crate::error::{Result, unsuitable};
use crate::images::Base;
use crate::kind::Kind;
use crate::manifest::json_with_comments;
use crate::plan::Reason;
use crate::source::Source;
use crate::text::{between, is_plain_path};
use crate::version::Lines;
use crate::wishes::Wishes;

const LINES: Lines = Lines { language: ".NET", default: "9.0", all: &["10.0", "9.0", "8.0", "7.0", "6.0"] };
const ENDS: [&str; 3] = [".csproj", ".fsproj", ".vbproj"];
const PORT: u16 = 8080;
/// Of folders in which projects are looked for.
const MOST_FOLDERS: usize = 100;
const WEB: &str = "Microsoft.NET.Sdk.Web";

pub fn find(source: &Source) -> Result<Option<Sign>> {
    let has_solution = !source.files_ending("", ".sln")?.is_empty() || !source.files_ending("", ".slnx")?.is_empty();
    if in_folder(source, "")?.is_empty() && !has_solution {
        return Ok(None);
    }
    let is_sure = !programs(source)?.is_empty();
    Ok(Some(Sign { file: "*.csproj", found: "there is a project or a solution of .NET".to_owned(), is_sure }))
}

fn in_folder(source: &Source, folder: &str) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for entry in source.entries(folder)?.iter() {
        if !entry.is_folder && ENDS.iter().any(|end| entry.name.ends_with(end)) {
            found.push(if folder.is_empty() { entry.name.clone() } else { format!("{folder}/{}", entry.name) });
        }
    }
    Ok(found)
}

/// Projects that are no libraries and no tests: those of the root, else those one or two levels below a solution.
fn programs(source: &Source) -> Result<Vec<String>> {
    let mut projects = in_folder(source, "")?;
    if projects.is_empty() {
        for folder in source.folders("")?.into_iter().take(MOST_FOLDERS) {
            projects.extend(in_folder(source, &folder)?);
            if folder == "src" {
                for inner in source.folders(&folder)?.into_iter().take(MOST_FOLDERS) {
                    projects.extend(in_folder(source, &format!("{folder}/{inner}"))?);
                }
            }
        }
    }
    let mut web = Vec::new();
    let mut others = Vec::new();
    for project in projects {
        let text = source.text(&project)?.unwrap_or_default();
        if text.contains(WEB) {
            web.push(project);
        } else if text.contains("<OutputType>Exe<") || text.contains("Microsoft.NET.Sdk.Worker") {
            others.push(project);
        }
    }
    Ok(if web.is_empty() { others } else { web })
}

pub fn plan(source: &Source, wishes: &Wishes) -> Result<Planned> {
    let mut programs = programs(source)?;
    if let Some(wished) = &wishes.program {
        programs.retain(|program| {
            program == wished || program.rsplit_once('/').is_some_and(|(folder, _)| folder == wished)
        });
    }
    if programs.len() > 1 {
        let candidate = |program: &String| Candidate {
            kind: Kind::Dotnet,
            base_path: source.folder().to_owned(),
            program: Some(program.clone()),
            reasons: vec![Reason { found: "it is a program".to_owned(), file: Some(source.path(program)) }],
        };
        return Ok(Planned::Choice(programs.iter().map(candidate).collect()));
    }
    let Some(project) = programs.pop() else {
        return unsuitable("there is no project of .NET that starts.");
    };
    let mut draft = Draft::new(Kind::Dotnet, source, wishes)?;
    let text = source.text(&project)?.unwrap_or_default();
    let is_web = text.contains(WEB);
    draft.plan.framework = is_web.then_some("ASP.NET Core");
    draft.plan.package_manager = Some("nuget");
    draft.because("it is the project that starts", &project);
    let version = version(&mut draft, &project, &text)?;
    draft.port(PORT);
    draft.add_assets()?;
    let file = project.rsplit('/').next().unwrap_or(&project);
    let usual = file.rsplit_once('.').map_or(file, |(name, _)| name);
    let name =
        between(&text, "<AssemblyName>", "</AssemblyName>").filter(|name| is_plain_path(name) && !name.contains('/'));
    let name = name.unwrap_or(usual);
    let install = draft.install(Some(format!("dotnet restore {project}")));
    let build = draft.build(Some(format!("dotnet publish {project} --no-restore -c Release -o /out")));
    let mut stage = draft.build_stage(Base::DotnetBuild, &version);
    stage.environment(&[("DOTNET_CLI_TELEMETRY_OPTOUT", "1"), ("DOTNET_NOLOGO", "1")]);
    draft.copy_source(&mut stage);
    for command in [install, build].into_iter().flatten() {
        stage.run(&["/root/.nuget/packages"], command);
    }
    let mut run = draft.run_stage(if is_web { Base::Aspnet } else { Base::Dotnet }, &version);
    run.copy_from(BUILD, "/out", "./");
    let urls = if is_web { "ASPNETCORE_URLS=http://0.0.0.0:$PORT " } else { "" };
    let start = draft.start(Some(format!("{urls}dotnet {name}.dll")), "")?;
    Ok(Planned::plan(draft.serve(Some(stage), run, &start)))
}

/// `net8.0` of the project, else the version of the SDK.
fn version(draft: &mut Draft<'_>, project: &str, text: &str) -> Result<String> {
    const GLOBAL: &str = "global.json";
    let source = draft.source;
    let framework = between(text, "<TargetFramework>", "</TargetFramework>")
        .or_else(|| between(text, "<TargetFrameworks>", "</TargetFrameworks>")?.split(';').next());
    let framework = framework
        .and_then(|framework| framework.trim().strip_prefix("net"))
        .map(|version| version.split('-').next().unwrap_or(version));
    let mut asked: Vec<_> = framework.map(|version| (source.path(project), version.to_owned())).into_iter().collect();
    let sdk =
        json_with_comments(source, GLOBAL)?.and_then(|global| global["sdk"]["version"].as_str().map(str::to_owned));
    let line = |version: &str| version.split('.').take(2).collect::<Vec<_>>().join(".");
    asked.extend(sdk.map(|version| (source.path(GLOBAL), line(&version))));
    Ok(draft.version(&LINES, &asked))
}
