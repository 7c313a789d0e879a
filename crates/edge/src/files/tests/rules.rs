//! What a site says about its own paths.

use super::Site;

#[tokio::test]
async fn the_rules_of_a_site() {
    let site = Site::with(|spec| spec.single_page = true);
    site.write("index.html", "home");
    site.write("about.html", "about");
    site.write("lost.html", "lost");
    site.write(
        "_redirects",
        "/old /about\n/about /index 200!\n/shop/* /about 200\n/secret/* /lost 404\n/out/* https://b.example/:splat\n",
    );
    site.write("_headers", "/*\n  X-Robots-Tag: none\n  Cache-Control: max-age=5\n");
    let sent = site.get("/old?a=b").await;
    assert_eq!((sent.status, sent.header("location")), (301, Some("/about?a=b")));
    assert_eq!(sent.header("x-robots-tag"), None, "redirects have no headers of rules");
    // With `!` also where there is a file.
    assert_eq!(site.get("/about").await.text(), "home");
    let rewritten = site.get("/shop/a/b").await;
    assert_eq!(
        (rewritten.status, rewritten.text(), rewritten.header("cache-control")),
        (200, "about", Some("max-age=5"))
    );
    let unchanged = site.get_with("/shop/a/b", "if-none-match", rewritten.header("etag").unwrap()).await;
    assert_eq!((unchanged.status, unchanged.header("x-robots-tag")), (304, Some("none")));
    let lost = site.get("/secret/x").await;
    assert_eq!((lost.status, lost.text()), (404, "lost"));
    site.assert_nothing_at("/out/%2e%2e").await;
    assert_eq!(site.get("/out/x").await.header("location"), Some("https://b.example/x"));
    // Redirects are for every method, files are not.
    assert_eq!(site.ask("POST", "/old", &[]).await.status, 301);
    assert_eq!(site.ask("POST", "/shop/a", &[]).await.status, 405);
    // A path without a rule, and the rules themselves.
    assert_eq!(site.get("/anything").await.text(), "home");
    site.assert_nothing_at("/_redirects").await;
    site.assert_nothing_at("/_headers").await;
}

#[tokio::test]
async fn a_folder_that_comes_later_brings_its_rules() {
    let site = Site::with(|spec| spec.folder.push("later"));
    site.assert_nothing_at("/old").await;
    site.write("later/_redirects", "/old /new 302\n");
    assert_eq!(site.get("/old").await.header("location"), Some("/new"));
}
