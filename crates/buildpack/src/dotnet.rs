//! .NET: project files.
//!
//! Of a project only a few words are looked for, each between two tags or quotes. That needs no parser of XML, which would bring entities and their bombs along.

use std::iter;

use crate::around;
use crate::detect::{Candidate, Planned, Sign};
use crate::draft::{APP, BUILD, Draft};
use crate::error::{Result, unsuitable};
use crate::images::Base;
use crate::kind::Kind;
use crate::manifest::json_with_comments;
use crate::plan::Reason;
use crate::source::Source;
use crate::text::{between, is_plain_path, shown};
use crate::version::{Lines, is_version};
use crate::wishes::Wishes;

const LINES: Lines = Lines { language: ".NET", default: "9.0", all: &["10.0", "9.0", "8.0", "7.0", "6.0"] };
const ENDS: [&str; 3] = [".csproj", ".fsproj", ".vbproj"];
const PORT: u16 = 8080;
/// Of folders in which projects are looked for.
const MOST_FOLDERS: usize = 100;
const GLOBAL: &str = "global.json";
/// Those that MSBuild, NuGet and `dotnet` look for in all folders above a project.
const SETTINGS: [&str; 6] = [
    "Directory.Build.props",
    "Directory.Build.targets",
    "Directory.Packages.props",
    GLOBAL,
    "nuget.config",
    "NuGet.config",
];
/// Values of `rollForward` that take the newest SDK of a line. The others take the SDK that is named, or its next patches.
const NEWER_BANDS: [&str; 6] = ["feature", "latestFeature", "minor", "latestMinor", "major", "latestMajor"];
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
    send_needed(&mut draft, &project, &text)?;
    let sdk = Sdk::read(&draft)?;
    let version = version(&mut draft, &project, &text, sdk.as_ref());
    let builder = sdk.map_or_else(|| version.clone(), |sdk| sdk.image(&mut draft, &version));
    draft.port(PORT);
    draft.add_assets()?;
    let file = project.rsplit('/').next().unwrap_or(&project);
    let usual = file.rsplit_once('.').map_or(file, |(name, _)| name);
    let name =
        between(&text, "<AssemblyName>", "</AssemblyName>").filter(|name| is_plain_path(name) && !name.contains('/'));
    let name = name.unwrap_or(usual);
    let install = draft.install(Some(format!("dotnet restore {project}")));
    let build = draft.build(Some(format!("dotnet publish {project} --no-restore -c Release -o /out")));
    let mut stage = draft.build_stage(Base::DotnetBuild, &builder);
    stage.environment(&[("DOTNET_CLI_TELEMETRY_OPTOUT", "1"), ("DOTNET_NOLOGO", "1")]);
    draft.copy_source(&mut stage);
    for command in [install, build].into_iter().flatten() {
        stage.run_with_secrets(&["/root/.nuget/packages"], command);
    }
    let mut run = draft.run_stage(if is_web { Base::Aspnet } else { Base::Dotnet }, &version);
    run.own_folder(APP).copy_writable(BUILD, "/out", "./");
    let urls = if is_web { "ASPNETCORE_URLS=http://0.0.0.0:$PORT " } else { "" };
    let start = draft.start(Some(format!("{urls}dotnet {name}.dll")), "")?;
    Ok(Planned::plan(draft.serve(Some(stage), run, &start)))
}

/// What lies around the folder and is a part of its build: other projects, and settings that hold for all folders below them.
fn send_needed(draft: &mut Draft<'_>, project: &str, text: &str) -> Result<()> {
    for root in draft.source.around() {
        if let Some(file) = root.first_file(&SETTINGS) {
            draft.because_at(&root, "it holds for the folders below it, so the whole repository is sent", file);
            return draft.send_repository();
        }
    }
    let folder = project.rsplit_once('/').map_or(".", |(folder, _)| folder);
    let others = text.split("<ProjectReference Include=\"").skip(1).filter_map(|rest| Some(rest.split_once('"')?.0));
    let others = others.take(MOST_FOLDERS).map(|other| format!("{folder}/{other}"));
    around::send_named(draft, project, &others.collect::<Vec<_>>())
}

/// `net8.0` of the project, else the version of the SDK.
fn version(draft: &mut Draft<'_>, project: &str, text: &str, sdk: Option<&Sdk>) -> String {
    let source = draft.source;
    let framework = between(text, "<TargetFramework>", "</TargetFramework>")
        .or_else(|| between(text, "<TargetFrameworks>", "</TargetFrameworks>")?.split(';').next());
    let framework = framework
        .and_then(|framework| framework.trim().strip_prefix("net"))
        .map(|version| version.split('-').next().unwrap_or(version));
    let mut asked: Vec<_> = framework.map(|version| (source.path(project), version.to_owned())).into_iter().collect();
    asked.extend(sdk.map(|sdk| (sdk.file.clone(), sdk.line())));
    draft.version(&LINES, &asked)
}

/// What `global.json` says about the SDK. `dotnet` refuses to build with any other.
struct Sdk {
    file: String,
    version: String,
    roll_forward: String,
}

impl Sdk {
    fn read(draft: &Draft<'_>) -> Result<Option<Self>> {
        let around = draft.source.around().filter(|_| draft.sends_repository());
        for source in iter::once(draft.source.clone()).chain(around) {
            let Some(global) = json_with_comments(&source, GLOBAL)? else { continue };
            let text = |key: &str| global["sdk"][key].as_str().map(str::to_owned);
            let file = source.path(GLOBAL);
            let roll_forward = text("rollForward").unwrap_or_default();
            return Ok(text("version").map(|version| Self { file, version, roll_forward }));
        }
        Ok(None)
    }

    /// `8.0` of `8.0.204`.
    fn line(&self) -> String {
        self.version.split('.').take(2).collect::<Vec<_>>().join(".")
    }

    /// Which image builds for this runtime. That of a line has its newest SDK, which is of another feature band than an older one.
    fn image(&self, draft: &mut Draft<'_>, runtime: &str) -> String {
        let line = self.line();
        let major = |version: &str| version.split('.').next().and_then(|major| major.parse::<u32>().ok());
        let takes_runtime = match self.roll_forward.as_str() {
            "major" | "latestMajor" => major(runtime) >= major(&line),
            "minor" | "latestMinor" => major(runtime) == major(&line),
            _ => false,
        };
        let takes_line = NEWER_BANDS.contains(&self.roll_forward.as_str());
        let (asked, is_known) = (shown(&self.version), LINES.all.contains(&line.as_str()));
        let is_whole = is_version(&self.version) && self.version.split('.').count() == 3;
        let image = match () {
            () if takes_runtime => runtime.to_owned(),
            () if takes_line && is_known => line,
            () if is_whole && is_known => self.version.clone(),
            () => {
                let image = if is_known { line } else { runtime.to_owned() };
                draft.warn(format!(
                    "{} asks for the SDK {asked}, for which there is no image here; {image} is used, which dotnet may refuse.",
                    self.file
                ));
                return image;
            }
        };
        let found = format!("the SDK {asked} is asked for, {image} builds");
        draft.plan.reasons.push(Reason { found, file: Some(self.file.clone()) });
        image
    }
}
