//! Documents that lie in a repository, with files beside them.

use std::cell::RefCell;
use std::time::{Duration, Instant};

use windlass_compose::{Beside, Build, Problem, Project, PullPolicy, Source, read, read_in_repository};
use windlass_yaml::{Limits, parse};

use crate::{assert_snapshot, lookup, names};

/// The files of the repository in these tests.
pub fn beside(path: &str) -> Beside {
    match path {
        "./nginx.conf" | "nginx.conf" => Beside::Text("worker_processes 1;\n".into()),
        "./entry.sh" => Beside::Text("#!/bin/sh\nexec \"$@\"\n".into()),
        "." | "./site" => Beside::Folder(vec![
            ("index.html".into(), "<p>hello</p>\n".into()),
            ("bin/run".into(), "#!/bin/sh\n".into()),
        ]),
        "./empty" => Beside::Folder(Vec::new()),
        "./web.env" => Beside::Text("# of the web\nMODE=production\nURL=\"http://${MODE}:$PORT/\"\nA=file\n".into()),
        "./more.env" => Beside::Text("export MODE='later'\nYES\nNONE\n".into()),
        "./raw.env" => Beside::Text("QUOTED='$x'\n".into()),
        "./wrong.env" => Beside::Text("A=1\nB='s3cr3t\n".into()),
        "./many.env" => Beside::Text((0..499).map(|number| format!("V{number}=x\n")).collect()),
        "./long.env" => Beside::Text("#".repeat(300_000)),
        "./large" => Beside::Text("x".repeat(600_000)),
        "./password.txt" => Beside::Text("s3cr3t".into()),
        "./picture.png" => Beside::Refused("is no text; put it into the image with COPY".into()),
        "./hostile" => Beside::Folder(vec![("../../etc/passwd".into(), "x".into())]),
        _ => Beside::Missing,
    }
}

fn project(text: &str) -> Result<Project, Vec<Problem>> {
    read_in_repository(&parse(text, &Limits::default()).unwrap(), &lookup, &beside)
}

/// The problems of a document, a line each.
fn problems(text: &str) -> String {
    let problems = project(text).unwrap_err();
    problems.iter().map(|problem| format!("{problem}\n")).collect()
}

/// The problems of one service with these keys.
fn service(keys: &str) -> String {
    problems(&format!("services: {{web: {{image: x, {keys}}}}}\n"))
}

const WHOLE: &str = r#"
x-app: &app
  build:
    context: ./web
    dockerfile: docker/Dockerfile
    target: run
    args: { VERSION: "${TAG}", YES: , NONE: }
    cache_from: [type=gha]
    labels: { a: b }
  env_file:
    - .env
    - ./web.env
    - { path: ./more.env, required: true }
    - { path: ./none.env, required: false }
    - { path: ./raw.env, format: raw }
  restart: unless-stopped
services:
  web:
    <<: *app
    image: registry.example.org/web
    pull_policy: build
    environment: { A: environment, B: b }
    ports: ["8080:80"]
    volumes:
      - ./nginx.conf:/etc/nginx/nginx.conf:ro
      - ./nginx.conf:/etc/nginx/nginx.conf:ro
      - { type: bind, source: ./entry.sh, target: /entry.sh }
      - ./site:/srv/site
      - ./uploads:/srv/uploads
    configs: [{ source: nginx, target: /etc/copy.conf }]
    secrets: [password]
    depends_on: { db: { condition: service_healthy }, redis: }
  worker:
    <<: *app
    command: ./worker
    volumes:
      - uploads/:/srv/uploads:ro
      - ./empty:/empty
    depends_on: [db, redis]
  db:
    image: postgres:17
    volumes: [data:/var/lib/postgresql/data]
    healthcheck: { test: ["CMD", "pg_isready"], interval: 5s }
  redis:
    image: redis:8
volumes:
  data:
configs:
  nginx: { file: ./nginx.conf }
