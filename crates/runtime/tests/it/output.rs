//! All that containers print, as the engine of this machine keeps it.

use std::time::{Duration, Instant};

use windlass_runtime::{Access, ContainerSpec, Error, Gap, LogLimits, Output, OutputLine, Portion, Position, Stream};

use crate::support::{World, docker_program};

const BOTH: [Access; 2] = [Access::Files, Access::Engine];
const LONGEST: usize = 16 << 10;
const PORTION: usize = 64 << 10;
const BURSTS: usize = 6;
const WORDS: &str = " of some words that make it a line such as programs print them";

struct Container {
    world: World,
    spec: ContainerSpec,
}

impl Container {
    async fn new(script: &str, logs: LogLimits) -> Self {
        let world = World::new().await;
        let (image, network) = (world.image("").await, world.network().await);
        let mut spec = world.spec("app", &image, &network, &["sh", "-c", script]);
        (spec.logs, spec.nano_cpus) = (logs, 0);
        Self { world, spec }
    }

    /// Runs until it has ended.
    async fn ended(script: &str, logs: LogLimits) -> Self {
        let container = Self::new(script, logs).await;
        container.world.run(&container.spec).await;
        container.world.docker.wait(&container.spec.name).await.unwrap();
        container
    }

    async fn output(&self, access: Access, position: &Position) -> Output {
        let text = serde_json::to_string(position).unwrap();
        assert!(text.len() < 2048, "{text}");
        let position = serde_json::from_str(&text).unwrap();
        let output = self.world.docker.output(&self.spec.name, access, LONGEST, position).await.unwrap();
        assert_eq!(output.reads_files(), access == Access::Files);
        output
    }

    async fn all(&self, access: Access) -> Read {
        let mut read = Read::default();
        read.take_all(&mut self.output(access, &Position::default()).await).await;
        read
    }

    /// Reads while it prints its bursts, every now and then by another reader, the accesses in turn.
    async fn follow(&self, accesses: &[Access], burst: usize) -> Read {
        let (mut read, mut bursts) = (Read::default(), 0);
        let mut output = self.output(accesses[0], &read.position).await;
        for portions in 1.. {
            if portions % 15 == 0 {
                output = self.output(accesses[portions / 15 % accesses.len()], &read.position).await;
            }
            let is_end = read.take(output.read(PORTION).await.unwrap());
            if is_end && bursts == BURSTS {
                break;
            }
            // The engine keeps more than a burst, so that a slow reader loses nothing either.
            if read.lines.len() >= burst * (bursts + 1) {
                docker_program(["exec", &self.spec.name, "touch", &format!("/go{bursts}")]);
                bursts += 1;
            }
        }
        self.world.docker.wait(&self.spec.name).await.unwrap();
        read.take_all(&mut output).await;
        read
    }
}

#[derive(Default)]
struct Read {
    lines: Vec<OutputLine>,
    gaps: Vec<Gap>,
    position: Position,
}

impl Read {
    fn take(&mut self, portion: Portion) -> bool {
        self.lines.extend(portion.lines);
        self.gaps.extend(portion.gap);
        self.position = portion.position;
        portion.is_end
    }

    async fn take_all(&mut self, output: &mut Output) {
        while !self.take(output.read(PORTION).await.unwrap()) {}
    }

    fn texts(&self, stream: Stream) -> Vec<String> {
        let lines = self.lines.iter().filter(|line| line.stream == stream);
        lines.map(|line| String::from_utf8(line.text.clone()).unwrap()).collect()
    }

    /// Each number once, in order.
    fn assert_numbers(&self, stream: Stream, numbers: std::ops::RangeInclusive<usize>) {
        let texts = self.texts(stream);
        let mut wrong =
            texts.iter().zip(numbers.clone()).filter(|(text, number)| !text.starts_with(&format!("{number} ")));
        assert_eq!((wrong.next(), texts.len()), (None, numbers.count()));
    }
}

