use uuid::Uuid;
use windlass_figures::{BUCKETS, COARSE, FINE, Figures, Flow, Instance, MINUTE, Point, Step, Subject, Usage, Visits};
use windlass_store::figures::{delete_before, first, of_application, of_applications, of_server, put};
use windlass_store::{Kind, applications};
use windlass_testing::on_both_databases;

use crate::support::{TestDb, add_application, database, id, populate};

on_both_databases!(database: rows_are_replaced_by_server, rows_go_with_their_application_and_their_time, a_servers_rows_come_in_pages);

const HERE: Uuid = Uuid::from_u128(1_001);
const THERE: Uuid = Uuid::from_u128(1_002);
const DAY: i64 = 86_400;

async fn with_applications(db: &TestDb, count: u128) {
    let mut tx = db.begin().await.unwrap();
    populate(&mut tx, 1, 1).await;
    for number in 1..=count {
        add_application(&mut tx, number).await;
    }
    tx.commit().await.unwrap();
}

async fn write(db: &TestDb, server: Uuid, start: i64, rows: &[(Uuid, Vec<u8>)]) {
    let mut tx = db.begin().await.unwrap();
    put(&mut tx, server, 10, start, rows).await.unwrap();
    tx.commit().await.unwrap();
}

async fn rows_are_replaced_by_server(db: TestDb) {
    with_applications(&db, 2).await;
    write(&db, HERE, 60, &[(id(1), vec![1]), (id(2), vec![2])]).await;
    write(&db, THERE, 60, &[(id(1), vec![3])]).await;
    // One that is gone hinders no other.
    write(&db, HERE, 60, &[(id(9), vec![9]), (id(1), vec![4])]).await;
    write(&db, HERE, 120, &[(id(1), vec![5])]).await;
    let mut conn = db.read().await.unwrap();
    let rows = of_application(&mut conn, id(1), 10, 0..120).await.unwrap();
    let seen: Vec<_> = rows.into_iter().map(|row| (row.server_id, row.start, row.points)).collect();
    assert_eq!(seen, [(HERE, 60, vec![4]), (THERE, 60, vec![3])]);
    assert!(of_application(&mut conn, id(1), 60, 0..DAY).await.unwrap().is_empty(), "of another step");
    let both = of_applications(&mut conn, &[id(1), id(2)], 10, 60..61).await.unwrap();
    assert_eq!(both.len(), 3);
    assert!(of_applications(&mut conn, &[], 10, 0..DAY).await.unwrap().is_empty());
}

async fn rows_go_with_their_application_and_their_time(db: TestDb) {
    with_applications(&db, 2).await;
    for start in [0, 60, 120] {
        write(&db, HERE, start, &[(id(1), vec![1]), (id(2), vec![2])]).await;
    }
    let mut tx = db.begin().await.unwrap();
    assert_eq!(delete_before(&mut tx, 10, 120, 3).await.unwrap(), 3);
    assert_eq!(delete_before(&mut tx, 10, 120, 3).await.unwrap(), 1);
    assert_eq!(delete_before(&mut tx, 60, 120, 3).await.unwrap(), 0);
    applications::delete(&mut tx, id(1)).await.unwrap();
    tx.commit().await.unwrap();
    let left = of_server(&mut db.read().await.unwrap(), HERE, 10, 0..DAY, Uuid::nil(), 10).await.unwrap();
    assert_eq!(left.iter().map(|row| (row.application_id, row.start)).collect::<Vec<_>>(), [(id(2), 120)]);
}

async fn a_servers_rows_come_in_pages(db: TestDb) {
    with_applications(&db, 3).await;
    for start in [60, 0] {
        write(&db, HERE, start, &[(id(3), vec![1]), (id(1), vec![1]), (id(2), vec![2])]).await;
        write(&db, THERE, start, &[(id(1), vec![1])]).await;
    }
    let mut conn = db.read().await.unwrap();
    assert_eq!(first(&mut conn, HERE, 10, 0..120).await.unwrap(), Some(0));
    assert_eq!(first(&mut conn, HERE, 10, 1..120).await.unwrap(), Some(60));
    assert_eq!(first(&mut conn, HERE, 10, 61..120).await.unwrap(), None);
    let page = of_server(&mut conn, HERE, 10, 0..120, Uuid::nil(), 3).await.unwrap();
    let seen = |rows: Vec<windlass_store::figures::Row>| -> Vec<_> {
        rows.into_iter().map(|row| (row.application_id, row.start)).collect()
    };
    assert_eq!(seen(page), [(id(1), 0), (id(1), 60), (id(2), 0)]);
    let page = of_server(&mut conn, HERE, 10, 0..120, id(1), 3).await.unwrap();
    assert_eq!(seen(page), [(id(2), 0), (id(2), 60), (id(3), 0)]);
}

