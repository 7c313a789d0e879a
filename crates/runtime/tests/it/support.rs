//! What one test uses of the engine: everything has the test's label, and is removed with it.

use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use tempfile::TempDir;
use tokio::sync::mpsc;
use windlass_runtime::{
    Build, Container, ContainerSpec, Creation, Docker, Dockerfile, Error, HelperSpec, Label, Labels, LogLimits, Mount,
    MountSource, Network, Options, PrintedLine, Result, State,
};

/// Longer than anything takes on a busy machine.
const DEADLINE: Duration = Duration::from_secs(90);

pub struct World {
    pub docker: Docker,
    pub id: String,
    pub label: Label,
    folder: TempDir,
}

pub fn socket() -> PathBuf {
    match std::env::var("DOCKER_HOST") {
        Ok(host) => PathBuf::from(host.strip_prefix("unix://").expect("DOCKER_HOST must begin with unix://")),
        Err(_) => PathBuf::from("/var/run/docker.sock"),
    }
}

impl World {
    pub async fn new() -> Self {
        let folder = TempDir::with_prefix("windlass-runtime-").unwrap();
        let id = format!("wlrt-{}", random());
        let world = Self { docker: Docker::new(&socket()), label: Label::new("windlass.test", &*id), id, folder };
        world.docker.ping().await.expect("these tests need a container engine");
        world
    }

    pub fn labels(&self) -> Labels {
        Labels::from([(self.label.name.clone(), self.label.value.clone())])
    }

    pub fn name(&self, what: &str) -> String {
        format!("{}-{what}", self.id)
    }

    /// A folder with these files, to build from.
    pub fn context(&self, files: &[(&str, &str)]) -> PathBuf {
        let folder = self.folder.path().join(random());
        for (path, text) in files {
            write(&folder.join(path), text);
        }
        folder
    }

    pub fn build_of(&self, context: PathBuf) -> Build {
        Build {
            tree: context.clone(),
            context,
            git: None,
            dockerfile: Dockerfile::InContext("Dockerfile".to_owned()),
            target: String::new(),
            tag: format!("{}:1", self.id),
            labels: self.labels(),
            args: Vec::new(),
            secrets: Vec::new(),
            no_cache: false,
            cache_namespace: "namespace".to_owned(),
            host_name: "host.invalid".to_owned(),
            has_network: true,
        }
    }

    /// Builds what is written on top of a base image with a shell.
    pub async fn image(&self, dockerfile: &str) -> String {
        let (result, lines) = self.build(self.build_of(self.with_shell(dockerfile))).await;
        result.unwrap_or_else(|error| panic!("{error}\n{lines:?}"))
    }

    /// A context whose image has busybox and what is written, which no earlier build has left in the cache.
    pub fn with_shell(&self, dockerfile: &str) -> PathBuf {
        let base = "FROM scratch\nCOPY busybox /bin/busybox\nRUN [\"/bin/busybox\", \"--install\", \"-s\", \"/bin\"]\n";
        let folder = self.context(&[("Dockerfile", &format!("{base}ENV FRESH={}\n{dockerfile}", random()))]);
        std::fs::copy("/bin/busybox", folder.join("busybox")).unwrap();
        folder
    }

    pub async fn build(&self, build: Build) -> (Result<String>, Vec<PrintedLine>) {
        let (sender, mut receiver) = mpsc::channel(4);
        let collecting = tokio::spawn(async move {
            let mut lines = Vec::new();
            while let Some(line) = receiver.recv().await {
                lines.push(line);
            }
            lines
        });
        let result = self.docker.build(build, sender).await;
        (result, collecting.await.unwrap())
    }

    /// A network in the first subnet that is free.
    pub async fn network(&self) -> Network {
        loop {
            let network = network_in(&self.name("net"), free_subnet_maybe(), self.labels());
            match self.docker.create_network(&network).await {
                Ok(()) => return network,
                Err(Error::SubnetTaken { .. }) => {}
                Err(error) => panic!("{error}"),
            }
        }
    }

    pub fn spec(&self, what: &str, image: &str, network: &Network, command: &[&str]) -> ContainerSpec {
        ContainerSpec {
            name: self.name(what),
            image: image.to_owned(),
            command: Some(command.iter().map(|&word| word.to_owned()).collect()),
            environment: Vec::new(),
            labels: self.labels(),
            network: network.name.clone(),
            address: address(network, 10),
            memory_bytes: 64 << 20,
            nano_cpus: 500_000_000,
            pids: 50,
            stop_grace: Duration::from_secs(3),
            logs: LogLimits { file_bytes: 1 << 20, files: 2 },
            mounts: Vec::new(),
            options: Options::default(),
        }
    }

