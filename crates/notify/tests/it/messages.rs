//! One message with everything, one with nothing, and one whose every text wants to be more than text.

use windlass_notify::{Link, Map, Message, Mood, Value};

pub fn full() -> Message {
    Message {
        title: "shop failed to deploy".to_owned(),
        mood: Mood::Bad,
        lines: vec![
            "The build ended with code 1 in step 4 of 7.".to_owned(),
            "What was live before is still live.".to_owned(),
        ],
        facts: vec![
            ("Reason".to_owned(), "build_failed".to_owned()),
            ("Commit".to_owned(), "3f2a91c Fix the basket".to_owned()),
            ("By".to_owned(), "Ada Lovelace".to_owned()),
        ],
        quoted: Some("npm error code E404\nnpm error 404 Not Found: left-pad@99.0.0\n".to_owned()),
        link: Some(Link {
            label: "Open the deployment".to_owned(),
            url: "https://windlass.example.org/deployments/0198a3?tab=logs&line=40".to_owned(),
        }),
        organization: "Analytical Engines".to_owned(),
        at: "2026-11-19T07:54:30Z".to_owned(),
        event: Some("deployment.failed".to_owned()),
        data: data("shop"),
    }
}

pub fn minimal() -> Message {
    Message {
        title: "This is a test".to_owned(),
        mood: Mood::Plain,
        lines: Vec::new(),
        facts: Vec::new(),
        quoted: None,
        link: None,
        organization: String::new(),
        at: "2026-11-19T07:54:30Z".to_owned(),
        event: None,
        data: Map::new(),
    }
}

pub fn hostile() -> Message {
    let name = "<!channel> <@U123> @everyone @here <@&42> **b** `c` [x](https://evil.example) <b>&amp; {{DATE(2026-01-01T00:00:00Z)}} \u{202e}txt";
    Message {
        title: format!("{name}\r\nBcc: all@evil.example\r\n\r\nhello"),
        mood: Mood::Warning,
        lines: vec![
            name.to_owned(),
            "# a\n> b\n||c|| ~~d~~ __e__ <https://evil.example|here> /stop #tag www.evil.example".to_owned(),
            "\u{0}\u{7}\u{1b}[31mred".to_owned(),
        ],
        facts: vec![
            (name.to_owned(), name.to_owned()),
            (String::new(), "</code><script>alert(1)</script>".to_owned()),
            (String::new(), String::new()),
        ],
        quoted: Some("```\n@everyone </pre><img src=x> ${x} \\\"\n```".to_owned()),
        link: Some(Link {
            label: "</a>](x) @here".to_owned(),
            url: "https://windlass.example.org/\"onclick='x'<b>?a=1&b=*_`|)".to_owned(),
        }),
        organization: name.to_owned(),
        at: "soon @here".to_owned(),
        event: Some("deployment.failed".to_owned()),
        data: data(name),
    }
}

fn data(name: &str) -> Map<String, Value> {
    Map::from_iter([("application".to_owned(), serde_json::json!({ "id": "0198a3", "name": name }))])
}
