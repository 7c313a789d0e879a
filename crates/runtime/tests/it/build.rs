//! Builds: their output, how they fail, what they keep secret.

use std::time::Duration;

use tokio::sync::mpsc;
use windlass_runtime::{Build, Error, PrintedLine, Stream};

use crate::support::{World, docker_program, eventually, process_exists, random, texts};

fn output(lines: &[PrintedLine]) -> impl Iterator<Item = &str> {
    lines.iter().filter(|line| line.stream == Stream::Stdout).map(|line| line.text.as_str())
}

fn line(stream: Stream, text: &str) -> PrintedLine {
    PrintedLine { stream, text: text.to_owned() }
}

#[tokio::test]
async fn a_build_shows_its_steps_and_their_output_and_uses_the_cache_until_it_is_shrunk() {
    let world = World::new().await;
    // An engine keeps steps that take no room, however little it is to keep.
    let step = "RUN printf 'no line end'; echo err >&2; head -c 3000000 /dev/zero >/filling";
    let context = world.with_shell(step);

    let (first, lines) = world.build(world.build_of(context.clone())).await;
    assert!(lines.contains(&line(Stream::Note, &format!("[3/3] {step}"))), "{lines:?}");
    assert!(lines.contains(&line(Stream::Stdout, "no line end")), "{lines:?}");
    assert!(lines.contains(&line(Stream::Stderr, "err")), "{lines:?}");

    let (second, lines) = world.build(world.build_of(context.clone())).await;
    let first = first.unwrap();
    assert_eq!(first, second.unwrap());
    assert!(lines.contains(&line(Stream::Note, &format!("[3/3] {step} CACHED"))), "{lines:?}");
    assert!(!texts(&lines).contains(&"no line end"), "{lines:?}");

    let mut build = world.build_of(context.clone());
    build.no_cache = true;
    let (third, lines) = world.build(build).await;
    let third = third.unwrap();
    assert!(texts(&lines).contains(&"no line end"), "{lines:?}");

    // What an image has too is not worth removing.
    docker_program(["rmi", "-f", &first, &third]);
    let before = world.docker.build_cache_bytes().await.unwrap();
    assert_eq!(world.docker.prune_build_cache(1 << 50).await.unwrap(), 0, "{before} bytes are within the budget");
    assert!(world.docker.prune_build_cache(1).await.unwrap() > 1 << 20);
    let (fourth, lines) = world.build(world.build_of(context)).await;
    fourth.unwrap();
    assert!(texts(&lines).contains(&"no line end"), "{lines:?}");
}

#[tokio::test]
async fn build_arguments_arrive_byte_for_byte() {
    let world = World::new().await;
    let value = "a \"quoted\" 'value' = with\nlines, $HOME, ü, \\ and &?#%+";
    let mut build =
        world.build_of(world.with_shell("ARG VALUE\nARG EMPTY\nRUN printf '%s' \"$VALUE$EMPTY\" | od -An -v -tx1\n"));
    build.args = vec![("VALUE".to_owned(), value.to_owned()), ("EMPTY".to_owned(), String::new())];
    let (result, lines) = world.build(build).await;
    result.unwrap();
    assert_eq!(hex_words(output(&lines)), value.as_bytes());
}

pub fn hex_words<'a>(lines: impl Iterator<Item = &'a str>) -> Vec<u8> {
    lines.flat_map(str::split_whitespace).map(|word| u8::from_str_radix(word, 16).unwrap()).collect()
}

#[tokio::test]
async fn arguments_that_are_too_long_are_refused() {
    let world = World::new().await;
    let mut build = world.build_of(world.with_shell("ARG VALUE\n"));
    build.args = vec![("VALUE".to_owned(), "x".repeat(100_000))];
    let (result, _) = world.build(build).await;
    assert!(matches!(result, Err(Error::Refused { status: 414, .. })), "{result:?}");
}

