use hyper::StatusCode;
use proptest::prelude::*;

use super::*;

fn rules(redirects: &str, headers: &str) -> Rules {
    let (rules, problems) = Rules::parse(redirects, headers);
    assert_eq!(problems, []);
    rules
}

fn sent(status: u16, location: &str) -> Option<Redirect> {
    let status = StatusCode::from_u16(status).unwrap();
    Some(Redirect::Elsewhere { status, location: location.to_owned() })
}

fn file(path: &str, is_found: bool) -> Option<Redirect> {
    Some(Redirect::File { path: path.as_bytes().to_vec(), is_found })
}

/// Where there is no file.
fn redirect(rules: &Rules, path: &str) -> Option<Redirect> {
    let Redirected { at_once, without_file, .. } = rules.redirect(path.as_bytes());
    at_once.or(without_file)
}

/// Where there is one.
fn over_file(rules: &Rules, path: &str) -> Option<Redirect> {
    let Redirected { at_once, with_file, .. } = rules.redirect(path.as_bytes());
    at_once.or(with_file)
}

#[test]
fn paths_and_places() {
    let rules = rules(
        "# Old addresses\n\
         /old /new\n\
         /blog/:year/:slug /posts/:year-:slug 302 # with names\n\
         /docs/* https://docs.example.org/:splat?from=old#top 308\n\
         /home / 307!\n\
         /app/* /app/index.html 200\n\
         /%C3%BC /umlaut\n\
         /gone/* /gone.html 404\n\
         /six http://[::1]:8080\n",
        "",
    );
    for (path, expected) in [
        ("/old", sent(301, "/new")),
        ("/old/", sent(301, "/new")),
        ("/older", None),
        ("/old/more", None),
        ("/blog/2024/hello world", sent(302, "/posts/2024-hello%20world")),
        ("/blog/2024", None),
        ("/docs", sent(308, "https://docs.example.org/?from=old#top")),
        ("/docs/a/b", sent(308, "https://docs.example.org/a/b?from=old#top")),
        ("/docs/\r\nx", sent(308, "https://docs.example.org/%0D%0Ax?from=old#top")),
        ("/home", sent(307, "/")),
        ("/app/x/y", file("/app/index.html", true)),
        ("/ü", sent(301, "/umlaut")),
        ("/gone/now", file("/gone.html", false)),
        ("/six", sent(301, "http://[::1]:8080")),
        ("/", None),
    ] {
        assert_eq!(redirect(&rules, path), expected, "{path}");
    }
    assert_eq!(over_file(&rules, "/home"), sent(307, "/"));
    assert_eq!(over_file(&rules, "/old"), None);
}

#[test]
fn the_first_that_matches_counts() {
    let rules = rules("/a/* /first/:splat\n/a/b /second\n/c /third\n/c /fourth\n/d/* /d/:splat\n/d/x /found\n", "");
    assert_eq!(redirect(&rules, "/a/b"), sent(301, "/first/b"));
    assert_eq!(redirect(&rules, "/c"), sent(301, "/third"));
    // What leads to where the visitor is leads nowhere.
    assert_eq!(redirect(&rules, "/d/x"), None);
    let rules = self::rules("/a/* /first\n/a/b /second 301!\n/a/b /third 301!\n", "");
    assert_eq!((redirect(&rules, "/a/b"), over_file(&rules, "/a/b")), (sent(301, "/first"), sent(301, "/second")));
}

/// A place can be empty, or long.
#[test]
fn no_place_leads_to_another_host() {
    let rules = rules("/:a/* /:splat/:a\n/* /:splat/index.html\n", "");
    // It is there already.
    assert_eq!(redirect(&rules, "/evil.example"), None);
    assert_eq!(redirect(&rules, "/evil.example/"), sent(301, "/evil.example"));
    assert_eq!(redirect(&rules, "/a/b"), sent(301, "/b/a"));
    assert_eq!(redirect(&rules, "/"), sent(301, "/index.html"));
    let long = format!("/{}", "ü".repeat(2_000));
    let rules = self::rules("/:a /:a:a:a:a:a:a:a:a\n", "");
    assert_eq!(redirect(&rules, &long), Some(Redirect::Nowhere));
    let hidden = self::rules("/* /.hidden/:splat 200!\n", "");
    assert_eq!(over_file(&hidden, "/x"), Some(Redirect::Nowhere));
}

