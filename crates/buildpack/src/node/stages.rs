//! The stages of a Node application.

use crate::command::mentions;
use crate::dockerfile::{Copy, Stage, Step};
use crate::draft::{APP, BUILD, Draft};
use crate::images::Base;
use crate::node::framework::Folder;
use crate::node::manager::{Chosen, Manager};
use crate::node::package::{NAME, Package};
use crate::source::Source;

const NEXT: &str = "Next.js";

pub struct App<'a> {
    /// Inside of the workspace; empty if there is none around.
    pub folder: &'a str,
    /// Of the workspace, or of the application.
    pub root: &'a Source,
    pub package: &'a Package,
    pub runs_at_install: bool,
    pub is_workspace: bool,
    pub chosen: &'a Chosen,
    pub version: &'a str,
    /// Of the framework, for the next build.
    pub cache: Option<&'a str>,
}

impl App<'_> {
    /// A command in the folder of the application.
    pub fn in_folder(&self, command: &str) -> String {
        if self.folder.is_empty() { command.to_owned() } else { format!("cd {} && {command}", self.folder) }
    }

    /// Leaves the application in its folder, with all dependencies.
    pub fn build_stage(&self, draft: &Draft<'_>, install: Option<String>, build: Option<String>) -> Stage {
        let mut stage = draft.build_stage(self.build_base(), self.version);
        stage.packages(self.packages());
        stage.environment(&[("PATH", &self.programs(draft))]);
        if self.chosen.has_own_loader {
            // With packages in node_modules they can be cached, and copied as they are.
            stage.environment(&[("YARN_NODE_LINKER", "node-modules")]);
        }
        if draft.plan.framework == Some(NEXT) {
            stage.environment(&[("NEXT_TELEMETRY_DISABLED", "1")]);
        }
        self.set_up(&mut stage);
        let needs_sources =
            draft.sends_repository() || self.runs_at_install || self.is_workspace || self.depends_on_folders();
        if needs_sources || draft.wishes.install.is_some() {
            draft.copy_context(&mut stage);
        } else {
            self.copy_manifests(&mut stage);
        }
        if let Some(install) = install {
            stage.run_with_secrets(&[self.chosen.manager.cache()], install);
        }
        if !needs_sources && draft.wishes.install.is_none() {
            draft.copy_context(&mut stage);
        }
        if let Some(build) = build {
            let cache = self.cache.map(|folder| format!("{}/{}", draft.folder(), self.inside(folder)));
            stage.run_with_secrets(&cache.iter().map(String::as_str).collect::<Vec<_>>(), build);
        }
        stage
    }

    /// A server that needs its dependencies.
    pub fn server_stages(
        &self,
        draft: &Draft<'_>,
        mut stage: Stage,
        start: &str,
        needs_development: bool,
    ) -> (Stage, Stage) {
        let may_prune = !needs_development && draft.wishes.install.is_none() && self.has_development();
        if may_prune && let Some(prune) = self.chosen.prune(self.is_workspace) {
            stage.run_with_secrets(&[self.chosen.manager.cache()], prune);
        }
        let mut run = self.run_stage(draft);
        if mentions(start, &["pnpm", "yarn"]) {
            self.set_up(&mut run);
        }
        draft.copy_built(&mut run);
        if !self.folder.is_empty() {
            run.add(Step::Folder(format!("{APP}/{}", self.folder)));
        }
        (stage, run)
    }

    /// A server whose build has left all that it needs.
    pub fn whole_stage(&self, draft: &Draft<'_>, folders: &[Folder]) -> Stage {
        let mut run = self.run_stage(draft);
        run.own_folder(APP);
        for folder in folders {
            let from = self.inside(&folder.made);
            let to = if folder.to == "." { "./".to_owned() } else { format!("./{}", self.inside(&folder.to)) };
            run.copy_writable(BUILD, &format!("{}/{from}", draft.folder()), &to);
        }
        run
    }

    fn inside(&self, path: &str) -> String {
        if self.folder.is_empty() { path.to_owned() } else { format!("{}/{path}", self.folder) }
    }

    fn run_stage(&self, draft: &Draft<'_>) -> Stage {
        let base = if self.chosen.manager == Manager::Bun { Base::Bun } else { Base::Node };
        let mut run = draft.run_stage(base, self.version);
        run.packages(self.packages());
        run.environment(&[("NODE_ENV", "production"), ("PATH", &self.programs(draft))]);
        // Some listen on what these say, and otherwise where only the container itself can reach them.
        match draft.plan.framework {
            Some(NEXT) => run.environment(&[("HOSTNAME", "0.0.0.0"), ("NEXT_TELEMETRY_DISABLED", "1")]),
            Some("Astro" | "Nuxt" | "SvelteKit") => run.environment(&[("HOST", "0.0.0.0")]),
            _ => &mut run,
        };
        run
    }

    /// Programs of dependencies are found by their names, as in scripts.
    fn programs(&self, draft: &Draft<'_>) -> String {
        let root = draft.folder();
        if self.folder.is_empty() {
            return format!("{root}/node_modules/.bin:$PATH");
        }
        format!("{root}/{}/node_modules/.bin:{root}/node_modules/.bin:$PATH", self.folder)
    }

    fn build_base(&self) -> Base {
        let git = ["git+", "git:", "git@", "github:"];
        match self.chosen.manager {
            Manager::Bun => Base::Bun,
            _ if self.package.depends_on_address(&git) || self.package.depends_on("node-gyp") => Base::NodeBuild,
            _ => Base::Node,
        }
    }

    /// Prisma's engine is linked with OpenSSL, which the small image does not have.
    fn packages(&self) -> &'static [&'static str] {
        if self.package.depends_on("@prisma/client") || self.package.depends_on("prisma") { &["openssl"] } else { &[] }
    }

    fn set_up(&self, stage: &mut Stage) {
        if let Some(setup) = &self.chosen.setup {
            stage.run(&[Manager::Npm.cache()], setup);
        }
    }

    fn has_development(&self) -> bool {
        !self.package.development.is_empty() || self.is_workspace
    }

    fn depends_on_folders(&self) -> bool {
        self.package.depends_on_address(&["file:", "link:", "portal:", "patch:", "workspace:", "./", "../"])
            || self.root.has_folder("patches")
    }

    /// Only these decide what is installed: other changes leave the layer as it is.
    fn copy_manifests(&self, stage: &mut Stage) {
        let mut sources = vec![NAME];
        sources.extend(self.chosen.lock);
        sources.extend(&self.chosen.settings);
        stage.copy(&sources, "./");
        if self.root.has_folder(".yarn") && self.chosen.manager == Manager::NewYarn {
            let copy = Copy { sources: vec![".yarn".to_owned()], to: "./.yarn/".to_owned(), ..Copy::default() };
            stage.add(Step::Copy(copy));
        }
    }
}