#[tokio::test]
async fn secrets_reach_the_step_and_nothing_else() {
    let world = World::new().await;
    let secret = format!("top-{}\nsecond line", random());
    // BuildKit asks for the session's health every five seconds; the secret must be there after that too.
    let dockerfile = "RUN sleep 11\n\
        RUN --mount=type=secret,id=TOKEN od -An -v -tx1 /run/secrets/TOKEN\n\
        RUN --mount=type=secret,id=ABSENT test ! -e /run/secrets/ABSENT\n";
    let mut build = world.build_of(world.with_shell(dockerfile));
    build.secrets = vec![("TOKEN".to_owned(), secret.clone().into_bytes())];
    let (result, lines) = world.build(build).await;
    let image = result.unwrap();
    assert_eq!(hex_words(output(&lines)), secret.as_bytes());

    let first_line = secret.lines().next().unwrap();
    let history = docker_program(["history", "--no-trunc", &image]);
    assert!(history.contains("/run/secrets/TOKEN") && !history.contains(first_line), "{history}");
    let inspection = docker_program(["inspect", &image]);
    assert!(inspection.contains(&image) && !inspection.contains(first_line), "{inspection}");
    let files = std::process::Command::new("docker").args(["save", &image]).output().unwrap().stdout;
    assert!(!files.is_empty());
    assert!(!files.windows(first_line.len()).any(|bytes| bytes == first_line.as_bytes()));
}

#[tokio::test]
async fn a_failing_step_is_named_once_with_its_exit_code_and_its_last_lines() {
    let world = World::new().await;
    let step = "RUN seq 1 30; echo; sleep 0.3; echo why >&2; sleep 0.3; printf 'no line end'; exit 42";
    let (result, lines) = world.build(world.build_of(world.with_shell(&format!("{step}\nRUN true\n")))).await;
    let Err(error) = result else { panic!("{result:?}") };
    let Error::BuildFailed { step: named, exit_code, message } = &error else { panic!("{error:?}") };
    assert_eq!((named.as_str(), *exit_code), (&*format!("[3/4] {step}"), Some(42)));
    let last: Vec<_> = (23..=30).map(|number| number.to_string()).chain(["why".into(), "no line end".into()]).collect();
    assert_eq!(*message, format!("exit code 42. Its last lines:\n{}", last.join("\n")));
    assert_eq!(error.to_string().matches("seq 1 30").count(), 1, "{error}");
    assert!(texts(&lines).contains(&"why"), "{lines:?}");
    assert_eq!(lines.last().unwrap().text, format!("[3/4] {step} ERROR: exit code 42"));
}

/// Once more only: it may have been the engine's fault, and is most often the Dockerfile's.
#[tokio::test]
async fn a_step_whose_program_is_missing_is_tried_again_once() {
    let world = World::new().await;
    let folder = world.context(&[("Dockerfile", "FROM scratch\nCOPY Dockerfile /\nRUN true\n")]);
    let (result, lines) = world.build(world.build_of(folder)).await;
    let Err(Error::BuildFailed { step, message, .. }) = result else { panic!("{result:?}") };
    assert!(step.ends_with("RUN true") && message.contains("/bin/sh"), "{step}: {message}");
    let told = "The engine did not find the program of a step, and is asked once more.";
    assert_eq!(texts(&lines).iter().filter(|line| **line == told).count(), 1, "{lines:?}");
}

#[tokio::test]
async fn what_a_reason_shows_of_a_long_command_and_long_lines_is_bounded() {
    let world = World::new().await;
    let step = format!("RUN head -c 5000 /dev/zero | tr '\\0' x; echo; exit 1 # {}", "y".repeat(3000));
    let (result, _) = world.build(world.build_of(world.with_shell(&format!("{step}\n")))).await;
    let Err(error @ Error::BuildFailed { .. }) = result else { panic!("{result:?}") };
    let text = error.to_string();
    assert!(text.ends_with("exit code 1. Its last lines:\n(a line of 5000 bytes)"), "{text}");
    assert!(text.starts_with("[3/3] RUN head -c 5000") && text.len() < 600, "{text}");
}

