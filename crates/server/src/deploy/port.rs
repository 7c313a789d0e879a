//! The port that visitors are sent to: the user's, else the image's, else the only one that is listened on.

use std::collections::BTreeSet;
use std::time::Duration;

use tokio::time::Instant;
use windlass_api::{Configuration, Variables};
use windlass_runtime::Image;
use windlass_store::releases::{self, Artifact};

use super::attempt::Attempt;
use super::failure::Result;
use crate::subject::Subject;

/// What an application is told to listen on when neither its user nor its image says so.
pub const USUAL_PORT: u16 = 8080;
/// How long what is listened on must stay the same before it is believed: some listen for their metrics first.
const SETTLED: Duration = Duration::from_secs(3);
/// The same when the image names one port, which may only be late.
const SETTLED_DESPITE_IMAGE: Duration = Duration::from_secs(15);

/// What the user has said: the setting, else the variable.
fn given(configuration: &Configuration, variables: &Variables) -> Option<u16> {
    let variable = variables.environment.get("PORT").and_then(|text| text.trim().parse().ok());
    [Some(configuration.port), variable].into_iter().flatten().find(|port| *port > 0)
}

/// What a new release is told to listen on.
pub fn to_begin_with(subject: &Subject, image: &Image) -> u16 {
    given(&subject.configuration, &subject.variables).or_else(|| exposed(image)).unwrap_or(USUAL_PORT)
}

/// The only one that an image exposes.
pub fn exposed(image: &Image) -> Option<u16> {
    match image.exposed_ports.as_slice() {
        [only] => Some(*only),
        _ => None,
    }
}

/// Looks for the port while nothing listens where it should.
pub struct Search {
    exposed: BTreeSet<u16>,
    settled: Duration,
    seen: BTreeSet<u16>,
    since: Instant,
}

impl Search {
    /// None when the user has said which it is, or when visitors were sent to it before: instances that serve now are
    /// reached at the release's port, so it must not change under them.
    pub fn begin(subject: &Subject, image: &Image) -> Option<Self> {
        if given(&subject.configuration, &subject.variables).is_some() || subject.release.live_at.is_some() {
            return None;
        }
        let exposed: BTreeSet<u16> = image.exposed_ports.iter().copied().collect();
        let settled = if exposed.len() == 1 { SETTLED_DESPITE_IMAGE } else { SETTLED };
        Some(Self { exposed, settled, seen: BTreeSet::new(), since: Instant::now() })
    }

    /// The port and why it is that one, once what the process listens on stays the same.
    pub async fn look(&mut self, pid: u32) -> Option<(u16, String)> {
        let everywhere = Listening::of(pid).await.everywhere;
        if everywhere != self.seen {
            self.seen = everywhere;
            self.since = Instant::now();
        }
        if self.since.elapsed() < self.settled {
            return None;
        }
        choose(&self.seen, &self.exposed)
    }
}

fn choose(listening: &BTreeSet<u16>, exposed: &BTreeSet<u16>) -> Option<(u16, String)> {
    let only = |ports: &BTreeSet<u16>| (ports.len() == 1).then(|| ports.first().copied()).flatten();
    if let Some(port) = only(listening) {
        return Some((port, format!("Port {port}: the only one that it listens on")));
    }
    let all = listed(listening);
    if let Some(port) = only(&(listening & exposed)) {
        return Some((port, format!("Port {port}: the only exposed one that it listens on ({all})")));
    }
    listening
        .contains(&USUAL_PORT)
        .then(|| (USUAL_PORT, format!("Port {USUAL_PORT}: the usual one of those that it listens on ({all})")))
}

/// From now on this is the release's, so that a restart or a rollback knows it.
pub async fn keep(attempt: &mut Attempt<'_>, port: u16) -> Result<()> {
    let mut tx = attempt.held.begin().await?;
    releases::set_port(&mut tx, attempt.release.id, port).await?;
    tx.commit().await?;
    if let Some(Artifact::Image(image)) = &mut attempt.release.artifact {
        image.port = port;
    }
    Ok(())
}

/// The ports that a container's processes listen on.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Listening {
    pub everywhere: BTreeSet<u16>,
    pub on_loopback: BTreeSet<u16>,
}

impl Listening {
    /// As the kernel lists them in the process' network namespace. Needs root; without it nothing is found.
    pub async fn of(pid: u32) -> Self {
        let mut all = Self::default();
        for file in ["tcp", "tcp6"] {
            let table = tokio::fs::read_to_string(format!("/proc/{pid}/net/{file}")).await.unwrap_or_default();
            for (is_loopback, port) in table.lines().skip(1).filter_map(listener) {
                let ports = if is_loopback { &mut all.on_loopback } else { &mut all.everywhere };
                ports.insert(port);
            }
        }
        all
    }

    pub fn all(&self) -> BTreeSet<u16> {
        &self.everywhere | &self.on_loopback
    }
}

pub fn listed(ports: &BTreeSet<u16>) -> String {
    let ports: Vec<_> = ports.iter().map(u16::to_string).collect();
    ports.join(", ")
}

/// A line of the kernel's table: number, local address and port, remote ones, state.
fn listener(line: &str) -> Option<(bool, u16)> {
    const LISTENS: &str = "0A";
    const LOOPBACK_6: &str = "00000000000000000000000001000000";
    let mut fields = line.split_whitespace().skip(1);
    let (address, port) = fields.next()?.split_once(':')?;
    if fields.nth(1)? != LISTENS {
        return None;
    }
    // The engine's own name server listens on 127.0.0.11, on a port of its own choice.
    if address == "0B00007F" {
        return None;
    }
    let is_loopback = address == LOOPBACK_6 || (address.len() == 8 && address.ends_with("7F"));
    Some((is_loopback, u16::from_str_radix(port, 16).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_listeners_are_understood() {
        let line = |address: &str, state: &str| format!("   0: {address} 00000000:0000 {state} 00000000:00000000 00:0");
        assert_eq!(listener(&line("0100007F:1F90", "0A")), Some((true, 8080)));
        assert_eq!(listener(&line("00000000:0050", "0A")), Some((false, 80)));
        assert_eq!(listener(&line("00000000000000000000000001000000:1F90", "0A")), Some((true, 8080)));
        assert_eq!(listener(&line("00000000000000000000000000000000:1F90", "0A")), Some((false, 8080)));
        assert_eq!(listener(&line("0100007F:1F90", "01")), None);
        assert_eq!(listener(&line("0B00007F:A0B1", "0A")), None);
    }

    #[test]
    fn only_a_clear_choice_is_made() {
        let chosen = |listening: &[u16], exposed: &[u16]| {
            choose(&listening.iter().copied().collect(), &exposed.iter().copied().collect()).map(|(port, _)| port)
        };
        assert_eq!(chosen(&[3000], &[]), Some(3000));
        assert_eq!(chosen(&[3000], &[80, 443]), Some(3000));
        assert_eq!(chosen(&[3000, 9090], &[3000, 9229]), Some(3000));
        assert_eq!(chosen(&[8080, 9090], &[80]), Some(8080));
        assert_eq!(chosen(&[22, 3000], &[22, 3000]), None);
        assert_eq!(chosen(&[3000, 9090], &[]), None);
        assert_eq!(chosen(&[], &[80]), None);
    }
}