fn limits(file_bytes: u64, files: u32) -> LogLimits {
    LogLimits { file_bytes, files }
}

fn numbered(first: usize, last: usize) -> String {
    format!("seq {first} {last} | sed 's/$/{WORDS}/'")
}

/// Numbered lines as fast as they can be printed, and again when the last of them has been read.
fn in_bursts(lines: usize, print: &str) -> String {
    let last = BURSTS - 1;
    format!(
        "printing() {{ seq $(($1 * {lines} + 1)) $((($1 + 1) * {lines})) | sed 's/$/{WORDS}/'; }}\n\
         for n in $(seq 0 {last}); do {print}; while [ ! -e /go$n ]; do sleep 0.02; done; done"
    )
}

#[tokio::test]
async fn nothing_is_lost_and_nothing_comes_twice_while_the_engine_rotates() {
    for access in BOTH {
        let container = Container::new(&in_bursts(20_000, "printing $n"), limits(2 << 20, 4)).await;
        container.world.run(&container.spec).await;
        let read = container.follow(&[access], 20_000).await;
        assert_eq!(read.gaps, []);
        read.assert_numbers(Stream::Stdout, 1..=20_000 * BURSTS);
    }
}

#[tokio::test]
async fn readers_of_both_kinds_take_turns() {
    let script = in_bursts(5000, "printing $n & printing $n >&2; wait");
    let container = Container::new(&script, limits(1 << 20, 4)).await;
    container.world.run(&container.spec).await;
    let read = container.follow(&BOTH, 10_000).await;
    assert_eq!(read.gaps, []);
    read.assert_numbers(Stream::Stdout, 1..=5000 * BURSTS);
    read.assert_numbers(Stream::Stderr, 1..=5000 * BURSTS);
}

#[tokio::test]
async fn what_the_engine_has_removed_meanwhile_is_one_gap() {
    let script = format!(
        "{}; touch /first; while [ ! -e /go ]; do sleep 0.05; done; {}",
        numbered(1, 100),
        numbered(101, 60_000)
    );
    let container = Container::new(&script, limits(1 << 20, 3)).await;
    container.world.run(&container.spec).await;
    let mut positions = Vec::new();
    for access in BOTH {
        let (mut read, mut output) = (Read::default(), container.output(access, &Position::default()).await);
        let start = Instant::now();
        while read.lines.len() < 100 {
            assert!(start.elapsed() < Duration::from_secs(60));
            read.take(output.read(PORTION).await.unwrap());
        }
        positions.push((read.lines[99].at, read.position));
    }
    docker_program(["exec", &container.spec.name, "touch", "/go"]);
    container.world.docker.wait(&container.spec.name).await.unwrap();
    let path = container.world.inspect(&container.spec.name).await.log_path.unwrap();
    let kept: usize = (0..3)
        .map(|number| if number == 0 { path.clone() } else { format!("{}.{number}", path.display()).into() })
        .map(|path| std::fs::read(path).unwrap().iter().filter(|byte| **byte == b'\n').count())
        .sum();
    for (last, position) in positions {
        for access in BOTH {
            let mut read = Read::default();
            read.take_all(&mut container.output(access, &position).await).await;
            read.assert_numbers(Stream::Stdout, 60_001 - kept..=60_000);
            let gap = Gap { after: Some(last), until: Some(read.lines[0].at), bytes: None };
            assert_eq!(read.gaps, [gap], "{access:?}");
        }
    }
}