#[tokio::test]
async fn a_reason_holds_paths_of_the_image_and_none_of_the_engine() {
    let world = World::new().await;
    let (result, lines) = world.build(world.build_of(world.with_shell("COPY busybox /a\nCOPY busybox /a/b\n"))).await;
    let Err(Error::BuildFailed { message, .. }) = result else { panic!("{result:?}") };
    assert!(message.contains(" /a: not a directory") && !message.contains("overlay2"), "{message}");
    assert!(!texts(&lines).iter().any(|line| line.contains("overlay2")), "{lines:?}");
}

#[tokio::test]
async fn a_base_image_that_cannot_be_pulled_is_named() {
    let world = World::new().await;
    let context = world.context(&[("Dockerfile", "FROM registry.invalid/no/such:9\nRUN true\n")]);
    let (result, _) = world.build(world.build_of(context)).await;
    let Err(Error::BuildFailed { step, exit_code: None, message }) = result else { panic!("{result:?}") };
    assert_eq!(step, "FROM registry.invalid/no/such:9");
    assert!(message.starts_with("the base image registry.invalid/no/such:9 cannot be pulled: "), "{message}");
}

#[tokio::test]
async fn a_syntax_line_whose_image_cannot_be_pulled_is_named() {
    let world = World::new().await;
    let context = world.context(&[("Dockerfile", "# syntax=registry.invalid/frontend:1\nFROM scratch\n")]);
    let (result, _) = world.build(world.build_of(context)).await;
    let Err(Error::BuildFailed { step, message, .. }) = result else { panic!("{result:?}") };
    assert_eq!(step, "# syntax=registry.invalid/frontend:1");
    assert!(
        message.starts_with("the image registry.invalid/frontend:1 of the syntax line cannot be pulled"),
        "{message}"
    );
}

#[tokio::test]
async fn of_stages_that_are_built_at_once_the_failing_one_is_named() {
    let world = World::new().await;
    let dockerfile = "FROM scratch AS slow\nCOPY busybox /bin/sh\nRUN [\"/bin/sh\", \"-c\", \"sleep 60\"]\n\
        FROM scratch AS bad\nCOPY busybox /bin/sh\nRUN echo here; exit 4\n\
        FROM scratch\nCOPY --from=slow /bin/sh /a\nCOPY --from=bad /bin/sh /b\n";
    let (result, lines) = world.build(world.build_of(world.with_shell(dockerfile))).await;
    let Err(Error::BuildFailed { step, exit_code, .. }) = result else { panic!("{result:?}") };
    assert_eq!((step.as_str(), exit_code), ("[bad 2/2] RUN echo here; exit 4", Some(4)));
    assert!(texts(&lines).contains(&"here"), "{lines:?}");
}

#[tokio::test]
async fn a_stage_is_built_by_its_name() {
    let world = World::new().await;
    let dockerfile = "FROM scratch AS good\nCOPY Dockerfile /\nFROM scratch AS bad\nCOPY nothing /\n";
    let build = |target: &str| {
        let build = world.build_of(world.context(&[("Dockerfile", dockerfile)]));
        world.build(Build { target: target.to_owned(), ..build })
    };
    let (result, lines) = build("good").await;
    assert!(result.is_ok(), "{result:?} {lines:?}");
    let (result, _) = build("none").await;
    let Err(Error::BuildFailed { message, .. }) = result else { panic!("{result:?}") };
    assert!(message.contains("none") && message.contains("could not be found"), "{message}");
}

