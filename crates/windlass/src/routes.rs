//! `windlass routes …`: talking to a running edge.

use std::io::Read;
use std::net::SocketAddr;

use clap::{Arg, ArgMatches, Command};
use serde::Serialize;
use windlass_edge::control::Drain;
use windlass_edge::control::client::Client;
use windlass_edge::route_file;
use windlass_edge::routes::RouteSet;
use windlass_server::config::{Config, Subcommand};

use crate::{print, with_settings};

pub fn command() -> Command {
    let settable = |command| with_settings(command, Subcommand::Routes);
    let apply = settable(Command::new("apply"))
        .about("Check routes, save them and serve them; the old ones stay if there is a problem")
        .arg(Arg::new("file").value_name("FILE").required(true).help("The whole table as JSON; - for standard input"));
    let drain = settable(Command::new("drain"))
        .about("Wait until the last request has left a target that is in no route any more")
        .arg(Arg::new("service").value_name("SERVICE").required(true))
        .arg(Arg::new("address").value_name("ADDRESS").required(true).value_parser(clap::value_parser!(SocketAddr)))
        .arg(
            Arg::new("seconds")
                .long("seconds")
                .value_name("SECONDS")
                .default_value("30")
                .value_parser(clap::value_parser!(u64).range(0..=86_400))
                .help("What is still under way then is cut"),
        );
    Command::new("routes")
        .about("Show and change what a running edge serves")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(apply)
        .subcommand(drain)
        .subcommand(settable(Command::new("show")).about("Print the routes that are saved, without private keys"))
        .subcommand(settable(Command::new("stats")).about("Print what the edge has counted"))
}

#[tokio::main(flavor = "current_thread")]
pub async fn run(config: &Config, name: &str, matches: &ArgMatches) -> Result<(), String> {
    if name == "show" {
        return show(config);
    }
    let unreachable = |error| format!("no edge answers on {}: {error}", config.data_dir.display());
    let mut edge = Client::connect(&config.data_dir).await.map_err(unreachable)?;
    let failed = |error: windlass_edge::control::client::CallError| error.to_string();
    match name {
        "apply" => {
            let applied = edge.apply(read(matches)?).await.map_err(failed)?;
            print(&format!("{} route(s) are served now.\n", applied.routes))
        }
        "drain" => print_json(&edge.drain(drain(matches)?).await.map_err(failed)?),
        _ => print_json(&edge.stats().await.map_err(failed)?),
    }
}

fn show(config: &Config) -> Result<(), String> {
    let path = route_file::path(&config.data_dir);
    let text = std::fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let routes: RouteSet = serde_json::from_slice(&text).map_err(|error| format!("{}: {error}", path.display()))?;
    print_json(&routes.without_keys())
}

fn read(matches: &ArgMatches) -> Result<RouteSet, String> {
    let file = matches.get_one::<String>("file").map(String::as_str).unwrap_or_default();
    let mut text = String::new();
    match file {
        "-" => std::io::stdin().read_to_string(&mut text),
        _ => std::fs::File::open(file).and_then(|mut file| file.read_to_string(&mut text)),
    }
    .map_err(|error| format!("{file}: {error}"))?;
    serde_json::from_str(&text).map_err(|error| format!("{file}: {error}"))
}

fn drain(matches: &ArgMatches) -> Result<Drain, String> {
    let service = matches.get_one::<String>("service").cloned().unwrap_or_default();
    let address = *matches.get_one::<SocketAddr>("address").ok_or("an address is needed")?;
    let seconds = matches.get_one::<u64>("seconds").copied().unwrap_or_default();
    Ok(Drain { service, address, deadline_ms: 1000 * seconds })
}

fn print_json(value: &impl Serialize) -> Result<(), String> {
    print(&format!("{}\n", serde_json::to_string_pretty(value).map_err(|error| error.to_string())?))
}
