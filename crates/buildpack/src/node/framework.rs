//! Frameworks of Node: what their builds leave, and how that is served.

use crate::error::{Result, unsuitable};
use crate::manifest::{json_with_comments, program, written_setting};
use crate::node::package::Package;
use crate::source::Source;
use crate::text::{plain_folder, shown};

/// What a framework makes.
#[derive(Debug)]
pub struct Found {
    pub name: &'static str,
    /// The file that decided how it is served, and what it says.
    pub reason: Option<(&'static str, String)>,
    /// If the manifest has no script `build`.
    pub build: Option<&'static str>,
    /// A folder that makes the next build faster, and is no part of the image.
    pub cache: Option<String>,
    pub makes: Makes,
}

#[derive(Debug)]
pub enum Makes {
    Files {
        folder: String,
        single_page: bool,
    },
    /// A server that needs its dependencies. `start` is for manifests without such a script.
    Server {
        start: Option<String>,
    },
    /// A folder with all that is needed, dependencies included.
    Whole {
        folders: Vec<Folder>,
        entry: &'static str,
    },
}

/// A folder that the build has made, and where it belongs in the image.
#[derive(Debug)]
pub struct Folder {
    pub made: String,
    pub to: String,
}

fn folder(made: &str, to: &str) -> Folder {
    Folder { made: made.to_owned(), to: to.to_owned() }
}

/// Frameworks whose builds are the application itself, even beside another language's manifest.
pub const WHOLE_APPLICATIONS: [&str; 6] = ["Next.js", "Nuxt", "Astro", "Remix", "React Router", "SvelteKit"];

pub fn find(source: &Source, package: &Package) -> Result<Option<Found>> {
    let has = |name: &str| package.depends_on(name);
    if has("next") {
        return next(source).map(Some);
    }
    if has("nuxt") {
        return Ok(Some(nuxt(package)));
    }
    if has("astro") {
        return astro(source, package).map(Some);
    }
    if has("@remix-run/dev") || has("@remix-run/serve") || has("@remix-run/node") {
        return Ok(Some(remix(source, package)));
    }
    if has("@react-router/dev") {
        return react_router(source).map(Some);
    }
    if has("@sveltejs/kit") {
        return svelte(source, package).map(Some);
    }
    if has("@angular/core") {
        return angular(source).map(Some);
    }
    if let Some(found) = TABLE.iter().find(|row| has(row.package)) {
        return Ok(Some(found.found()));
    }
    if has("vite") {
        return vite(source).map(Some);
    }
    Ok(SERVERS.iter().find(|(package, _)| has(package)).map(|(_, name)| server(name, None)))
}

struct Row {
    package: &'static str,
    name: &'static str,
    build: &'static str,
    folder: &'static str,
    single_page: bool,
}

/// Those that always leave files in the same folder.
const TABLE: [Row; 5] = [
    Row {
        package: "react-scripts",
        name: "Create React App",
        build: "react-scripts build",
        folder: "build",
        single_page: true,
    },
    Row {
        package: "@vue/cli-service",
        name: "Vue CLI",
        build: "vue-cli-service build",
        folder: "dist",
        single_page: true,
    },
    Row { package: "gatsby", name: "Gatsby", build: "gatsby build", folder: "public", single_page: false },
    Row {
        package: "@docusaurus/core",
        name: "Docusaurus",
        build: "docusaurus build",
        folder: "build",
        single_page: false,
    },
    Row { package: "@11ty/eleventy", name: "Eleventy", build: "eleventy", folder: "_site", single_page: false },
];

/// Those that are only named in the plan.
const SERVERS: [(&str, &str); 5] =
    [("@nestjs/core", "NestJS"), ("fastify", "Fastify"), ("express", "Express"), ("koa", "Koa"), ("hono", "Hono")];

impl Row {
    fn found(&self) -> Found {
        files(self.name, self.build, self.folder, self.single_page)
    }
}

fn files(name: &'static str, build: &'static str, folder: &str, single_page: bool) -> Found {
    let makes = Makes::Files { folder: folder.to_owned(), single_page };
    Found { name, reason: None, build: Some(build), cache: None, makes }
}

fn server(name: &'static str, start: Option<&str>) -> Found {
    Found { name, reason: None, build: None, cache: None, makes: Makes::Server { start: start.map(str::to_owned) } }
}

fn next(source: &Source) -> Result<Found> {
    let config = program(source, &["next.config.js", "next.config.mjs", "next.config.ts", "next.config.cjs"])?;
    let output = config.as_ref().and_then(|(_, text)| written_setting(text, "output"));
    let own =
        config.as_ref().and_then(|(_, text)| written_setting(text, "distDir")).and_then(|path| plain_folder(&path));
    let reason =
        config.zip(output.as_deref()).map(|((file, _), output)| (file, format!("output is {}", shown(output))));
    let made = own.clone().unwrap_or_else(|| ".next".to_owned());
    let cache = format!("{made}/cache");
    let makes = match output.as_deref() {
        Some("export") => Makes::Files { folder: own.unwrap_or_else(|| "out".to_owned()), single_page: false },
        Some("standalone") => {
            let mut folders = vec![
                folder(&format!("{made}/standalone"), "."),
                folder(&format!("{made}/static"), &format!("{made}/static")),
            ];
            if source.has_folder("public") {
                folders.push(folder("public", "public"));
            }
            Makes::Whole { folders, entry: "server.js" }
        }
        _ => Makes::Server { start: Some("next start -p $PORT".to_owned()) },
    };
    Ok(Found {
        name: "Next.js",
        reason: reason.filter(|(_, text)| !text.contains('\n')),
        build: Some("next build"),
        cache: Some(cache),
        makes,
    })
}

fn nuxt(package: &Package) -> Found {
    let makes = if package.script("build").is_some_and(|script| script.contains("generate")) {
        Makes::Files { folder: ".output/public".to_owned(), single_page: false }
    } else {
        Makes::Whole { folders: vec![folder(".output", ".output")], entry: ".output/server/index.mjs" }
    };
    Found { name: "Nuxt", reason: None, build: Some("nuxt build"), cache: None, makes }
}

fn astro(source: &Source, package: &Package) -> Result<Found> {
    let config = program(source, &["astro.config.mjs", "astro.config.ts", "astro.config.js", "astro.config.cjs"])?;
    let text = config.as_ref().map(|(_, text)| text.as_ref()).unwrap_or_default();
    let has_adapter = text.contains("adapter");
    if has_adapter && package.depends_on("@astrojs/node") {
        let reason = config.as_ref().map(|(file, _)| (*file, "the adapter is @astrojs/node".to_owned()));
        let makes = Makes::Server { start: Some("node ./dist/server/entry.mjs".to_owned()) };
        return Ok(Found { name: "Astro", reason, build: Some("astro build"), cache: None, makes });
    }
    if written_setting(text, "output").as_deref() == Some("server") {
        return unsuitable(
            "the configuration of Astro asks for a server, and has no adapter that makes one here. Add @astrojs/node.",
        );
    }
    let folder = written_setting(text, "outDir").and_then(|path| plain_folder(&path));
    Ok(files("Astro", "astro build", folder.as_deref().unwrap_or("dist"), false))
}

fn remix(source: &Source, package: &Package) -> Found {
    let uses_vite = source.first_file(VITE).is_some() && package.depends_on("vite");
    let built = if uses_vite { "build/server/index.js" } else { "build/index.js" };
    let start = package.depends_on("@remix-run/serve").then(|| format!("remix-serve ./{built}"));
    let build = if uses_vite { "remix vite:build" } else { "remix build" };
    Found { name: "Remix", reason: None, build: Some(build), cache: None, makes: Makes::Server { start } }
}

fn react_router(source: &Source) -> Result<Found> {
    let config = program(source, &["react-router.config.ts", "react-router.config.js"])?;
    let is_static = config.as_ref().is_some_and(|(_, text)| written_setting(text, "ssr").as_deref() == Some("false"));
    let reason = config.filter(|_| is_static).map(|(file, _)| (file, "ssr is false".to_owned()));
    let makes = if is_static {
        Makes::Files { folder: "build/client".to_owned(), single_page: true }
    } else {
        Makes::Server { start: Some("react-router-serve ./build/server/index.js".to_owned()) }
    };
    Ok(Found { name: "React Router", reason, build: Some("react-router build"), cache: None, makes })
}

fn svelte(source: &Source, package: &Package) -> Result<Found> {
    let config = program(source, &["svelte.config.js", "svelte.config.ts", "svelte.config.mjs"])?;
    let uses = |adapter: &str| match &config {
        Some((_, text)) => text.contains(adapter),
        None => package.depends_on(adapter),
    };
    let (adapter, makes) = if uses("@sveltejs/adapter-node") {
        ("adapter-node", Makes::Server { start: Some("node build".to_owned()) })
    } else if uses("@sveltejs/adapter-static") {
        let single_page = config.as_ref().is_some_and(|(_, text)| written_setting(text, "fallback").is_some());
        ("adapter-static", Makes::Files { folder: "build".to_owned(), single_page })
    } else {
        return unsuitable(
            "SvelteKit's build needs an adapter that makes a server or files here. Add @sveltejs/adapter-node or \
             @sveltejs/adapter-static to svelte.config.js.",
        );
    };
    let reason = config.map(|(file, _)| (file, format!("the adapter is {adapter}")));
    Ok(Found { name: "SvelteKit", reason, build: Some("vite build"), cache: None, makes })
}

/// The builder `application` puts what browsers get into a folder of its own.
fn angular(source: &Source) -> Result<Found> {
    const SETTINGS: &str = "angular.json";
    let settings = json_with_comments(source, SETTINGS)?.unwrap_or_default();
    let projects = settings["projects"].as_object();
    let applications: Vec<_> = projects
        .into_iter()
        .flatten()
        .filter(|(_, project)| project["projectType"].as_str().is_none_or(|kind| kind == "application"))
        .collect();
    let Some((name, project)) = applications.first() else {
        return unsuitable("angular.json has no application.");
    };
    let build = &project["architect"]["build"];
    let path = &build["options"]["outputPath"];
    let path = path.as_str().or_else(|| path["base"].as_str()).map_or_else(|| format!("dist/{name}"), str::to_owned);
    let Some(path) = plain_folder(&path) else {
        return unsuitable("the output folder in angular.json is not a plain path.");
    };
    let has_own_folder = build["builder"].as_str().is_some_and(|builder| builder.ends_with(":application"));
    let folder = if has_own_folder { format!("{path}/browser") } else { path };
    let makes = Makes::Files { folder, single_page: true };
    Ok(Found {
        name: "Angular",
        reason: Some((SETTINGS, "it names the output folder".to_owned())),
        build: Some("ng build"),
        cache: None,
        makes,
    })
}

const VITE: &[&str] = &["vite.config.ts", "vite.config.js", "vite.config.mjs", "vite.config.mts"];

fn vite(source: &Source) -> Result<Found> {
    let config = program(source, VITE)?;
    let folder =
        config.as_ref().and_then(|(_, text)| written_setting(text, "outDir")).and_then(|path| plain_folder(&path));
    let reason = config.zip(folder.as_deref()).map(|((file, _), folder)| (file, format!("outDir is {folder}")));
    let found = files("Vite", "vite build", folder.as_deref().unwrap_or("dist"), true);
    Ok(Found { reason, ..found })
}
