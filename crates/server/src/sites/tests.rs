use std::fs;
use std::io::Read;
use std::os::unix::fs::symlink;

use super::draft::Files;
use super::*;

const APPLICATION: Uuid = Uuid::from_u128(7);
const LIMITS: SiteLimits = SiteLimits { bytes: 1_000_000, files: 10 };
const TIME: Duration = Duration::from_secs(60);

struct Place {
    _folder: tempfile::TempDir,
    sites: Sites,
    tree: PathBuf,
}

fn place() -> Place {
    let folder = tempfile::tempdir().unwrap();
    let root = fs::canonicalize(folder.path()).unwrap();
    let tree = root.join("tree");
    fs::create_dir(&tree).unwrap();
    Place { _folder: folder, sites: Sites { root: root.join("sites"), time: TIME }, tree }
}

impl Place {
    fn write(&self, files: &[(&str, &str)]) {
        for (path, content) in files {
            let path = self.tree.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
    }

    fn publish(&self, limits: SiteLimits) -> Result<Made, DraftError> {
        let mut draft = self.sites.draft(APPLICATION, "attempt", limits)?;
        draft.add_folder(&self.tree, &self.tree)?;
        draft.finish()
    }

    fn publish_tar(&self, tar: &[u8]) -> Result<Made, DraftError> {
        let mut draft = self.sites.draft(APPLICATION, "attempt", LIMITS)?;
        draft.add_tar(tar)?;
        draft.finish()
    }

    fn read(&self, made: &Made, path: &str) -> String {
        fs::read_to_string(self.sites.folder(APPLICATION, &made.name).join(path)).unwrap()
    }

    /// What lies in the folder of the application.
    fn names(&self) -> Vec<String> {
        let mut names: Vec<_> =
            folders_in(&self.sites.of_application(APPLICATION)).unwrap().iter().map(|one| name_of(one)).collect();
        names.sort_unstable();
        names
    }
}

#[test]
fn the_same_files_have_the_same_name_and_others_another() {
    let place = place();
    place.write(&[("index.html", "one"), ("a/b.css", "two"), (".env", "hidden"), (".well-known/x", "three")]);
    let made = place.publish(LIMITS).unwrap();
    assert_eq!((made.files, made.bytes, made.has_page, made.passed_over_count), (3, 11, true, 0));
    assert_eq!(place.read(&made, "a/b.css") + &place.read(&made, ".well-known/x"), "twothree");
    assert!(!place.sites.folder(APPLICATION, &made.name).join(".env").exists());
    assert_eq!(place.publish(LIMITS).unwrap().name, made.name);
    place.write(&[("index.html", "one "), ("a/b.css", "two")]);
    let other = place.publish(LIMITS).unwrap();
    assert_ne!(other.name, made.name);
    assert_eq!(place.read(&made, "index.html"), "one", "a site was changed");
    assert_eq!(place.names().len(), 2, "a draft is left");
}

/// One path is made of two others and the hash between them.
#[test]
fn names_do_not_run_into_each_other() {
    use std::os::unix::ffi::OsStringExt;
    let (first, second) = ([1; 32], [2; 32]);
    let path = [&b"a"[..], &first, b"b"].concat();
    let one = Files::from([(PathBuf::from(std::ffi::OsString::from_vec(path)), second)]);
    let two = Files::from([("a".into(), first), ("b".into(), second)]);
    assert_ne!(draft::name_of(&one), draft::name_of(&two));
}

#[test]
fn links_lead_to_files_of_the_tree_or_nowhere() {
    let place = place();
    place.write(&[("index.html", "page"), ("notes/a", "note")]);
    fs::write(place.tree.with_file_name("secret"), "secret").unwrap();
    place.write(&[(".env", "hidden")]);
    for (target, link) in [
        ("index.html", "home"),
        ("../secret", "out"),
        ("/etc/hostname", "far"),
        ("notes", "folder"),
        ("loop", "loop"),
        (".env", "settings"),
    ] {
        symlink(target, place.tree.join(link)).unwrap();
    }
    let made = place.publish(LIMITS).unwrap();
    assert_eq!(place.read(&made, "home"), "page");
    let mut passed_over = made.passed_over.clone();
    passed_over.sort_unstable();
    assert_eq!((passed_over, made.files), (["far", "folder", "loop", "out", "settings"].map(String::from).into(), 3));
}

#[test]
fn what_is_too_much_or_nothing_leaves_nothing() {
    let place = place();
    assert!(matches!(place.publish(LIMITS), Err(DraftError::Empty)));
    place.write(&[("a", "12345"), ("b", "12345")]);
    // Each file takes a block of the disk.
    let least = 2 * 4_096 + 10;
    assert!(matches!(place.publish(SiteLimits { bytes: least - 1, ..LIMITS }), Err(DraftError::TooLarge)));
    assert!(matches!(place.publish(SiteLimits { files: 1, ..LIMITS }), Err(DraftError::TooManyFiles)));
    assert_eq!(place.names(), [""; 0]);
    place.publish(SiteLimits { bytes: least, files: 2 }).unwrap();
    // A folder counts like a file.
    place.write(&[("c/d/e", "")]);
    assert!(matches!(place.publish(SiteLimits { files: 4, ..LIMITS }), Err(DraftError::TooManyFiles)));
    place.publish(SiteLimits { files: 5, ..LIMITS }).unwrap();
    let late = Place { sites: Sites { time: Duration::ZERO, ..place.sites.clone() }, ..place };
    assert!(matches!(late.publish(LIMITS), Err(DraftError::TimedOut)));
}

fn entry(tar: &mut tar::Builder<Vec<u8>>, kind: tar::EntryType, path: &str, content: &str) {
    let mut header = tar::Header::new_gnu();
    header.set_entry_type(kind);
    header.set_mode(0o755);
    if kind == tar::EntryType::Regular {
        header.set_size(content.len() as u64);
    } else {
        header.set_size(0);
        header.set_link_name_literal(content).unwrap();
    }
    // As a hostile image has it: the library's own way of setting a path refuses some.
    header.as_gnu_mut().unwrap().name[..path.len()].copy_from_slice(path.as_bytes());
    header.set_cksum();
    let content = if kind == tar::EntryType::Regular { content } else { "" };
    tar.append(&header, content.as_bytes()).unwrap();
}

#[test]
fn a_tar_cannot_reach_what_is_outside() {
    use tar::EntryType::{Char, Directory, Fifo, Link, Regular, Symlink};
    let place = place();
    let mut tar = tar::Builder::new(Vec::new());
    entry(&mut tar, Directory, "./", "");
    entry(&mut tar, Regular, "./index.html", "page");
    entry(&mut tar, Link, "./same", "./index.html");
    for (kind, path, target) in [
        (Symlink, "./etc", "/etc"),
        (Link, "./passwd", "/etc/passwd"),
        (Link, "./up", "./../../secret"),
        (Fifo, "./pipe", ""),
        (Char, "./device", ""),
    ] {
        entry(&mut tar, kind, path, target);
    }
    entry(&mut tar, Regular, "./etc/shadow", "mine");
    entry(&mut tar, Regular, "./../escaped", "out");
    entry(&mut tar, Regular, "/absolute", "out");
    entry(&mut tar, Regular, "./.git/config", "hidden");
    let made = place.publish_tar(&tar.into_inner().unwrap()).unwrap();
    assert_eq!((made.files, made.passed_over_count), (3, 5), "{:?}", made.passed_over);
    assert_eq!(place.read(&made, "same") + &place.read(&made, "etc/shadow"), "pagemine");
    assert!(
        !place.sites.root.join("escaped").exists() && !place.sites.of_application(APPLICATION).join("escaped").exists()
    );
    // Not even what is left out may be without end.
    for path in ["./.hidden", &format!("./{}x", "a/".repeat(64))] {
        let mut large = tar::Builder::new(Vec::new());
        entry(&mut large, Regular, "./index.html", "page");
        let mut header = tar::Header::new_gnu();
        header.set_size(LIMITS.bytes + 1);
        large.append_data(&mut header, path, io::repeat(0).take(LIMITS.bytes + 1)).unwrap();
        assert!(matches!(place.publish_tar(&large.into_inner().unwrap()), Err(DraftError::TooLarge)), "{path}");
    }
    let mut twice = tar::Builder::new(Vec::new());
    entry(&mut twice, Regular, "./a", "one");
    entry(&mut twice, Regular, "./a", "two");
    assert!(matches!(place.publish_tar(&twice.into_inner().unwrap()), Err(DraftError::Io(_))));
    assert!(matches!(place.publish_tar(b"no tar"), Err(DraftError::Io(_) | DraftError::Empty)));
    assert_eq!(place.names(), [made.name], "a draft is left");
}

#[test]
fn what_no_release_has_goes_after_a_while() {
    let place = place();
    place.write(&[("index.html", "kept")]);
    let kept = place.publish(LIMITS).unwrap();
    place.write(&[("index.html", "old")]);
    place.publish(LIMITS).unwrap();
    fs::create_dir_all(place.sites.folder(APPLICATION, ".left-over/a")).unwrap();
    let wanted = HashSet::from([(APPLICATION, kept.name.clone())]);
    place.sites.sweep_at(&wanted, now()).unwrap();
    assert_eq!(place.names().len(), 3, "it was asked for a moment ago");
    place.sites.sweep_at(&wanted, now() + LEFT_AFTER + TIME / 2).unwrap();
    assert_eq!(place.names(), [".left-over".to_owned(), kept.name.clone()], "a draft may still be written");
    place.sites.sweep_at(&wanted, now() + LEFT_AFTER + 2 * TIME).unwrap();
    assert_eq!(place.names(), [kept.name]);
}

/// Of two that have the same files, the second takes what is there, or the place of what is going.
#[test]
fn a_site_that_is_asked_for_again_stays() {
    let place = place();
    place.write(&[("index.html", "page")]);
    let made = place.publish(LIMITS).unwrap();
    let site = place.sites.folder(APPLICATION, &made.name);
    let later = now() + 2 * LEFT_AFTER;
    // Between the look at its age and its removal it was asked for.
    fs::File::open(&site).unwrap().set_times(fs::FileTimes::new().set_modified(later)).unwrap();
    take_away(&site, later).unwrap();
    assert_eq!(place.read(&made, "index.html"), "page");
    // What is left of a removal that was cut off is no site.
    let going = rename_to_go(&site).unwrap().unwrap();
    fs::remove_file(going.join("index.html")).unwrap();
    assert_eq!(place.publish(LIMITS).unwrap().name, made.name);
    assert_eq!(place.read(&made, "index.html"), "page");
    remove_whole(&site).unwrap();
    remove_whole(&site).unwrap();
    assert_eq!(place.names(), [""; 0]);
}
