//! A status page as HTML. All texts of people in it are escaped, and nothing in it needs a script.

use uuid::Uuid;
use windlass_api::{Timestamp, UptimeState};
use windlass_store::outages::Outage;
use windlass_store::uptime_checks::Counts;

/// The one style that the page's policy lets through.
pub const STYLE: &str = "body{font:16px/1.5 system-ui,sans-serif;max-width:44rem;margin:3rem auto;padding:0 1rem;color:#222;background:#fff}\
h1{font-size:1.6rem}h2{font-size:1.1rem;margin-top:2.5rem}ul{list-style:none;padding:0}\
li{display:flex;flex-wrap:wrap;gap:.25rem 1rem;justify-content:space-between;padding:.6rem 0;border-bottom:1px solid #ddd}\
small,footer{color:#666}.up{color:#176f2c}.down{color:#b3261e}.all{font-size:1.2rem;font-weight:600}footer{margin-top:2.5rem}\
@media(prefers-color-scheme:dark){body{color:#ddd;background:#111}li{border-color:#333}small,footer{color:#999}.up{color:#6cc283}.down{color:#f2877f}}";

pub struct Page<'a> {
    pub title: &'a str,
    pub lines: Vec<Line>,
    /// Newest first.
    pub outages: Vec<Outage>,
    pub now: Timestamp,
}

pub struct Line {
    pub application_id: Uuid,
    pub name: String,
    /// None for one that is not checked.
    pub state: Option<UptimeState>,
    pub counts: Counts,
}

impl Page<'_> {
    pub fn html(&self) -> String {
        let title = escaped(self.title);
        let (class, summary) = self.summary();
        let lines: String = self.lines.iter().map(Line::html).collect();
        let (outages, as_of) = (self.outages_html(), time(self.now));
        format!(
            "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" \
             content=\"width=device-width\"><meta http-equiv=\"refresh\" content=\"60\"><title>{title}</title>\
             <style>{STYLE}</style></head>\n<body><main><h1><bdi>{title}</bdi></h1>\n\
             <p class=\"all {class}\">{summary}</p>\n<ul>\n{lines}</ul>\n{outages}</main>\n\
             <footer>As of {as_of}. A page that is older than a few minutes says nothing of the present.</footer></body></html>\n"
        )
    }

    fn summary(&self) -> (&'static str, &'static str) {
        let are = |wanted: UptimeState| self.lines.iter().filter(|line| line.state == Some(wanted)).count();
        match (are(UptimeState::Up), are(UptimeState::Down)) {
            (_, down) if down > 0 => ("down", "Not everything works."),
            (up, _) if up > 0 && up == self.lines.len() => ("up", "Everything works."),
            (up, _) if up > 0 => ("", "What is checked works."),
            _ => ("", "Nothing is known at the moment."),
        }
    }

    fn outages_html(&self) -> String {
        if self.outages.is_empty() {
            return "<h2>Outages of the last 7 days</h2>\n<p>None.</p>\n".to_owned();
        }
        let one = |outage: &Outage| {
            let line = self.lines.iter().find(|line| line.application_id == outage.application_id)?;
            let end = outage.ended_at.map_or_else(
                || "<span class=\"down\">until now</span>".to_owned(),
                |end| format!("until {}", time(Timestamp::from_micros(end))),
            );
            let (name, start) = (escaped(&line.name), time(outage.started_at));
            Some(format!("<li><bdi>{name}</bdi><span>from {start} {end}</span></li>\n"))
        };
        let all: String = self.outages.iter().filter_map(one).collect();
        format!("<h2>Outages of the last 7 days</h2>\n<ul>\n{all}</ul>\n")
    }
}

impl Line {
    fn html(&self) -> String {
        let (class, word) = word(self.state);
        let name = escaped(&self.name);
        let share = share(self.counts).map(|share| format!(" <small>{share} % in 30 days</small>")).unwrap_or_default();
        format!("<li><bdi>{name}</bdi><span><span class=\"{class}\">{word}</span>{share}</span></li>\n")
    }
}

