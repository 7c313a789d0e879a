//! The one binary: `windlass serve`, and what the operator needs beside it.

mod edge;
mod extension;
mod log;
mod operate;
mod routes;

use std::io::Write;
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, ArgAction, ArgMatches, Command};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use windlass_server::config::{Config, GivenSettings, Kind, Subcommand, guide, settings};
use windlass_server::http;
use windlass_server::serve::{Server, Stop};

fn main() -> ExitCode {
    let matches = command().try_get_matches().unwrap_or_else(|error| explain(error).exit());
    let done = match matches.subcommand() {
        Some(("serve", matches)) => configure(matches).and_then(serve),
        Some(("edge", matches)) => edge::arguments(matches).and_then(edge::run),
        Some(("adopt", matches)) => configure(matches).and_then(|config| operate::adopt(config, matches)),
        Some(("ca", matches)) => configure(matches).and_then(|config| operate::print_root(&config)),
        Some(("stop", matches)) => configure(matches).and_then(|config| edge::stop(&config)),
        Some(("routes", matches)) => match matches.subcommand() {
            Some((name, matches)) => configure(matches).and_then(|config| routes::run(&config, name, matches)),
            None => Ok(()),
        },
        Some((group @ ("admin" | "audit"), matches)) => match matches.subcommand() {
            Some((name, matches)) => {
                configure(matches).and_then(|config| operate::operate(config, group, name, matches))
            }
            None => Ok(()),
        },
        Some(("extension", matches)) => match matches.subcommand() {
            Some((name, matches)) => extension::run(name, matches),
            None => Ok(()),
        },
        Some(("openapi", _)) => print_description(),
        Some(("settings", matches)) if matches.get_flag("markdown") => print(&guide::markdown()),
        Some(("settings", _)) => print(&guide::file()),
        _ => Ok(()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            say(&format!("windlass: {problem}"));
            ExitCode::FAILURE
        }
    }
}

