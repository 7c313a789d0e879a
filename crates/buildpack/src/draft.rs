//! A plan while it is made: what every language does alike.

use crate::dockerfile::{Copy, Origin, Stage, Step};
use crate::error::{Result, unsuitable};
use crate::images::Base;
use crate::kind::Kind;
use crate::plan::{Plan, Reason, Serves};
use crate::source::Source;
use crate::text::{is_plain_path, shown};
use crate::version::{Lines, Version};
use crate::wishes::Wishes;
use crate::{command, node, procfile};

/// What the engine is sent is there, in all stages.
pub const APP: &str = "/app";
/// Where files are that are served. Not the root, which engines add files of their own to.
const FILES: &str = "/site";
/// The stage from which the last one copies.
pub const BUILD: &str = "build";
/// The stage that makes scripts and styles for a backend.
pub const ASSETS: &str = "assets";
const RUN: &str = "run";
const OWN_IGNORE: &str = ".dockerignore";

pub struct Draft<'a> {
    pub source: &'a Source,
    pub wishes: &'a Wishes,
    pub plan: Plan,
    /// Of the `Procfile`.
    web: Option<String>,
    has_assets: bool,
    /// Where the application is in all stages: `APP`, or a folder below it if the whole repository is there.
    folder: String,
}

impl<'a> Draft<'a> {
    pub fn new(kind: Kind, source: &'a Source, wishes: &'a Wishes) -> Result<Self> {
        let plan = Plan {
            kind,
            base_path: source.folder().to_owned(),
            context: source.folder().to_owned(),
            version: None,
            framework: None,
            package_manager: None,
            install: None,
            build: None,
            start: None,
            port: None,
            output: None,
            serves: Serves::Container,
            reasons: Vec::new(),
            warnings: Vec::new(),
            bases: Vec::new(),
            stages: Vec::new(),
            ignored: source.text(OWN_IGNORE)?.map(|text| text.to_string()),
        };
        let mut draft = Self { source, wishes, plan, web: None, has_assets: false, folder: APP.to_owned() };
        draft.read_procfile()?;
        Ok(draft)
    }

    fn read_procfile(&mut self) -> Result<()> {
        let Some(procfile) = procfile::read(self.source)? else { return Ok(()) };
        if procfile.has_release {
            let what = "Its line \"release\" is not run; set it as the command before the start";
            self.warn(format!("{}: {what}.", procfile::NAME));
        }
        if !procfile.others.is_empty() {
            let names = procfile.others.join(", ");
            self.warn(format!("{}: only \"web\" is run here, not: {names}.", procfile::NAME));
        }
        self.web = procfile.web;
        Ok(())
    }

    pub fn because(&mut self, found: impl Into<String>, file: &str) {
        self.plan.reasons.push(Reason { found: found.into(), file: Some(self.source.path(file)) });
    }

    /// In a file of another folder.
    pub fn because_at(&mut self, source: &Source, found: &str, file: &str) {
        self.plan.reasons.push(Reason { found: found.to_owned(), file: Some(source.path(file)) });
    }

    /// A reason that is not in a file.
    pub fn since(&mut self, found: impl Into<String>) {
        self.plan.reasons.push(Reason { found: found.into(), file: None });
    }

    pub fn warn(&mut self, text: impl Into<String>) {
        self.plan.warnings.push(text.into());
    }

    /// The version that the user has set, or the first that a file asks for, or the default.
    pub fn version(&mut self, lines: &Lines, asked: &[(String, String)]) -> String {
        let (text, from) = if let Some(version) = &self.wishes.version {
            (version.clone(), Some("settings".to_owned()))
        } else if let Some((file, asked)) = asked.first() {
            self.asked_version(lines, file, asked)
        } else {
            (lines.default.to_owned(), None)
        };
        self.plan.version = Some(Version { text: text.clone(), from });
        text
    }