const fn word(state: Option<UptimeState>) -> (&'static str, &'static str) {
    match state {
        Some(UptimeState::Up) => ("up", "Up"),
        Some(UptimeState::Down) => ("down", "Down"),
        Some(UptimeState::Paused) => ("", "Paused"),
        Some(UptimeState::NotLive) => ("", "Not live yet"),
        Some(UptimeState::Blocked | UptimeState::Unknown) => ("", "Not known"),
        Some(UptimeState::NoRecentCheck) => ("", "No recent check"),
        Some(UptimeState::Off) | None => ("", "Not checked"),
    }
}

/// In percent with two decimals, rounded down: what has failed once is never whole.
fn share(counts: Counts) -> Option<String> {
    let all = counts.up_30_days + counts.failed_30_days;
    let hundredths = (all > 0).then(|| counts.up_30_days * 10_000 / all)?;
    Some(format!("{}.{:02}", hundredths / 100, hundredths % 100))
}

/// To the minute.
fn time(at: Timestamp) -> String {
    let whole = at.to_string();
    let shown: String = whole.chars().take("2026-01-31T23:59".len()).collect();
    format!("<time datetime=\"{whole}\">{} UTC</time>", shown.replace('T', " "))
}

fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            other => safe.push(other),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(name: &str, state: Option<UptimeState>) -> Line {
        Line {
            application_id: Uuid::from_u128(name.len() as u128),
            name: name.into(),
            state,
            counts: Counts::default(),
        }
    }

    fn page(lines: Vec<Line>) -> Page<'static> {
        Page { title: "Status", lines, outages: Vec::new(), now: Timestamp::from_micros(1_767_225_600_000_000) }
    }

    #[test]
    fn texts_of_people_are_inert() {
        let hostile = "</title><script>alert(1)</script>\"'&";
        let html = Page { title: hostile, ..page(vec![line(hostile, Some(UptimeState::Up))]) }.html();
        assert!(!html.contains("<script") && html.matches("</title>").count() == 1, "{html}");
        assert!(html.contains("&lt;/title&gt;&lt;script&gt;alert(1)&lt;/script&gt;&quot;&#39;&amp;"), "{html}");
        assert!(
            html.contains("As of <time datetime=\"2026-01-01T00:00:00.000000Z\">2026-01-01 00:00 UTC</time>"),
            "{html}"
        );
    }

    #[test]
    fn the_first_line_claims_no_more_than_is_known() {
        use UptimeState::{Down, NoRecentCheck, Paused, Up};
        let said = |states: &[Option<UptimeState>]| {
            page(states.iter().map(|state| line("shop", *state)).collect()).summary().1
        };
        assert_eq!(said(&[Some(Up), Some(Up)]), "Everything works.");
        assert_eq!(said(&[Some(Up), Some(Paused)]), "What is checked works.");
        assert_eq!(said(&[Some(Up), Some(Down), None]), "Not everything works.");
        assert_eq!(said(&[Some(NoRecentCheck), None]), "Nothing is known at the moment.");
        assert_eq!(said(&[]), "Nothing is known at the moment.");
    }

    #[test]
    fn an_outage_is_shown_by_its_public_name() {
        let outage = |number: u128, ended_at: Option<i64>| Outage {
            id: Uuid::nil(),
            application_id: Uuid::from_u128(number),
            started_at: Timestamp::from_micros(1_767_225_600_000_000),
            ended_at,
            recovered: false,
            reason: "it answered with status 500".into(),
        };
        let shown = page(vec![line("Shop", Some(UptimeState::Down))]);
        let html = Page { outages: vec![outage(4, None), outage(9, Some(1_767_229_200_000_000))], ..shown }.html();
        assert!(html.contains("<bdi>Shop</bdi><span>from <time") && html.contains("until now"), "{html}");
        assert!(!html.contains("status 500") && !html.contains("01:00 UTC"), "{html}");
    }

    #[test]
    fn what_has_failed_once_is_never_whole() {
        let of = |up, failed| share(Counts { up_30_days: up, failed_30_days: failed, ..Counts::default() });
        assert_eq!(of(99_999, 1).as_deref(), Some("99.99"));
        assert_eq!((of(5, 0).as_deref(), of(1, 1).as_deref(), of(0, 0)), (Some("100.00"), Some("50.00"), None));
    }
}
