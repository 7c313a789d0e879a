//! health: well by its image's own check, and reachable as a visitor would reach it.

use std::net::SocketAddr;
use std::time::Duration;

use futures_util::future::try_join_all;
use http_body_util::Empty;
use hyper::body::Bytes;
use hyper::{Request, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::time::Instant;
use windlass_api::{Failure, LogStep};
use windlass_durable::kill_point;
use windlass_runtime::{self as runtime, ContainerHealth, HealthCheck, Image, State};
use windlass_store::containers::Container;

use super::attempt::Attempt;
use super::failure::{Interruption, Result, failed};
use super::health_check::{Checking, Tried, shown};
use super::port::{self, Listening, Search, listed};
use super::start::evidence;
use crate::host::Host;

/// Between two looks. The first ones come quickly: most applications are up in a moment.
const FIRST_PAUSE: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_millis(500);
/// How long one answer may take.
const ANSWER_LIMIT: Duration = Duration::from_secs(5);
/// How long a container may take when neither its user nor its image says so.
const USUAL_LIMIT: Duration = Duration::from_secs(60);
/// The exit code of a program that was ended by SIGKILL.
const KILLED: i64 = 137;

/// Waits until all instances of a group are well; each has the same time for it.
pub async fn wait(attempt: &mut Attempt<'_>, instances: &[Container]) -> Result<()> {
    attempt.log.enter(LogStep::Health);
    let image = attempt.host.image(&attempt.image()?.id).await?;
    let waiting = instances.iter().map(|instance| wait_for(attempt, instance, image.as_ref()));
    let found = try_join_all(waiting).await?;
    if let Some(port) = found.into_iter().flatten().next() {
        port::keep(attempt, port).await?;
    }
    kill_point::reached("deploy-healthy");
    Ok(())
}

/// One that was well may have ended while others were started.
pub async fn all_run(attempt: &Attempt<'_>, instances: &[Container]) -> Result<()> {
    for instance in instances {
        running(attempt, instance).await.map_err(|outcome| about(attempt, instance, outcome))?;
    }
    Ok(())
}

/// Returns the port that it really listens on, when that had to be found.
async fn wait_for(attempt: &Attempt<'_>, instance: &Container, image: Option<&Image>) -> Result<Option<u16>> {
    let outcome = tokio::select! {
        outcome = become_well(attempt, instance, image) => outcome,
        lost = engine_lost(attempt.host, &instance.name) => Err(lost),
    };
    outcome.map_err(|outcome| about(attempt, instance, outcome))
}

/// Of several instances, the reason says which one it was.
fn about(attempt: &Attempt<'_>, instance: &Container, outcome: Interruption) -> Interruption {
    match outcome {
        Interruption::Failed(class, words) => {
            Interruption::Failed(class, format!("{}{words}", which(attempt, instance)))
        }
        outcome => outcome,
    }
}

/// Before words about one of several instances.
fn which(attempt: &Attempt<'_>, instance: &Container) -> String {
    match attempt.configuration.settings.replicas {
        0 | 1 => String::new(),
        all => format!("instance {} of {all}: ", instance.ordinal),
    }
}

/// Returns when the connection to the engine breaks. An engine that is stopped ends its containers: one that comes back soon
/// would show a container that has ended, as if by itself.
async fn engine_lost(host: &Host, container: &str) -> Interruption {
    match host.wait_for_container(container).await {
        Err(lost @ runtime::Error::Unreachable { .. }) => lost.into(),
        // `become_well` sees how it ended.
        _ => std::future::pending().await,
    }
}

async fn become_well(attempt: &Attempt<'_>, container: &Container, image: Option<&Image>) -> Result<Option<u16>> {
    let check = image.and_then(|image| image.health_check.clone());
    let limit =
        Limit::new(attempt.configuration.settings.health_seconds, check.as_ref(), attempt.host.app.config.start_limit);
    let limit = match &attempt.hold {
        Some(hold) => limit.within(hold.time_left()),
        None => limit,
    };
    let checking = check
        .map(|check| Checking::begin(attempt.host.clone(), container.name.clone(), check, attempt.secrets.clone()));
    let mut search = image.and_then(|image| Search::begin(attempt, image));
    let told = attempt.image()?.port;
    let mut port = told;
    let (began, mut pause) = (Instant::now(), FIRST_PAUSE);
    loop {
        let found = running(attempt, container).await?;
        let last = look(attempt, container, port, &found, checking.as_ref()).await?;
        if last.is_well() {
            let (which, words, seconds) =
                (which(attempt, container), last.words(attempt, port), began.elapsed().as_secs_f64());
            attempt.log.note(format!("Health: {which}{words} after {seconds:.1} s")).await;
            return Ok((port != told).then_some(port));
        }
        if let (Look::Refused, Some(search), Some(pid)) = (&last, &mut search, found.pid)
            && let Some((listening, words)) = search.look(pid).await
            && listening != port
            && answers_visitors(attempt, container, listening).await
        {
            port = listening;
            attempt.log.note(words).await;
        }
        if let Some(seconds) = limit.over(began.elapsed() + pause, &found) {
            return give_up(attempt, container, port, &last, &format!("{seconds} s ({})", limit.origin)).await;
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// How long a new container may take until it is well.
struct Limit {
    usual: Duration,
    longest: Duration,
    /// Where it comes from, for the user who wants another.
    origin: &'static str,
}

impl Limit {
    /// What the user has set is exact. Otherwise an image may ask for more than is usual, up to the server's own limit.
    fn new(set_seconds: u32, check: Option<&HealthCheck>, most: Duration) -> Self {
        if set_seconds > 0 {
            let exact = Duration::from_secs(set_seconds.into());
            return Self { usual: exact, longest: exact, origin: "health_seconds" };
        }
        let asked = check.map_or(USUAL_LIMIT, HealthCheck::verdict_after);
        let origin = match asked {
            asked if asked <= USUAL_LIMIT => "the usual limit; set health_seconds for another",
            asked if asked <= most => "what the image's health check allows; set health_seconds for another limit",
            _ => "start-seconds, the server's limit; set health_seconds for another",
        };
        Self { usual: USUAL_LIMIT, longest: asked.min(most).max(USUAL_LIMIT), origin }
    }

    /// While visitors wait there may be less time.
    fn within(self, left: Duration) -> Self {
        if left >= self.longest {
            return self;
        }
        let origin = "visitors wait for it; hold-seconds of the server says for how long";
        Self { usual: self.usual.min(left), longest: left, origin }
    }

    /// After how many seconds it is over, if it is. When the engine has given up by the image's own figures, the rest of the time
    /// is not waited for.
    fn over(&self, elapsed: Duration, found: &runtime::Container) -> Option<u64> {
        if elapsed > self.longest {
            return Some(self.longest.as_secs());
        }
        let has_verdict = matches!(found.health, Some(ContainerHealth::Unhealthy(_)));
        (has_verdict && elapsed > self.usual).then_some(elapsed.as_secs())
    }
}

/// What one look at a container has shown.
enum Look {
    /// Its image's own check has not said yes, in these words.
    NotYet(String),
    /// No process takes a connection.
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

    fn words(&self, attempt: &Attempt<'_>, port: u16) -> String {
        let path = &attempt.configuration.settings.health_path;
        match self {
            Self::NotYet(words) => words.clone(),
            Self::Refused => format!("nothing listens on port {port}"),
            Self::Connected => format!("port {port} takes connections"),
            Self::Answered(status) => format!("GET {path} answered {}", status.as_u16()),
            Self::NoAnswer(problem) => format!("GET {path} was not answered: {problem}"),
        }
    }
}

/// The container, unless it has ended: then it never becomes well.
async fn running(attempt: &Attempt<'_>, container: &Container) -> Result<runtime::Container> {
    let Some(found) = attempt.host.container(&container.name).await? else {
        return failed(Failure::CrashedAtStart, "the container was removed by another program");
    };
    match found.state {
        State::Running | State::Created => Ok(found),
        _ => Err(ended(attempt, container, &found).await),
    }
}

async fn look(
    attempt: &Attempt<'_>,
    container: &Container,
    port: u16,
    found: &runtime::Container,
    checking: Option<&Checking>,
) -> Result<Look> {
    if let Some(words) = check_fails(attempt, found, checking) {
        return Ok(Look::NotYet(words));
    }
    let Some(target) = target(container, port) else {
        return failed(Failure::Internal, "the container has no address");
    };
    Ok(visit(target, &attempt.configuration.settings.health_path, &attempt.application.domain).await)
}

/// What the image's own check says unless it has said yes: to the engine, or to Windlass.
fn check_fails(attempt: &Attempt<'_>, found: &runtime::Container, checking: Option<&Checking>) -> Option<String> {
    let engines = match &found.health {
        None | Some(ContainerHealth::Healthy) => return None,
        Some(ContainerHealth::Unhealthy(output)) => shown(output, false, &attempt.secrets),
        Some(ContainerHealth::Starting) => String::new(),
    };
    match checking.map_or(Tried::NotYet, Checking::last) {
        Tried::Well => None,
        Tried::Failed(words) => Some(words),
        Tried::NotYet if engines.is_empty() => Some("the image's health check has not succeeded yet".into()),
        Tried::NotYet => Some(format!("the image's health check fails: {engines}")),
    }
}

fn target(container: &Container, port: u16) -> Option<SocketAddr> {
    container.socket_address(port)
}

/// Some listen for debuggers, or for others of their kind, before they listen for visitors.
async fn answers_visitors(attempt: &Attempt<'_>, container: &Container, port: u16) -> bool {
    match target(container, port) {
        Some(target) => matches!(visit(target, "/", &attempt.application.domain).await, Look::Answered(_)),
        None => false,
    }
}

/// As a visitor would: the same address, the same host.
async fn visit(target: SocketAddr, path: &str, host: &str) -> Look {
    let Ok(Ok(stream)) = tokio::time::timeout(ANSWER_LIMIT, TcpStream::connect(target)).await else {
        return Look::Refused;
    };
    if path.is_empty() {
        return Look::Connected;
    }
    let asked = tokio::time::timeout(ANSWER_LIMIT, ask(stream, path, host)).await;
    match asked {
        Ok(Ok(status)) => Look::Answered(status),
        Ok(Err(error)) => Look::NoAnswer(error.to_string()),
        Err(_) => Look::NoAnswer(format!("no answer within {} s", ANSWER_LIMIT.as_secs())),
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
    if windlass_runtime::Error::tells_wrong_architecture(&found.error) {
        return Interruption::Failed(Failure::ImageArchitecture, found.error.clone());
    }
    let mut words = format!("the container ended at once with exit code {}", found.exit_code);
    // The engine does not always learn that it was for memory, least of all in the first moments of a container.
    if found.exit_code == KILLED {
        words.push_str(" (it was killed, most often because it used more memory than it may: memory_mb)");
    }
    for detail in [&found.error, &last] {
        if !detail.is_empty() {
            words = format!("{words}: {detail}");
        }
    }
    Interruption::Failed(Failure::CrashedAtStart, words)
}

async fn give_up<T>(attempt: &Attempt<'_>, container: &Container, port: u16, last: &Look, time: &str) -> Result<T> {
    evidence(attempt, &container.name).await;
    let words = last.words(attempt, port);
    if !matches!(last, Look::Refused) {
        return failed(Failure::UnhealthyAnswer, format!("{words}, for {time}"));
    }
    let pid = attempt.host.container(&container.name).await?.and_then(|found| found.pid);
    let listening = match pid {
        Some(pid) => Listening::of(pid).await,
        None => Listening::default(),
    };
    if listening.on_loopback.contains(&port) {
        return failed(
            Failure::ListeningOnLoopback,
            format!(
                "the application listens on 127.0.0.1:{port} only, inside its container, where no visitor can reach it. Let it listen on 0.0.0.0."
            ),
        );
    }
    let all = listening.all();
    let found = match all.is_empty() {
        true => "It listens on no port at all.".to_owned(),
        false => format!("It listens on {}: set port to that, or let it listen on $PORT.", listed(&all)),
    };
    failed(Failure::NotListening, format!("{words} after {time}. {found}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(start_period: u64, interval: u64, timeout: u64, retries: u32) -> HealthCheck {
        HealthCheck {
            command: Vec::new(),
            interval: Duration::from_secs(interval),
            timeout: Duration::from_secs(timeout),
            start_period: Duration::from_secs(start_period),
            retries,
        }
    }

    #[test]
    fn an_image_may_ask_for_more_time_but_a_user_has_the_last_word() {
        let most = Duration::from_secs(900);
        let longest = |set, check: Option<&HealthCheck>| Limit::new(set, check, most).longest.as_secs();
        assert_eq!(longest(0, None), 60);
        assert_eq!(longest(5, None), 5);
        assert_eq!(longest(0, Some(&check(0, 30, 30, 3))), 180);
        assert_eq!(longest(90, Some(&check(0, 30, 30, 3))), 90);
        assert_eq!(longest(0, Some(&check(0, 2, 1, 3))), 60);
        assert_eq!(longest(0, Some(&check(3_600, 30, 30, 3))), 900);
    }
}
