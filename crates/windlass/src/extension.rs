//! `windlass extension`: what authors of extensions need, without a server.

use std::io::Read;
use std::path::Path;

use clap::{Arg, ArgMatches, Command};
use windlass_extension::check;

/// No longer text is an extension.
const MOST_BYTES: u64 = 256 * 1024;

pub fn command() -> Command {
    let file = Arg::new("file").value_name("FILE").required(true).help("The text of an extension, in YAML");
    Command::new("extension")
        .about("Check extensions, without a server")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(Command::new("check").about("Say everything that is wrong with an extension").arg(file))
        .subcommand(Command::new("schema").about("Print the JSON Schema of the format, for editors"))
}

pub fn run(name: &str, matches: &ArgMatches) -> Result<(), String> {
    match name {
        "check" => check_file(Path::new(matches.get_one::<String>("file").map_or("", String::as_str))),
        _ => super::print(&format!("{:#}\n", windlass_extension::schema())),
    }
}

fn check_file(path: &Path) -> Result<(), String> {
    let unreadable = |error: std::io::Error| format!("{}: {error}", path.display());
    let mut text = String::new();
    let file = std::fs::File::open(path).map_err(unreadable)?;
    file.take(MOST_BYTES + 1).read_to_string(&mut text).map_err(unreadable)?;
    let checked = check(&text);
    match checked.extension {
        Some(extension) => {
            let metadata = &extension.metadata;
            let (variables, steps) = (extension.variables.len(), extension.steps.len());
            super::print(&format!(
                "{}: {} {} is valid, with {variables} variables and {steps} steps.\n",
                path.display(),
                metadata.id,
                metadata.version
            ))
        }
        None => {
            let problems: Vec<_> =
                checked.problems.iter().map(|problem| format!("{}: {problem}", path.display())).collect();
            Err(problems.join("\n"))
        }
    }
}