#[test]
fn what_cannot_be_followed_is_named() {
    for (line, words) in [
        ("/a", "must be a path, where it leads, and perhaps a status; conditions are not supported"),
        ("/a /b 301 Country=de", "must be a path, where it leads, and perhaps a status; conditions are not supported"),
        ("a /b", "the path must begin with /"),
        ("https://a.example/ /b", "the path must begin with /"),
        ("/a* /b", "* must stand alone between slashes"),
        ("/*/a /b", "* can only be the last part of a path"),
        ("/:a-b /b", "what follows : must be letters, digits and _"),
        ("/a b", "where it leads must begin with /, http:// or https://"),
        ("/a //b.example", "where it leads must begin with /, http:// or https://"),
        ("/a javascript:alert(1)", "where it leads must begin with /, http:// or https://"),
        ("/a /b 418", "\"418\" is none of 200, 301, 302, 303, 307, 308 and 404"),
        ("/a/* https://:splat/", "the address needs a host that is a plain name"),
        ("/a https://", "the address needs a host that is a plain name"),
        ("/a https:///b", "the address needs a host that is a plain name"),
        ("/a https://b.example:x/", "the address needs a host that is a plain name"),
        ("/a https://[::1/", "the address needs a host that is a plain name"),
        ("/a https://user@b.example/", "the address needs a host that is a plain name"),
        (
            "/a https://b.example/ 200",
            "answers of other servers are not fetched: with 200 and 404 it must be a path of the site",
        ),
        ("/a /:b", "the path has no :b"),
        ("/a /ü", "where it leads must be written in ASCII without backslashes; encode other characters"),
        ("/a /\\b", "where it leads must be written in ASCII without backslashes; encode other characters"),
        ("/a-:b /c", ": must be the first of a part, and ? and # cannot be in a path"),
        ("/a?b=c /c", ": must be the first of a part, and ? and # cannot be in a path"),
        (&format!("{} /b", "/a".repeat(33)), "the path has more than 32 parts"),
        (&format!("/:a /{}", ":a".repeat(9)), "where it leads has more than 8 places"),
        (&format!("/a /{}", "b".repeat(8_200)), "the line has more than 8192 bytes"),
    ] {
        let (rules, problems) = Rules::parse(&format!("/x /y\n{line}\n"), "");
        assert_eq!(problems, [RuleProblem { file: REDIRECTS, line: 2, words: words.to_owned() }], "{line}");
        assert_eq!(redirect(&rules, "/x"), sent(301, "/y"));
    }
}

