//! Containers as they are made: what goes in is what comes out.

use windlass_runtime::{Creation, Error, Label, State};

use crate::build::hex_words;
use crate::support::{World, address, docker_program, random};

#[tokio::test]
async fn the_environment_arrives_byte_for_byte() {
    let world = World::new().await;
    let (image, network) = (world.image("ENV KEPT=yes\n").await, world.network().await);
    let environment = [
        ("PLAIN", "value"),
        ("EQUALS", "a=b=c="),
        ("SPACES", "  leading and trailing  "),
        ("QUOTES", "\"double\" 'single' `back` \\"),
        ("LINES", "one\ntwo\r\n\ttab\n"),
        ("DOLLAR", "$HOME ${PATH} $(id) %s"),
        ("LETTERS", "ü 漢 🚢"),
        ("EMPTY", ""),
    ];
    let mut spec = world.spec("app", &image, &network, &["sh", "-c", "od -An -v -tx1 /proc/self/environ"]);
    spec.environment = environment.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
    world.run(&spec).await;
    assert_eq!(world.docker.wait(&spec.name).await.unwrap(), 0);

    let output = world.docker.tail(&spec.name, 1000).await.unwrap();
    let bytes = hex_words(output.iter().map(String::as_str));
    let got: Vec<&[u8]> = bytes.split(|byte| *byte == 0).collect();
    for (name, value) in environment.into_iter().chain([("KEPT", "yes")]) {
        assert!(got.contains(&format!("{name}={value}").as_bytes()), "{name}");
    }
}

#[tokio::test]
async fn limits_and_restrictions_are_what_was_asked_for() {
    let world = World::new().await;
    let (image, network) = (world.image("").await, world.network().await);
    let spec = world.spec("app", &image, &network, &["sleep", "600"]);
    let id = world.run(&spec).await;

    let text = docker_program(["inspect", &spec.name]);
    let inspection: serde_json::Value = serde_json::from_str(&text).unwrap();
    let host = &inspection[0]["HostConfig"];
    assert_eq!(host["Memory"], 64 << 20);
    assert_eq!(host["MemorySwap"], 64 << 20);
    assert_eq!(host["NanoCpus"], 500_000_000);
    assert_eq!(host["PidsLimit"], 50);
    assert_eq!(host["Init"], true);
    assert_eq!(host["SecurityOpt"], serde_json::json!(["no-new-privileges:true"]));
    assert_eq!(host["CapDrop"], serde_json::json!(["NET_RAW"]));
    assert_eq!(host["RestartPolicy"]["Name"], "no");
    assert_eq!(host["LogConfig"]["Type"], "json-file");
    assert_eq!(host["LogConfig"]["Config"]["max-size"], "1048576");
    assert_eq!(host["LogConfig"]["Config"]["max-file"], "2");
    assert_eq!(host["PortBindings"].as_object().map_or(0, serde_json::Map::len), 0);
    assert_eq!(inspection[0]["Config"]["StopTimeout"], 3);

    let container = world.inspect(&spec.name).await;
    assert_eq!((container.id, container.name, container.image), (id, spec.name.clone(), image));
    assert_eq!((container.state, container.health), (State::Running, None));
    assert_eq!(container.labels, world.labels());
    assert_eq!(container.addresses, [spec.address]);
    assert!(container.pid.is_some() && container.started_at.is_some() && container.finished_at.is_none());

    world.docker.restart_always(&spec.name).await.unwrap();
    let policy = docker_program(["inspect", "-f", "{{.HostConfig.RestartPolicy.Name}}", &spec.name]);
    assert_eq!(policy.trim(), "unless-stopped");
}

#[tokio::test]
async fn no_limit_means_none() {
    let world = World::new().await;
    let (image, network) = (world.image("CMD [\"echo\", \"the image's own\"]\n").await, world.network().await);
    let mut spec = world.spec("app", &image, &network, &[]);
    spec.command = None;
    (spec.memory_bytes, spec.nano_cpus, spec.pids) = (0, 0, 0);
    world.run(&spec).await;
    assert_eq!(world.docker.wait(&spec.name).await.unwrap(), 0);
    assert_eq!(world.docker.tail(&spec.name, 10).await.unwrap(), ["the image's own"]);
}

#[tokio::test]
async fn creating_a_container_twice_gives_the_first_one() {
    let world = World::new().await;
    let (image, network) = (world.image("").await, world.network().await);
    let spec = world.spec("app", &image, &network, &["sleep", "600"]);
    let Creation::Created(id) = world.docker.create(&spec).await.unwrap() else { panic!("it exists already") };

    let Creation::Exists(container) = world.docker.create(&spec).await.unwrap() else { panic!("it was made twice") };
    assert_eq!((container.id.as_str(), container.state), (id.as_str(), State::Created));
    assert_eq!(container.addresses, [spec.address]);

    world.docker.start(&spec.name).await.unwrap();
    world.docker.start(&spec.name).await.unwrap();
    let Creation::Exists(container) = world.docker.create(&spec).await.unwrap() else { panic!("it was made twice") };
    assert_eq!((container.id, container.state), (id, State::Running));
}

#[tokio::test]
async fn what_is_missing_is_told_apart() {
    let world = World::new().await;
    let network = world.network().await;
    let spec =
        world.spec("app", "sha256:0000000000000000000000000000000000000000000000000000000000000000", &network, &[]);
    let result = world.docker.create(&spec).await;
    assert!(matches!(&result, Err(Error::NotFound { message }) if message.contains("No such image")), "{result:?}");

    let missing = world.name("missing");
    assert_eq!(world.docker.inspect(&missing).await.unwrap(), None);
    assert!(matches!(world.docker.start(&missing).await, Err(Error::NotFound { .. })));
    assert!(matches!(world.docker.wait(&missing).await, Err(Error::NotFound { .. })));
    assert!(matches!(world.docker.tail(&missing, 10).await, Err(Error::NotFound { .. })));
    assert!(matches!(world.docker.restart_always(&missing).await, Err(Error::NotFound { .. })));
    world.docker.stop(&missing, std::time::Duration::from_secs(1)).await.unwrap();
    world.docker.remove(&missing).await.unwrap();
    // Names are names, not paths.
    assert_eq!(world.docker.inspect("a/../../info?x").await.unwrap(), None);
}

