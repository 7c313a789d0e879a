use uuid::Uuid;

use super::*;

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_micros(seconds * 1_000_000)
}

fn uptime() -> Uptime {
    Uptime {
        application_id: Uuid::from_u128(1),
        organization_id: Uuid::from_u128(2),
        path: "/".into(),
        interval_seconds: 60,
        expected_status: 0,
        timeout_seconds: 10,
        failures: 2,
        next_at: Some(0),
        state: UptimeState::Unknown,
        reason: String::new(),
        since: at(0),
        checked_at: None,
        failed_checks: 0,
        failing_since: None,
        created_at: at(0),
        updated_at: at(0),
    }
}

fn live() -> Situation {
    Situation {
        name: "shop".into(),
        domain: "shop.example.org".into(),
        wanted: Wanted::Running,
        state: ApplicationState::Running,
        live_deployment_id: Some(Uuid::from_u128(3)),
        is_held: false,
        was_live: true,
        has_snapshot: false,
    }
}

fn answered(status: u16, page: &str) -> Visited {
    let page = Some(page.to_owned()).filter(|page| !page.is_empty());
    Visited::Answered { status, page, after: Duration::from_millis(5) }
}

fn judged(before: &Situation, after: &Situation, visited: &Visited) -> CheckResult {
    judge(&uptime(), before, after, &EngineState::Well, visited).result
}

fn of_answer(status: u16, page: &str) -> CheckResult {
    judged(&live(), &live(), &answered(status, page))
}

#[test]
fn the_status_decides() {
    for (status, expected) in
        [(200, true), (204, true), (302, true), (399, true), (400, false), (404, false), (500, false)]
    {
        assert_eq!(of_answer(status, "") == CheckResult::Up, expected, "{status}");
    }
    let uptime = Uptime { expected_status: 404, ..uptime() };
    let judged = |status| judge(&uptime, &live(), &live(), &EngineState::Well, &answered(status, "")).result;
    assert_eq!((judged(404), judged(200)), (CheckResult::Up, CheckResult::Failed));
}

#[test]
fn what_the_edge_says_itself_is_never_up() {
    for (status, page) in [
        (403, "forbidden"),
        (401, "sign_in_required"),
        (429, "too_many_requests"),
        (429, "too_many_tries"),
        (503, "sign_in_busy"),
    ] {
        assert_eq!(of_answer(status, page), CheckResult::Blocked, "{page}");
        let uptime = Uptime { expected_status: i64::from(status), ..uptime() };
        let verdict = judge(&uptime, &live(), &live(), &EngineState::Well, &answered(status, page));
        assert_eq!(verdict.result, CheckResult::Blocked, "{page}, also where that status is wanted");
    }
    assert_eq!(of_answer(308, "redirect"), CheckResult::Unknown);
    for page in ["stopped", "held", "maintenance"] {
        assert_eq!(of_answer(503, page), CheckResult::Paused, "{page}");
    }
    // An application that is meant to run and does not is down.
    for (status, page) in
        [(503, "failed"), (503, "no_healthy_target"), (502, "upstream_error"), (503, "starting"), (503, "busy")]
    {
        assert_eq!(of_answer(status, page), CheckResult::Failed, "{page}");
    }
}

#[test]
fn what_is_being_changed_is_not_judged() {
    let (failed, live) = (answered(502, ""), live());
    let held = Situation { is_held: true, ..live.clone() };
    let switched = Situation { live_deployment_id: Some(Uuid::from_u128(4)), ..live.clone() };
    let moved = Situation { domain: "other.example.org".into(), ..live.clone() };
    let saved = Situation { has_snapshot: true, ..live.clone() };
    for other in [&held, &switched, &moved, &saved] {
        assert_eq!(judged(&live, other, &failed), CheckResult::Paused, "{other:?}");
        // An answer that is good says so at any time.
        assert_eq!(judged(&live, other, &answered(200, "")), CheckResult::Up, "{other:?}");
    }
    assert_eq!(judged(&saved, &live, &failed), CheckResult::Paused);
    // A deployment that only builds changes nothing for visitors.
    let building = Situation { state: ApplicationState::Deploying, ..live.clone() };
    assert_eq!(judged(&building, &building, &failed), CheckResult::Failed);
}

