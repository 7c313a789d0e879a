//! Commands beside what a container runs.

use std::time::{Duration, Instant};

use windlass_runtime::{Error, Executed};

use crate::support::{World, process_exists, random};

const LIMIT: Duration = Duration::from_secs(30);

/// A world with a container that sleeps, and its name.
async fn sleeper() -> (World, String) {
    let world = World::new().await;
    let (image, network) = (world.image("WORKDIR /tmp\n").await, world.network().await);
    let mut spec = world.spec("app", &image, &network, &["sleep", "600"]);
    spec.environment = vec![("GREETING".to_owned(), "good morning".to_owned())];
    world.run(&spec).await;
    (world, spec.name)
}

async fn run(world: &World, name: &str, command: &[&str], limit: Duration) -> windlass_runtime::Result<Executed> {
    let command: Vec<String> = command.iter().map(|&word| word.to_owned()).collect();
    world.docker.exec(name, &command).await?.run(limit).await
}

#[tokio::test]
async fn a_command_runs_where_its_container_runs() {
    let (world, name) = sleeper().await;
    let script = "echo $GREETING in $PWD; echo beside >&2; exit 3";
    let ran = run(&world, &name, &["sh", "-c", script], LIMIT).await.unwrap();
    assert_eq!(ran.exit_code, 3);
    assert!(ran.output.contains("good morning in /tmp\n") && ran.output.contains("beside\n"), "{ran:?}");
    assert!(!ran.is_cut);
    let ran = run(&world, &name, &["true"], LIMIT).await.unwrap();
    assert_eq!(ran, Executed { exit_code: 0, output: String::new(), is_cut: false });
}

#[tokio::test]
async fn of_much_output_the_end_is_kept() {
    let (world, name) = sleeper().await;
    let ran = run(&world, &name, &["sh", "-c", "seq 1 100000"], LIMIT).await.unwrap();
    assert!(ran.is_cut && ran.output.len() <= 4096 && ran.output.ends_with("99999\n100000\n"), "{ran:?}");
}

#[tokio::test]
async fn a_command_that_is_not_there_fails_with_the_engines_words() {
    let (world, name) = sleeper().await;
    let ran = run(&world, &name, &["no-such-program"], LIMIT).await.unwrap();
    assert!(ran.exit_code != 0 && ran.output.contains("no-such-program"), "{ran:?}");
}

#[tokio::test]
async fn a_command_that_takes_too_long_is_given_up_and_its_end_can_be_waited_for() {
    let (world, name) = sleeper().await;
    let mark = format!("windlass-{}", random());
    let script = format!("while [ ! -e /tmp/go ]; do sleep 0.1; done; : {mark}; exit 4");
    let command = ["sh", "-c", &script].map(str::to_owned);
    let (exec, began) = (world.docker.exec(&name, &command).await.unwrap(), Instant::now());
    let given_up = exec.run(Duration::from_millis(300)).await;
    assert!(matches!(given_up, Err(Error::TimedOut { .. })), "{given_up:?}");
    assert!(began.elapsed() < LIMIT);
    // A busy engine may start it only after it was given up.
    while !process_exists(&mark) {
        assert!(began.elapsed() < LIMIT, "it never ran");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(run(&world, &name, &["touch", "/tmp/go"], LIMIT).await.unwrap().exit_code, 0);
    let ended = tokio::time::timeout(LIMIT, exec.ended()).await.unwrap();
    assert_eq!(ended.unwrap(), 4);
}

#[tokio::test]
async fn nothing_runs_where_no_container_does() {
    let (world, name) = sleeper().await;
    let missing = run(&world, &world.name("missing"), &["true"], LIMIT).await;
    assert!(matches!(missing, Err(Error::NotFound { .. })), "{missing:?}");
    world.docker.stop(&name, Duration::ZERO).await.unwrap();
    let stopped = run(&world, &name, &["true"], LIMIT).await;
    assert!(matches!(stopped, Err(Error::Conflict { .. })), "{stopped:?}");
}
