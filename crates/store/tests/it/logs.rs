use std::sync::Arc;
use std::time::{Duration, Instant};

use regex::Regex;
use windlass_api::{LogStep, LogStream, Timestamp};
use windlass_store::logs::{Batch, Bounds, Claim, Filter, LogLine, LogStore, Of, Outcome, Query, ReadProgress, Stored};
use windlass_testing::{DatabaseLocation, Kind, on_both_databases};

use crate::support::{NOW, id};

struct TestLogs {
    store: LogStore,
    place: DatabaseLocation,
}

/// For `on_both_databases!`.
async fn logs(kind: Kind) -> TestLogs {
    let place = DatabaseLocation::fresh(kind).await;
    let store = place.open_logs().await;
    store.migrate().await.unwrap();
    TestLogs { store, place }
}

on_both_databases!(logs: lines_are_read_from_both_ends, lines_of_a_deployment_stand_between_others, filters_hold_together,
    a_search_ends_in_time_and_goes_on, a_search_keeps_its_turn_to_the_end, long_lines_are_compared_in_part, a_page_has_a_bound_of_bytes,
    few_chunks_remain_of_many_small_batches, empty_lines_count_and_quiet_applications_age, a_damaged_chunk_does_not_stop_new_lines,
    positions_go_with_their_lines, a_server_that_has_lost_a_container_stores_nothing, the_oldest_lines_go_first,
    an_application_is_forgotten, writers_do_not_skip_each_other, migrating_again_changes_nothing);

fn line(number: i64, text: impl Into<String>) -> LogLine {
    let at = Timestamp::from_micros(NOW.micros() + number);
    LogLine { at, stream: LogStream::Stdout, step: LogStep::Run, service: String::new(), text: text.into() }
}

fn batch(application: u128, deployment: u128, lines: Vec<LogLine>) -> Batch {
    Batch { application_id: id(application), deployment_id: id(deployment), lines, progress: None }
}

fn numbered(numbers: std::ops::RangeInclusive<i64>) -> Vec<LogLine> {
    numbers.map(|number| line(number, format!("line {number}"))).collect()
}

fn whole(of: Of) -> Query {
    Query { of, filter: Arc::default() }
}

fn bounds(lines: usize) -> Bounds {
    Bounds { lines, until: Instant::now() + Duration::from_secs(60), turn: None }
}

fn texts(lines: &[Stored]) -> Vec<&str> {
    lines.iter().map(|stored| stored.line.text.as_str()).collect()
}

async fn lines_are_read_from_both_ends(logs: TestLogs) {
    let store = &logs.store;
    let query = whole(Of::Application(id(1)));
    assert!(store.before(&query, i64::MAX, 0, bounds(10)).await.unwrap().lines.is_empty());
    assert_eq!(store.next_seq(id(1)).await.unwrap(), 1);
    // Several chunks, of several sizes.
    let long = "x".repeat(1_000);
    for part in 0..5 {
        let lines =
            (1..=100).map(|number| line(part * 100 + number, format!("{} {long}", part * 100 + number))).collect();
        let stored = store.append(&[batch(1, 11, lines), batch(2, 21, numbered(1..=1))]).await.unwrap();
        assert_eq!(stored[0], Outcome::Stored { first_seq: part * 100 + 1 });
    }
    assert_eq!(store.next_seq(id(1)).await.unwrap(), 501);
    let numbers = |lines: &[Stored]| lines.iter().map(|stored| stored.seq).collect::<Vec<_>>();
    let page = store.before(&query, i64::MAX, 0, bounds(3)).await.unwrap();
    assert_eq!((numbers(&page.lines), page.next, page.is_cut_short), (vec![500, 499, 498], Some(498), false));
    let page = store.before(&query, 498, 0, bounds(3)).await.unwrap();
    assert_eq!(numbers(&page.lines), [497, 496, 495]);
    let page = store.before(&query, i64::MAX, 498, bounds(3)).await.unwrap();
    assert_eq!((numbers(&page.lines), page.next), (vec![2, 1], None));
    let page = store.after(&query, 0, bounds(2)).await.unwrap();
    assert_eq!((numbers(&page.lines), page.next), (vec![1, 2], Some(2)));
    let page = store.after(&query, 498, bounds(1_000)).await.unwrap();
    assert_eq!((numbers(&page.lines), page.next), (vec![499, 500], None));
    // From one end to the other and back.
    let (mut seq, mut all) = (0, Vec::new());
    while let Some(last) = {
        let page = store.after(&query, seq, bounds(7)).await.unwrap();
        all.extend(numbers(&page.lines));
        page.lines.last().map(|line| line.seq)
    } {
        seq = last;
    }
    assert_eq!(all, (1..=500).collect::<Vec<_>>());
    let (mut seq, mut all) = (Some(i64::MAX), Vec::new());
    while let Some(before) = seq {
        let page = store.before(&query, before, 0, bounds(7)).await.unwrap();
        all.extend(numbers(&page.lines));
        seq = page.next;
    }
    assert_eq!(all, (1..=500).rev().collect::<Vec<_>>());
}

