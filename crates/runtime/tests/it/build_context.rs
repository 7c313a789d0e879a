//! What of a folder reaches the engine, and what does not.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::Path;

use windlass_runtime::{Build, Dockerfile, Error, Stream};

use crate::support::{World, write};

/// What the step prints that looks at `/context`, a copy of everything that was sent.
async fn printed(world: &World, build: Build, step: &str) -> Vec<String> {
    let Dockerfile::InContext(path) = &build.dockerfile else { panic!("a file of the context") };
    let dockerfile = build.context.join(path);
    let more = format!("COPY . /context\nWORKDIR /context\nRUN {step}\n");
    let text = fs::read_to_string(&dockerfile).unwrap() + &more;
    write(&dockerfile, &text);
    let (result, lines) = world.build(build).await;
    result.unwrap();
    lines.into_iter().filter(|line| line.stream == Stream::Stdout).map(|line| line.text).collect()
}

#[tokio::test]
async fn ignored_files_are_not_sent() {
    let world = World::new().await;
    let context = world.with_shell("");
    write(
        &context.join(".dockerignore"),
        "# what is not needed\n*\n!busybox\n!/src\nsrc/**/*.log\n!src/keep/this.log\n",
    );
    for file in ["README.md", "src/main.rs", "src/deep/a.log", "src/keep/this.log", "src/keep/that.log", ".git/config"]
    {
        write(&context.join(file), file);
    }
    let files = printed(&world, world.build_of(context), "find . -type f | sort").await;
    assert_eq!(files, ["./.dockerignore", "./Dockerfile", "./busybox", "./src/keep/this.log", "./src/main.rs"]);
}

#[tokio::test]
async fn a_repository_is_sent_in_the_place_of_what_the_folder_has() {
    let world = World::new().await;
    let (context, git) = (world.with_shell(""), world.context(&[("HEAD", "a commit"), ("refs/tags/v1", "a tag")]));
    write(&context.join(".git/config"), "the folder's own");
    symlink("/etc/passwd", git.join("link")).unwrap();
    let mut build = world.build_of(context);
    build.git = Some(git.clone());
    let files = printed(&world, build, "find .git | sort; cat .git/HEAD; readlink .git/link").await;
    let sent = [".git", ".git/HEAD", ".git/link", ".git/refs", ".git/refs/tags", ".git/refs/tags/v1"];
    assert_eq!(files, [&sent[..], &["a commit/etc/passwd"]].concat());

    let context = world.with_shell("");
    write(&context.join(".dockerignore"), ".git/refs\n");
    let mut build = world.build_of(context);
    build.git = Some(git);
    let files = printed(&world, build, "find .git | sort").await;
    assert_eq!(files, [".git", ".git/HEAD", ".git/link"]);
}

#[tokio::test]
async fn a_dockerfile_may_be_in_a_folder_and_have_an_ignore_file_of_its_own() {
    let world = World::new().await;
    let context = world.with_shell("");
    fs::create_dir(context.join("deploy")).unwrap();
    fs::rename(context.join("Dockerfile"), context.join("deploy/Web.dockerfile")).unwrap();
    write(&context.join("deploy/Web.dockerfile.dockerignore"), "deploy\nsecret\n");
    write(&context.join(".dockerignore"), "busybox\n");
    write(&context.join("secret"), "");
    let mut build = world.build_of(context);
    build.dockerfile = Dockerfile::InContext("deploy/Web.dockerfile".to_owned());
    let files = printed(&world, build, "find . -type f | sort").await;
    let sent = ["./.dockerignore", "./busybox", "./deploy/Web.dockerfile", "./deploy/Web.dockerfile.dockerignore"];
    assert_eq!(files, sent);
}

/// A file of its name in the folder is not what is built, and the folder's own ignore file does not count.
#[tokio::test]
async fn a_dockerfile_may_be_given_with_what_it_ignores() {
    let world = World::new().await;
    let context = world.with_shell("");
    let text =
        fs::read_to_string(context.join("Dockerfile")).unwrap() + "COPY . /context\nRUN find /context -type f | sort\n";
    symlink("/etc/passwd", context.join(".windlass.Dockerfile")).unwrap();
    write(&context.join(".dockerignore"), "busybox\n");
    write(&context.join("secret"), "");
    let mut build = world.build_of(context);
    build.dockerfile = Dockerfile::Given { text, ignored: Some("secret\nDockerfile\n.dockerignore\n".to_owned()) };
    let (result, lines) = world.build(build).await;
    result.unwrap();
    let printed: Vec<_> = lines.iter().filter(|line| line.stream == Stream::Stdout).map(|line| &line.text).collect();
    assert_eq!(printed, ["/context/.windlass.Dockerfile", "/context/busybox"]);
}

