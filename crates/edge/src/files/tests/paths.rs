//! Which file answers which path, and which paths have none.

use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::{ffi::OsStr, fs};

use rustix::fs::{CWD, FileType, Mode, mknodat};

use super::Site;
use crate::files::fingerprint::is_fingerprinted;

#[tokio::test]
async fn a_file_is_answered_with_its_type_and_nosniff() {
    let site = Site::new();
    let types = [
        ("a.txt", "text/plain; charset=utf-8"),
        ("a.css", "text/css; charset=utf-8"),
        ("a.JS", "text/javascript; charset=utf-8"),
        ("a.json", "application/json"),
        ("a.svg", "image/svg+xml"),
        ("a.png", "image/png"),
        ("a.wasm", "application/wasm"),
        ("a.woff2", "font/woff2"),
        ("a.unheard-of", "application/octet-stream"),
        ("a", "application/octet-stream"),
        ("png", "application/octet-stream"),
    ];
    for (name, content_type) in types {
        site.write(name, name);
        let answer = site.get(&format!("/{name}")).await;
        assert_eq!((answer.status, answer.text()), (200, name));
        assert_eq!(answer.header("content-type"), Some(content_type), "{name}");
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
        assert_eq!(answer.header("content-length"), Some(name.len().to_string().as_str()));
    }
}

#[tokio::test]
async fn other_methods_are_told_which_there_are() {
    let site = Site::new();
    site.write("index.html", "home");
    for method in ["POST", "PUT", "DELETE", "OPTIONS", "PATCH", "BREW"] {
        let answer = site.ask(method, "/", &[]).await;
        assert_eq!((answer.status, answer.header("allow")), (405, Some("GET, HEAD")), "{method}");
    }
}

#[tokio::test]
async fn a_folder_is_its_index() {
    let site = Site::new();
    site.write("index.html", "home");
    site.write("docs/index.html", "docs");
    site.write("empty/x.txt", "x");
    assert_eq!(site.get("/").await.text(), "home");
    assert_eq!(site.get("/docs/").await.text(), "docs");
    site.get("/docs").await.assert_leads_to("/docs/");
    site.get("/docs?a=1&b=%20/").await.assert_leads_to("/docs/?a=1&b=%20/");
    site.assert_nothing_at("/empty").await;
    site.assert_nothing_at("/empty/").await;
}

#[tokio::test]
async fn clean_names_lead_to_html_files() {
    let site = Site::new();
    for name in ["index.html", "about.html", "docs.html", "docs/index.html", "docs/more.html", "both", "both.html"] {
        site.write(name, name);
    }
    assert_eq!(site.get("/about").await.text(), "about.html");
    assert_eq!(site.get("/about").await.header("content-type"), Some("text/html; charset=utf-8"));
    assert_eq!(site.get("/docs").await.text(), "docs.html", "the page comes before the folder");
    assert_eq!(site.get("/docs/").await.text(), "docs/index.html");
    assert_eq!(site.get("/docs/more").await.text(), "docs/more.html");
    site.get("/about.html?x=1").await.assert_leads_to("/about?x=1");
    site.get("/docs/more.html").await.assert_leads_to("/docs/more");
    site.get("/docs/index.html").await.assert_leads_to("/docs/");
    site.get("/docs/index").await.assert_leads_to("/docs/");
    site.get("/index.html").await.assert_leads_to("/");
    site.get("/index").await.assert_leads_to("/");
    assert_eq!(site.get("/both").await.text(), "both", "the file of that very name comes first");
    assert_eq!(site.get("/both.html").await.text(), "both.html", "or nothing would lead to it");
    site.assert_nothing_at("/nowhere.html").await;
}

#[tokio::test]
async fn names_stay_as_they_are_when_they_need_not_be_clean() {
    let site = Site::with(|spec| spec.clean_urls = false);
    site.write("about.html", "about");
    site.write("docs/index.html", "docs");
    assert_eq!(site.get("/about.html").await.text(), "about");
    assert_eq!(site.get("/docs/index.html").await.text(), "docs");
    site.get("/docs").await.assert_leads_to("/docs/");
    site.assert_nothing_at("/about").await;
}

