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
use windlass_runtime::{self as runtime, ContainerHealth, HealthCheck, State};
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
/// A service without a check and without visitors is well after it has run this long.
const STEADY: Duration = Duration::from_secs(2);
/// The exit code of a program that was ended by SIGKILL.
const KILLED: i64 = 137;

/// Waits until all instances of a group are well; each has the same time for it.
pub async fn wait(attempt: &mut Attempt<'_>, instances: &[Container]) -> Result<()> {
    attempt.log.enter(LogStep::Health);
    let image = attempt.host.image(&attempt.image()?.id).await?;
    let port = attempt.image()?.port;
    let waiting = instances.iter().map(async |instance| {
        let check = image.as_ref().and_then(|image| image.health_check.clone());
        let search = image.as_ref().and_then(|image| Search::begin(attempt, image));
        let path = attempt.configuration.settings.health_path.clone();
        wait_for(attempt, instance, Expected { port, path, check, search }).await
    });
    let found = try_join_all(waiting).await?;
    if let Some(port) = found.into_iter().find(|found| *found != port) {
        port::keep(attempt, port).await?;
    }
    kill_point::reached("deploy-healthy");
    Ok(())
}

/// What a container has to show before it is well.
pub struct Expected {
    /// Where it takes connections; 0 if it need not.
    pub port: u16,
    /// What answers there; empty if connections are enough.
    pub path: String,
    pub check: Option<HealthCheck>,
    /// For another port, if nothing listens there.
    pub search: Option<Search>,
}

/// One that was well may have ended while others were started.
pub async fn all_run(attempt: &Attempt<'_>, instances: &[Container]) -> Result<()> {
    for instance in instances {
        running(attempt, instance).await.map_err(|outcome| about(attempt, instance, outcome))?;
    }
    Ok(())
}

/// Waits until it is well. Returns the port that it really listens on.
pub async fn wait_for(attempt: &Attempt<'_>, instance: &Container, expected: Expected) -> Result<u16> {
    let outcome = tokio::select! {
        outcome = become_well(attempt, instance, expected) => outcome,
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
        _ if !instance.service.is_empty() => format!("{}: ", instance.service),
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

async fn become_well(attempt: &Attempt<'_>, container: &Container, expected: Expected) -> Result<u16> {
    let Expected { mut port, path, check, mut search } = expected;
    let limit =
        Limit::new(attempt.configuration.settings.health_seconds, check.as_ref(), attempt.host.app.config.start_limit);
    let limit = match &attempt.hold {
        Some(hold) => limit.within(hold.time_left()),
        None => limit,
    };
    let has_check = check.is_some();
    let checking = check
        .map(|check| Checking::begin(attempt.host.clone(), container.name.clone(), check, attempt.secrets.clone()));
    let (began, mut pause) = (Instant::now(), FIRST_PAUSE);
    loop {
        let found = running(attempt, container).await?;
        let last = match check_fails(attempt, &found, checking.as_ref()) {
            Some(words) => Look::NotYet(words),
            None if port > 0 => look(attempt, container, port, &path).await?,
            None if has_check || began.elapsed() >= STEADY => Look::Runs,
            None => Look::NotYet("it has just been started".into()),
        };
        if last.is_well() {
            let (which, words, seconds) =
                (which(attempt, container), last.words(&path, port), began.elapsed().as_secs_f64());
            attempt.log.note(format!("Health: {which}{words} after {seconds:.1} s")).await;
            return Ok(port);
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
            let words = last.words(&path, port);
            return give_up(attempt, container, port, &last, &words, &format!("{seconds} s ({})", limit.origin)).await;
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
    /// It runs, and no connection is expected of it.
    Runs,
}

impl Look {
    fn is_well(&self) -> bool {
        match self {
            Self::Connected | Self::Runs => true,
            Self::Answered(status) => (200..400).contains(&status.as_u16()),
            Self::NotYet(_) | Self::Refused | Self::NoAnswer(_) => false,
        }
    }

    fn words(&self, path: &str, port: u16) -> String {
        match self {
            Self::NotYet(words) => words.clone(),
            Self::Refused => format!("nothing listens on port {port}"),
            Self::Connected => format!("port {port} takes connections"),
            Self::Runs => "it runs".to_owned(),
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

async fn look(attempt: &Attempt<'_>, container: &Container, port: u16, path: &str) -> Result<Look> {
    let Some(target) = target(container, port) else {
        return failed(Failure::Internal, "the container has no address");
    };
    Ok(visit(target, path, &attempt.application.domain).await)
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
        Tried::NotYet if engines.is_empty() => Some("the health check has not succeeded yet".into()),
        Tried::NotYet => Some(format!("the health check fails: {engines}")),
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
    let mut words = match (container.service.is_empty(), found.exit_code) {
        (false, 0) => "it has ended. A service that is to end needs another one that depends on it with the condition \
                       service_completed_successfully"
            .to_owned(),
        (_, code) => format!("the container ended at once with exit code {code}"),
    };
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

async fn give_up<T>(
    attempt: &Attempt<'_>,
    container: &Container,
    port: u16,
    last: &Look,
    words: &str,
    time: &str,
) -> Result<T> {
    evidence(attempt, &container.name).await;
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
        false if !container.service.is_empty() => {
            format!("It listens on {}: name that in ports or expose of the service.", listed(&all))
        }
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