secrets:
  password: { file: ./password.txt }
"#;

#[test]
fn a_whole_repository() {
    let project = project(WHOLE).unwrap();
    assert_eq!(names(&project), ["db", "redis", "web", "worker"]);
    let [db, redis, web, worker] = &project.services[..] else { panic!("{project:?}") };
    assert_snapshot("repository_web", &serde_json::to_string_pretty(web).unwrap());
    assert!(db.build.is_none() && redis.build.is_none());
    assert_eq!(worker.build, web.build);
    assert_eq!((web.image.as_str(), worker.image.as_str()), ("registry.example.org/web", ""));
    assert_eq!(worker.volumes[0].source, web.volumes[0].source);
    assert!(worker.volumes[0].read_only && !web.volumes[0].read_only);
    let volumes: Vec<_> = project.volumes.iter().map(|volume| volume.name.as_str()).collect();
    assert_eq!(volumes, ["data", "folder-uploads", "folder-empty"]);
    assert!(project.services.iter().all(|service| service.dangers().is_empty()));
    let shown = format!("{project:?}");
    assert!(!shown.contains("s3cr3t") && !shown.contains("VERSION") && !shown.contains("production"), "{shown}");

    let stored = serde_json::to_string(&project).unwrap();
    assert!(serde_json::from_str::<Project>(&stored).unwrap() == project);
}

/// What `read` says is the same as before there were repositories.
#[test]
fn without_files_all_of_it_is_refused() {
    let document = parse(WHOLE, &Limits::default()).unwrap();
    let problems: String = read(&document, &lookup).unwrap_err().iter().map(|problem| format!("{problem}\n")).collect();
    assert_snapshot("repository_without_files", &problems);
}

#[test]
fn builds_have_a_short_form() {
    let build = |text: &str| {
        let project = project(&format!("services: {{a: {{build: {text}}}}}\n")).unwrap();
        project.services[0].build.clone().unwrap()
    };
    assert_eq!(build("."), Build::default());
    assert_eq!(build("./a"), Build { context: "./a".into(), ..Build::default() });
    assert_eq!(build("{}"), Build::default());
    assert_eq!(build("{context: , dockerfile: ''}"), Build::default());
    let inline = build("{dockerfile_inline: \"FROM x\\n\", args: [A=b, TAG, NONE], x-other: 1}");
    assert_eq!(inline.dockerfile_inline.as_deref(), Some("FROM x\n"));
    assert_eq!(inline.args, [("A".into(), "b".into()), ("TAG".into(), "1.29".into())]);
    let policy = |text: &str| project(text).map(|project| project.services[0].pull_policy);
    assert_eq!(policy("services: {a: {build: ., pull_policy: build}}").unwrap(), PullPolicy::Missing);
    assert_eq!(policy("services: {a: {pull_policy: always, build: .}}").unwrap(), PullPolicy::Always);
}