#[tokio::test]
async fn escapes_are_undone_once() {
    let site = Site::new();
    site.write("a b.txt", "space");
    site.write("é.txt", "accent");
    site.write("100%.txt", "percent");
    site.write("%61.txt", "escaped name");
    site.write("a.txt", "a");
    site.write("back\\slash.txt", "backslash");
    fs::write(site.folder.path().join(OsStr::from_bytes(b"\xff.txt")), "not UTF-8").unwrap();
    assert_eq!(site.get("/a%20b.txt").await.text(), "space");
    assert_eq!(site.get("/%C3%a9.txt").await.text(), "accent");
    assert_eq!(site.get("/100%25.txt").await.text(), "percent");
    assert_eq!(site.get("/%61.txt").await.text(), "a");
    assert_eq!(site.get("/%2561.txt").await.text(), "escaped name");
    assert_eq!(site.get("/back%5Cslash.txt").await.text(), "backslash");
    assert_eq!(site.get("/%FF.txt").await.text(), "not UTF-8");
    for broken in ["/a.txt%", "/a.txt%2", "/%zz.txt", "/%+1.txt"] {
        site.assert_nothing_at(broken).await;
    }
}

#[tokio::test]
async fn nothing_outside_the_folder_is_reached() {
    let site = Site::with(|spec| spec.folder.push("site"));
    site.write("secret.txt", "secret");
    site.write("site/a.txt", "a");
    site.write("site/sub/b.txt", "b");
    for path in [
        "/../secret.txt",
        "/..%2fsecret.txt",
        "/..%2Fsecret.txt",
        "/%2e%2e/secret.txt",
        "/%2E%2E%2Fsecret.txt",
        "/.%2e/secret.txt",
        "/%252e%252e/secret.txt",
        "/%252e%252e%252fsecret.txt",
        "/sub/../../secret.txt",
        "/sub/../a.txt",
        "/./a.txt",
        "/sub/%2e/b.txt",
        "/sub%2fb.txt",
        "//a.txt",
        "/sub//b.txt",
        "/sub/b.txt/",
        "/a.txt%00",
        "/a.txt%00.html",
        "/a.txt/b",
        "/..\\secret.txt",
    ] {
        site.assert_nothing_at(path).await;
    }
    assert_eq!(site.get("/a.txt").await.text(), "a");
    assert_eq!(site.get("/sub/b.txt").await.text(), "b");
}

#[tokio::test]
async fn links_are_followed_inside_the_folder_only() {
    let site = Site::with(|spec| spec.folder.push("site"));
    site.write("secret.txt", "secret");
    site.write("site/sub/b.txt", "b");
    symlink("sub/b.txt", site.path("site/inside.txt")).unwrap();
    symlink("../sub", site.path("site/sub/up")).unwrap();
    symlink("../secret.txt", site.path("site/relative.txt")).unwrap();
    symlink(site.path("secret.txt"), site.path("site/absolute.txt")).unwrap();
    symlink("..", site.path("site/parent")).unwrap();
    symlink("/", site.path("site/root")).unwrap();
    symlink("/proc/self/root", site.path("site/magic")).unwrap();
    symlink("loop.txt", site.path("site/loop.txt")).unwrap();
    assert_eq!(site.get("/inside.txt").await.text(), "b");
    assert_eq!(site.get("/sub/up/b.txt").await.text(), "b");
    let escapes = ["/relative.txt", "/absolute.txt", "/parent/secret.txt", "/root/etc/passwd", "/magic/etc/passwd"];
    for path in escapes.into_iter().chain(["/loop.txt", "/parent", "/root/"]) {
        site.assert_nothing_at(path).await;
    }
}