#[tokio::test]
async fn lines_of_all_kinds_come_as_they_were_printed() {
    let script = "echo first; echo; printf 'a\\377b\\n'; printf '10 %%\\r50 %%\\r100 %%\\n'; printf 'dos\\r\\n'; \
        head -c 100000 /dev/zero | tr '\\0' x; echo; head -c 16384 /dev/zero | tr '\\0' y; echo; echo bad >&2; echo worse >&2; printf last";
    let container = Container::ended(script, limits(1 << 20, 3)).await;
    for access in BOTH {
        let read = container.all(access).await;
        let (long, whole) = ("x".repeat(LONGEST), "y".repeat(LONGEST));
        let expected = ["first", "", "a\u{fffd}b", "100 %", "dos", &long, &whole, "last"];
        assert_eq!(read.texts(Stream::Stdout), expected, "{access:?}");
        assert_eq!(read.texts(Stream::Stderr), ["bad", "worse"]);
        let cut: Vec<u64> = read.lines.iter().map(|line| line.cut).filter(|cut| *cut > 0).collect();
        assert_eq!(cut, [100_000 - LONGEST as u64]);
        assert_eq!(read.gaps, []);
    }
}

#[tokio::test]
async fn a_container_that_prints_nothing_has_no_lines() {
    let container = Container::new("sleep 600", limits(1 << 20, 3)).await;
    container.world.docker.create(&container.spec).await.unwrap();
    for access in BOTH {
        let (name, position) = (&container.spec.name, Position::default());
        let mut output = container.world.docker.output(name, access, LONGEST, position).await.unwrap();
        let portion = output.read(PORTION).await.unwrap();
        assert!(portion.is_end && portion.lines.is_empty());
    }
    container.world.docker.start(&container.spec.name).await.unwrap();
    for access in BOTH {
        let read = container.all(access).await;
        assert_eq!((read.lines, read.gaps), (vec![], vec![]));
    }
}

#[tokio::test]
async fn what_is_printed_after_a_restart_follows() {
    let container = Container::ended("echo a line; printf 'and no end'", limits(1 << 20, 3)).await;
    let mut outputs = Vec::new();
    for access in BOTH {
        let mut read = Read::default();
        let mut output = container.output(access, &Position::default()).await;
        read.take_all(&mut output).await;
        assert_eq!(read.texts(Stream::Stdout), ["a line", "and no end"]);
        outputs.push((output, read));
    }
    container.world.docker.start(&container.spec.name).await.unwrap();
    container.world.docker.wait(&container.spec.name).await.unwrap();
    for (mut output, mut read) in outputs {
        read.take_all(&mut output).await;
        assert_eq!(read.texts(Stream::Stdout), ["a line", "and no end", "a line", "and no end"]);
    }
    // For a reader that has seen nothing of it before.
    for access in BOTH {
        let read = container.all(access).await;
        assert_eq!(read.texts(Stream::Stdout), ["a line", "and no end", "a line", "and no end"]);
    }
}

#[tokio::test]
async fn of_a_container_that_is_removed_the_files_are_read_first() {
    let script = format!("{}; sleep 600", numbered(1, 20_000));
    let container = Container::new(&script, limits(1 << 20, 5)).await;
    container.world.run(&container.spec).await;
    let [mut files, mut engine] = [
        container.output(Access::Files, &Position::default()).await,
        container.output(Access::Engine, &Position::default()).await,
    ];
    let start = Instant::now();
    while container
        .world
        .docker
        .tail(&container.spec.name, 1)
        .await
        .unwrap()
        .iter()
        .all(|line| !line.starts_with("20000 "))
    {
        assert!(start.elapsed() < Duration::from_secs(60));
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let mut read = Read::default();
    read.take(files.read(PORTION).await.unwrap());
    container.world.docker.remove(&container.spec.name).await.unwrap();
    let result = loop {
        match files.read(PORTION).await {
            Ok(portion) => assert!(!read.take(portion)),
            Err(error) => break error,
        }
    };
    assert!(matches!(result, Error::NotFound { .. }), "{result}");
    read.assert_numbers(Stream::Stdout, 1..=20_000);
    let result = engine.read(PORTION).await;
    assert!(matches!(result, Err(Error::NotFound { .. })), "{result:?}");
}