#[test]
fn what_is_not_meant_to_answer_is_not_asked() {
    let (well, live) = (EngineState::Well, live());
    let of = |situation: &Situation| not_asked(situation, &well).map(|verdict| (verdict.result, verdict.ends_outage));
    assert_eq!(of(&live), None);
    let stopped = Situation { wanted: Wanted::Stopped, ..live.clone() };
    assert_eq!(of(&stopped), Some((CheckResult::Paused, true)));
    let never = Situation { live_deployment_id: None, was_live: false, ..live.clone() };
    assert_eq!(of(&never), Some((CheckResult::NotLive, true)));
    let starting = Situation { live_deployment_id: None, state: ApplicationState::Deploying, ..live.clone() };
    assert_eq!(of(&starting), Some((CheckResult::Paused, false)));
    let failed = Situation { live_deployment_id: None, state: ApplicationState::Failed, ..live.clone() };
    assert_eq!(of(&failed), None, "it is meant to run, and does not");
    let gone = EngineState::Unreachable("refused".into());
    assert_eq!(not_asked(&live, &gone).map(|verdict| verdict.result), Some(CheckResult::Unknown));
    assert_eq!(judge(&uptime(), &live, &live, &gone, &answered(502, "")).result, CheckResult::Unknown);
    assert_eq!(judged(&live, &stopped, &answered(200, "")), CheckResult::Paused);
    let cannot = Visited::CannotTell("no roots".into());
    assert_eq!(judged(&live, &live, &cannot), CheckResult::Unknown);
}

fn verdict(result: CheckResult) -> Verdict {
    Verdict::new(result, "why")
}

#[test]
fn an_outage_begins_after_failures_in_a_row_and_ends_with_an_answer() {
    let mut uptime = uptime();
    assert_eq!(turn(&mut uptime, &verdict(CheckResult::Up), false, at(0)), Turn::Nothing);
    assert_eq!(turn(&mut uptime, &verdict(CheckResult::Failed), false, at(60)), Turn::Nothing);
    assert_eq!((uptime.state, uptime.since), (UptimeState::Up, at(0)));
    assert_eq!(turn(&mut uptime, &verdict(CheckResult::Failed), false, at(120)), Turn::Down);
    assert_eq!((uptime.state, uptime.since, uptime.failing_since), (UptimeState::Down, at(120), Some(60_000_000)));
    assert_eq!(turn(&mut uptime, &verdict(CheckResult::Failed), true, at(180)), Turn::Nothing);
    assert_eq!(turn(&mut uptime, &verdict(CheckResult::Up), true, at(240)), Turn::Up);
    assert_eq!((uptime.state, uptime.failed_checks, uptime.failing_since), (UptimeState::Up, 0, None));
}

#[test]
fn failures_around_something_else_are_not_in_a_row() {
    for between in [CheckResult::Up, CheckResult::Paused, CheckResult::Blocked, CheckResult::Unknown] {
        let mut uptime = uptime();
        let turns = [CheckResult::Failed, between, CheckResult::Failed]
            .map(|result| turn(&mut uptime, &verdict(result), false, at(60)));
        assert_eq!(turns, [Turn::Nothing; 3], "{between:?}");
        assert_ne!(uptime.state, UptimeState::Down);
    }
}

#[test]
fn an_outage_lasts_through_what_passes_and_ends_with_a_stop() {
    let mut uptime = Uptime { state: UptimeState::Down, ..uptime() };
    for passing in [CheckResult::Paused, CheckResult::Blocked, CheckResult::Unknown] {
        assert_eq!(turn(&mut uptime, &verdict(passing), true, at(60)), Turn::Nothing, "{passing:?}");
        assert_ne!(uptime.state, UptimeState::Down);
    }
    // It was down before, so one failure is enough.
    assert_eq!(turn(&mut uptime, &verdict(CheckResult::Failed), true, at(120)), Turn::Nothing);
    assert_eq!(uptime.state, UptimeState::Down);
    let stopped = Verdict { ends_outage: true, ..verdict(CheckResult::Paused) };
    assert_eq!(turn(&mut uptime, &stopped, true, at(180)), Turn::Ended);
    assert_eq!(turn(&mut uptime, &stopped, false, at(240)), Turn::Nothing);
}

#[test]
fn an_old_check_says_nothing() {
    let shown_at = |now: i64| shown(UptimeState::Up, Wanted::Running, Some(1_000_000_000), (60, 10), at(now));
    assert_eq!((shown_at(1_000), shown_at(1_190)), (UptimeState::Up, UptimeState::Up));
    assert_eq!(shown_at(1_191), UptimeState::NoRecentCheck);
    assert_eq!(shown_at(809), UptimeState::NoRecentCheck, "the clock was set back");
    let never = shown(UptimeState::Unknown, Wanted::Running, None, (60, 10), at(0));
    assert_eq!(never, UptimeState::NoRecentCheck);
    assert_eq!(shown(UptimeState::Down, Wanted::Stopped, None, (60, 10), at(0)), UptimeState::Paused);
}
