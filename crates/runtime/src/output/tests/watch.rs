//! The kernel tells of files that are written to.

use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use crate::output::watch::{FileWatch, Watched};

const LIMIT: Duration = Duration::from_secs(10);

async fn is_told(watched: &Watched) -> bool {
    tokio::time::timeout(LIMIT, watched.changed()).await.is_ok()
}

async fn is_quiet(watched: &Watched) -> bool {
    tokio::time::timeout(Duration::from_millis(50), watched.changed()).await.is_err()
}

#[tokio::test]
async fn what_happens_to_a_file_is_told_to_those_who_wait_for_it() {
    let folder = tempfile::tempdir().unwrap();
    let [path, other, moved] = ["a.log", "b.log", "a.log.1"].map(|name| folder.path().join(name));
    let watch = Arc::new(FileWatch::new().unwrap());
    assert!(watch.watch(&path).is_err(), "there is no such file");
    let mut file = std::fs::File::create(&path).unwrap();
    std::fs::write(&other, "").unwrap();

    let (watched, of_other) = (watch.watch(&path).unwrap(), watch.watch(&other).unwrap());
    assert!(is_quiet(&watched).await);
    file.write_all(b"one\n").unwrap();
    assert!(is_told(&watched).await && is_quiet(&of_other).await);

    // Written before it is asked whether it was.
    let watched = watch.watch(&path).unwrap();
    file.write_all(b"two\n").unwrap();
    tokio::task::yield_now().await;
    assert!(is_told(&watched).await);

    let watched = watch.watch(&path).unwrap();
    std::fs::rename(&path, &moved).unwrap();
    assert!(is_told(&watched).await, "it was renamed");
    let watched = watch.watch(&moved).unwrap();
    std::fs::remove_file(&moved).unwrap();
    assert!(is_told(&watched).await, "it was removed, and is held open");

    drop(of_other);
    let of_other = watch.watch(&other).unwrap();
    std::fs::write(&other, "again").unwrap();
    assert!(is_told(&of_other).await, "the one before it has taken its watch along");
}