async fn lines_of_a_deployment_stand_between_others(logs: TestLogs) {
    let store = &logs.store;
    for number in 1..=50 {
        store.append(&[batch(1, 11 + u128::from(number % 2 == 0), numbered(number..=number))]).await.unwrap();
    }
    let page = store.before(&whole(Of::Deployment(id(12))), i64::MAX, 0, bounds(100)).await.unwrap();
    assert_eq!(
        page.lines.iter().map(|line| line.seq).collect::<Vec<_>>(),
        (1..=25).map(|n| n * 2).rev().collect::<Vec<_>>()
    );
    let page = store.after(&whole(Of::Deployment(id(11))), 24, bounds(2)).await.unwrap();
    assert_eq!(texts(&page.lines), ["line 25", "line 27"]);
    let page = store.before(&whole(Of::Application(id(1))), 4, 0, bounds(100)).await.unwrap();
    assert_eq!(texts(&page.lines), ["line 3", "line 2", "line 1"]);
}

async fn filters_hold_together(logs: TestLogs) {
    let store = &logs.store;
    let mut lines = numbered(1..=1_000);
    for (index, line) in lines.iter_mut().enumerate() {
        if index % 3 == 0 {
            line.stream = LogStream::Stderr;
        }
    }
    store.append(&[batch(1, 11, lines)]).await.unwrap();
    let found = async |filter: Filter| {
        let query = Query { of: Of::Application(id(1)), filter: Arc::new(filter) };
        let page = store.before(&query, i64::MAX, 0, bounds(1_000)).await.unwrap();
        page.lines.iter().map(|line| line.seq).collect::<Vec<_>>()
    };
    let at = |number: i64| Some(Timestamp::from_micros(NOW.micros() + number));
    assert_eq!(found(Filter { from: at(3), to: at(6), ..Filter::default() }).await, [5, 4, 3]);
    assert_eq!(found(Filter { streams: vec![LogStream::Stderr], to: at(8), ..Filter::default() }).await, [7, 4, 1]);
    let pattern = Regex::new("(?i)LINE .*99$").unwrap();
    assert_eq!(
        found(Filter { term: Some(pattern.clone()), ..Filter::default() }).await,
        [999, 899, 799, 699, 599, 499, 399, 299, 199, 99]
    );
    let (term, expression) = (Some(pattern), Some(Regex::new("[47]").unwrap()));
    let streams = vec![LogStream::Stderr];
    let all = Filter {
        term,
        expression,
        streams,
        colors: false,
        steps: Vec::new(),
        service: None,
        from: at(300),
        to: at(900),
    };
    assert_eq!(found(all).await, [799, 499]);
}

