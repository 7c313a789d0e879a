//! All calls to the container engine that deploying, reconciling and the caches make. A second kind of engine
//! has to answer these calls, and what `registries` asks. Lists hold what is this installation's, unless the name says otherwise.

use std::collections::BTreeMap;
use std::io;
use std::time::Duration;

use bytes::Bytes;
use time::OffsetDateTime;
use tokio::sync::mpsc;
use windlass_runtime::{
    Archive, Build, Container, ContainerSpec, ContainerSummary, Creation, Engine, Events, Exec, HelperSpec, Image,
    ImageSummary, Labels, Network, NetworkSummary, NewFile, PrintedLine, Reading, RegistryLogin, Result, VolumeRoot,
};

use super::Host;
use crate::labels::INSTANCE_LABEL;

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

    pub async fn restart_on_failure(&self, name: &str) -> Result<()> {
        self.docker.restart_on_failure(name).await
    }

    pub async fn stop_container(&self, name: &str, grace: Duration) -> Result<()> {
        self.docker.stop(name, grace).await
    }

    /// Removes a container that has ended, whether or not its lines are stored; see [`Host::remove_container`].
    pub async fn remove_ended_container(&self, name: &str) -> Result<()> {
        self.docker.remove(name).await
    }

    /// None when it is gone, or does not run.
    pub async fn container_usage(&self, name: &str) -> Result<Option<Reading>> {
        self.docker.usage(name).await
    }

    /// Its exit code, when it has ended.
    pub async fn wait_for_container(&self, name: &str) -> Result<i64> {
        self.docker.wait(name).await
    }

    pub async fn last_lines(&self, container: &str, count: usize) -> Result<Vec<String>> {
        self.docker.tail(container, count).await
    }

    /// The same of what it had printed at a moment.
    pub async fn last_lines_until(
        &self,
        container: &str,
        count: usize,
        until: Option<OffsetDateTime>,
    ) -> Result<Vec<String>> {
        self.docker.tail_until(container, count, until).await
    }

    /// A command to be run in a container.
    pub async fn exec(&self, container: &str, command: &[String]) -> Result<Exec<'_>> {
        self.docker.exec(container, command).await
    }

    pub async fn build(&self, build: Build, lines: mpsc::Sender<PrintedLine>) -> Result<String> {
        self.docker.build(build, lines).await
    }

    /// Brings an image from its registry.
    pub async fn pull_image(
        &self,
        reference: &str,
        login: Option<&RegistryLogin>,
        lines: &mpsc::Sender<PrintedLine>,
    ) -> Result<()> {
        self.docker.pull(reference, login, lines).await
    }

    /// Gives an image another name.
    pub async fn tag_image(&self, reference: &str, name: &str) -> Result<()> {
        let (repository, tag) = name.rsplit_once(':').unwrap_or((name, "latest"));
        self.docker.tag_image(reference, repository, tag).await
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

    /// Makes sure that there is a volume of this name, and tells its labels.
    pub async fn ensure_volume(&self, name: &str, labels: &Labels) -> Result<Labels> {
        self.docker.ensure_volume(name, labels).await
    }

    /// Whether there is such a volume, and it is this installation's.
    pub async fn owns_volume(&self, name: &str) -> Result<bool> {
        let labels = self.docker.volume_labels(name).await?.unwrap_or_default();
        Ok(labels.get(INSTANCE_LABEL) == Some(&self.installation.to_string()))
    }

    pub async fn remove_volume(&self, name: &str) -> Result<()> {
        self.docker.remove_volume(name).await
    }

    /// How many bytes each takes, by name.
    pub async fn volume_sizes(&self) -> Result<BTreeMap<String, u64>> {
        self.docker.volume_sizes(&self.label()).await
    }

    /// Owner and mode of the folder at a path of a container, and whether it has nothing in it but what leads to `mounted`.
    pub async fn volume_root(&self, container: &str, path: &str, mounted: &[&str]) -> Result<VolumeRoot> {
        self.docker.volume_root(container, path, mounted).await
    }

    pub async fn set_owner(&self, container: &str, path: &str, uid: u64, gid: u64, mode: u32) -> Result<()> {
        self.docker.set_owner(container, path, uid, gid, mode).await
    }

    /// None when there is no such file.
    pub async fn read_container_file(&self, container: &str, path: &str, most: usize) -> Result<Option<Vec<u8>>> {
        self.docker.read_file(container, path, most).await
    }

    /// Before the container is started. Folders on the way are made.
    pub async fn write_container_files(&self, container: &str, files: &[NewFile<'_>]) -> Result<()> {
        self.docker.write_files(container, files).await
    }

    /// An image of nothing, for containers that are never started.
    pub async fn ensure_empty_image(&self, tag: &str) -> Result<()> {
        self.docker.ensure_empty_image(tag).await
    }

    /// A container that is never started, to reach volumes.
    pub async fn create_helper(&self, helper: &HelperSpec) -> Result<()> {
        self.docker.create_helper(helper).await
    }

    pub async fn archive(&self, container: &str, path: &str) -> Result<Archive> {
        self.docker.archive(container, path).await
    }

    pub async fn extract(
        &self,
        container: &str,
        path: &str,
        tar: mpsc::Receiver<io::Result<Bytes>>,
        limit: Duration,
    ) -> Result<()> {
        self.docker.extract(container, path, tar, limit).await
    }

    pub async fn pause_container(&self, name: &str) -> Result<()> {
        self.docker.pause(name).await
    }

    /// For a caller that cannot wait.
    pub fn unpause_soon(&self, names: Vec<String>) {
        let docker = self.docker.clone();
        tokio::spawn(async move {
            for name in names {
                if let Err(error) = docker.unpause(&name).await {
                    tracing::warn!(container = name, %error, "a container could not be unpaused; trying again later");
                }
            }
        });
    }

    pub async fn unpause_container(&self, name: &str) -> Result<()> {
        self.docker.unpause(name).await
    }
}
