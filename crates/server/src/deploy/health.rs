//! health: well by its image's own check, and reachable as a visitor would reach it.

use std::collections::BTreeSet;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use http_body_util::Empty;
use hyper::body::Bytes;
use hyper::{Request, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::time::Instant;
use windlass_api::{Failure, LogStep};
use windlass_durable::kill_point;
use windlass_runtime::{self as runtime, Health, State};
use windlass_store::containers::Container;

use super::attempt::Attempt;
use super::failure::{Interruption, Result, failed};
use super::start::evidence;

/// Between two looks. The first ones come quickly: most applications are up in a moment.
const FIRST_PAUSE: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_millis(500);
/// How long one answer may take.
const PATIENCE: Duration = Duration::from_secs(5);

pub async fn wait(attempt: &Attempt<'_>, container: &Container) -> Result<()> {
    attempt.log.enter(LogStep::Health);
    let limit = Duration::from_secs(attempt.configuration.settings.health_seconds.into());
    let (began, mut pause) = (Instant::now(), FIRST_PAUSE);
    loop {
        let last = look(attempt, container).await?;
        if last.is_well() {
            let words = last.words(attempt);
            attempt.log.note(format!("Health: {words} after {:.1} s", began.elapsed().as_secs_f64())).await;
            kill_point::reached("deploy-healthy");
            return Ok(());
        }
        if began.elapsed() + pause > limit {
            return give_up(attempt, container, &last).await;
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// What one look at a container has shown.
enum Look {
    /// Its image's own check has not said yes.
    NotYet(Health),
    /// Nobody takes a connection.
    Refused,
    Connected,
    Answered(StatusCode),
    NoAnswer(String),
}

impl Look {
    fn is_well(&self) -> bool {
        match self {
            Self::Connected => true,
            Self::Answered(status) => (200..400).contains(&status.as_u16()),
            Self::NotYet(_) | Self::Refused | Self::NoAnswer(_) => false,
        }
    }

    fn words(&self, attempt: &Attempt<'_>) -> String {
        let (path, port) = (&attempt.configuration.settings.health_path, attempt.release.port);
        match self {
            Self::NotYet(Health::Unhealthy(output)) if !output.trim().is_empty() => {
                format!("the image's health check fails: {}", output.trim())
            }
            Self::NotYet(Health::Unhealthy(_)) => "the image's health check fails".into(),
            Self::NotYet(_) => "the image's health check has not succeeded yet".into(),
            Self::Refused => format!("nothing listens on port {port}"),
            Self::Connected => format!("port {port} takes connections"),
            Self::Answered(status) => format!("GET {path} answered {}", status.as_u16()),
            Self::NoAnswer(problem) => format!("GET {path} was not answered: {problem}"),
        }
    }
}

async fn look(attempt: &Attempt<'_>, container: &Container) -> Result<Look> {
    let Some(found) = attempt.engine.docker.inspect(&container.name).await? else {
        return failed(Failure::CrashedAtStart, "the container was removed by somebody else");
    };
    if !matches!(found.state, State::Running | State::Created) {
        return Err(ended(attempt, container, &found).await);
    }
    if let Some(health @ (Health::Starting | Health::Unhealthy(_))) = found.health {
        return Ok(Look::NotYet(health));
    }
    let Some(target) = target(attempt, container) else {
        return failed(Failure::Internal, "the container has no address");
    };
    Ok(visit(target, &attempt.configuration.settings.health_path, &attempt.application.domain).await)
}

fn target(attempt: &Attempt<'_>, container: &Container) -> Option<SocketAddr> {
    let address: Ipv4Addr = container.address.parse().ok()?;
    Some((address, u16::try_from(attempt.release.port).ok()?).into())
}

/// As a visitor would: the same address, the same host.
async fn visit(target: SocketAddr, path: &str, host: &str) -> Look {
    let Ok(Ok(stream)) = tokio::time::timeout(PATIENCE, TcpStream::connect(target)).await else {
        return Look::Refused;
    };
    if path.is_empty() {
        return Look::Connected;
    }
    let asked = tokio::time::timeout(PATIENCE, ask(stream, path, host)).await;
    match asked {
        Ok(Ok(status)) => Look::Answered(status),
        Ok(Err(error)) => Look::NoAnswer(error.to_string()),
        Err(_) => Look::NoAnswer(format!("no answer within {} s", PATIENCE.as_secs())),
    }
}

async fn ask(stream: TcpStream, path: &str, host: &str) -> std::result::Result<StatusCode, hyper::Error> {
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
    let driving = tokio::spawn(connection);
    let mut request = Request::new(Empty::<Bytes>::new());
    // What is accepted as a path is one; what is not must not be taken for another.
    if let Ok(path) = path.parse() {
        *request.uri_mut() = path;
    }
    if let Ok(host) = host.parse() {
        request.headers_mut().insert(hyper::header::HOST, host);
    }
    let answer = sender.send_request(request).await;
    driving.abort();
    Ok(answer?.status())
}

/// A container that has ended never becomes well.
async fn ended(attempt: &Attempt<'_>, container: &Container, found: &runtime::Container) -> Interruption {
    let last = evidence(attempt, &container.name).await;
    if found.oom_killed {
        let words = "the container used more memory than it may (memory_mb) and was killed";
        return Interruption::Failed(Failure::OutOfMemory, words.into());
    }
    // The engine's own init process reports it, so the start itself succeeds.
    if found.error.to_lowercase().contains("exec format error") {
        return Interruption::Failed(Failure::ImageArchitecture, found.error.clone());
    }
    let mut words = format!("the container ended at once with exit code {}", found.exit_code);
    for detail in [&found.error, &last] {
        if !detail.is_empty() {
            words = format!("{words}: {detail}");
        }
    }
    Interruption::Failed(Failure::CrashedAtStart, words)
}

async fn give_up(attempt: &Attempt<'_>, container: &Container, last: &Look) -> Result<()> {
    evidence(attempt, &container.name).await;
    let seconds = attempt.configuration.settings.health_seconds;
    let words = last.words(attempt);
    if !matches!(last, Look::Refused) {
        return failed(Failure::UnhealthyAnswer, format!("{words}, for {seconds} s (health_seconds)"));
    }
    let pid = attempt.engine.docker.inspect(&container.name).await?.and_then(|found| found.pid);
    let listening = match pid {
        Some(pid) => listening(pid).await,
        None => Listening::default(),
    };
    let port = attempt.release.port;
    if listening.on_loopback.contains(&port) {
        return failed(
            Failure::ListeningOnLoopback,
            format!(
                "the application listens on 127.0.0.1:{port} only, where nobody can reach it. Let it listen on 0.0.0.0."
            ),
        );
    }
    let all: BTreeSet<_> = listening.everywhere.union(&listening.on_loopback).collect();
    let found = match all.is_empty() {
        true => "It listens on no port at all.".to_owned(),
        false => {
            let ports: Vec<_> = all.into_iter().map(i64::to_string).collect();
            format!("It listens on {}: set port to that, or let it listen on $PORT.", ports.join(", "))
        }
    };
    failed(Failure::NotListening, format!("{words} after {seconds} s (health_seconds). {found}"))
}

/// The ports that a container's processes listen on.
#[derive(Debug, Default, PartialEq, Eq)]
struct Listening {
    everywhere: BTreeSet<i64>,
    on_loopback: BTreeSet<i64>,
}

/// As the kernel lists them in the process' network namespace. Needs root; without it nothing is found.
async fn listening(pid: u32) -> Listening {
    let mut all = Listening::default();
    for file in ["tcp", "tcp6"] {
        let table = tokio::fs::read_to_string(format!("/proc/{pid}/net/{file}")).await.unwrap_or_default();
        for (is_loopback, port) in table.lines().skip(1).filter_map(listener) {
            let ports = if is_loopback { &mut all.on_loopback } else { &mut all.everywhere };
            ports.insert(port);
        }
    }
    all
}

/// A line of the kernel's table: number, local address and port, remote ones, state.
fn listener(line: &str) -> Option<(bool, i64)> {
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
    Some((is_loopback, i64::from_str_radix(port, 16).ok()?))
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
}
