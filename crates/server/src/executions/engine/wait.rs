//! Waiting for services. Each wait ends with the step's time at the latest.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::net::TcpStream;
use windlass_runtime::{Container, ContainerHealth, State};

use super::{Engine, named};
use crate::executions::failure::{StepFailure, StepResult};

const LOOK: Duration = Duration::from_millis(250);
const CONNECT_LIMIT: Duration = Duration::from_secs(2);
/// How long a service without a health check must run before it counts as well.
const STEADY: Duration = Duration::from_secs(2);

/// Until a service is well, or accepts connections.
pub async fn wait_for(engine: &Engine<'_>, name: &str, port: Option<u16>) -> StepResult<()> {
    until_well(engine, name).await?;
    let Some(port) = port else { return Ok(()) };
    let address = named(engine, name).await?.address;
    let address: SocketAddr = format!("{address}:{port}").parse().map_err(StepFailure::new)?;
    loop {
        running(engine, name).await?;
        if let Ok(Ok(_)) = tokio::time::timeout(CONNECT_LIMIT, TcpStream::connect(address)).await {
            return Ok(());
        }
        tokio::time::sleep(LOOK).await;
    }
}

/// Until its health check says so; without one, until it has run for a moment.
pub async fn until_well(engine: &Engine<'_>, name: &str) -> StepResult<()> {
    let begun = tokio::time::Instant::now();
    loop {
        let container = running(engine, name).await?;
        match container.health {
            Some(ContainerHealth::Healthy) => return Ok(()),
            Some(ContainerHealth::Unhealthy(words)) => {
                return Err(StepFailure::new(format!("{name} is not well: {}", words.trim())));
            }
            Some(ContainerHealth::Starting) => {}
            None if begun.elapsed() >= STEADY => return Ok(()),
            None => {}
        }
        tokio::time::sleep(LOOK).await;
    }
}

/// Until it has ended by itself, with success.
pub async fn until_completed(engine: &Engine<'_>, name: &str) -> StepResult<()> {
    let container = named(engine, name).await?.container_name;
    match engine.host.wait_for_container(&container).await? {
        0 => Ok(()),
        code => Err(StepFailure::exit(name, Some(code))),
    }
}

/// Fails when it has ended: then it will not become well.
async fn running(engine: &Engine<'_>, name: &str) -> StepResult<Container> {
    let seen = named(engine, name).await?;
    match engine.host.container(&seen.container_name).await? {
        Some(container) if matches!(container.state, State::Exited | State::Dead) => {
            let lines = engine.host.last_lines(&seen.container_name, 5).await.unwrap_or_default();
            let words = format!("{name} has ended: {}", lines.join(" / "));
            Err(StepFailure { words, exit_code: Some(container.exit_code), ..StepFailure::new("") })
        }
        Some(container) => Ok(container),
        None => Err(StepFailure::new(format!("{name} has no container"))),
    }
}