    /// An empty volume.
    pub async fn volume(&self, what: &str) -> String {
        let name = self.name(what);
        self.docker.ensure_volume(&name, &self.labels()).await.unwrap();
        name
    }

    /// A container that is never started, with volumes at their paths.
    pub async fn helper(&self, what: &str, mounts: &[(&str, &str)]) -> String {
        let image = self.empty_image();
        self.docker.ensure_empty_image(&image).await.unwrap();
        let mounts = mounts.iter().map(|(volume, path)| mount(volume, path)).collect();
        let helper = HelperSpec { name: self.name(what), image, labels: self.labels(), mounts };
        self.docker.create_helper(&helper).await.unwrap();
        helper.name
    }

    pub fn empty_image(&self) -> String {
        format!("{}:empty", self.id)
    }

    pub async fn run(&self, spec: &ContainerSpec) -> String {
        let Creation::Created(id) = self.docker.create(spec).await.unwrap() else { panic!("it exists already") };
        self.docker.start(&spec.name).await.unwrap();
        id
    }

    pub async fn inspect(&self, name: &str) -> Container {
        self.docker.inspect(name).await.unwrap().expect("the container exists")
    }

    pub async fn until_state(&self, name: &str, state: State) -> Container {
        self.until(name, &format!("{state:?}"), |container| container.state == state).await
    }

    pub async fn until(&self, name: &str, what: &str, holds: impl Fn(&Container) -> bool) -> Container {
        let start = Instant::now();
        loop {
            let container = self.inspect(name).await;
            if holds(&container) {
                return container;
            }
            assert!(start.elapsed() < DEADLINE, "{name} never was {what}: {container:?}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

impl Drop for World {
    fn drop(&mut self) {
        let filter = format!("label={}={}", self.label.name, self.label.value);
        // It has no labels, but the world's name.
        let empty = format!("reference={}", self.empty_image());
        for (list, filter, remove) in [
            (["ps", "-aq", "--no-trunc"], &filter, ["rm", "-fv"].as_slice()),
            (["network", "ls", "-q"], &filter, ["network", "rm"].as_slice()),
            (["volume", "ls", "-q"], &filter, ["volume", "rm", "-f"].as_slice()),
            (["images", "-q", "--no-trunc"], &filter, ["rmi", "-f"].as_slice()),
            (["images", "-q", "--no-trunc"], &empty, ["rmi", "-f"].as_slice()),
        ] {
            let found = docker_program(list.iter().copied().chain(["--filter", filter]));
            if !found.trim().is_empty() {
                docker_program(remove.iter().copied().chain(found.split_whitespace()));
            }
        }
    }
}

pub fn mount(volume: &str, path: &str) -> Mount {
    Mount { source: MountSource::Volume(volume.to_owned()), path: path.to_owned(), read_only: false }
}

/// What the engine's own program says.
pub fn docker_program<'a>(arguments: impl IntoIterator<Item = &'a str>) -> String {
    let host = format!("unix://{}", socket().display());
    let output = Command::new("docker").env("DOCKER_HOST", host).args(arguments).output().unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned()
}

pub async fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < DEADLINE, "{what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

pub fn network_in(name: &str, (a, b): (u8, u8), labels: Labels) -> Network {
    Network { name: name.to_owned(), subnet: format!("10.{a}.{b}.0/24"), gateway: Ipv4Addr::new(10, a, b, 1), labels }
}

/// Away from the platform's own pool.
pub fn free_subnet_maybe() -> (u8, u8) {
    let [a, b] = random_bytes();
    (224 + a % 32, b)
}

pub fn address(network: &Network, last: u8) -> Ipv4Addr {
    let [a, b, c, _] = network.gateway.octets();
    Ipv4Addr::new(a, b, c, last)
}

pub fn texts(lines: &[PrintedLine]) -> Vec<&str> {
    lines.iter().map(|line| line.text.as_str()).collect()
}

pub fn write(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

pub fn random() -> String {
    random_bytes::<6>().iter().map(|byte| format!("{byte:02x}")).collect()
}

fn random_bytes<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).unwrap();
    bytes
}

/// Whether a process on this machine has the words in its command line.
pub fn process_exists(words: &str) -> bool {
    let processes = std::fs::read_dir("/proc").unwrap();
    processes.filter_map(|entry| std::fs::read(entry.ok()?.path().join("cmdline")).ok()).any(|command| {
        let command: Vec<u8> = command.iter().map(|&byte| if byte == 0 { b' ' } else { byte }).collect();
        String::from_utf8_lossy(&command).contains(words)
    })
}
