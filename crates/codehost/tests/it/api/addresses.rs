//! Where requests go to, whatever people type.

use std::fmt::Write;

use url::Url;
use windlass_api::{CodeHost, RepositoryAddress};
use windlass_codehost::api::{ApiError, Base, CommentId, HookId, KeyId};

use super::{COMMIT, HOSTS, Made, about, api, base, name, snapshot, status, tried};

#[test]
fn addresses_of_hosts() {
    let mut text = String::new();
    for (host, typed) in [
        (CodeHost::GitHub, ""),
        (CodeHost::GitHub, "github.com"),
        (CodeHost::GitHub, "http://www.github.com/"),
        (CodeHost::GitHub, "https://api.github.com"),
        (CodeHost::GitHub, "https://git.example.org"),
        (CodeHost::GitHub, "https://git.example.org/api/v3/"),
        (CodeHost::GitHub, "octocorp.ghe.com"),
        (CodeHost::GitHub, "https://api.octocorp.ghe.com/"),
        (CodeHost::GitHub, "https://github.com.evil.example"),
        (CodeHost::GitHub, "https://evilgithub.com"),
        (CodeHost::GitLab, "  "),
        (CodeHost::GitLab, "https://gitlab.com/"),
        (CodeHost::GitLab, "https://Git.Example.org:443/gitlab/"),
        (CodeHost::Gitea, "git.example.org"),
        (CodeHost::Gitea, "http://127.0.0.1:3000/"),
        (CodeHost::Gitea, "http://[::1]:3000/api/v1"),
        (CodeHost::Forgejo, "https://git.example.org:8443/sub/dir///"),
        (CodeHost::Forgejo, "https://git.example.org/a/../b/./c"),
        (CodeHost::Bitbucket, ""),
        (CodeHost::Bitbucket, "bitbucket.org"),
        (CodeHost::BitbucketServer, "https://git.example.org/code/rest/api/1.0"),
    ] {
        let base = Base::of(host, typed).unwrap();
        assert_eq!(Base::of(host, base.as_str()).unwrap(), base, "what is stored means the same");
        let api = api_at(&base);
        let (address, origin) = (base.as_str(), base.clone_origin());
        writeln!(text, "{} {typed:?}: {address}, git at {origin}, asks {api}", host.as_str()).unwrap();
        let repository = RepositoryAddress::try_from(format!("{address}/team/shop.git").as_str()).unwrap();
        assert_eq!(repository.origin().as_deref(), Some(origin));
    }
    snapshot("api-bases", &text);
}

fn api_at(base: &Base) -> String {
    let credential = windlass_codehost::api::Credential::token("token").unwrap();
    let api = windlass_codehost::api::Api::new(base.clone(), credential);
    api.repository("team/shop").unwrap().request.url
}

#[test]
fn what_is_no_address_of_a_host() {
    for host in [CodeHost::Gitea, CodeHost::Forgejo, CodeHost::BitbucketServer] {
        assert!(Base::of(host, " ").is_err(), "{host:?} has no usual one");
    }
    for typed in [
        "ftp://git.example.org",
        "file:///etc/passwd",
        "https://",
        "https://ada@git.example.org",
        "https://ada:token@git.example.org",
        "https://git.example.org/?a=b",
        "https://git.example.org/#x",
        "https://git.example.org:99999",
        "javascript://x",
        "git@git.example.org:team/shop.git",
        "a b",
    ] {
        for host in HOSTS {
            assert!(Base::of(host, typed).is_err(), "{host:?} {typed}");
        }
    }
    assert!(Base::of(CodeHost::Bitbucket, "https://git.example.org").is_err());
}

fn host_of_api(host: CodeHost) -> String {
    match host {
        CodeHost::GitHub => "https://api.github.com/repos/".to_owned(),
        CodeHost::GitLab => "https://gitlab.com/api/v4/projects/".to_owned(),
        CodeHost::Gitea | CodeHost::Forgejo => format!("{}/api/v1/repos/", base(host).as_str()),
        CodeHost::Bitbucket => "https://api.bitbucket.org/2.0/repositories/".to_owned(),
        CodeHost::BitbucketServer => format!("{}/rest/", base(host).as_str()),
    }
}

