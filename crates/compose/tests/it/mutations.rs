//! Valid documents, changed at random: whatever comes of it, it is read or refused in a moment, at places inside the text, and what is read
//! can be stored. `WINDLASS_MUTATIONS` says how many.

use std::time::{Duration, Instant};

use windlass_compose::{Place, Problem, Project, read, read_in_repository};
use windlass_yaml::{Limits, Node, parse};

use crate::lookup;
use crate::repository::beside;

const DOCUMENTS: [&str; 3] = [
    "services:\n  web:\n    image: nginx:${TAG}\n    ports: ['80:80', '3000-3001:3000-3001/udp']\n    environment:\n      A: ${PASSWORD:-x}\n      B: 1.5\n    volumes:\n      - data:/data\n      - /srv:/srv:ro\n    depends_on: [db]\n    command: sh -c 'a b'\n  db:\n    image: postgres:16\n    healthcheck: {test: [CMD, x], interval: 1m30s}\nvolumes: {data: }\n",
    "x-a: &a {restart: always, deploy: {resources: {limits: {cpus: '0.5', memory: 512m}}}}\nservices:\n  a:\n    <<: *a\n    image: x@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\n    privileged: ${YES}\n    cap_add: [NET_ADMIN]\n    devices: ['/dev/a:/dev/b:rw']\n    ulimits: {nofile: {soft: 1, hard: 2}}\n    tmpfs: ['/run:size=1m']\n    security_opt: ['label:disable']\n    network_mode: host\n",
    "services:\n  a:\n    image: x\n    configs: [c, {source: c, target: /c, mode: 0440}]\n    extra_hosts: ['a:1.2.3.4']\n    networks: {n: {aliases: [b]}}\n    links: ['b:c']\n    stop_grace_period: 1h\n    sysctls: {a.b: 1}\n    ipc: 'service:b'\n  b: {image: y, profiles: []}\nconfigs: {c: {content: '${PORT:+p}'}}\nnetworks: {n: }\n",
];

const IN_REPOSITORY: [&str; 2] = [
    "services:\n  web:\n    build: {context: ./web, dockerfile: Dockerfile, target: run, args: {A: '${TAG}', YES: }}\n    env_file: [.env, ./web.env, {path: none.env, required: false, format: raw}]\n    volumes:\n      - ./nginx.conf:/etc/nginx.conf:ro\n      - .:/app\n      - {type: bind, source: data, target: /data}\n    environment: {A: b}\n  worker: {build: ., pull_policy: build}\n",
    "services:\n  a:\n    image: x\n    configs: [c]\n    volumes: ['./data:/data', './Data:/other', 'data:/third']\nconfigs: {c: {file: ./nginx.conf}}\nvolumes: {data: }\n",
];

const PIECES: [&str; 48] = [
    "[",
    "]",
    "{",
    "}",
    ",",
    ": ",
    "- ",
    "&b ",
    "*b",
    "'",
    "\"",
    "\n",
    "  ",
    "<<: ",
    "$",
    "${",
    "${X}",
    "${X:-",
    ":-",
    "$$",
    "0",
    "-1",
    "99999999999999999999",
    ".5",
    "1e9",
    "true",
    "null",
    "~",
    ":",
    "/",
    "..",
    "ro",
    "host",
    "service:a",
    "container:b",
    "image: ",
    "volumes: ",
    "ports: ",
    "build: .",
    "\u{1f600}",
    "\u{0}",
    "%",
    "@",
    "=",
    "-",
    "65535-65536",
    "a",
    "x-",
];

/// The same numbers in each run.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % bound.max(1) as u64).unwrap()
    }
}

fn mutate(text: &str, random: &mut Random) -> String {
    let mut chars: Vec<char> = text.chars().collect();
    for _ in 0..=random.below(3) {
        let at = random.below(chars.len() + 1);
        let end = (at + random.below(10)).min(chars.len());
        match random.below(4) {
            0 => drop(chars.drain(at..end)),
            1 => drop(chars.splice(at..at, PIECES[random.below(PIECES.len())].chars())),
            2 => drop(chars.splice(at..end, PIECES[random.below(PIECES.len())].chars())),
            _ => {
                let piece: Vec<char> = chars[at..end].to_vec();
                let to = random.below(chars.len() + 1);
                drop(chars.splice(to..to, piece));
            }
        }
    }
    chars.into_iter().collect()
}

fn assert_inside(place: Place, text: &str) {
    let unified = text.replace("\r\n", "\n").replace('\r', "\n");
    let line = unified.split('\n').nth(place.line as usize - 1);
    let length = line.unwrap_or_else(|| panic!("{place:?} is not in {text:?}")).chars().count();
    assert!((1..=length + 1).contains(&(place.column as usize)), "{place:?} is not in {text:?}");
}

#[test]
fn changed_documents_are_read_or_refused() {
    try_all(&DOCUMENTS, |document| read(document, &lookup));
}

#[test]
fn changed_documents_of_repositories_are_read_or_refused() {
    try_all(&IN_REPOSITORY, |document| read_in_repository(document, &lookup, &beside));
}

type Read = fn(&Node) -> Result<Project, Vec<Problem>>;

fn try_all(documents: &[&str], read: Read) {
    let rounds = std::env::var("WINDLASS_MUTATIONS").map_or(10_000, |rounds| rounds.parse().unwrap());
    let mut random = Random(0x2545_f491_4f6c_dd1d);
    let mut read_count = 0;
    for round in 0..rounds {
        let text = mutate(documents[round % documents.len()], &mut random);
        let Ok(document) = parse(&text, &Limits::default()) else { continue };
        let start = Instant::now();
        let result = std::panic::catch_unwind(|| read(&document));
        let Ok(result) = result else { panic!("panics: {text:?}") };
        assert!(start.elapsed() < Duration::from_secs(2), "{text:?}");
        match result {
            Ok(project) => {
                read_count += 1;
                check(&project, &text);
            }
            Err(problems) => {
                assert!((1..=100).contains(&problems.len()), "{text:?}");
                problems.iter().for_each(|problem| assert_inside(problem.place, &text));
            }
        }
    }
    assert!(read_count > rounds / 50, "only {read_count} of {rounds} were read");
}

fn check(project: &Project, text: &str) {
    for service in &project.services {
        service.dangers().iter().for_each(|danger| assert_inside(danger.place, text));
    }
    let stored = serde_json::to_string(project).unwrap();
    assert!(serde_json::from_str::<Project>(&stored).unwrap() == *project, "{text:?}");
}