#[test]
fn problems_of_builds() {
    let text = "
services:
  a: { build: https://github.com/a/b.git }
  b: { build: { context: 'git@github.com:a/b', dockerfile: /Dockerfile } }
  c: { build: /srv }
  d: { build: ../app }
  e: { build: { context: a/../.., dockerfile: ../Dockerfile, target: a b } }
  f: { build: { dockerfile: a, dockerfile_inline: FROM x } }
  g: { build: { additional_contexts: {}, secrets: [], ssh: [], entitlements: [], isolation: x, privileged: true } }
  h: { build: { contxt: ., frob: 1, no_cache: true, platforms: [linux/amd64] } }
  i: { build: [a] }
  j: { build: { args: [a b=c], dockerfile: [x] } }
  k: { command: x }
  l: { build: '' }
  m: { image: x, pull_policy: build }
  n: { image: x, pull_policy: daily }
  o: { biuld: . }
  p: { build: \"a\\0b\" }
  q: { build: \"a\\nb\" }
  r: { build: ., extends: { service: a }, label_file: x, volumes_from: [a] }
include: [other.yaml]
";
    assert_snapshot("repository_builds", &problems(text));
}

#[test]
fn problems_of_files() {
    let text = "
services:
  a:
    image: x
    env_file:
      - ./none.env
      - ../x.env
      - /etc/x.env
      - ~/x.env
      - ./wrong.env
      - ./long.env
      - ./site
      - ./picture.png
      - { path: ./.env }
      - { required: false }
      - { path: ./raw.env, format: json }
      - { path: ./raw.env, requird: false }
      - [x]
  b: { image: x, env_file: ./many.env, environment: [A=1, B=2] }
  c: { image: x, env_file: { path: x } }
  d:
    image: x
    volumes:
      - ../x:/x
      - ~/x:/y
      - ./a/../../b:/b
      - ./picture.png:/p
      - ./hostile:/h
      - { type: bind, source: ../z, target: /z }
      - { type: bind, source: ~/z, target: /w }
      - { type: bind, target: /v }
      - ./nginx.conf:relative
      - ./nginx.conf:/same
      - ./entry.sh:/same
      - { type: volume, source: ./x, target: /u }
      - date:/date
configs: { a: { file: ./none }, b: { file: ../x }, c: { file: ./site }, d: { file: ./picture.png }, e: { file: /etc/passwd }, f: }
secrets: { a: { file: ./none }, b: { external: true } }
volumes: { data: }
";
    let shown = problems(text);
    assert!(!shown.contains("s3cr3t"), "{shown}");
    assert_snapshot("repository_files", &shown);
}

#[test]
fn folders_and_volumes_are_told_apart() {
    let text = "
services:
  a:
    image: x
    volumes: ['./data:/a', './Data:/b', 'data:/c', './folder:/d', { type: bind, source: data, target: /e }, '/srv:/f']
volumes: { data: , folder-folder: }
";
    let project = project(text).unwrap();
    let volumes: Vec<_> = project.services[0].volumes.iter().map(|mount| format!("{:?}", mount.source)).collect();
    assert_eq!(
        volumes,
        [
            "Volume(\"folder-data\")",
            "Volume(\"folder-data-3f5279c5\")",
            "Volume(\"data\")",
            "Volume(\"folder-folder-3b486bf6\")",
            "Volume(\"folder-data\")",
            "Bind(\"/srv\")",
        ]
    );
    assert_eq!(project.services[0].dangers().len(), 1);
}

/// No relative path is left as one of the host, and no path is asked for that leads out.
#[test]
fn paths_stay_in_the_repository() {
    let asked = RefCell::new(Vec::new());
    let look = |path: &str| {
        asked.borrow_mut().push(path.to_string());
        beside(path)
    };
    for path in ["..", "../a", "./../a", "a/../../b", "a/..", "~/a", "/a/../b", "..\\\\a", "./a\\0", "./a\\nb"] {
        let text = format!(
            "services: {{a: {{build: {{context: \"{path}\", dockerfile: \"{path}\"}}, env_file: [\"{path}\", {{path: \"{path}\"}}], volumes: [\"{path}:/a\", {{type: bind, source: \"{path}\", target: /b}}], configs: [a], secrets: [a]}}}}\nconfigs: {{a: {{file: \"{path}\"}}}}\nsecrets: {{a: {{file: \"{path}\"}}}}\n"
        );
        let problems = read_in_repository(&parse(&text, &Limits::default()).unwrap(), &lookup, &look).unwrap_err();
        assert!(problems.len() >= 7, "{problems:?}");
        assert!(problems.iter().all(|problem| problem.message.len() < 400 && !problem.message.contains(['\n', '\0'])));
    }
    assert_eq!(*asked.borrow(), [""; 0]);

    let document = parse(WHOLE, &Limits::default()).unwrap();
    let project = read_in_repository(&document, &lookup, &look).unwrap();
    let mounts = project.services.iter().flat_map(|service| &service.volumes);
    assert!(mounts.clone().count() > 0 && mounts.clone().all(|mount| matches!(mount.source, Source::Volume(_))));
    assert!(asked.borrow().iter().any(|path| path == "./web.env"));
}

#[test]
fn what_a_repository_adds_is_bounded() {
    let services = |volumes: &str, count: usize| -> String {
        let services = (0..count).map(|number| format!("  s{number}: {{image: x, volumes: [{volumes}]}}\n"));
        format!("services:\n{}", services.collect::<String>())
    };
    assert!(project(&services("'./large:/a'", 1)).is_ok());
    let large = problems(&services("'./large:/a'", 5));
    assert_eq!(large.matches("put larger files into the image with COPY").count(), 1, "{large}");
    assert_eq!(project(&services("'.:/a'", 50)).unwrap().services.len(), 50);
    let many: String = (0..40).map(|number| format!("'.:/a{number}', ")).collect();
    assert!(problems(&services(&many, 50)).contains("are more than 1000 or have more than 1048576 bytes"));

    let configs: String = (0..3).map(|number| format!("a{number}: {{file: ./large}}, ")).collect();
    let text = format!("services: {{a: {{image: x}}}}\nconfigs: {{{configs}}}\n");
    assert!(problems(&text).contains("the configs have more than 1048576 bytes"));

    assert!(service(&format!("env_file: [{}]", "./web.env, ".repeat(21))).contains("has 21 files; at most 20"));
    assert!(service(&format!("env_file: [{}]", "./web.env, ".repeat(201))).contains("has 201 items; at most 200"));
    assert!(service(&format!("build: '{}'", "$PASSWORD".repeat(7000))).contains("must be a path of 1 to 1024"));
    assert!(service(&format!("build: {}", "x".repeat(2000))).contains("must be a path of 1 to 1024"));
    assert!(service(&format!("volumes: ['./{}:/a']", "x".repeat(2000))).contains("must be a path of 1 to 1024"));
    let args: String = (0..501).map(|number| format!("A{number}: x, ")).collect();
    assert!(service(&format!("build: {{args: {{{args}}}}}")).contains("has 501 entries; at most 500"));
}

/// The worst that the bounds let through.
#[test]
fn large_repositories_are_read_in_a_moment() {
    let large = |path: &str| match path {
        path if path.ends_with("env") => Beside::Text("A=$PASSWORD\nexport B='x' # y\n".repeat(9000)),
        _ => Beside::Text("x".repeat(1_000_000)),
    };
    let volumes: String = (0..200).map(|number| format!("'./f:/f{number}', ")).collect();
    let all: String = (0..45)
        .map(|number| {
            format!("  s{number}: {{image: x, env_file: [{}./{number}env], volumes: *v}}\n", "./env, ".repeat(19))
        })
        .collect();
    let text = format!("x-v: &v [{volumes}]\nservices:\n{all}");
    let document = parse(&text, &Limits::default()).unwrap();
    let start = Instant::now();
    assert!(read_in_repository(&document, &lookup, &large).is_err());
    assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
}

/// Each container is told the names of all others.
#[test]
fn other_names_are_bounded() {
    let service = |number: usize, names: usize| {
        let aliases: String = (0..names).map(|name| format!("n{number}-{name}, ")).collect();
        format!("  s{number}: {{image: x, networks: {{default: {{aliases: [{aliases}]}}}}}}\n")
    };
    let document = |names: &[usize]| {
        let services: String = names.iter().enumerate().map(|(number, names)| service(number, *names)).collect();
        format!("services:\n{services}")
    };
    assert!(project(&document(&[20; 10])).is_ok());
    let many = problems(&document(&[21]));
    assert!(many.contains("services.s0.networks: the service has 21 other names; at most 20 are possible"), "{many}");
    assert_eq!(problems(&document(&[20; 11])).matches("and 200 of all services together").count(), 1);
}