fn command() -> Command {
    let email = |help| Arg::new("email").long("email").value_name("EMAIL").required(true).help(help);
    let reset_password = with_settings(Command::new("reset-password"), Subcommand::Admin)
        .about("Set a user's password and end all of their sessions")
        .arg(email("Whose password"))
        .arg(
            Arg::new("password-stdin")
                .long("password-stdin")
                .action(ArgAction::SetTrue)
                .help("Read the new password from standard input; otherwise a random one is made and printed"),
        )
        .arg(
            Arg::new("revoke-api-keys")
                .long("revoke-api-keys")
                .action(ArgAction::SetTrue)
                .help("Revoke the user's API keys too, in case the password was stolen"),
        );
    let disable_2fa = with_settings(Command::new("disable-2fa"), Subcommand::Admin)
        .about("Turn off the second factor of a user who has lost it")
        .arg(email("Whose second factor"));
    let rotate_key = with_settings(Command::new("rotate-key"), Subcommand::Admin)
        .about("Replace the master key and encrypt all secrets anew; servers go on meanwhile")
        .arg(Arg::new("prepare").long("prepare").action(ArgAction::SetTrue).help(
            "Only add the new key to the file, so that it can be copied to the other servers of this database first",
        ));
    let verify = with_settings(Command::new("verify"), Subcommand::Audit)
        .about("Check that no entry was changed, removed or added by hand")
        .arg(
            Arg::new("against")
                .long("against")
                .value_name("FILE")
                .help("Also hold it against what `windlass audit export` wrote earlier"),
        );
    let export =
        with_settings(Command::new("export"), Subcommand::Audit).about("Print all entries as lines of JSON").arg(
            Arg::new("organization")
                .long("organization")
                .value_name("ID")
                .value_parser(clap::value_parser!(uuid::Uuid))
                .help("Only this organization's entries"),
        );
    Command::new("windlass")
        .version(env!("CARGO_PKG_VERSION"))
        .about("A self-hosted application deployment platform")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(with_settings(Command::new("serve"), Subcommand::Serve).about("Run the server, and the edge beside it"))
        .subcommand(
            with_settings(Command::new("edge"), Subcommand::Edge)
                .about("Run the edge alone, with the routes in the data folder")
                .arg(Arg::new("orders").long("orders").value_name("JSON").hide(true))
                .arg(
                    Arg::new("take-over")
                        .long("take-over")
                        .action(ArgAction::SetTrue)
                        .help("Take over from the edge that is running on the data folder, without a gap"),
                ),
        )
        .subcommand(routes::command())
        .subcommand(
            with_settings(Command::new("ca"), Subcommand::Ca)
                .about("Print the root by which this installation signs certificates for names of this machine"),
        )
        .subcommand(
            with_settings(Command::new("adopt"), Subcommand::Adopt)
                .about("Let a restored or copied data folder hold its containers in the place of the other one")
                .arg(Arg::new("new").long("new").action(ArgAction::SetTrue).help(
                    "Make it an installation of its own instead: a new id, all applications stopped, to be deployed again",
                )),
        )
        .subcommand(with_settings(Command::new("stop"), Subcommand::Stop).about("Stop the server and the edge of a data folder"))
        .subcommand(
            Command::new("admin")
                .about("Operate the installation from its own machine")
                .subcommand_required(true)
                .arg_required_else_help(true)
                .subcommand(reset_password)
                .subcommand(disable_2fa)
                .subcommand(rotate_key),
        )
        .subcommand(
            Command::new("audit")
                .about("Check and export the audit log")
                .subcommand_required(true)
                .arg_required_else_help(true)
                .subcommand(verify)
                .subcommand(export),
        )
        .subcommand(extension::command())
        .subcommand(Command::new("openapi").about("Print the API description (OpenAPI 3.1)"))
        .subcommand(
            Command::new("settings").about("Print a settings file with every default, commented out").arg(
                Arg::new("markdown")
                    .long("markdown")
                    .action(ArgAction::SetTrue)
                    .help("Print the guide to the settings instead"),
            ),
        )
}

/// The settings that a command takes, as flags. They are read as text here; what they may be is the settings' own business.
fn with_settings(command: Command, taker: Subcommand) -> Command {
    let config = Arg::new("config")
        .long("config")
        .value_name("FILE")
        .help("Settings file [env: WINDLASS_CONFIG] [default: windlass.toml, if there is one]");
    let taken = settings().iter().filter(|setting| setting.commands.contains(&taker));
    taken.fold(command.arg(config), |command, setting| {
        let shown = if setting.default.is_empty() { "none" } else { &setting.default };
        let help = format!("{} [env: {}] [default: {shown}]", setting.help_and_values(), setting.environment_name());
        let action = if setting.kind == Kind::List { ArgAction::Append } else { ArgAction::Set };
        let flag = Arg::new(setting.name).long(setting.name).value_name(&*setting.value_name).action(action).help(help);
        command.arg(flag.help_heading(setting.section.title()))
    })
}

/// Says of a flag that is a setting of other commands which ones these are.
fn explain(mut error: clap::Error) -> clap::Error {
    let flag = error.get(ContextKind::InvalidArg).map(ToString::to_string).unwrap_or_default();
    let setting = settings().iter().find(|setting| flag.strip_prefix("--") == Some(setting.name));
    if let (ErrorKind::UnknownArgument, Some(setting)) = (error.kind(), setting) {
        let takers: Vec<_> = setting.commands.iter().map(|command| format!("windlass {}", command.as_str())).collect();
        let tip = format!("{flag} is a setting of other commands: {}", takers.join(", "));
        error.remove(ContextKind::SuggestedArg);
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    }
    error
}

