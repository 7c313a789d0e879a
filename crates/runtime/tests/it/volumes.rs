//! Volumes: what is in them outlives containers, and is carried from one to another.

use std::io;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::mpsc;
use windlass_runtime::{ContainerSpec, Error, Label, Mount, MountSource, Network, Result, State, VolumeRoot};

use crate::support::{World, docker_program, mount, random};

const LIMIT: Duration = Duration::from_secs(120);
const MIB: usize = 1 << 20;

/// Runs a script with volumes at their paths, and gives what it prints. Its container is gone afterwards.
async fn script(world: &World, image: &str, network: &Network, mounts: &[(&str, &str)], script: &str) -> Vec<String> {
    let spec = with_mounts(world.spec("script", image, network, &["sh", "-ec", script]), mounts);
    world.run(&spec).await;
    let code = world.docker.wait(&spec.name).await.unwrap();
    let output = world.docker.tail(&spec.name, 1000).await.unwrap();
    assert_eq!(code, 0, "{output:?}");
    world.docker.remove(&spec.name).await.unwrap();
    output
}

fn with_mounts(spec: ContainerSpec, mounts: &[(&str, &str)]) -> ContainerSpec {
    ContainerSpec { mounts: mounts.iter().map(|(volume, path)| mount(volume, path)).collect(), ..spec }
}

/// All of it, through a channel as a file would be sent.
fn sent(archive: Vec<Bytes>) -> mpsc::Receiver<io::Result<Bytes>> {
    let (sender, receiver) = mpsc::channel(1);
    tokio::spawn(async move {
        for bytes in archive {
            if sender.send(Ok(bytes)).await.is_err() {
                return;
            }
        }
    });
    receiver
}

async fn whole_archive(world: &World, container: &str, path: &str) -> Result<Vec<Bytes>> {
    let mut archive = world.docker.archive(container, path).await?;
    let mut chunks = Vec::new();
    while let Some(chunk) = archive.chunk().await? {
        chunks.push(chunk);
    }
    Ok(chunks)
}

#[tokio::test]
async fn data_outlives_its_container() {
    let world = World::new().await;
    let (image, network) = (world.image("").await, world.network().await);
    let volume = world.volume("data").await;
    script(&world, &image, &network, &[(&volume, "/data")], "echo kept > /data/file").await;

    let spec = with_mounts(world.spec("app", &image, &network, &["sleep", "600"]), &[(&volume, "/data")]);
    world.docker.create(&spec).await.unwrap();
    let removed = world.docker.remove_volume(&volume).await;
    assert!(matches!(removed, Err(Error::Conflict { .. })), "{removed:?}");
    world.docker.start(&spec.name).await.unwrap();
    assert!(matches!(world.docker.remove_volume(&volume).await, Err(Error::Conflict { .. })));
    world.docker.remove(&spec.name).await.unwrap();

    assert_eq!(script(&world, &image, &network, &[(&volume, "/data")], "cat /data/file").await, ["kept"]);
    world.docker.remove_volume(&volume).await.unwrap();
    world.docker.remove_volume(&volume).await.unwrap();
    assert_eq!(world.docker.volume_labels(&volume).await.unwrap(), None);
}

#[tokio::test]
async fn an_empty_volume_gets_what_the_image_has() {
    let world = World::new().await;
    let lines = "RUN mkdir /data && echo first > /data/file && chown -R 1234:1235 /data && chmod 750 /data\n";
    let (image, network) = (world.image(lines).await, world.network().await);
    let volume = world.volume("data").await;
    // A helper does not keep that from happening.
    let helper = world.helper("helper", &[(&volume, "/volume")]).await;
    let root = world.docker.volume_root(&helper, "/volume", &[]).await.unwrap();
    assert_eq!(root, VolumeRoot { uid: 0, gid: 0, mode: 0o755, is_empty: true });

    let read = "cat /data/file; stat -c '%u %g %a' /data; echo changed > /data/file";
    assert_eq!(script(&world, &image, &network, &[(&volume, "/data")], read).await, ["first", "1234 1235 750"]);
    assert_eq!(script(&world, &image, &network, &[(&volume, "/data")], read).await[0], "changed");
    let root = world.docker.volume_root(&helper, "/volume", &[]).await.unwrap();
    assert_eq!(root, VolumeRoot { uid: 1234, gid: 1235, mode: 0o750, is_empty: false });
}

