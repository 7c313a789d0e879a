//! Images: described, listed by label, removed one name at a time.

use windlass_runtime::Error;

use crate::support::{World, docker_program};

#[tokio::test]
async fn an_image_is_described() {
    let world = World::new().await;
    let id = world.image("EXPOSE 9000 53/udp 8080/tcp\nHEALTHCHECK CMD true\n").await;
    let tag = format!("{}:1", world.id);
    for reference in [tag.as_str(), &id] {
        let image = world.docker.image(reference).await.unwrap().unwrap();
        assert_eq!((image.id.as_str(), image.tags.as_slice()), (id.as_str(), std::slice::from_ref(&tag)));
        assert_eq!(image.labels, world.labels());
        assert_eq!(image.exposed_ports, [8080, 9000]);
        assert!(image.health_check.is_some() && image.size > 500_000);
        assert_eq!(image.architecture, world.docker.ping().await.unwrap().architecture);
    }
    let bare = world.image("HEALTHCHECK NONE\n").await;
    let image = world.docker.image(&bare).await.unwrap().unwrap();
    assert!(image.health_check.is_none() && image.exposed_ports.is_empty());
    assert!(image.volumes.is_empty() && image.user.is_empty());

    assert_eq!(world.docker.image(&format!("{}:none", world.id)).await.unwrap(), None);
    assert_eq!(world.docker.image("some/repository/path:tag@x y").await.unwrap_or(None), None);
}

#[tokio::test]
async fn an_image_says_where_it_keeps_data_and_as_whom() {
    let world = World::new().await;
    let id = world.image("VOLUME [\"/var/lib/data/\", \"/data\"]\nVOLUME /data/\nUSER 1234:0\n").await;
    let image = world.docker.image(&id).await.unwrap().unwrap();
    assert_eq!(image.volumes, ["/data", "/var/lib/data"]);
    assert_eq!(image.user, "1234:0");
}

#[tokio::test]
async fn an_empty_image_is_made_once() {
    let world = World::new().await;
    let tag = world.empty_image();
    world.docker.ensure_empty_image(&tag).await.unwrap();
    let image = world.docker.image(&tag).await.unwrap().unwrap();
    assert_eq!((image.size, image.tags.as_slice()), (0, std::slice::from_ref(&tag)));
    world.docker.ensure_empty_image(&tag).await.unwrap();
    assert_eq!(world.docker.image(&tag).await.unwrap().unwrap().id, image.id);
    assert!(world.docker.ensure_empty_image("Not A Name:1").await.is_err());
}

#[tokio::test]
async fn a_health_check_is_told_as_the_engine_runs_it() {
    let world = World::new().await;
    let check_of = async |lines: &str| {
        let id = world.image(lines).await;
        world.docker.image(&id).await.unwrap().unwrap().health_check.unwrap()
    };
    let usual = check_of("HEALTHCHECK CMD test -e /ready\n").await;
    assert_eq!(usual.command, ["/bin/sh", "-c", "test -e /ready"]);
    assert_eq!((usual.interval.as_secs(), usual.timeout.as_secs(), usual.retries), (30, 30, 3));
    assert_eq!((usual.start_period.as_secs(), usual.verdict_after().as_secs()), (0, 180));

    let lines =
        "HEALTHCHECK --interval=2s --timeout=1s --start-period=1m --retries=5 CMD [\"test\", \"-e\", \"/ready\"]\n";
    let exact = check_of(lines).await;
    assert_eq!(exact.command, ["test", "-e", "/ready"]);
    assert_eq!((exact.interval.as_secs(), exact.timeout.as_secs(), exact.retries), (2, 1, 5));
    assert_eq!((exact.start_period.as_secs(), exact.verdict_after().as_secs()), (60, 75));

    let shell = check_of("SHELL [\"/bin/ash\", \"-ec\"]\nHEALTHCHECK CMD true\n").await;
    assert_eq!(shell.command, ["/bin/ash", "-ec", "true"]);
}

#[tokio::test]
async fn images_are_listed_by_label_with_and_without_a_tag() {
    let world = World::new().await;
    let old = world.image("ENV AGE=old\n").await;
    let new = world.image("ENV AGE=new\n").await;
    let images = world.docker.images(&world.label).await.unwrap();
    assert_eq!(images.len(), 2);
    let tags_of = |id: &str| images.iter().find(|image| image.id == id).unwrap().tags.clone();
    assert_eq!(tags_of(&old), Vec::<String>::new());
    assert_eq!(tags_of(&new), [format!("{}:1", world.id)]);
    assert!(images.iter().all(|image| image.labels == world.labels()));

    world.docker.remove_image(&old).await.unwrap();
    assert_eq!(world.docker.images(&world.label).await.unwrap().len(), 1);
}

#[tokio::test]
async fn removing_takes_one_name_away_and_nothing_that_is_used() {
    let world = World::new().await;
    let (id, network) = (world.image("").await, world.network().await);
    let (first, second) = (format!("{}:1", world.id), format!("{}:2", world.id));
    docker_program(["tag", &first, &second]);

    world.docker.remove_image(&first).await.unwrap();
    assert_eq!(world.docker.image(&first).await.unwrap(), None);
    assert_eq!(world.docker.image(&id).await.unwrap().unwrap().tags, [second.as_str()]);

    let spec = world.spec("user", &id, &network, &["true"]);
    world.docker.create(&spec).await.unwrap();
    assert!(matches!(world.docker.remove_image(&id).await, Err(Error::Conflict { .. })));
    world.docker.remove(&spec.name).await.unwrap();

    world.docker.remove_image(&second).await.unwrap();
    assert_eq!(world.docker.image(&id).await.unwrap(), None);
    world.docker.remove_image(&second).await.unwrap();
}