/// Numbers that look random, the same in each run.
struct Noise(u64);

impl Noise {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }

    /// From the number to half as much again.
    fn about(&mut self, number: u64) -> u64 {
        number + self.below(number / 2 + 1)
    }
}

/// A busy application with one instance, whose numbers are never the same twice.
fn busy_row(noise: &mut Noise, application: Uuid, step: Step, start: i64) -> Figures {
    let (mut figures, seconds) = (Figures::default(), step.seconds.unsigned_abs());
    let instance =
        Instance { deployment_id: application, container_id: application, ordinal: 1, service: String::new() };
    for at in (start..start + step.row).step_by(step.seconds as usize) {
        let requests = noise.about(10 * seconds);
        let mut latency = [0; BUCKETS];
        for (count, percent) in latency.iter_mut().zip([0, 1, 10, 40, 30, 10, 5, 3, 1]) {
            *count = (requests * percent / 100 + noise.below(3)).cast_signed();
        }
        let mut flow = |bytes: u64| Some(Flow { inward: noise.about(bytes), outward: noise.about(5 * bytes) });
        let (network, disk) = (flow(20_000 * seconds), flow(1_000 * seconds));
        let time = |noise: &mut Noise| 1_000 * seconds + noise.below(6);
        let memory = noise.about(200 << 20);
        let usage = Usage {
            measured_ms: time(noise),
            cpu_us: noise.about(50_000 * seconds),
            memory,
            peak: memory + noise.below(1 << 20),
            network,
            disk,
            restarts: 0,
        };
        let visits = Visits {
            watched_ms: time(noise),
            requests: requests.cast_signed(),
            errors: noise.below(4).cast_signed(),
            latency,
        };
        let of_instance = Point { usage: Some(usage), visits: Some(visits) };
        figures.add(Subject::Instance(instance.clone()), at, &of_instance);
        let looked = Usage { measured_ms: time(noise), ..Usage::default() };
        let watched = Visits { watched_ms: time(noise), ..Visits::default() };
        figures.add(Subject::Whole, at, &Point { usage: Some(looked), visits: Some(watched) });
    }
    figures
}

/// All that is there of a hundred applications after a month, as the tables of a file.
#[tokio::test]
async fn a_month_of_a_hundred_containers_fits() {
    let db = database(Kind::Sqlite).await;
    with_applications(&db, 100).await;
    let file = db.place.folder.path().join("windlass.db");
    db.close().await;
    let before = std::fs::metadata(&file).unwrap().len();
    let again = db.place.open().await;
    let mut noise = Noise(88_172_645_463_325_252);
    let month = 30 * DAY;
    for (step, from) in [(COARSE, 0), (MINUTE, month - DAY), (FINE, month - 3_600)] {
        for start in (from..month).step_by(step.row as usize) {
            let whole: Vec<(Uuid, Figures)> =
                (1..=100).map(|number| (id(number), busy_row(&mut noise, id(number), step, start))).collect();
            // A row grows, as it does over its time.
            for end in [start + step.row / 2, start + step.row] {
                let packed = |figures: &Figures| figures.within(start..end).pack(step, start);
                let rows: Vec<_> = whole.iter().map(|(id, figures)| (*id, packed(figures))).collect();
                let mut tx = again.begin().await.unwrap();
                put(&mut tx, HERE, step.seconds, start, &rows).await.unwrap();
                tx.commit().await.unwrap();
            }
        }
    }
    again.close().await;
    let grown = std::fs::metadata(&file).unwrap().len() - before;
    println!("a month of a hundred containers: {} KiB", grown / 1024);
    assert!(grown < 20_000_000, "{grown} bytes");
}
