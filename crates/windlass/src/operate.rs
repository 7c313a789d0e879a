//! What the operator does beside a running server: `windlass admin …`, `windlass audit …` and `windlass ca`.

use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter};

use clap::ArgMatches;
use uuid::Uuid;
use windlass_server::config::Config;
use windlass_server::local_certificates::ROOT_FILE;
use windlass_server::operator;
use windlass_server::service::adoption::Adopted;
use windlass_server::service::audit::verify::Report;
use windlass_server::service::master_key::Rotated;
use windlass_server::vault::ring::KeySource;

use crate::print;

/// `windlass ca`: what a browser must trust for names of this machine.
pub fn print_root(config: &Config) -> Result<(), String> {
    let path = config.data_dir.join(ROOT_FILE);
    let missing = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::NotFound => format!(
            "data-dir: there is no root in {} yet. The server makes one when it first serves a name such as shop.localhost.",
            config.data_dir.display()
        ),
        _ => format!("{}: {error}", path.display()),
    };
    print(&std::fs::read_to_string(&path).map_err(missing)?)
}

#[tokio::main(flavor = "current_thread")]
pub async fn operate(config: Config, group: &str, name: &str, matches: &ArgMatches) -> Result<(), String> {
    match (group, name) {
        ("admin", "reset-password") => reset_password(config, matches).await,
        ("admin", "disable-2fa") => disable_two_factor(config, matches).await,
        ("admin", "rotate-key") if matches.get_flag("prepare") => Box::pin(prepare_key(config)).await,
        ("admin", "rotate-key") => Box::pin(rotate_key(config)).await,
        ("audit", "verify") => verify_audit(config, matches).await,
        ("audit", "export") => {
            let organization = matches.get_one::<Uuid>("organization").copied();
            operator::export_audit(config, organization, &mut BufWriter::new(std::io::stdout())).await
        }
        _ => Ok(()),
    }
}

#[tokio::main(flavor = "current_thread")]
pub async fn adopt(config: Config, matches: &ArgMatches) -> Result<(), String> {
    match operator::adopt(config, matches.get_flag("new")).await? {
        Adopted::From(folder) => print(&format!(
            "This installation holds the containers now. The one in {folder} changes nothing any more. Start the server: \
             windlass serve\n"
        )),
        Adopted::Anew => print(
            "This is an installation of its own now. Its applications are stopped; deploy those that you want, with other \
             domains or another edge-http. Start the server: windlass serve\n",
        ),
        Adopted::Nothing => print("This installation holds its containers already.\n"),
    }
}

fn email(matches: &ArgMatches) -> &str {
    matches.get_one::<String>("email").map(String::as_str).unwrap_or_default()
}

async fn disable_two_factor(config: Config, matches: &ArgMatches) -> Result<(), String> {
    let email = email(matches);
    operator::disable_two_factor(config, email).await?;
    print(&format!("{email} can log in with the password alone.\n"))
}

async fn rotate_key(config: Config) -> Result<(), String> {
    let from_file = matches!(config.master_key_source(), KeySource::File(_));
    let rotated = operator::rotate_key(config).await?;
    let Rotated { from, to, secrets } = rotated;
    print(&format!("The master key is now {to}; {secrets} secret(s) were encrypted again.\n"))?;
    match from_file {
        true => print("Make a new copy of master.key; the old one still opens old backups of the database.\n"),
        false => print(&format!("The old key, {from}, is no longer needed in WINDLASS_MASTER_KEY.\n")),
    }
}

async fn prepare_key(config: Config) -> Result<(), String> {
    let file = config.master_key_source().to_string();
    let what = if operator::prepare_key(config).await? { "now holds" } else { "already holds" };
    print(&format!(
        "{file} {what} the next key beside the present one. Copy it to every other server of this database; then run \
         `windlass admin rotate-key` on one of them, and copy it again.\n"
    ))
}

async fn verify_audit(config: Config, matches: &ArgMatches) -> Result<(), String> {
    let copy = matches.get_one::<String>("against");
    let copy = copy.map(|file| File::open(file).map_err(|error| format!("against: {file}: {error}"))).transpose()?;
    let mut copy = copy.map(BufReader::new);
    let report = operator::verify_audit(config, copy.as_mut().map(|copy| copy as &mut dyn BufRead)).await?;
    let Report { chains, entries, broken } = report;
    if broken.is_empty() {
        return print(&format!("{entries} entries in {chains} chain(s): every link holds.\n"));
    }
    let mut places: Vec<_> = broken.iter().map(|broken| broken.chain_id).collect();
    places.sort_unstable();
    places.dedup();
    let lines: Vec<_> = broken.iter().map(|broken| format!("  {broken}")).collect();
    Err(format!("{} of {chains} chain(s) are broken, first at:\n{}", places.len(), lines.join("\n")))
}

async fn reset_password(config: Config, matches: &ArgMatches) -> Result<(), String> {
    let email = email(matches);
    let given = if matches.get_flag("password-stdin") { Some(read_line()?) } else { None };
    let revoke_keys = matches.get_flag("revoke-api-keys");
    let password = operator::reset_password(config, email, given.as_deref(), revoke_keys).await?;
    match given {
        Some(_) => print(&format!("The password of {email} is set; all sessions have ended.\n"))?,
        None => print(&format!("The new password of {email} is: {password}\nAll sessions have ended.\n"))?,
    }
    match revoke_keys {
        true => print("All API keys are revoked.\n"),
        false => print("API keys go on working; --revoke-api-keys ends them too.\n"),
    }
}

fn read_line() -> Result<String, String> {
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line).map_err(|error| format!("standard input: {error}"))?;
    Ok(line.trim_end_matches(['\r', '\n']).to_owned())
}