#[tokio::test]
async fn what_is_wrong_with_a_dockerfile_is_told() {
    let world = World::new().await;
    let (result, _) = world.build(world.build_of(world.context(&[("Dockerfile", "FROM scratch\nCPY a b\n")]))).await;
    let Err(Error::BuildFailed { message, .. }) = result else { panic!("{result:?}") };
    assert!(message.contains("unknown instruction"), "{message}");

    let (result, _) =
        world.build(world.build_of(world.context(&[("Dockerfile", "FROM scratch\nCOPY nothing /\n")]))).await;
    let Err(Error::BuildFailed { step, message, .. }) = result else { panic!("{result:?}") };
    assert_eq!(step, "[1/1] COPY nothing /");
    assert!(message.contains("not found"), "{message}");

    let (result, _) = world.build(world.build_of(world.context(&[("other", "")]))).await;
    let Err(Error::Context { message }) = result else { panic!("{result:?}") };
    assert!(message.starts_with("Dockerfile: No such file"), "{message}");
}

#[tokio::test]
async fn what_the_engine_refuses_at_once_is_told_even_while_a_large_folder_is_sent() {
    let world = World::new().await;
    let context = world.with_shell("");
    std::fs::File::create(context.join("large")).unwrap().set_len(200 << 20).unwrap();
    let mut build = world.build_of(context);
    build.tag = "No Such Tag".to_owned();
    let (result, _) = world.build(build).await;
    assert!(matches!(&result, Err(Error::Refused { message, .. }) if message.contains("reference")), "{result:?}");
}

#[tokio::test]
async fn a_full_disk_and_a_killed_step_are_recognised() {
    let world = World::new().await;
    let (result, _) = world.build(world.build_of(world.with_shell("RUN echo x > /dev/full\n"))).await;
    assert!(matches!(result, Err(Error::DiskFull { .. })), "{result:?}");

    let (result, _) = world.build(world.build_of(world.with_shell("RUN sh -c 'kill -9 $$'; exit $?\n"))).await;
    assert_eq!(result, Err(Error::OutOfMemory { step: "[3/3] RUN sh -c 'kill -9 $$'; exit $?".to_owned() }));
}

#[tokio::test]
async fn dropping_a_build_ends_its_processes() {
    let world = World::new().await;
    let sleep = format!("sleep 6{}", u32::from_str_radix(&random()[..6], 16).unwrap());
    let build = world.build_of(world.with_shell(&format!("RUN {sleep}\n")));
    let (sender, mut lines) = mpsc::channel(4);
    let docker = world.docker.clone();
    let building = tokio::spawn(async move { docker.build(build, sender).await });
    tokio::spawn(async move { while lines.recv().await.is_some() {} });

    eventually("the step begins", || process_exists(&sleep)).await;
    building.abort();
    eventually("the step is ended", || !process_exists(&sleep)).await;
}

#[tokio::test]
async fn a_slow_reader_gets_every_line() {
    let world = World::new().await;
    let build = world.build_of(world.with_shell("RUN seq 1 20000\n"));
    let (sender, mut receiver) = mpsc::channel(1);
    let docker = world.docker.clone();
    let building = tokio::spawn(async move { docker.build(build, sender).await });
    let mut next = 1;
    while let Some(line) = receiver.recv().await {
        if line.stream == Stream::Stdout {
            assert_eq!(line.text, next.to_string());
            next += 1;
        }
        if next % 1000 == 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
    assert_eq!(next, 20001);
    building.await.unwrap().unwrap();
}

#[tokio::test]
async fn long_lines_come_in_parts_and_progress_as_its_last_state() {
    let world = World::new().await;
    let dockerfile =
        "RUN head -c 100000 /dev/zero | tr '\\0' x; echo; printf '10%%\\r55%%\\r100%%\\n'; printf 'a\\377b\\n'\n";
    let (result, lines) = world.build(world.build_of(world.with_shell(dockerfile))).await;
    result.unwrap();
    let output: Vec<&str> = output(&lines).collect();
    assert_eq!(output[0], "x".repeat(64 << 10));
    assert_eq!(output[1], "x".repeat(100_000 - (64 << 10)));
    assert_eq!(output[2..], ["100%", "a\u{fffd}b"]);
}
