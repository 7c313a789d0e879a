//! Ruby: `Gemfile`.

use crate::detect::Sign;
use crate::draft::{BUILD, Draft};
use crate::error::Result;
use crate::images::Base;
use crate::kind::Kind;
use crate::manifest::{first_line, tool_version};
use crate::plan::Plan;
use crate::source::Source;
use crate::version::Lines;
use crate::wishes::Wishes;

const GEMS: &str = "Gemfile";
const LOCK: &str = "Gemfile.lock";
const RACK: &str = "config.ru";
const LINES: Lines = Lines { language: "Ruby", default: "3.4", all: &["3.4", "3.3", "3.2", "3.1"] };
const PORT: u16 = 3000;
const BUNDLE: &str = "/usr/local/bundle";
const MISSING: &str = "Add config.ru.";
/// Gems with what they are linked to, or run.
const LIBRARIES: [(&str, &str); 5] = [
    ("pg", "libpq5"),
    ("mysql2", "libmariadb3"),
    ("sqlite3", "libsqlite3-0"),
    ("ruby-vips", "libvips42"),
    ("mini_magick", "imagemagick"),
];

pub fn find(source: &Source) -> Result<Option<Sign>> {
    let Some(gems) = source.text(GEMS)? else { return Ok(None) };
    let is_sure = source.has_file(RACK) || has_gem(&gems, "rails") || source.has_file("app.rb");
    Ok(Some(Sign { file: GEMS, found: "it names the gems of Ruby".to_owned(), is_sure }))
}

/// `gem "rails", "~> 8"` at the beginning of a line.
fn has_gem(gems: &str, name: &str) -> bool {
    gems.lines().any(|line| {
        let Some(rest) = line.trim().strip_prefix("gem") else { return false };
        rest.trim_start_matches([' ', '(']).split(['"', '\'']).nth(1) == Some(name)
    })
}

pub fn plan(source: &Source, wishes: &Wishes) -> Result<Plan> {
    let mut draft = Draft::new(Kind::Ruby, source, wishes)?;
    let gems = source.text(GEMS)?.unwrap_or_default();
    draft.plan.package_manager = Some("bundler");
    draft.because("it names the gems of Ruby", GEMS);
    let has_lock = source.has_file(LOCK);
    if !has_lock {
        draft.warn("There is no Gemfile.lock: each build may get other versions of the gems.");
    }
    let version = version(&mut draft, &gems)?;
    let is_rails = has_gem(&gems, "rails");
    draft.plan.framework = if is_rails { Some("Rails") } else { has_gem(&gems, "sinatra").then_some("Sinatra") };
    draft.port(PORT);
    draft.add_assets()?;
    let install = draft.install(Some("bundle install".to_owned()));
    let has_assets = is_rails && (source.has_folder("app/assets") || source.has_folder("app/javascript"));
    let build =
        draft.build(has_assets.then(|| "SECRET_KEY_BASE_DUMMY=1 bundle exec rails assets:precompile".to_owned()));
    let start = start(source, &gems, is_rails);
    let start = draft.start(start, MISSING)?;
    let mut stage = draft.build_stage(Base::RubyBuild, &version);
    let deployment = if has_lock { "1" } else { "0" };
    let bundle = [("BUNDLE_PATH", BUNDLE), ("BUNDLE_WITHOUT", "development:test"), ("BUNDLE_DEPLOYMENT", deployment)];
    stage.environment(&bundle);
    stage.defaults(stands_for_production(is_rails));
    let manifests: Vec<_> = [GEMS, LOCK, ".ruby-version"].into_iter().filter(|name| source.has_file(name)).collect();
    let needs_source = gems.contains("path:") || gems.contains("gemspec") || wishes.install.is_some();
    if needs_source {
        draft.copy_source(&mut stage);
    } else {
        stage.copy(&manifests, "./");
    }
    if let Some(install) = install {
        stage.run_with_secrets(&[], format!("{install} && rm -rf {BUNDLE}/ruby/*/cache {BUNDLE}/cache"));
    }
    if !needs_source {
        draft.copy_source(&mut stage);
    }
    if let Some(build) = build {
        stage.run_with_secrets(&[], build);
    }
    // Where applications write. Two of them are not sent to the engine, and git keeps no empty ones.
    stage.run(&[], "mkdir -p tmp/pids log storage");
    let mut run = draft.run_stage(Base::Ruby, &version);
    let libraries: Vec<_> =
        LIBRARIES.iter().filter(|(gem, _)| has_gem(&gems, gem)).map(|(_, library)| *library).collect();
    run.packages(&libraries);
    run.environment(&bundle);
    run.environment(stands_for_production(is_rails));
    if is_rails {
        run.environment(&[("RAILS_LOG_TO_STDOUT", "1"), ("RAILS_SERVE_STATIC_FILES", "1")]);
    }
    run.copy_from(BUILD, BUNDLE, BUNDLE);
    draft.copy_built(&mut run);
    Ok(draft.serve(Some(stage), run, &start))
}

const fn stands_for_production(is_rails: bool) -> &'static [(&'static str, &'static str)] {
    if is_rails { &[("RAILS_ENV", "production"), ("RACK_ENV", "production")] } else { &[("RACK_ENV", "production")] }
}

fn start(source: &Source, gems: &str, is_rails: bool) -> Option<String> {
    let start = if has_gem(gems, "puma") && (is_rails || source.has_file(RACK)) {
        "bundle exec puma -b tcp://0.0.0.0:$PORT"
    } else if is_rails {
        "bundle exec rails server -b 0.0.0.0 -p $PORT"
    } else if source.has_file(RACK) {
        "bundle exec rackup -o 0.0.0.0 -p $PORT"
    } else if source.has_file("app.rb") {
        "bundle exec ruby app.rb -o 0.0.0.0 -p $PORT"
    } else {
        return None;
    };
    Some(start.to_owned())
}

fn version(draft: &mut Draft<'_>, gems: &str) -> Result<String> {
    let source = draft.source;
    let mut asked = Vec::new();
    let file = first_line(source, ".ruby-version")?;
    asked.extend(file.map(|(file, line)| (file, line.trim_start_matches("ruby-").to_owned())));
    asked.extend(tool_version(source, &["ruby"])?);
    let line =
        gems.lines().find_map(|line| line.trim().strip_prefix("ruby ").or_else(|| line.trim().strip_prefix("ruby(")));
    let written = line.and_then(|line| line.split(['"', '\'']).nth(1));
    asked.extend(written.map(|version| (source.path(GEMS), version.to_owned())));
    Ok(draft.version(&LINES, &asked))
}