#[tokio::test]
async fn compressed_siblings_do_not_lead_outside_either() {
    let site = Site::with(|spec| spec.folder.push("site"));
    site.write("site/a.png", "picture");
    site.write("secret.br", "secret");
    symlink("../secret.br", site.path("site/a.png.br")).unwrap();
    assert_eq!(site.get_with("/a.png", "accept-encoding", "br").await.text(), "picture");
}

#[tokio::test]
async fn hidden_files_are_not_there() {
    let site = Site::new();
    for name in [".env", ".git/config", "sub/.htpasswd", ".well-known/security.txt", ".well-known/.hidden"] {
        site.write(name, name);
    }
    for path in ["/.env", "/%2eenv", "/.git/config", "/sub/.htpasswd", "/.well-known/.hidden", "/.well-known.txt"] {
        site.assert_nothing_at(path).await;
    }
    assert_eq!(site.get("/.well-known/security.txt").await.text(), ".well-known/security.txt");
}

#[tokio::test]
async fn only_regular_files_are_served() {
    let site = Site::new();
    let fifo = site.path("pipe.txt");
    mknodat(CWD, &fifo, FileType::Fifo, Mode::from_bits_truncate(0o644), 0).unwrap();
    mknodat(CWD, site.path("page.html"), FileType::Fifo, Mode::from_bits_truncate(0o644), 0).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(site.path("socket.txt")).unwrap();
    symlink("/dev/zero", site.path("zero.txt")).unwrap();
    fs::create_dir(site.path("folder.txt")).unwrap();
    for path in ["/pipe.txt", "/page", "/page.html", "/socket.txt", "/zero.txt", "/folder.txt", "/folder.txt/"] {
        site.assert_nothing_at(path).await;
    }
    site.write("a.txt", "as it is");
    mknodat(CWD, site.path("a.txt.gz"), FileType::Fifo, Mode::from_bits_truncate(0o644), 0).unwrap();
    assert_eq!(site.get_with("/a.txt", "accept-encoding", "gzip").await.text(), "as it is");
}

#[tokio::test]
async fn what_may_not_be_read_is_not_there() {
    let site = Site::new();
    site.write("closed.txt", "closed");
    fs::set_permissions(site.path("closed.txt"), fs::Permissions::from_mode(0o000)).unwrap();
    if fs::read(site.path("closed.txt")).is_ok() {
        return; // The user who runs this may read everything.
    }
    site.assert_nothing_at("/closed.txt").await;
}

#[tokio::test]
async fn redirects_stay_on_the_host() {
    let site = Site::new();
    for folder in ["\\evil.example", "evil.example", "sp ace", "q?x", "line\nbreak", "ünï"] {
        site.write(&format!("{folder}/index.html"), "x");
    }
    site.get("/%5Cevil.example").await.assert_leads_to("/%5Cevil.example/");
    site.get("/sp%20ace").await.assert_leads_to("/sp%20ace/");
    site.get("/q%3fx").await.assert_leads_to("/q%3Fx/");
    site.get("/line%0abreak").await.assert_leads_to("/line%0Abreak/");
    site.get("/%C3%BCn%C3%AF").await.assert_leads_to("/%C3%BCn%C3%AF/");
    site.get("/evil.example?//evil.example").await.assert_leads_to("/evil.example/?//evil.example");
    for path in ["//evil.example", "//evil.example/..", "/%2fevil.example", "///evil.example", "//evil.example/%2e%2e"]
    {
        site.assert_nothing_at(path).await;
    }
}

