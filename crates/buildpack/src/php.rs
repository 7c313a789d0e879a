//! PHP: `composer.json`, or `index.php`.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::detect::Sign;
use crate::dockerfile::{Copy, Origin, Stage, Step};
use crate::draft::{APP, BUILD, Draft};
use crate::error::Result;
use crate::images::Base;
use crate::kind::Kind;
use crate::manifest::{json, tool_version};
use crate::plan::Plan;
use crate::source::Source;
use crate::version::Lines;
use crate::wishes::Wishes;

const MANIFEST: &str = "composer.json";
const LOCK: &str = "composer.lock";
const PAGE: &str = "index.php";
const LINES: Lines = Lines { language: "PHP", default: "8.4", all: &["8.5", "8.4", "8.3", "8.2", "8.1"] };
const PORT: u16 = 8080;
const CACHE: &str = "/root/.composer/cache";

/// Extensions that are built, with the packages that this needs. Most others are in the image already.
const EXTENSIONS: [(&str, &[&str]); 14] = [
    ("bcmath", &[]),
    ("calendar", &[]),
    ("exif", &[]),
    ("gd", &["libpng-dev", "libjpeg-dev", "libfreetype-dev"]),
    ("gmp", &["libgmp-dev"]),
    ("intl", &["libicu-dev"]),
    ("mysqli", &[]),
    ("opcache", &[]),
    ("pcntl", &[]),
    ("pdo_mysql", &[]),
    ("pdo_pgsql", &["libpq-dev"]),
    ("soap", &["libxml2-dev"]),
    ("sockets", &[]),
    ("zip", &["libzip-dev"]),
];

pub fn find(source: &Source) -> Result<Option<Sign>> {
    let Some(file) = source.first_file(&[MANIFEST, PAGE, "public/index.php"]) else { return Ok(None) };
    let is_sure = source.first_file(&[PAGE, "public/index.php", "artisan"]).is_some();
    let found = if file == MANIFEST { "it is a manifest of Composer" } else { "it is a page of PHP" };
    Ok(Some(Sign { file, found: found.to_owned(), is_sure }))
}

pub fn plan(source: &Source, wishes: &Wishes) -> Result<Plan> {
    let mut draft = Draft::new(Kind::Php, source, wishes)?;
    let manifest = json(source, MANIFEST)?;
    let required = |name: &str| manifest.as_ref().is_some_and(|manifest| manifest["require"].get(name).is_some());
    let is_laravel = required("laravel/framework");
    let is_symfony = required("symfony/framework-bundle");
    draft.plan.framework = if is_laravel { Some("Laravel") } else { is_symfony.then_some("Symfony") };
    if manifest.is_some() {
        draft.plan.package_manager = Some("composer");
        draft.because("it is a manifest of Composer", MANIFEST);
        if !source.has_file(LOCK) {
            draft.warn("There is no composer.lock: each build may get other versions of the dependencies.");
        }
    } else {
        draft.because("it is a page of PHP", source.first_file(&[PAGE]).unwrap_or("public/index.php"));
    }
    let root = if source.has_file("public/index.php") { "/app/public" } else { APP };
    let asked = asked_version(source, manifest.as_ref())?;
    let version = draft.version(&LINES, &asked);
    let extensions = extensions(source, manifest.as_ref(), is_laravel, &version)?;
    draft.port(PORT);
    draft.add_assets()?;
    let install = "composer install --no-dev --no-interaction --prefer-dist --optimize-autoloader --no-scripts";
    let install = draft.install(manifest.is_some().then(|| install.to_owned()));
    let build = draft.build(None);
    let start = draft.start(Some("apache2-foreground".to_owned()), "")?;
    // Symfony reads a file that is for development otherwise, and asks for packages that are not installed.
    let production = if is_laravel { Some("production") } else { is_symfony.then_some("prod") };
    // As the last stage begins, so that both are built once.
    let mut stage = Stage::new(BUILD, Base::Php, &version);
    stage.add(Step::Folder(APP.to_owned()));
    add_extensions(&mut stage, &extensions);
    stage.add(Step::Variables);
    if let Some(production) = production {
        stage.defaults(&[("APP_ENV", production)]);
    }
    if install.is_some() {
        stage.packages(&["git", "unzip"]);
        let from = Some(Origin::Image(Base::Composer));
        let program = "/usr/bin/composer".to_owned();
        stage.add(Step::Copy(Copy { from, sources: vec![program.clone()], to: program, is_writable: false }));
        stage.environment(&[("COMPOSER_ALLOW_SUPERUSER", "1"), ("COMPOSER_CACHE_DIR", CACHE)]);
    }
    draft.copy_source(&mut stage);
    if let Some(install) = install {
        stage.run_with_secrets(&[CACHE], install);
    }
    if let Some(build) = build {
        stage.run_with_secrets(&[], build);
    }
    // Frameworks do not make these folders, and git keeps no empty ones.
    let writes: &[&str] = if is_laravel {
        &["storage", "bootstrap/cache"]
    } else if is_symfony {
        &["var"]
    } else {
        &[]
    };
    if !writes.is_empty() {
        stage.run(&[], format!("mkdir -p {}", writes.join(" ")));
    }
    let mut run = draft.run_stage(Base::Php, &version);
    add_extensions(&mut run, &extensions);
    configure_apache(&mut run, root);
    if let Some(production) = production {
        run.environment(&[("APP_ENV", production)]);
    }
    draft.copy_built(&mut run);
    Ok(draft.serve(Some(stage), run, &start))
}