#[tokio::test]
async fn a_volume_can_be_given_to_the_user_of_a_container() {
    let world = World::new().await;
    let (image, network) = (world.image("USER 1234\n").await, world.network().await);
    let volume = world.volume("data").await;
    let spec = with_mounts(
        world.spec("app", &image, &network, &["sh", "-ec", "echo mine > /new/place/file"]),
        &[(&volume, "/new/place")],
    );
    world.docker.create(&spec).await.unwrap();
    // Of the container itself, before it is started.
    let root = world.docker.volume_root(&spec.name, "/new/place", &[]).await.unwrap();
    assert_eq!(root, VolumeRoot { uid: 0, gid: 0, mode: 0o755, is_empty: true });
    for _ in 0..2 {
        world.docker.set_owner(&spec.name, "/new/place", 1234, 1234, 0o755).await.unwrap();
    }
    let root = world.docker.volume_root(&spec.name, "/new/place", &[]).await.unwrap();
    assert_eq!(root, VolumeRoot { uid: 1234, gid: 1234, mode: 0o755, is_empty: true });
    world.docker.start(&spec.name).await.unwrap();
    assert_eq!(world.docker.wait(&spec.name).await.unwrap(), 0);

    let helper = world.helper("helper", &[(&volume, "/volume")]).await;
    assert!(!world.docker.volume_root(&helper, "/volume", &[]).await.unwrap().is_empty);
    // More than the old numbers of tar can hold, and all bits of a mode.
    world.docker.set_owner(&helper, "/volume", 5_000_000, 6_000_000, 0o3770).await.unwrap();
    let root = world.docker.volume_root(&helper, "/volume", &[]).await.unwrap();
    assert_eq!(root, VolumeRoot { uid: 5_000_000, gid: 6_000_000, mode: 0o3770, is_empty: false });
    assert!(world.docker.set_owner(&helper, "/", 0, 0, 0o755).await.is_err());
    let missing = world.docker.volume_root(&helper, "/nowhere", &[]).await;
    assert!(matches!(missing, Err(Error::NotFound { .. })), "{missing:?}");
}