#[tokio::test]
async fn a_single_page_answers_for_paths_but_not_for_assets() {
    let site = Site::with(|spec| spec.single_page = true);
    site.write("index.html", "app");
    site.write("404.html", "lost");
    site.write("real.txt", "real");
    for path in ["/", "/users/17", "/users/", "/v1.2", "/a/b/c"] {
        let answer = site.get(path).await;
        assert_eq!((answer.status, answer.text()), (200, "app"), "{path}");
        assert_eq!(answer.header("cache-control"), Some("no-cache"));
        assert_eq!(answer.header("content-type"), Some("text/html; charset=utf-8"));
        let etag = answer.header("etag").unwrap();
        assert_eq!(site.get_with(path, "if-none-match", etag).await.status, 304);
    }
    assert_eq!(site.get("/real.txt").await.text(), "real");
    let answer = site.get("/assets/gone.js").await;
    assert_eq!((answer.status, answer.text()), (404, "lost"));
    let browser = "text/html,application/xhtml+xml,*/*;q=0.8";
    assert_eq!(site.get_with("/people/jane.doe", "accept", browser).await.text(), "app");
    assert_eq!(site.get_with("/people/jane.doe", "accept", "*/*").await.status, 404);
    for refused in ["/.env", "/..%2fetc/passwd", "//x", "/%00"] {
        assert_eq!(site.get_with(refused, "accept", browser).await.status, 404, "{refused}");
    }
    assert_eq!(site.ask("POST", "/users", &[]).await.status, 405);
}

#[tokio::test]
async fn the_not_found_page_has_no_validators() {
    let site = Site::with(|spec| spec.not_found = "errors/lost.html".into());
    site.write("errors/lost.html", "lost");
    let headers = [("range", "bytes=0-0"), ("if-none-match", "*"), ("if-match", "\"x\"")];
    let answer = site.ask("GET", "/nowhere", &headers).await;
    assert_eq!((answer.status, answer.text()), (404, "lost"));
    assert_eq!(answer.header("content-type"), Some("text/html; charset=utf-8"));
    for name in ["etag", "last-modified", "accept-ranges", "content-range"] {
        assert_eq!(answer.header(name), None);
    }
    let head = site.ask("HEAD", "/nowhere", &[]).await;
    assert_eq!((head.status, head.header("content-length"), head.body.len()), (404, Some("4"), 0));
    assert_eq!(site.get("/errors/lost").await.status, 200, "it is a page like others when it is asked for");
}

#[tokio::test]
async fn without_the_folder_there_is_nothing_until_it_comes() {
    let site = Site::with(|spec| spec.folder.push("later"));
    site.assert_nothing_at("/").await;
    site.write("later/index.html", "here");
    assert_eq!(site.get("/").await.text(), "here");
}

#[test]
fn fingerprints_are_told_from_words_versions_and_dates() {
    let fingerprinted = [
        "app.3f9a1c2b.js",
        "index-BxT9a_2k.css",
        "main-5HQ3TGKR.js",
        "font.9b23456789abcdef.woff2",
        "main.12345abc.js",
    ];
    let others = [
        "app.js",
        "app.min.js",
        "3f9a1c2b.js",
        ".3f9a1c2b.js",
        "app.3f9a1c2.js",
        "app.3f9a1c2b",
        "jquery-3.6.0.min.js",
        "report-20240115.pdf",
        "photo-20240115a.jpg",
        "backup-20240115T120000Z.sql",
        "invoice-version2.pdf",
        "holiday-December2024.jpg",
        "photo-IMG_20240115.jpg",
        "about-accessibility.css",
        "page.3f9a1c2b.html",
        "app-deadbeef.js",
    ];
    for name in fingerprinted {
        assert!(is_fingerprinted(name.as_bytes()), "{name}");
    }
    for name in others {
        assert!(!is_fingerprinted(name.as_bytes()), "{name}");
    }
}

#[tokio::test]
async fn fingerprinted_names_may_be_kept() {
    let site = Site::new();
    site.write("app.3f9a1c2b.js", "x");
    site.write("app.js", "x");
    let kept = site.get("/app.3f9a1c2b.js").await;
    assert_eq!(kept.header("cache-control"), Some("public, max-age=31536000, immutable"));
    assert_eq!(site.get("/app.js").await.header("cache-control"), Some("no-cache"));
}