/// How many segments the path of a request has, which is as it was sent also for one that reads it as browsers do.
fn segments(url: &str) -> usize {
    let parsed = Url::parse(url).unwrap();
    assert_eq!(parsed.as_str(), url);
    assert!(parsed.fragment().is_none() && parsed.username().is_empty());
    parsed.path_segments().unwrap().count()
}

#[test]
fn names_that_are_none_are_refused_before_a_request_is_made() {
    let long = format!("team/{}", "a".repeat(2_000));
    for hostile in [
        "",
        "/",
        "//",
        "shop",
        "team/",
        "/shop",
        "team//shop",
        "../shop",
        "team/..",
        "./shop",
        "team/.",
        "team/../../user",
        "team/shop?admin=1",
        "team/shop#",
        "team/sh op",
        "team/shop\n",
        "team/shop\r\nhost: evil",
        "team/shop\0",
        "team\\shop/x",
        "team/%2e%2e",
        "team/%2Fuser",
        "team/..%2f..",
        "@evil.example/x",
        "team/x:y@evil",
        "https://evil.example/x",
        "//evil.example/x",
        "team/shop;x",
        "team/shop&x",
        "team/\u{7f}",
        "team/\u{a0}",
        &long,
    ] {
        for host in HOSTS {
            for made in about(&api(host), hostile) {
                let refused = made.map(|tried| tried.request.url);
                assert!(matches!(refused, Err(ApiError::BadInput(_))), "{host:?} {hostile:?}: {refused:?}");
            }
        }
    }
    for host in HOSTS.into_iter().filter(|host| *host != CodeHost::GitLab) {
        assert!(api(host).repository("team/web/shop").is_err(), "{host:?} has no groups in groups");
    }
}

#[test]
fn no_character_of_a_name_leads_out_of_its_segment() {
    for host in HOSTS {
        let api = api(host);
        let usual: Vec<_> =
            about(&api, "team/shop").into_iter().map(|made| segments(&made.unwrap().request.url)).collect();
        for c in (0..0x100).chain([0x2024, 0x2215, 0x202e, 0xff0f, 0xff0e, 0x1_f600]).filter_map(char::from_u32) {
            for name in [format!("team/{c}"), format!("team/.{c}"), format!("a{c}b/{c}{c}")] {
                let made: Vec<Made> = about(&api, &name);
                for (made, usual) in made.into_iter().zip(&usual).filter(|(made, _)| made.is_ok()) {
                    let url = made.unwrap().request.url;
                    if name.matches('/').count() == 1 {
                        assert_eq!(segments(&url), *usual, "{name:?}: {url}");
                    }
                    assert!(url.starts_with(&host_of_api(host)), "{name:?}: {url}");
                }
            }
        }
    }
}

#[test]
fn ids_and_commits_that_are_none() {
    for host in HOSTS {
        let (api, name) = (api(host), name(host));
        for id in ["", "..", "1/2", "1?x", "../1", "1#", "%2e%2e", "1 ", "é", "1\n"] {
            for made in [
                tried("hook", api.delete_hook(name, &HookId(id.into()))),
                tried("key", api.delete_deploy_key(name, &KeyId(id.into()))),
                tried("comment", api.update_comment(name, 1, &CommentId(id.into()), "x")),
            ] {
                assert!(made.is_err(), "{host:?} {id:?}");
            }
        }
        for commit in ["", "main", "ac2abc42", "../../user", &"0".repeat(40), &"g".repeat(40), &COMMIT[1..]] {
            let status = status(windlass_codehost::api::State::Success);
            assert!(api.set_status(name, commit, &status).is_err(), "{host:?} {commit:?}");
        }
    }
    let server = api(CodeHost::BitbucketServer);
    assert!(server.update_comment("WEB/shop", 1, &CommentId("5".into()), "x").is_err(), "it has no version");
}