    fn asked_version(&mut self, lines: &Lines, file: &str, asked: &str) -> (String, Option<String>) {
        let language = lines.language;
        if let Some(line) = lines.fitting(asked) {
            let found = if asked == line {
                format!("{language} {line} is asked for")
            } else {
                format!("{language} {} is asked for, {language} {line} is used", shown(asked))
            };
            self.plan.reasons.push(Reason { found, file: Some(file.to_owned()) });
            return (line.to_owned(), Some(file.to_owned()));
        }
        let default = lines.default;
        self.warn(format!(
            "{file} asks for {language} {}, for which there is no image here; {language} {default} is used.",
            shown(asked)
        ));
        (default.to_owned(), None)
    }

    pub fn port(&mut self, default: u16) -> u16 {
        let port = self.wishes.port.unwrap_or(default);
        self.plan.port = Some(port);
        port
    }

    /// The command that installs what the application needs: what the user has set, or this.
    pub fn install(&mut self, found: Option<String>) -> Option<String> {
        if self.wishes.install.is_some() {
            self.since("the install command is set");
        }
        self.plan.install = self.wishes.install.clone().or(found);
        self.plan.install.clone()
    }

    /// The command that builds: what the user has set, or this.
    pub fn build(&mut self, found: Option<String>) -> Option<String> {
        if self.wishes.build.is_some() {
            self.since("the build command is set");
        }
        self.plan.build = self.wishes.build.clone().or(found);
        self.plan.build.clone()
    }

    /// Will something else than what a language would do be started?
    pub fn has_own_start(&self) -> bool {
        self.wishes.start.is_some() || self.web.is_some()
    }

    /// The command that starts: what the user has set, else the `Procfile`'s, else this. `missing` says what to do if there is none.
    pub fn start(&mut self, found: Option<String>, missing: &str) -> Result<String> {
        let start = if let Some(start) = self.wishes.start.clone() {
            self.since("the start command is set");
            start
        } else if let Some(web) = self.web.clone() {
            self.because("\"web\" says how it starts", procfile::NAME);
            web
        } else if let Some(found) = found {
            found
        } else if self.wishes.output.is_some() {
            String::new()
        } else {
            return unsuitable(format!(
                "this is {}, and nothing says how it starts. {missing} Or set start_command, or add a Procfile with a line web: and the command.",
                self.plan.kind
            ));
        };
        self.plan.start = Some(start.clone()).filter(|start| !start.is_empty());
        Ok(start)
    }

    /// Sends the whole repository to the engine, because something around the application's folder belongs to it. Commands run in the folder.
    pub fn send_repository(&mut self) -> Result<()> {
        let folder = self.source.folder();
        if folder.is_empty() {
            return Ok(());
        }
        if !is_plain_path(folder) {
            return unsuitable(
                "the folder needs others of the repository, and its path is not plain: letters, digits and . _ - @ + only.",
            );
        }
        self.folder = format!("{APP}/{folder}");
        self.send_from(&self.source.root())
    }

    /// Sends a folder around the application's.
    pub fn send_from(&mut self, root: &Source) -> Result<()> {
        root.folder().clone_into(&mut self.plan.context);
        self.plan.ignored = root.text(OWN_IGNORE)?.map(|text| text.to_string());
        Ok(())
    }

    pub fn sends_repository(&self) -> bool {
        self.folder != APP
    }

    /// Where the application is, in all stages.
    pub fn folder(&self) -> &str {
        &self.folder
    }

    /// A stage that builds, in the folder that the application has in all stages.
    pub fn build_stage(&self, base: Base, version: &str) -> Stage {
        let mut stage = Stage::new(BUILD, base, version);
        stage.add(Step::Folder(APP.to_owned())).add(Step::Variables);
        stage
    }

    /// The source, with what the stage of assets has made of it.
    pub fn copy_source(&self, stage: &mut Stage) {
        if self.has_assets {
            stage.copy_from(ASSETS, APP, "./");
            self.enter(stage);
        } else {
            self.copy_context(stage);
        }
    }

