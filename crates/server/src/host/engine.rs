//! All calls to the container engine that deploying, reconciling and the caches make. A second kind of engine
//! has to answer these calls, and no others. Lists hold what is this installation's, unless the name says otherwise.

use std::time::Duration;

use tokio::sync::mpsc;
use windlass_runtime::{
    Build, Container, ContainerSpec, ContainerSummary, Creation, Engine, Events, Exec, Image, ImageSummary, Network,
    NetworkSummary, PrintedLine, Result,
};

use super::Host;

impl Host {
    /// What it is; fails when it does not answer.
    pub async fn engine(&self) -> Result<Engine> {
        self.docker.ping().await
    }

    /// What happens to containers from now on.
    pub async fn events(&self) -> Result<Events> {
        self.docker.events(&self.label()).await
    }

    pub async fn containers(&self) -> Result<Vec<ContainerSummary>> {
        self.docker.containers(&self.label()).await
    }

    pub async fn container(&self, name: &str) -> Result<Option<Container>> {
        self.docker.inspect(name).await
    }

    pub async fn create_container(&self, specification: &ContainerSpec) -> Result<Creation> {
        self.docker.create(specification).await
    }

    pub async fn start_container(&self, name: &str) -> Result<()> {
        self.docker.start(name).await
    }

    /// From now on the engine restarts it by itself, also when Windlass is not there.
    pub async fn restart_always(&self, name: &str) -> Result<()> {
        self.docker.restart_always(name).await
    }

    pub async fn stop_container(&self, name: &str, grace: Duration) -> Result<()> {
        self.docker.stop(name, grace).await
    }

    /// Removes a container that has ended, whether or not its lines are stored; see [`Host::remove_container`].
    pub async fn remove_ended_container(&self, name: &str) -> Result<()> {
        self.docker.remove(name).await
    }

    /// Its exit code, when it has ended.
    pub async fn wait_for_container(&self, name: &str) -> Result<i64> {
        self.docker.wait(name).await
    }

    pub async fn last_lines(&self, container: &str, count: usize) -> Result<Vec<String>> {
        self.docker.tail(container, count).await
    }

    /// A command to be run in a container.
    pub async fn exec(&self, container: &str, command: &[String]) -> Result<Exec<'_>> {
        self.docker.exec(container, command).await
    }

    pub async fn build(&self, build: Build, lines: mpsc::Sender<PrintedLine>) -> Result<String> {
        self.docker.build(build, lines).await
    }

    pub async fn image(&self, reference: &str) -> Result<Option<Image>> {
        self.docker.image(reference).await
    }

    pub async fn images(&self) -> Result<Vec<ImageSummary>> {
        self.docker.images(&self.label()).await
    }

    pub async fn remove_image(&self, reference: &str) -> Result<()> {
        self.docker.remove_image(reference).await
    }

    pub async fn build_cache_bytes(&self) -> Result<u64> {
        self.docker.build_cache_bytes().await
    }

    /// How many bytes that has freed.
    pub async fn prune_build_cache(&self, keep_bytes: u64) -> Result<u64> {
        self.docker.prune_build_cache(keep_bytes).await
    }

    pub async fn networks(&self) -> Result<Vec<NetworkSummary>> {
        self.docker.networks(Some(&self.label())).await
    }

    /// Of other installations and programs too: their subnets are taken.
    pub async fn all_networks(&self) -> Result<Vec<NetworkSummary>> {
        self.docker.networks(None).await
    }

    pub async fn create_network(&self, network: &Network) -> Result<()> {
        self.docker.create_network(network).await
    }

    pub async fn remove_network(&self, name: &str) -> Result<()> {
        self.docker.remove_network(name).await
    }
}
