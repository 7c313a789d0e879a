//! `Procfile`: a line for each kind of process. `web` is the one that visitors reach.

use crate::command::checked;
use crate::detect::Sign;
use crate::draft::Draft;
use crate::error::Result;
use crate::images::Base;
use crate::kind::Kind;
use crate::plan::Plan;
use crate::source::Source;
use crate::text::is_plain_path;
use crate::wishes::Wishes;

pub const NAME: &str = "Procfile";
const PORT: u16 = 8080;

#[derive(Debug, Default, PartialEq, Eq)]
pub struct Procfile {
    pub web: Option<String>,
    pub has_release: bool,
    pub others: Vec<String>,
}

pub fn read(source: &Source) -> Result<Option<Procfile>> {
    let Some(text) = source.text(NAME)? else { return Ok(None) };
    let mut procfile = Procfile::default();
    for line in text.lines().map(str::trim).filter(|line| !line.starts_with('#')) {
        let Some((name, command)) = line.split_once(':') else { continue };
        let command = command.trim();
        match name.trim() {
            _ if command.is_empty() => {}
            "web" => procfile.web = Some(checked(command, NAME)?),
            "release" => procfile.has_release = true,
            name if is_plain_path(name) && procfile.others.len() < 10 => procfile.others.push(name.to_owned()),
            _ => {}
        }
    }
    Ok(Some(procfile))
}

pub fn find(source: &Source) -> Result<Option<Sign>> {
    let web = read(source)?.and_then(|procfile| procfile.web);
    Ok(web.map(|_| Sign { file: NAME, found: "\"web\" says how it starts".to_owned(), is_sure: false }))
}

/// Whose programs a command runs, to decide between languages.
pub fn language(command: &str) -> Option<Kind> {
    let is = |programs: &[&str]| crate::command::mentions(command, programs);
    Some(match () {
        () if is(&["python", "python3", "gunicorn", "uvicorn", "hypercorn", "daphne", "flask", "waitress-serve"]) => {
            Kind::Python
        }
        () if is(&["bundle", "ruby", "rails", "puma", "rackup", "unicorn"]) => Kind::Ruby,
        () if is(&["php", "heroku-php-apache2", "heroku-php-nginx", "artisan"]) => Kind::Php,
        () if is(&["java"]) => Kind::Java,
        () if is(&["dotnet"]) => Kind::Dotnet,
        () if is(&["deno"]) => Kind::Deno,
        () if is(&["mix", "elixir"]) => Kind::Elixir,
        () if is(&["node", "npm", "npx", "yarn", "pnpm", "bun", "next"]) => Kind::Node,
        () => return None,
    })
}

/// A `Procfile` and nothing else that is known: its command runs beside the files, with what Debian has.
pub fn plan(source: &Source, wishes: &Wishes) -> Result<Plan> {
    let mut draft = Draft::new(Kind::Procfile, source, wishes)?;
    draft.port(PORT);
    draft.warn("Only a Procfile was found: the image has the files and Debian's basic programs, and no language.");
    let build = draft.build(None);
    let install = draft.install(None);
    let start = draft.start(None, "Add a line \"web: COMMAND\" to the Procfile.")?;
    let mut stage = draft.build_stage(Base::Debian, "");
    stage.copy(&["."], "./");
    for command in [install, build].into_iter().flatten() {
        stage.run_with_secrets(&[], command);
    }
    let mut run = draft.run_stage(Base::Debian, "");
    draft.copy_built(&mut run);
    Ok(draft.serve(Some(stage), run, &start))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_tell_their_language() {
        assert_eq!(language("gunicorn app:app"), Some(Kind::Python));
        assert_eq!(language("bundle exec puma"), Some(Kind::Ruby));
        assert_eq!(language("npm start"), Some(Kind::Node));
        assert_eq!(language("./server"), None);
    }
}