    /// All that the engine is sent.
    pub fn copy_context(&self, stage: &mut Stage) {
        stage.copy(&["."], "./");
        self.enter(stage);
    }

    fn enter(&self, stage: &mut Stage) {
        if self.sends_repository() {
            stage.add(Step::Folder(self.folder.clone()));
        }
    }

    /// All that the build has left, for the application's user.
    pub fn copy_built(&self, run: &mut Stage) {
        run.own_folder(APP).copy_writable(BUILD, APP, "./");
        self.enter(run);
    }

    /// A `package.json` beside a backend, whose build makes scripts and styles.
    pub fn add_assets(&mut self) -> Result<()> {
        if let Some(stage) = node::assets(self)? {
            self.plan.stages.push(stage);
            self.has_assets = true;
        }
        Ok(())
    }

    /// The last stage. What is installed into it comes before `own_folder`.
    pub fn run_stage(&self, base: Base, version: &str) -> Stage {
        Stage::new(RUN, base, version)
    }

    /// Ends a plan whose last stage answers requests.
    pub fn serve(mut self, build: Option<Stage>, mut run: Stage, start: &str) -> Plan {
        self.plan.stages.extend(build);
        if let Some(output) = self.wishes.output.clone() {
            self.since(format!("the output folder is set, so the files of {output} are served"));
            return self.files(output, false);
        }
        let port = self.plan.port.unwrap_or_default();
        run.environment(&[("HOME", "/tmp"), ("PORT", &port.to_string())]);
        run.add(Step::Port(port)).add(Step::Start(command::with_exec(start)));
        self.plan.stages.push(run);
        self.done()
    }

    /// Ends a plan whose last stage has no shell.
    pub fn serve_program(mut self, build: Stage, mut run: Stage, program: Vec<String>) -> Plan {
        self.plan.stages.push(build);
        let port = self.plan.port.unwrap_or_default();
        run.environment(&[("HOME", "/tmp"), ("PORT", &port.to_string())]);
        run.add(Step::Port(port)).add(Step::StartProgram(program));
        self.plan.stages.push(run);
        self.done()
    }

    /// Ends a plan that makes files: the last stage has nothing else. The folder is inside of the application's.
    pub fn files(mut self, output: String, single_page: bool) -> Plan {
        let mut last = Stage::scratch("files");
        let has_build = self.plan.stages.iter().any(|stage| stage.name == BUILD);
        let inside = if output == "." { String::new() } else { format!("{output}/") };
        let copy = if has_build {
            let from = Some(Origin::Stage(BUILD));
            Copy {
                from,
                sources: vec![format!("{}/{inside}", self.folder)],
                to: format!("{FILES}/"),
                is_writable: false,
            }
        } else {
            let source = if inside.is_empty() { ".".to_owned() } else { inside };
            Copy { from: None, sources: vec![source], to: format!("{FILES}/"), is_writable: false }
        };
        last.add(Step::Copy(copy));
        self.plan.stages.push(last);
        self.plan.start = None;
        self.plan.port = None;
        let from_context = self.folder.strip_prefix("/app/");
        self.plan.output = Some(match from_context {
            Some(folder) => format!("{folder}/{output}"),
            None => output,
        });
        let single_page = self.wishes.single_page.unwrap_or(single_page);
        self.plan.serves = Serves::Files { folder: FILES.to_owned(), single_page };
        self.done()
    }

    fn done(mut self) -> Plan {
        if self.wishes.git_in_context {
            self.remove_repository();
        }
        self.plan.warnings.extend(self.source.passed_over());
        self.plan.note_bases();
        self.plan
    }

    /// It is for commands that build. What is copied from there may be served to visitors.
    fn remove_repository(&mut self) {
        for stage in self.plan.stages.iter_mut().filter(|stage| stage.name == BUILD) {
            stage.run(&[], format!("rm -rf {APP}/.git"));
        }
    }
}