#[tokio::test]
async fn a_volume_is_carried_into_another() {
    let world = World::new().await;
    let (image, network) = (world.image("").await, world.network().await);
    let (from, to) = (world.volume("from").await, world.volume("to").await);
    let long = "long-".repeat(45);
    let fill = format!(
        "cd /data; echo text > plain; ln plain hard; ln -s plain link; ln -s /nowhere dangling; ln -s {long} long-link
         mkdir -p empty sub/deeper; chmod 700 empty; chmod 2775 sub; echo spaces > 'sub/mit Leerzeichen und Ümläuten'
         echo long > sub/deeper/{long}; ln sub/deeper/{long} long-hard; head -c 3145728 /dev/urandom > big; : > nothing
         chown 1234:1235 plain nothing; chmod 640 plain; chmod 4711 nothing; chown 5000000:6000000 big; chown -h 1234:1235 link; chown 99 empty
         mkfifo fifo; touch -d '2001-02-03 04:05:06' nothing sub; chown 1234:1235 .; chmod 1750 ."
    );
    script(&world, &image, &network, &[(&from, "/data")], &fill).await;

    let source = world.helper("source", &[(&from, "/volume")]).await;
    let chunks = whole_archive(&world, &source, "/volume").await.unwrap();
    let target = world.helper("target", &[(&to, "/elsewhere")]).await;
    // Twice, as after an interruption.
    for _ in 0..2 {
        world.docker.extract(&target, "/elsewhere", sent(chunks.clone()), LIMIT).await.unwrap();
    }
    let root = world.docker.volume_root(&source, "/volume", &[]).await.unwrap();
    assert_eq!(root, VolumeRoot { uid: 1234, gid: 1235, mode: 0o1750, is_empty: false });
    world.docker.set_owner(&target, "/elsewhere", root.uid, root.gid, root.mode).await.unwrap();

    let compare = "for side in /from /to; do cd $side; find . | sort | while read -r name; do
             stat -c '%n %N %F %u %g %a %h' \"$name\"; test ! -f \"$name\" || sha256sum \"$name\"
         done > /$$.${side#/}; stat -c %Y nothing sub >> /$$.${side#/}; done
         wc -l < /$$.from; diff /$$.from /$$.to; stat -c %h /to/plain; test /to/plain -ef /to/hard; cat /$$.to";
    let output = script(&world, &image, &network, &[(&from, "/from"), (&to, "/to")], compare).await;
    assert_eq!(output[1], "2");
    let told = output.join("\n");
    for line in
        ["mit Leerzeichen und Ümläuten", "5000000 6000000", "fifo", " 640 2", " 4711 ", "dangling' -> '/nowhere'"]
    {
        assert!(told.contains(line), "{line} is not in {told}");
    }
}

#[tokio::test]
async fn a_volume_may_be_mounted_inside_another() {
    let world = World::new().await;
    let (image, network) = (world.image("").await, world.network().await);
    let (outer, inner) = (world.volume("outer").await, world.volume("inner").await);
    // The order in which they are named does not matter.
    let both = [(inner.as_str(), "/data/inner"), (outer.as_str(), "/data")];
    let before = world.helper("before", &both).await;
    assert!(!world.docker.volume_root(&before, "/data", &[]).await.unwrap().is_empty);
    assert!(world.docker.volume_root(&before, "/data", &["/data/inner"]).await.unwrap().is_empty);
    script(&world, &image, &network, &both, "echo outer > /data/file; echo inner > /data/inner/file").await;
    let listed = |volume: &str| format!("{volume}: $(cd /{volume}; find . -type f | sort | xargs grep -h .)");
    let read = format!("echo \"{}\"; echo \"{}\"", listed("outer"), listed("inner"));
    let apart = [(outer.as_str(), "/outer"), (inner.as_str(), "/inner")];
    assert_eq!(script(&world, &image, &network, &apart, &read).await, ["outer: outer", "inner: inner"]);

    let helper = world.helper("helper", &both).await;
    world.docker.set_owner(&helper, "/data/inner", 77, 78, 0o711).await.unwrap();
    let root = world.docker.volume_root(&helper, "/data/inner", &[]).await.unwrap();
    assert_eq!(root, VolumeRoot { uid: 77, gid: 78, mode: 0o711, is_empty: false });
    assert!(!world.docker.volume_root(&helper, "/data", &["/data/inner"]).await.unwrap().is_empty, "there is a file");
    let alone = world.helper("alone", &[(&inner, "/volume")]).await;
    assert_eq!(world.docker.volume_root(&alone, "/volume", &[]).await.unwrap(), root);
    // Files of the inner one are in an archive of the outer one if both are mounted.
    let file = world.docker.read_file(&helper, "/data/inner/file", 100).await.unwrap();
    assert_eq!(file.as_deref(), Some(b"inner\n".as_slice()));
    let archive = whole_archive(&world, &helper, "/data").await.unwrap().concat();
    assert!(memchr::memmem::find(&archive, b"./inner/file").is_some());
}

#[tokio::test]
async fn a_folder_of_the_machine_is_mounted_if_it_exists() {
    let world = World::new().await;
    let (image, network) = (world.image("").await, world.network().await);
    let folder = world.context(&[("file", "from outside")]);
    let mut spec = world.spec("app", &image, &network, &["cat", "/folder/file"]);
    spec.mounts = vec![Mount { source: MountSource::Folder(folder.clone()), path: "/folder".to_owned(), read_only: false }];
    world.run(&spec).await;
    assert_eq!(world.docker.wait(&spec.name).await.unwrap(), 0);
    assert_eq!(world.docker.tail(&spec.name, 1).await.unwrap(), ["from outside"]);

    let mut spec = world.spec("other", &image, &network, &["true"]);
    spec.mounts = vec![Mount { source: MountSource::Folder(folder.join("missing")), path: "/folder".to_owned(), read_only: false }];
    let result = world.docker.create(&spec).await;
    assert!(matches!(&result, Err(Error::Refused { message, .. }) if message.contains("does not exist")), "{result:?}");
}

#[tokio::test]
async fn pausing_can_be_repeated() {
    let world = World::new().await;
    let (image, network) = (world.image("").await, world.network().await);
    let spec = world.spec("app", &image, &network, &["sleep", "600"]);
    assert!(matches!(world.docker.pause(&spec.name).await, Err(Error::NotFound { .. })));
    world.docker.unpause(&spec.name).await.unwrap();
    world.docker.create(&spec).await.unwrap();
    assert!(matches!(world.docker.pause(&spec.name).await, Err(Error::Conflict { .. })));
    world.docker.unpause(&spec.name).await.unwrap();
    world.docker.start(&spec.name).await.unwrap();
    for _ in 0..2 {
        world.docker.pause(&spec.name).await.unwrap();
        assert_eq!(world.inspect(&spec.name).await.state, State::Paused);
    }
    for _ in 0..2 {
        world.docker.unpause(&spec.name).await.unwrap();
        assert_eq!(world.inspect(&spec.name).await.state, State::Running);
    }
    world.docker.stop(&spec.name, Duration::from_secs(1)).await.unwrap();
    assert!(matches!(world.docker.pause(&spec.name).await, Err(Error::Conflict { .. })));
    world.docker.unpause(&spec.name).await.unwrap();
}

#[tokio::test]
async fn volumes_are_measured_by_label() {
    let world = World::new().await;
    let (image, network) = (world.image("").await, world.network().await);
    let (full, empty) = (world.volume("full").await, world.volume("empty").await);
    script(&world, &image, &network, &[(&full, "/data")], "head -c 3145728 /dev/urandom > /data/file").await;

    // Two callers at once both get an answer.
    let other = Label::new("windlass.test", random());
    let (sizes, others) = tokio::join!(world.docker.volume_sizes(&world.label), world.docker.volume_sizes(&other));
    let sizes = sizes.unwrap();
    assert_eq!(sizes.len(), 2);
    let size = usize::try_from(sizes[&full]).unwrap();
    assert!((3 * MIB..4 * MIB).contains(&size) && sizes[&empty] < 100_000, "{sizes:?}");
    assert!(others.unwrap().is_empty());
}

#[tokio::test]
async fn one_file_is_read() {
    let world = World::new().await;
    let lines = "RUN mkdir -p /etc /links && echo root:x:0:0:root:/:/bin/sh > /etc/passwd && : > /nothing \\\n\
        && ln -s ../etc/passwd /links/near && ln -s /links/near /links/far\n";
    let (image, network) = (world.image(lines).await, world.network().await);
    let spec = world.spec("app", &image, &network, &["sleep", "600"]);
    world.docker.create(&spec).await.unwrap();
    for _ in 0..2 {
        let read = async |path, most| world.docker.read_file(&spec.name, path, most).await;
        let passwd = "root:x:0:0:root:/:/bin/sh\n";
        for path in ["/etc/passwd", "/links/near", "/links/far"] {
            assert_eq!(read(path, passwd.len()).await.unwrap().as_deref(), Some(passwd.as_bytes()), "{path}");
        }
        assert_eq!(read("/nothing", 0).await.unwrap(), Some(Vec::new()));
        assert_eq!(read("/etc/missing", 100).await.unwrap(), None);
        assert_eq!(read("/missing/passwd", 100).await.unwrap(), None);
        assert_eq!(read("/bin/busybox", 8 * MIB).await.unwrap(), Some(std::fs::read("/bin/busybox").unwrap()));
        for (path, most) in [("/etc/passwd", passwd.len() - 1), ("/bin/busybox", MIB), ("/etc", 100)] {
            let result = read(path, most).await;
            assert!(matches!(result, Err(Error::Unreadable { .. })), "{path}: {result:?}");
        }
        // Once more while it runs.
        world.docker.start(&spec.name).await.unwrap();
    }
    let result = world.docker.read_file(&world.name("none"), "/etc/passwd", 100).await;
    assert!(matches!(result, Err(Error::NotFound { .. })), "{result:?}");
}

#[tokio::test]
async fn a_helper_is_made_once() {
    let world = World::new().await;
    let volume = world.volume("data").await;
    let helper = world.helper("helper", &[(&volume, "/volume")]).await;
    let id = world.inspect(&helper).await.id;
    assert_eq!(world.helper("helper", &[(&volume, "/volume")]).await, helper);
    let container = world.inspect(&helper).await;
    assert_eq!((container.id, container.state, container.labels), (id, State::Created, world.labels()));
    world.docker.remove(&helper).await.unwrap();
    world.docker.remove_volume(&volume).await.unwrap();
}

#[tokio::test]
async fn what_cannot_be_unpacked_says_why() {
    let world = World::new().await;
    let (full, plain) = (world.name("full"), world.volume("plain").await);
    let label = format!("{}={}", world.label.name, world.label.value);
    let options = ["--opt", "type=tmpfs", "--opt", "device=tmpfs", "--opt", "o=size=1m"];
    docker_program(["volume", "create", "--label", &label].into_iter().chain(options).chain([full.as_str()]));
    let helper = world.helper("helper", &[(&full, "/full"), (&plain, "/plain")]).await;

    // Far more than the engine takes before it gives up, so that it answers while the archive is still sent.
    let mut builder = tar::Builder::new(Vec::new());
    let mut header = tar::Header::new_gnu();
    header.set_mode(0o644);
    header.set_size(64 << 20);
    builder.append_data(&mut header, "big", &vec![1; 64 << 20][..]).unwrap();
    let archive = Bytes::from(builder.into_inner().unwrap());
    let pieces = |archive: &Bytes| {
        (0..archive.len()).step_by(MIB).map(|from| archive.slice(from..archive.len().min(from + MIB))).collect()
    };
    let result = world.docker.extract(&helper, "/full", sent(pieces(&archive)), LIMIT).await;
    assert!(matches!(result, Err(Error::DiskFull { .. })), "{result:?}");

    let result = world.docker.extract(&helper, "/nowhere", sent(pieces(&archive)), LIMIT).await;
    assert!(matches!(result, Err(Error::NotFound { .. })), "{result:?}");
    let result = world.docker.extract(&helper, "/plain", sent(pieces(&archive.slice(..5 * MIB))), LIMIT).await;
    assert!(result.is_err());
    let (sender, receiver) = mpsc::channel(2);
    sender.send(Ok(archive.slice(..MIB))).await.unwrap();
    sender.send(Err(io::Error::other("it cannot be read"))).await.unwrap();
    assert!(world.docker.extract(&helper, "/plain", receiver, LIMIT).await.is_err());
    // A sender that does not go on.
    let (_sender, receiver) = mpsc::channel(1);
    let result = world.docker.extract(&helper, "/plain", receiver, Duration::from_millis(300)).await;
    assert!(matches!(result, Err(Error::TimedOut { .. })), "{result:?}");
    // Afterwards it works as before.
    world.docker.extract(&helper, "/plain", sent(pieces(&archive)), LIMIT).await.unwrap();
}

#[tokio::test]
async fn an_archive_that_is_cut_off_is_an_error() {
    let world = World::new().await;
    let (image, network) = (world.image("").await, world.network().await);
    let volume = world.volume("data").await;
    script(&world, &image, &network, &[(&volume, "/data")], "truncate -s 256M /data/file").await;
    let helper = world.helper("helper", &[(&volume, "/volume")]).await;

    let mut archive = world.docker.archive(&helper, "/volume").await.unwrap();
    assert!(archive.chunk().await.unwrap().is_some());
    script(&world, &image, &network, &[(&volume, "/data")], "truncate -s 0 /data/file").await;
    let end = loop {
        match archive.chunk().await {
            Ok(Some(_)) => {}
            end => break end,
        }
    };
    assert!(matches!(&end, Err(Error::Unreadable { message }) if message.contains("cut off")), "{end:?}");
    drop(archive);
    // The engine lets go of the container when the reader is gone.
    let archive = world.docker.archive(&helper, "/volume").await.unwrap();
    drop(archive);
    world.docker.remove(&helper).await.unwrap();
}