#[tokio::test]
async fn an_address_belongs_to_one_container() {
    let world = World::new().await;
    let (image, network) = (world.image("").await, world.network().await);
    let first = world.spec("first", &image, &network, &["sleep", "600"]);
    let second = world.spec("second", &image, &network, &["sleep", "600"]);
    world.run(&first).await;
    world.docker.create(&second).await.unwrap();
    let result = world.docker.start(&second.name).await;
    assert!(matches!(result, Err(Error::AddressTaken { .. })), "{result:?}");

    world.docker.remove(&first.name).await.unwrap();
    world.docker.start(&second.name).await.unwrap();
    assert_eq!(world.inspect(&second.name).await.addresses, [address(&network, 10)]);
}

#[tokio::test]
async fn what_cannot_be_executed_says_why() {
    let world = World::new().await;
    let (image, network) = (world.image("").await, world.network().await);
    let spec = world.spec("missing", &image, &network, &["/nowhere"]);
    world.run(&spec).await;
    assert_eq!(world.docker.wait(&spec.name).await.unwrap(), 127);
    let container = world.inspect(&spec.name).await;
    assert_eq!((container.state, container.exit_code), (State::Exited, 127));
    assert_eq!(container.error, "exec /nowhere failed: No such file or directory");

    // A shell that ends with the same code has started well.
    let mut spec = world.spec("shell", &image, &network, &["sh", "-c", "nosuchprogram"]);
    spec.address = address(&network, 11);
    world.run(&spec).await;
    assert_eq!(world.docker.wait(&spec.name).await.unwrap(), 127);
    assert_eq!(world.inspect(&spec.name).await.error, "");
}

#[tokio::test]
async fn an_image_for_another_machine_says_so() {
    let world = World::new().await;
    let context = world.context(&[
        ("Dockerfile", "FROM scratch\nCOPY app /app\nCOPY app /bin/sh\n"),
        ("app", "\x7fELF for another machine"),
    ]);
    std::fs::set_permissions(context.join("app"), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let image = world.build(world.build_of(context)).await.0.unwrap();
    let spec = world.spec("app", &image, &world.network().await, &["/app"]);
    world.run(&spec).await;
    assert_ne!(world.docker.wait(&spec.name).await.unwrap(), 0);
    assert_eq!(world.inspect(&spec.name).await.error, "exec /app failed: Exec format error");
}

#[tokio::test]
async fn what_the_engine_cannot_start_says_why() {
    let world = World::new().await;
    let (image, network) = (world.image("USER no-such-user\n").await, world.network().await);
    let spec = world.spec("app", &image, &network, &["sleep", "600"]);
    world.docker.create(&spec).await.unwrap();
    let result = world.docker.start(&spec.name).await;
    assert!(matches!(&result, Err(Error::StartFailed { message }) if message.contains("no-such-user")), "{result:?}");
}

#[tokio::test]
async fn containers_are_listed_by_label_in_every_state() {
    let world = World::new().await;
    let (image, network) = (world.image("").await, world.network().await);
    let mut made = Vec::new();
    for (number, (name, command)) in
        [("created", "true"), ("running", "sleep 600"), ("exited", "true")].into_iter().enumerate()
    {
        let mut spec = world.spec(name, &image, &network, &["sh", "-c", command]);
        spec.address = address(&network, 30 + u8::try_from(number).unwrap());
        spec.labels.insert("windlass.number".to_owned(), number.to_string());
        world.docker.create(&spec).await.unwrap();
        made.push(spec);
    }
    world.docker.start(&made[1].name).await.unwrap();
    world.docker.start(&made[2].name).await.unwrap();
    world.docker.wait(&made[2].name).await.unwrap();

    let mut listed = world.docker.containers(&world.label).await.unwrap();
    listed.sort_by_key(|container| container.labels["windlass.number"].clone());
    let seen: Vec<_> = listed.iter().map(|container| (container.name.as_str(), container.state)).collect();
    let states = [State::Created, State::Running, State::Exited];
    let expected: Vec<_> = made.iter().map(|spec| spec.name.as_str()).zip(states).collect();
    assert_eq!(seen, expected);
    assert!(listed.iter().all(|container| container.image == image && container.id.len() == 64));
    assert_eq!(world.docker.containers(&Label::new("windlass.test", random())).await.unwrap(), []);
}

#[tokio::test]
async fn the_last_lines_are_read_from_both_streams() {
    let world = World::new().await;
    let (image, network) = (world.image("").await, world.network().await);
    let script = "echo first; seq 1 200; head -c 20000 /dev/zero | tr '\\0' x; echo; printf 'a\\377b\\n'; echo bad >&2; printf last";
    let spec = world.spec("app", &image, &network, &["sh", "-c", script]);
    world.run(&spec).await;

    world.docker.wait(&spec.name).await.unwrap();

    let tail = world.docker.tail(&spec.name, 3).await.unwrap();
    assert_eq!(tail.len(), 3);
    assert!(tail.contains(&"last".to_owned()), "{tail:?}");
    let tail = world.docker.tail(&spec.name, 1000).await.unwrap();
    let longest = tail.iter().map(String::len).max().unwrap();
    assert!((8 << 10..9 << 10).contains(&longest), "{longest}");
}