#[tokio::test]
async fn links_are_sent_as_links_and_never_followed() {
    let world = World::new().await;
    let outside = world.context(&[("secret", "outside")]);
    let context = world.with_shell("");
    let secret = outside.join("secret");
    symlink(&secret, context.join("file")).unwrap();
    symlink(&outside, context.join("folder")).unwrap();
    symlink("busybox", context.join("inside")).unwrap();
    let step =
        "readlink file; readlink folder; readlink inside; find . -name secret; cat file 2>/dev/null || echo nothing";
    let lines = printed(&world, world.build_of(context), step).await;
    let expected = [secret.to_str().unwrap(), outside.to_str().unwrap(), "busybox", "nothing"];
    assert_eq!(lines, expected);
}

#[tokio::test]
async fn a_dockerfile_may_be_a_link_to_one_that_is_not_sent_itself() {
    let world = World::new().await;
    let context = world.with_shell("");
    fs::create_dir(context.join("docker")).unwrap();
    fs::rename(context.join("Dockerfile"), context.join("docker/Dockerfile")).unwrap();
    symlink("docker/Dockerfile", context.join("Dockerfile")).unwrap();
    write(&context.join(".dockerignore"), "docker\n");
    let (result, lines) = world.build(world.build_of(context)).await;
    assert!(result.is_ok(), "{result:?} {lines:?}");
}

#[tokio::test]
async fn a_dockerfile_may_be_a_link_out_of_the_context_but_not_of_the_tree() {
    let world = World::new().await;
    let tree = world.with_shell("");
    fs::create_dir(tree.join("web")).unwrap();
    fs::rename(tree.join("busybox"), tree.join("web/busybox")).unwrap();
    symlink("../Dockerfile", tree.join("web/Dockerfile")).unwrap();
    let (result, _) = world.build(world.build_of(tree.join("web"))).await;
    assert!(matches!(&result, Err(Error::Context { message }) if message.starts_with("Dockerfile: ")), "{result:?}");
    let mut build = world.build_of(tree.join("web"));
    build.tree = tree;
    let (result, lines) = world.build(build).await;
    assert!(result.is_ok(), "{result:?} {lines:?}");
}

#[tokio::test]
async fn neither_the_dockerfile_nor_the_ignore_file_is_read_from_outside() {
    let world = World::new().await;
    let outside = world.context(&[("Dockerfile", "FROM scratch\n"), ("ignore", "*")]);

    let context = world.context(&[("other", "")]);
    symlink(outside.join("Dockerfile"), context.join("Dockerfile")).unwrap();
    let (result, _) = world.build(world.build_of(context.clone())).await;
    assert!(matches!(&result, Err(Error::Context { message }) if message.starts_with("Dockerfile: ")), "{result:?}");

    let context = world.context(&[("Dockerfile", "FROM scratch\n")]);
    symlink(outside.join("ignore"), context.join(".dockerignore")).unwrap();
    let (result, _) = world.build(world.build_of(context)).await;
    assert!(matches!(&result, Err(Error::Context { message }) if message.starts_with(".dockerignore: ")), "{result:?}");

    for path in [outside.join("Dockerfile").to_str().unwrap(), "../Dockerfile", "a/../../Dockerfile"] {
        let mut build = world.build_of(world.context(&[("Dockerfile", "FROM scratch\n")]));
        build.dockerfile = Dockerfile::InContext(path.to_owned());
        let (result, _) = world.build(build).await;
        assert!(matches!(&result, Err(Error::Context { message }) if message.contains("not inside")), "{result:?}");
    }
}

#[tokio::test]
async fn modes_long_names_and_large_files_arrive_and_sockets_do_not() {
    let world = World::new().await;
    let context = world.with_shell("");
    write(&context.join("tool"), "#!/bin/sh\necho it runs\n");
    fs::set_permissions(context.join("tool"), Permissions::from_mode(0o750)).unwrap();
    let long = format!("{}/{}", "folder".repeat(20), "file".repeat(30));
    write(&context.join(&long), "long");
    let large: Vec<u8> = (0..5_000_003u32).map(|number| number.to_le_bytes()[1]).collect();
    fs::write(context.join("large"), &large).unwrap();
    let _listener = UnixListener::bind(context.join("socket")).unwrap();
    rustix::fs::mknodat(rustix::fs::CWD, context.join("pipe"), rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();

    let step =
        format!("stat -c '%a %u' tool; ./tool; cat {long}; echo; wc -c < large; md5sum large; ls -d socket pipe; true");
    let lines = printed(&world, world.build_of(context.clone()), &step).await;
    let sum = std::process::Command::new("md5sum").arg(context.join("large")).output().unwrap().stdout;
    let sum = String::from_utf8(sum).unwrap().split_whitespace().next().unwrap().to_owned();
    assert_eq!(lines, ["750 0", "it runs", "long", "5000003", &format!("{sum}  large")]);
}

#[tokio::test]
async fn a_folder_that_cannot_be_read_is_named() {
    let world = World::new().await;
    let (result, _) = world.build(world.build_of(Path::new("/no/such/folder").to_owned())).await;
    assert!(
        matches!(&result, Err(Error::Context { message }) if message.starts_with("/no/such/folder: ")),
        "{result:?}"
    );
}