/// The user of the application may not listen on port 80. Apache reads `PORT` itself. What is hidden is not served.
fn configure_apache(run: &mut Stage, root: &str) {
    run.run(
        &[],
        format!(
            "sed -ri 's/^Listen 80$/Listen ${{PORT}}/' /etc/apache2/ports.conf && sed -ri 's/:80>/:${{PORT}}>/; \
             s#/var/www/html#{root}#' /etc/apache2/sites-available/000-default.conf && printf '<Directory {root}>\\n\
             AllowOverride All\\nRequire all granted\\nFallbackResource /index.php\\n</Directory>\\n<FilesMatch \"^([.]|composer[.])\">\\nRequire all denied\\n</FilesMatch>\\n\
             <DirectoryMatch \"/[.](?!well-known)\">\\nRequire all denied\\n</DirectoryMatch>\\n' > \
             /etc/apache2/conf-enabled/app.conf && a2enmod rewrite"
        ),
    );
}

fn asked_version(source: &Source, manifest: Option<&Value>) -> Result<Vec<(String, String)>> {
    let mut asked: Vec<_> = tool_version(source, &["php"])?.into_iter().collect();
    for value in
        manifest.into_iter().flat_map(|manifest| [&manifest["config"]["platform"]["php"], &manifest["require"]["php"]])
    {
        asked.extend(value.as_str().map(|version| (source.path(MANIFEST), version.to_owned())));
    }
    Ok(asked)
}

/// Those that are required, and for Laravel the one of its database.
fn extensions(
    source: &Source,
    manifest: Option<&Value>,
    is_laravel: bool,
    version: &str,
) -> Result<BTreeSet<&'static str>> {
    let required = manifest.and_then(|manifest| manifest["require"].as_object());
    let names: BTreeSet<String> = required
        .into_iter()
        .flatten()
        .filter_map(|(name, _)| name.strip_prefix("ext-"))
        .map(|name| name.replace('-', "_"))
        .collect();
    let mut found: BTreeSet<_> =
        EXTENSIONS.iter().map(|(name, _)| *name).filter(|name| names.contains(*name)).collect();
    // From 8.5 on it is always there.
    if version != "8.5" {
        found.insert("opcache");
    }
    if is_laravel {
        let settings = source.glance(".env.example")?.unwrap_or_default();
        let database = settings.lines().find_map(|line| line.strip_prefix("DB_CONNECTION="));
        found.extend(match database.map(str::trim) {
            Some("mysql" | "mariadb") => Some("pdo_mysql"),
            Some("pgsql") => Some("pdo_pgsql"),
            _ => None,
        });
        found.extend(["bcmath", "pcntl"]);
    }
    Ok(found)
}

fn add_extensions(stage: &mut Stage, extensions: &BTreeSet<&'static str>) {
    let packages: Vec<_> = EXTENSIONS
        .iter()
        .filter(|(name, _)| extensions.contains(name))
        .flat_map(|(_, packages)| *packages)
        .copied()
        .collect();
    stage.packages(&packages);
    if !extensions.is_empty() {
        let names: Vec<_> = extensions.iter().copied().collect();
        let configure =
            if extensions.contains("gd") { "docker-php-ext-configure gd --with-freetype --with-jpeg && " } else { "" };
        stage.run(&[], format!("{configure}docker-php-ext-install {}", names.join(" ")));
    }
}