/// A caller that has no time at all still makes progress with each try.
async fn a_search_ends_in_time_and_goes_on(logs: TestLogs) {
    let store = &logs.store;
    store.append(&[batch(1, 11, numbered(1..=20_000))]).await.unwrap();
    let filter = Filter { expression: Some(Regex::new("^line 7$").unwrap()), ..Filter::default() };
    let query = Query { of: Of::Application(id(1)), filter: Arc::new(filter) };
    let (mut seq, mut tries, mut found) = (Some(i64::MAX), 0, Vec::new());
    while let Some(before) = seq {
        let over = Bounds { until: Instant::now(), ..bounds(10) };
        let page = store.before(&query, before, 0, over).await.unwrap();
        assert_eq!(page.is_cut_short, page.next.is_some());
        assert!(page.next.is_none_or(|next| next < before));
        found.extend(page.lines);
        seq = page.next;
        tries += 1;
    }
    assert_eq!(texts(&found), ["line 7"]);
    assert!(tries > 2, "{tries}");
}

/// Others may search when the work has ended, which is later than when the caller stops waiting.
async fn a_search_keeps_its_turn_to_the_end(logs: TestLogs) {
    // Without any order, so that the expression takes as long as it can.
    let mut bits = 2_654_435_761_u32;
    let mut letter = || {
        bits ^= bits << 13;
        bits ^= bits >> 17;
        bits ^= bits << 5;
        if bits & 1 == 0 { 'a' } else { 'c' }
    };
    let lines = (1..=10).map(|number| line(number, (0..16 * 1024).map(|_| letter()).collect::<String>())).collect();
    logs.store.append(&[batch(1, 11, lines)]).await.unwrap();
    let filter = Filter { expression: Some(Regex::new("a[ac]{2000}x").unwrap()), ..Filter::default() };
    let query = Query { of: Of::Application(id(1)), filter: Arc::new(filter) };
    let turn = Arc::new(());
    let bounds = Bounds { turn: Some(turn.clone()), ..bounds(10) };
    // Long enough to have read the lines, and much too short to have searched them.
    let search = logs.store.before(&query, i64::MAX, 0, bounds);
    assert!(tokio::time::timeout(Duration::from_millis(500), search).await.is_err());
    assert!(Arc::strong_count(&turn) > 1, "the turn was given back while the search went on");
    let deadline = Instant::now() + Duration::from_secs(60);
    while Arc::strong_count(&turn) > 1 {
        assert!(Instant::now() < deadline, "the turn is never given back");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// An expression is compared with the beginning of a line, a term with all of it.
async fn long_lines_are_compared_in_part(logs: TestLogs) {
    let text = format!("{}ünd{}end", "x".repeat(16 * 1024 - 1), "y".repeat(64 * 1024));
    logs.store.append(&[batch(1, 11, vec![line(1, text)])]).await.unwrap();
    let finds = async |filter: Filter| {
        let query = Query { of: Of::Application(id(1)), filter: Arc::new(filter) };
        !logs.store.after(&query, 0, bounds(1)).await.unwrap().lines.is_empty()
    };
    let regex = |text: &str| Some(Regex::new(text).unwrap());
    assert!(finds(Filter { term: regex("end"), ..Filter::default() }).await);
    assert!(finds(Filter { expression: regex("^x+$"), ..Filter::default() }).await);
    assert!(!finds(Filter { expression: regex("end"), ..Filter::default() }).await);
}

async fn a_page_has_a_bound_of_bytes(logs: TestLogs) {
    let long = "x".repeat(1024 * 1024);
    let lines = (1..=10).map(|number| line(number, &long)).collect();
    logs.store.append(&[batch(1, 11, lines)]).await.unwrap();
    let query = whole(Of::Application(id(1)));
    let page = logs.store.before(&query, i64::MAX, 0, bounds(1_000)).await.unwrap();
    assert_eq!((page.lines.len(), page.next, page.is_cut_short), (4, Some(7), false));
}

async fn few_chunks_remain_of_many_small_batches(logs: TestLogs) {
    for number in 1..=500 {
        logs.store.append(&[batch(1, 11, numbered(number..=number))]).await.unwrap();
    }
    let count = "select cast(count(*) as text) from log_chunks";
    let chunks: usize = logs.scalar(count).await.parse().unwrap();
    assert!(chunks < 20, "{chunks}");
    let page = logs.store.after(&whole(Of::Application(id(1))), 0, bounds(1_000)).await.unwrap();
    assert_eq!(page.lines.iter().map(|line| line.seq).collect::<Vec<_>>(), (1..=500).collect::<Vec<_>>());
    assert!(page.lines.iter().all(|line| line.line.text == format!("line {}", line.seq)));
    assert!(page.lines.iter().all(|line| line.line.at.micros() == NOW.micros() + line.seq));
}

fn claim(owner: u128) -> Claim {
    Claim { container_id: "c0ffee".into(), application_id: id(1), owner: id(owner) }
}

fn progress(owner: u128, from: &str, position: &str) -> Option<ReadProgress> {
    Some(ReadProgress { claim: claim(owner), from: from.into(), position: position.into() })
}

async fn positions_go_with_their_lines(logs: TestLogs) {
    let store = &logs.store;
    assert_eq!(store.claim(&claim(1), NOW, false).await.unwrap().as_deref(), Some(""));
    let with = Batch { progress: progress(1, "", "{\"at\":7}"), ..batch(1, 11, numbered(1..=2)) };
    assert_eq!(store.append(std::slice::from_ref(&with)).await.unwrap(), [Outcome::Stored { first_seq: 1 }]);
    // A caller that does not know whether it was stored can try again.
    assert_eq!(store.append(&[with]).await.unwrap(), [Outcome::Lost]);
    assert_eq!(store.claim(&claim(1), NOW, false).await.unwrap().as_deref(), Some("{\"at\":7}"));
    assert_eq!(store.next_seq(id(1)).await.unwrap(), 3);
    assert_eq!(store.positions().await.unwrap(), ["c0ffee"]);
    store.forget("c0ffee").await.unwrap();
    assert!(store.positions().await.unwrap().is_empty());
}

async fn a_server_that_has_lost_a_container_stores_nothing(logs: TestLogs) {
    let store = &logs.store;
    store.claim(&claim(1), NOW, false).await.unwrap();
    assert_eq!(store.claim(&claim(2), NOW, false).await.unwrap(), None);
    // PostgreSQL's clock is its own and cannot be moved.
    let query = "update log_positions set lease_until = 1";
    logs.execute(query).await;
    assert_eq!(store.claim(&claim(2), NOW, false).await.unwrap().as_deref(), Some(""));
    let late = Batch { progress: progress(1, "", "late"), ..batch(1, 11, numbered(1..=2)) };
    let other = batch(1, 12, numbered(3..=3));
    assert_eq!(store.append(&[late, other]).await.unwrap(), [Outcome::Lost, Outcome::Stored { first_seq: 1 }]);
    assert_eq!(store.claim(&claim(1), NOW, true).await.unwrap().as_deref(), Some(""));
    let page = store.after(&whole(Of::Application(id(1))), 0, bounds(10)).await.unwrap();
    assert_eq!(texts(&page.lines), ["line 3"]);
}

async fn the_oldest_lines_go_first(logs: TestLogs) {
    let store = &logs.store;
    let mut random = 88_172_645_463_325_252_u64;
    let mut text = || {
        let words = (0..625).map(|_| {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            format!("{random:016x}")
        });
        words.collect::<String>()
    };
    for number in 1..=600_i64 {
        let lines = (1..=10).map(|n| line(number * 1_000_000 + n, text())).collect();
        store.append(&[batch(1, 11, lines), batch(2, 21, numbered(1..=1))]).await.unwrap();
    }
    let kept =
        async |application| store.kept().await.unwrap().into_iter().find(|kept| kept.application_id == application);
    assert_eq!(kept(id(1)).await.unwrap().bytes, 6_000 * (10_000 + 13));
    let size = logs.size().await;
    let (old, now) = (Timestamp::from_micros(i64::MIN), NOW.plus_seconds(1_000));
    while store.trim(id(1), 2_000_000, old, now).await.unwrap() > 0 {}
    let left = kept(id(1)).await.unwrap().bytes;
    assert!((1_900_000..=2_000_000).contains(&left), "{left}");
    assert_eq!(kept(id(2)).await.unwrap().bytes, 600 * (6 + 13));
    let first = store.first_seq(id(1)).await.unwrap().unwrap();
    let query = whole(Of::Application(id(1)));
    let page = store.after(&query, 0, bounds(1)).await.unwrap();
    assert_eq!(page.lines[0].seq, first);
    assert!(first > 5_750, "{first}");
    // By age: what is older than the 595th second.
    while store.trim(id(1), i64::MAX, NOW.plus_seconds(595), now).await.unwrap() > 0 {}
    let page = store.after(&query, 0, bounds(1_000)).await.unwrap();
    assert!((51..=66).contains(&page.lines.len()), "{}", page.lines.len());
    // A number is never given twice.
    assert_eq!(store.append(&[batch(1, 11, numbered(1..=1))]).await.unwrap(), [Outcome::Stored { first_seq: 6_001 }]);
    while store.give_back().await.unwrap() {}
    if !store.is_shared() {
        let now = logs.size().await;
        assert!(now < size * 2 / 3, "{now} of {size}");
    }
}

/// Lines without text take room too; and old ones go although new ones come all the time.
async fn empty_lines_count_and_quiet_applications_age(logs: TestLogs) {
    let store = &logs.store;
    store.append(&[batch(1, 11, (1..=1_000).map(|n| line(n, "")).collect())]).await.unwrap();
    assert_eq!(store.kept().await.unwrap()[0].bytes, 13_000);
    for hour in 0..10 {
        store.append(&[batch(2, 21, vec![line(hour * 3_600_000_000, "tick")])]).await.unwrap();
    }
    // One from the future, by a clock that was wrong.
    store.append(&[batch(2, 21, vec![line(1_000 * 3_600_000_000, "tock")])]).await.unwrap();
    store.append(&[batch(2, 21, vec![line(10 * 3_600_000_000, "tick")])]).await.unwrap();
    let now = NOW.plus_seconds(10 * 3_600);
    while store.trim(id(2), i64::MAX, NOW.plus_seconds(5 * 3_600), now).await.unwrap() > 0 {}
    let page = store.after(&whole(Of::Application(id(2))), 0, bounds(100)).await.unwrap();
    assert_eq!(page.lines.iter().map(|line| line.seq).collect::<Vec<_>>(), (6..=12).collect::<Vec<_>>());
}

async fn a_damaged_chunk_does_not_stop_new_lines(logs: TestLogs) {
    let store = &logs.store;
    store.append(&[batch(1, 11, numbered(1..=3))]).await.unwrap();
    let zeros = if store.is_shared() { "'\\x0000'" } else { "x'0000'" };
    logs.execute(&format!("update log_chunks set body = {zeros}")).await;
    assert_eq!(store.append(&[batch(1, 11, numbered(4..=4))]).await.unwrap(), [Outcome::Stored { first_seq: 4 }]);
    let all = whole(Of::Application(id(1)));
    let damaged = "[3 lines are damaged and cannot be shown]";
    assert_eq!(texts(&store.after(&all, 0, bounds(10)).await.unwrap().lines), [damaged, "line 4"]);
    assert_eq!(texts(&store.before(&all, i64::MAX, 0, bounds(10)).await.unwrap().lines), ["line 4", damaged]);
}

async fn an_application_is_forgotten(logs: TestLogs) {
    let store = &logs.store;
    store.claim(&claim(1), NOW, false).await.unwrap();
    for _ in 0..200 {
        store.append(&[batch(1, 11, vec![line(1, "x".repeat(60_000))]), batch(2, 21, numbered(1..=1))]).await.unwrap();
    }
    let mut steps = 0;
    while !store.delete_some(id(1)).await.unwrap() {
        steps += 1;
    }
    assert!(steps > 1, "it is done a little at a time");
    assert!(store.before(&whole(Of::Application(id(1))), i64::MAX, 0, bounds(1)).await.unwrap().lines.is_empty());
    assert!(store.positions().await.unwrap().is_empty());
    assert_eq!(
        store.before(&whole(Of::Application(id(2))), i64::MAX, 0, bounds(1_000)).await.unwrap().lines.len(),
        200
    );
}

/// A reader that goes on from the last number that it has seen misses nothing, however many write at once.
async fn writers_do_not_skip_each_other(logs: TestLogs) {
    let mut writing = tokio::task::JoinSet::new();
    for writer in 0..4_u128 {
        let store = if logs.store.is_shared() { logs.place.open_logs().await } else { logs.store.clone() };
        writing.spawn(async move {
            for number in 0..50 {
                let pair = [batch(1, 11 + writer, numbered(number..=number)), batch(2, 21, numbered(1..=1))];
                store.append(&pair).await.unwrap();
            }
        });
    }
    let (query, mut seq, mut seen) = (whole(Of::Application(id(1))), 0, Vec::new());
    let deadline = Instant::now() + Duration::from_secs(60);
    while seen.len() < 200 {
        assert!(Instant::now() < deadline, "{} lines", seen.len());
        let page = logs.store.after(&query, seq, bounds(1_000)).await.unwrap();
        seen.extend(page.lines.iter().map(|line| line.seq));
        seq = seen.last().copied().unwrap_or(0);
    }
    assert_eq!(seen, (1..=200).collect::<Vec<_>>());
    while let Some(done) = writing.join_next().await {
        done.unwrap();
    }
}

async fn migrating_again_changes_nothing(logs: TestLogs) {
    logs.store.append(&[batch(1, 11, numbered(1..=1))]).await.unwrap();
    logs.store.migrate().await.unwrap();
    // Beside everything else, which has steps of its own.
    logs.place.open().await.migrate().await.unwrap();
    logs.store.migrate().await.unwrap();
    assert_eq!(logs.store.next_seq(id(1)).await.unwrap(), 2);
}

impl TestLogs {
    async fn execute(&self, query: &str) {
        use sqlx::Connection;
        let query = sqlx::AssertSqlSafe(query.to_owned());
        match &self.place.url {
            Some(url) => {
                let mut connection = sqlx::PgConnection::connect(url).await.unwrap();
                sqlx::raw_sql(query).execute(&mut connection).await.unwrap();
            }
            None => {
                let file = format!("sqlite://{}", self.place.folder.path().join("logs.db").display());
                let mut connection = sqlx::SqliteConnection::connect(&file).await.unwrap();
                sqlx::raw_sql(query).execute(&mut connection).await.unwrap();
            }
        }
    }

    async fn scalar(&self, query: &'static str) -> String {
        use sqlx::Connection;
        match &self.place.url {
            Some(url) => {
                let mut connection = sqlx::PgConnection::connect(url).await.unwrap();
                sqlx::query_scalar(query).fetch_one(&mut connection).await.unwrap()
            }
            None => {
                let file = format!("sqlite://{}", self.place.folder.path().join("logs.db").display());
                let mut connection = sqlx::SqliteConnection::connect(&file).await.unwrap();
                sqlx::query_scalar(query).fetch_one(&mut connection).await.unwrap()
            }
        }
    }

    /// Bytes that SQLite's pages take.
    async fn size(&self) -> u64 {
        match self.place.url {
            Some(_) => 0,
            None => {
                let pages: u64 =
                    self.scalar("select cast(page_count as text) from pragma_page_count()").await.parse().unwrap();
                pages * 4096
            }
        }
    }
}
