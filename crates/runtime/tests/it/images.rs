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
        assert!(image.has_health_check && image.size > 500_000);
        assert_eq!(image.architecture, world.docker.ping().await.unwrap().architecture);
    }
    let bare = world.image("HEALTHCHECK NONE\n").await;
    let image = world.docker.image(&bare).await.unwrap().unwrap();
    assert!(!image.has_health_check && image.exposed_ports.is_empty());

    assert_eq!(world.docker.image(&format!("{}:none", world.id)).await.unwrap(), None);
    assert_eq!(world.docker.image("some/repository/path:tag@x y").await.unwrap_or(None), None);
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