fn configure(matches: &ArgMatches) -> Result<Config, String> {
    let mut given = GivenSettings::default();
    for setting in settings() {
        // A command does not know the flags of others.
        if let Ok(Some(values)) = matches.try_get_many::<String>(setting.name) {
            given.add(setting, values.cloned().collect());
        }
    }
    given.add_environment(
        std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.to_string_lossy().into_owned()))),
    );
    let named = matches.get_one::<String>("config").cloned().or_else(|| std::env::var("WINDLASS_CONFIG").ok());
    let file = named.clone().unwrap_or_else(|| "windlass.toml".into());
    match std::fs::read_to_string(&file) {
        Ok(text) => given.add_file(&file, &text),
        Err(error) if named.is_none() && error.kind() == std::io::ErrorKind::NotFound => {}
        Err(error) => given.add_problem(format!("config: {file} cannot be read: {error}")),
    }
    let mut config = Config::from_given(given).map_err(|problems| {
        format!("the configuration has {} problem(s):\n  {}", problems.len(), problems.join("\n  "))
    })?;
    // Programs that are started in other folders, such as git, are given paths below it.
    config.data_dir = std::path::absolute(&config.data_dir).map_err(|error| format!("data-dir: {error}"))?;
    if let Some(folder) = &config.push_dir {
        config.push_dir = Some(std::path::absolute(folder).map_err(|error| format!("push-dir: {error}"))?);
    }
    Ok(config)
}

#[tokio::main]
async fn serve(config: Config) -> Result<(), String> {
    let _log = log::start(config.log_format, config.log_level);
    let stop = stop_signal()?;
    let server = Box::pin(Server::prepare(config)).await.map_err(|error| error.to_string())?;
    announce(&server).await;
    server.run(stop).await;
    tracing::info!("stopped");
    Ok(())
}

/// Tells of the first SIGTERM or Ctrl-C. A second one ends the process at once, for those who cannot wait.
fn stop_signal() -> Result<watch::Receiver<Option<Stop>>, String> {
    let (sender, receiver) = watch::channel(None);
    let unheard = |error: std::io::Error| format!("signals cannot be received: {error}");
    let mut terminate = signal(SignalKind::terminate()).map_err(unheard)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(unheard)?;
    tokio::spawn(async move {
        let mut next = async || {
            tokio::select! { _ = terminate.recv() => Stop::Server, _ = interrupt.recv() => Stop::Everything }
        };
        let stop = next().await;
        tracing::info!("stopping; requests under way may finish");
        let _ = sender.send(Some(stop));
        next().await;
        std::process::exit(1);
    });
    Ok(receiver)
}

async fn announce(server: &Server) {
    for address in server.addresses() {
        tracing::info!("listening on http://{address}");
    }
    let edge = server.edge_addresses();
    for address in edge.http {
        tracing::info!("visitors reach applications at http://{address}");
    }
    for address in edge.https {
        tracing::info!("visitors reach applications that have a certificate at https://{address}");
    }
    if server.admin_registered().await.unwrap_or(true) {
        return;
    }
    let url = server.app.config.public_url();
    tracing::info!("there is no user yet: open {url} and register the admin");
    let needed = if server.app.config.is_reachable_from_outside() {
        ""
    } else {
        ", needed behind a proxy and by other users of the machine"
    };
    // Not into the log: logs are shipped and kept, and this is a key to the house.
    let token = server.app.setup_token.reveal();
    let _ = print(&format!("Set-up token for the first registration{needed}: {token}\n"));
}

fn print_description() -> Result<(), String> {
    let text = serde_json::to_string_pretty(&http::description()).map_err(|error| error.to_string())?;
    print(&format!("{text}\n"))
}

pub fn print(text: &str) -> Result<(), String> {
    std::io::stdout().write_all(text.as_bytes()).map_err(|error| format!("standard output: {error}"))
}

fn say(text: &str) {
    // Nothing is left to do when standard error is closed.
    let _ = writeln!(std::io::stderr(), "{text}");
}