#[test]
fn headers_of_all_paths_that_match() {
    let text = "/*\n  X-Frame-Options: DENY\n\n  # why\n  Link: </a.css>; rel=preload\n/a/:b\n\tCache-Control: max-age=60\n  Link: </b.css>; rel=preload\n";
    let rules = rules("", text);
    let mut head = HeaderMap::new();
    head.insert("cache-control", "no-cache".parse().unwrap());
    head.insert("vary", "accept-encoding".parse().unwrap());
    rules.set_headers(b"/a/x", StatusCode::OK, &mut head);
    let all = |name: &str| head.get_all(name).iter().map(|value| value.to_str().unwrap()).collect::<Vec<_>>();
    assert_eq!(all("x-frame-options"), ["DENY"]);
    assert_eq!(all("link"), ["</a.css>; rel=preload", "</b.css>; rel=preload"]);
    assert_eq!((all("cache-control"), all("vary")), (vec!["max-age=60"], vec!["accept-encoding"]));
    let mut head = HeaderMap::new();
    rules.set_headers(b"/", StatusCode::OK, &mut head);
    assert_eq!(head.len(), 2);
    // What is not found now may be there soon, and what failed is no answer of the site.
    let mut head = HeaderMap::new();
    rules.set_headers(b"/a/x", StatusCode::NOT_FOUND, &mut head);
    assert_eq!((head.get("cache-control"), head.contains_key("x-frame-options")), (None, true));
    let mut head = HeaderMap::new();
    rules.set_headers(b"/a/x", StatusCode::SERVICE_UNAVAILABLE, &mut head);
    assert!(head.is_empty());

    let long = format!("/a\n  X-A: b\n/{}\n  X-C: d\n", "x".repeat(9_000));
    let (rules, problems) = Rules::parse("", &long);
    let mut head = HeaderMap::new();
    rules.set_headers(b"/a", StatusCode::OK, &mut head);
    assert_eq!((head.len(), problems.len()), (1, 2), "headers of a path that is not followed belong to no other");

    let bad = "  Early: yes\n/ok\n  Content-Length: 5\n  ETag: x\n  no colon\n  B\u{e4}d: x\n  Bell: \u{7}\nno-path\n  X: y\n";
    let (_, problems) = Rules::parse("", bad);
    let lines: Vec<_> = problems.iter().map(|problem| problem.line).collect();
    assert_eq!(lines, [1, 3, 4, 5, 6, 7, 8, 9]);
    assert_eq!(problems[1].words, "content-length is for the edge to set");
}

#[test]
fn there_are_bounds() {
    let many: String = (0..1_200).map(|number| format!("/{number} /x\n")).collect();
    let (rules, problems) = Rules::parse(&many, "");
    assert_eq!((problems.len(), problems[0].line), (200, 1_001));
    assert_eq!(redirect(&rules, "/999"), sent(301, "/x"));
    let patterns: String = (0..150).map(|number| format!("/{number}/* /x\n")).collect();
    assert_eq!(Rules::parse(&patterns, "").1.len(), 50);
    assert_eq!(Rules::parse("", &patterns.replace(" /x", "\n  A: b")).1.len(), 100);
    let long = "# a comment\n".repeat(10_000) + "/a /b\n";
    let (rules, problems) = Rules::parse(&long, "");
    assert_eq!((problems.len(), redirect(&rules, "/a")), (1, None));
    assert!(problems[0].words.starts_with("from here on nothing is followed"));
}

/// A part of a path, with places more often than chance would have it.
fn part() -> impl Strategy<Value = String> {
    let often = ["", ":a", ":splat", "*"].map(|part| Just(part.to_owned()));
    let [none, named, rest, any] = often;
    prop_oneof![none, named, rest, any, "[a-c.%2ef?#!-]{0,3}"]
}

fn line() -> impl Strategy<Value = String> {
    let path = || proptest::collection::vec(part(), 1..4).prop_map(|parts| format!("/{}", parts.join("/")));
    let status = prop_oneof![Just(""), Just("200!"), Just("404"), Just("302")];
    (path(), path(), status).prop_map(|(from, to, status)| format!("{from} {to} {status}"))
}

proptest! {
    /// Whatever the files and the request say, an answer can be made of it, and no path of the site's own leads to another host.
    #[test]
    fn nothing_leads_astray(
        lines in proptest::collection::vec(line(), 0..6),
        headers in "\\PC{0,80}",
        path in "(/[a-c.:%\\\\ü]{0,6}){1,3}",
    ) {
        let (rules, _) = Rules::parse(&lines.join("\n"), &headers);
        for found in [redirect(&rules, &path), over_file(&rules, &path)].into_iter().flatten() {
            if let Redirect::Elsewhere { location, .. } = found {
                let leads_astray = ["//", "/\\"].iter().any(|start| location.starts_with(start));
                prop_assert!(location.starts_with('/') && !leads_astray, "{}", location);
                prop_assert!(hyper::header::HeaderValue::from_str(&location).is_ok());
            }
        }
        rules.set_headers(path.as_bytes(), StatusCode::OK, &mut HeaderMap::new());
    }
}
