//! What is kept in memory, for how long, and how much of it.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use tokio::task::JoinSet;

use super::{FileAnswer, Site, noise, text_of};
use crate::files::FileCache;
use crate::files::load::{FoundFile, load};
use crate::files::lru::Lru;

/// Well inside the second for which a page is used without a look at the disk.
const SURELY_FRESH: Duration = Duration::from_millis(800);
const DEADLINE: Duration = Duration::from_secs(5);

/// Asks until the answer is another one; it must not take much longer than a second.
async fn wait_for(site: &Site, path: &str, expected: Option<&str>) {
    let begun = Instant::now();
    loop {
        let answer = site.try_ask("GET", path, &[]).await;
        if answer.as_ref().map(FileAnswer::text) == expected {
            return;
        }
        assert!(begun.elapsed() < DEADLINE, "{path} is still the old one");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn a_page_is_used_for_a_second_without_a_look_at_the_disk() {
    for _ in 0..10 {
        let site = Site::new();
        site.write("a.txt", "one");
        let begun = Instant::now();
        assert_eq!(site.get("/a.txt").await.text(), "one");
        fs::remove_file(site.path("a.txt")).unwrap();
        let answer = site.try_ask("GET", "/a.txt", &[]).await;
        if begun.elapsed() < SURELY_FRESH {
            assert_eq!(answer.expect("the page in memory").text(), "one");
            return;
        }
    }
    panic!("this machine is too slow to tell");
}

#[tokio::test]
async fn changes_show_within_a_second() {
    let site = Site::new();
    site.write("a.txt", "one");
    site.write("b.html", "page");
    assert_eq!(site.get("/a.txt").await.text(), "one");
    assert_eq!(site.get("/b").await.text(), "page");
    let begun = Instant::now();
    site.write("a.txt", "two");
    site.write("b", "file");
    wait_for(&site, "/a.txt", Some("two")).await;
    wait_for(&site, "/b", Some("file")).await;
    assert!(begun.elapsed() < Duration::from_millis(2500), "{:?}", begun.elapsed());
    fs::remove_file(site.path("a.txt")).unwrap();
    wait_for(&site, "/a.txt", None).await;
    assert!(site.cache.fresh(&site.files.scope, b"/a.txt").is_none());
}

#[tokio::test]
async fn a_change_of_the_same_size_and_time_shows() {
    let site = Site::new();
    site.write("a.txt", "one");
    site.set_modified("a.txt", 784_111_777);
    assert_eq!(site.get("/a.txt").await.text(), "one");
    site.write("a.txt", "two");
    site.set_modified("a.txt", 784_111_777);
    wait_for(&site, "/a.txt", Some("two")).await;
}

#[tokio::test]
async fn another_folder_in_the_same_place_shows() {
    let site = Site::with(|spec| spec.folder.push("current"));
    site.write("one/a.txt", "one");
    site.write("two/a.txt", "two");
    std::os::unix::fs::symlink("one", site.path("current")).unwrap();
    assert_eq!(site.get("/a.txt").await.text(), "one");
    std::os::unix::fs::symlink("two", site.path("next")).unwrap();
    fs::rename(site.path("next"), site.path("current")).unwrap();
    wait_for(&site, "/a.txt", Some("two")).await;
}

#[tokio::test]
async fn a_sibling_that_comes_later_is_used() {
    let site = Site::new();
    site.write("a.png", "plain");
    let packed = async || site.get_with("/a.png", "accept-encoding", "br").await;
    assert_eq!(packed().await.text(), "plain");
    site.write("a.png.br", "packed");
    let begun = Instant::now();
    while packed().await.text() != "packed" {
        assert!(begun.elapsed() < DEADLINE);
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn a_page_that_did_not_change_stays() {
    let site = Site::new();
    site.write("a.css", text_of(5000));
    // Right after a change the page would be read once more, to be sure.
    tokio::time::sleep(Duration::from_millis(150)).await;
    site.get("/a.css").await;
    let page = site.cache.fresh(&site.files.scope, b"/a.css").unwrap();
    let begun = Instant::now();
    while site.cache.fresh(&site.files.scope, b"/a.css").is_some() {
        assert!(begun.elapsed() < DEADLINE, "it is fresh for ever");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    site.get("/a.css").await;
    let again = site.cache.fresh(&site.files.scope, b"/a.css").unwrap();
    assert!(Arc::ptr_eq(&page, &again), "it was read and compressed again");
}

#[tokio::test]
async fn requests_for_the_same_path_share_one_look() {
    let site = Site::new();
    site.write("a.txt", "one");
    let looks = Arc::new(AtomicUsize::new(0));
    let (release, released) = mpsc::channel::<()>();
    let mut released = Some(released);
    let mut requests = JoinSet::new();
    for _ in 0..50 {
        let (cache, scope, looks) = (site.cache.clone(), site.files.scope.clone(), looks.clone());
        let released = released.take();
        requests.spawn(async move {
            let find = cache.find(&scope, b"/a.txt", move |_| {
                looks.fetch_add(1, Ordering::SeqCst);
                if let Some(released) = released {
                    let _ = released.recv_timeout(DEADLINE);
                }
                FoundFile::Nothing
            });
            find.await
        });
    }
    // One thread runs all of them: after this each has asked.
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    release.send(()).unwrap();
    while let Some(found) = requests.join_next().await {
        assert!(matches!(found.unwrap(), FoundFile::Nothing));
    }
    assert_eq!(looks.load(Ordering::SeqCst), 1);
    assert_eq!(site.get("/a.txt").await.text(), "one", "and the next one looks again");
}

#[tokio::test]
async fn a_visitor_who_leaves_does_not_end_the_look_of_others() {
    let site = Site::new();
    let (release, released) = mpsc::channel::<()>();
    let (cache, scope) = (site.cache.clone(), site.files.scope.clone());
    let first = tokio::spawn(async move {
        let look = move |_| {
            let _ = released.recv_timeout(DEADLINE);
            FoundFile::Elsewhere("/x".into())
        };
        cache.find(&scope, b"/a", look).await
    });
    tokio::task::yield_now().await;
    let (cache, scope) = (site.cache.clone(), site.files.scope.clone());
    let second = tokio::spawn(async move { cache.find(&scope, b"/a", |_| FoundFile::Nothing).await });
    tokio::task::yield_now().await;
    first.abort();
    release.send(()).unwrap();
    let found = tokio::time::timeout(DEADLINE, second).await.unwrap().unwrap();
    assert!(matches!(found, FoundFile::Elsewhere(_)), "the look that had begun is for the requests that still wait");
}

#[tokio::test]
async fn a_look_that_panics_is_a_failure_and_can_be_repeated() {
    let site = Site::new();
    let found = site.cache.find(&site.files.scope, b"/a", |_| panic!("as a test")).await;
    assert!(matches!(found, FoundFile::Failure));
    let found = site.cache.find(&site.files.scope, b"/a", |_| FoundFile::Nothing).await;
    assert!(matches!(found, FoundFile::Nothing));
}

#[tokio::test]
async fn memory_is_bounded_and_the_least_used_goes_first() {
    let limit = 40_000;
    let site = Site::with_cache(FileCache::new(limit), |_| {});
    for name in ["a", "b", "c", "d"] {
        site.write(&format!("{name}.bin"), noise(10_000));
    }
    let held = |name: &str| site.cache.fresh(&site.files.scope, format!("/{name}.bin").as_bytes()).is_some();
    for name in ["a", "b", "c"] {
        site.get(&format!("/{name}.bin")).await;
    }
    assert!(site.cache.held() > 30_000 && site.cache.held() <= limit);
    site.get("/a.bin").await;
    site.get("/d.bin").await;
    assert!(site.cache.held() <= limit);
    assert!(held("a") && !held("b") && held("c") && held("d"));
    site.write("huge.bin", noise(50_000));
    assert!(site.get("/huge.bin").await.body == noise(50_000), "what does not fit is still answered");
    assert!(held("a") && held("c") && held("d") && !held("huge"), "and does not drive out what does");
    for number in 0..50 {
        let name = format!("{number}.bin");
        site.write(&name, noise(1000 * (number % 7)));
        assert_eq!(site.get(&format!("/{name}")).await.body.len(), 1000 * (number % 7));
        assert!(site.cache.held() <= limit);
    }
}

#[tokio::test]
async fn folders_do_not_share_pages_but_services_with_the_same_folder_do() {
    let site = Site::new();
    let other = tempfile::tempdir().unwrap();
    site.write("a.txt", "one");
    fs::write(other.path().join("a.txt"), "two").unwrap();
    let scope = |folder: &std::path::Path| site.cache.scope(folder.as_os_str().to_owned(), true);
    site.get("/a.txt").await;
    assert!(site.cache.fresh(&scope(other.path()), b"/a.txt").is_none());
    assert!(site.cache.fresh(&scope(site.folder.path()), b"/a.txt").is_some());
    let unclean = site.cache.scope(site.folder.path().as_os_str().to_owned(), false);
    assert!(site.cache.fresh(&unclean, b"/a.txt").is_none());
}

#[test]
fn the_list_of_pages_keeps_its_order() {
    let site = Site::new();
    site.write("a.bin", noise(100));
    let scope = site.files.scope.clone();
    let FoundFile::File(page) = load(&scope, b"/a.bin", None) else { panic!("no page") };
    let mut lru = Lru::new(30_000);
    // The same by the simplest means: the oldest is the first.
    let mut model: Vec<(u64, Vec<u8>)> = Vec::new();
    let weight = |path: &[u8]| page.weight().unwrap() + path.len() + 256;
    for (step, byte) in noise(20_000).into_iter().enumerate() {
        let hash = u64::from(byte % 40);
        let path = vec![b'x'; 1 + usize::from(byte % 40) * 50];
        let place = model.iter().position(|(other, _)| *other == hash);
        match step % 5 {
            0 | 1 => {
                assert_eq!(lru.get(hash, &scope, &path).is_some(), place.is_some(), "step {step}");
                if let Some(place) = place {
                    let entry = model.remove(place);
                    model.push(entry);
                }
            }
            2 | 3 => {
                lru.insert(hash, &scope, &path, page.clone());
                place.map(|place| model.remove(place));
                model.push((hash, path));
                while model.iter().map(|(_, path)| weight(path)).sum::<usize>() > 30_000 {
                    model.remove(0);
                }
            }
            _ => {
                assert_eq!(lru.remove(hash).is_some(), place.is_some(), "step {step}");
                place.map(|place| model.remove(place));
            }
        }
        assert_eq!(lru.held(), model.iter().map(|(_, path)| weight(path)).sum::<usize>(), "step {step}");
    }
}
