use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use hyper::header::AUTHORIZATION;

use super::*;
use crate::password::hash_password;

const HOME: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1));
const ELSEWHERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 2));

fn user(name: &str, password: &str, iterations: u32) -> SignInUser {
    let kept = hash_password(password, iterations).unwrap();
    SignInUser { name: name.into(), iterations, salt: kept.salt, hash: kept.hash }
}

fn sign_in(users: Vec<SignInUser>) -> Arc<SignIn> {
    SignIn::new(&SignInSpec { realm: "Staff".into(), users }, None)
}

fn given(name: &str, password: &str) -> HeaderMap {
    let text = format!("Basic {}", BASE64_STANDARD.encode(format!("{name}:{password}")));
    HeaderMap::from_iter([(AUTHORIZATION, HeaderValue::try_from(text).unwrap())])
}

fn checks() -> PasswordChecks {
    PasswordChecks::with(2, LONGEST_WAIT).unwrap()
}

#[tokio::test]
async fn the_right_password_of_a_user_comes_in() {
    let (sign_in, checks) = (sign_in(vec![user("ann", "one:two", 10), user("zoë", "", 20)]), checks());
    for _ in 0..2 {
        assert_eq!(sign_in.check(&checks, &given("ann", "one:two"), HOME).await, Ok(()));
        assert_eq!(sign_in.check(&checks, &given("zoë", ""), HOME).await, Ok(()));
        for (name, password) in [("ann", "one"), ("ann", ""), ("zoë", "one:two"), ("bob", "one:two")] {
            let refused = sign_in.check(&checks, &given(name, password), HOME).await;
            assert_eq!(refused, Err(SignInRefusal::NotSignedIn), "{name}");
        }
    }
    assert_eq!(sign_in.check(&checks, &HeaderMap::new(), HOME).await, Err(SignInRefusal::NotSignedIn));
}

#[tokio::test]
async fn without_users_no_visitor_comes_in() {
    let (sign_in, checks) = (sign_in(vec![]), checks());
    assert_eq!(sign_in.check(&checks, &given("", ""), HOME).await, Err(SignInRefusal::NotSignedIn));
}

/// A right password is compared once: the next time there is no turn to wait for.
#[tokio::test]
async fn right_passwords_are_remembered_until_the_users_change() {
    let users = vec![user("ann", "secret", 10), user("bob", "secret", 10)];
    let (sign_in, checks) = (sign_in(users), PasswordChecks::with(1, Duration::from_millis(20)).unwrap());
    assert_eq!(sign_in.check(&checks, &given("ann", "secret"), HOME).await, Ok(()));
    let turn = checks.turn(&sign_in.turn).await;
    assert_eq!(sign_in.check(&checks, &given("ann", "secret"), ELSEWHERE).await, Ok(()));
    for (name, password) in [("ann", "wrong"), ("bob", "secret"), ("eve", "secret")] {
        assert_eq!(sign_in.check(&checks, &given(name, password), HOME).await, Err(SignInRefusal::Busy), "{name}");
    }
    let same = SignIn::new(&sign_in.spec, Some(&sign_in));
    assert_eq!(same.check(&checks, &given("ann", "secret"), HOME).await, Ok(()));
    let changed = SignInSpec { users: vec![user("ann", "other", 10)], ..sign_in.spec.clone() };
    let changed = SignIn::new(&changed, Some(&sign_in));
    assert_eq!(changed.check(&checks, &given("ann", "secret"), HOME).await, Err(SignInRefusal::Busy));
    drop(turn);
    assert_eq!(changed.check(&checks, &given("ann", "secret"), HOME).await, Err(SignInRefusal::NotSignedIn));
    let another = PasswordChecks::with(1, LONGEST_WAIT).unwrap();
    assert!(!sign_in.remembers(&another, &Credentials::read(&given("ann", "secret")).unwrap()), "of another process");
}

#[tokio::test]
async fn a_household_with_too_many_wrong_passwords_must_wait() {
    let (sign_in, checks) = (sign_in(vec![user("ann", "secret", 10), user("bob", "other", 10)]), checks());
    assert_eq!(sign_in.check(&checks, &given("ann", "secret"), HOME).await, Ok(()));
    for _ in 0..WRONG_PER_MINUTE {
        let refused = sign_in.check(&checks, &given("ann", "wrong"), HOME).await;
        assert_eq!(refused, Err(SignInRefusal::NotSignedIn));
    }
    let refused = sign_in.check(&checks, &given("bob", "other"), HOME).await;
    assert!(matches!(refused, Err(SignInRefusal::TooManyTries(wait)) if wait > Duration::from_secs(3)), "{refused:?}");
    assert_eq!(sign_in.check(&checks, &given("ann", "secret"), HOME).await, Ok(()), "remembered");
    let changed = SignInSpec { realm: "Other".into(), ..sign_in.spec.clone() };
    let changed = SignIn::new(&changed, Some(&sign_in));
    let refused = changed.check(&checks, &given("bob", "other"), HOME).await;
    assert!(matches!(refused, Err(SignInRefusal::TooManyTries(_))), "{refused:?}");
    assert_eq!(sign_in.check(&checks, &given("bob", "other"), ELSEWHERE).await, Ok(()));
}

/// All services share the turns, so wrong passwords count wherever they are given; and those of neighbours together.
#[tokio::test]
async fn wrong_passwords_count_at_all_services() {
    let (one, other, checks) =
        (sign_in(vec![user("ann", "secret", 1)]), sign_in(vec![user("bob", "secret", 1)]), checks());
    for _ in 0..WRONG_PER_MINUTE {
        one.check(&checks, &given("ann", "wrong"), HOME).await.unwrap_err();
    }
    let refused = other.check(&checks, &given("bob", "secret"), HOME).await;
    assert!(matches!(refused, Err(SignInRefusal::TooManyTries(_))), "{refused:?}");
    for number in 0..WRONG_NEARBY_PER_MINUTE {
        let neighbour: IpAddr = format!("2001:db8:7:{number:x}::1").parse().unwrap();
        let refused = one.check(&checks, &given("ann", "wrong"), neighbour).await;
        assert_eq!(refused, Err(SignInRefusal::NotSignedIn), "{number}");
    }
    let refused = other.check(&checks, &given("bob", "secret"), "2001:db8:7:ffff::1".parse().unwrap()).await;
    assert!(matches!(refused, Err(SignInRefusal::TooManyTries(_))), "{refused:?}");
    assert_eq!(other.check(&checks, &given("bob", "secret"), "2001:db8:8::1".parse().unwrap()).await, Ok(()));
}

/// One that many guess at leaves the other turns to others.
#[tokio::test]
async fn a_service_has_one_turn() {
    let (busy, other) = (sign_in(vec![user("ann", "secret", 1)]), sign_in(vec![user("ann", "secret", 1)]));
    let checks = PasswordChecks::with(2, Duration::from_millis(20)).unwrap();
    let _turn = checks.turn(&busy.turn).await.unwrap();
    assert_eq!(busy.check(&checks, &given("ann", "secret"), HOME).await, Err(SignInRefusal::Busy));
    assert_eq!(other.check(&checks, &given("ann", "secret"), HOME).await, Ok(()));
}

/// A visitor who leaves before the end is counted too.
#[tokio::test]
async fn leaving_does_not_make_a_password_less_wrong() {
    let (sign_in, checks) = (sign_in(vec![user("ann", "secret", 20_000)]), checks());
    for _ in 0..WRONG_PER_MINUTE {
        let headers = given("ann", "wrong");
        let leaving = tokio::time::timeout(Duration::ZERO, sign_in.check(&checks, &headers, HOME));
        assert!(leaving.await.is_err());
        drop(checks.turns.acquire_many(2).await.unwrap());
    }
    let refused = sign_in.check(&checks, &given("ann", "wrong"), HOME).await;
    assert!(matches!(refused, Err(SignInRefusal::TooManyTries(_))), "{refused:?}");
}

/// More than a household may have wrong, and all of them right: a page with a hundred pictures.
#[tokio::test]
async fn a_group_of_requests_comes_in() {
    let (sign_in, checks) = (sign_in(vec![user("ann", "secret", 50_000)]), Arc::new(checks()));
    let mut group = tokio::task::JoinSet::new();
    for _ in 0..100 {
        let (sign_in, checks) = (sign_in.clone(), checks.clone());
        group.spawn(async move { sign_in.check(&checks, &given("ann", "secret"), HOME).await });
    }
    assert!(group.join_all().await.iter().all(Result::is_ok));
}

#[test]
fn a_name_takes_as_long_whether_it_is_known_or_not() {
    let sign_in = sign_in(vec![user("ann", "secret", 3000), user("bob", "secret", 10)]);
    let mut times = [Duration::MAX; 3];
    // The shortest of each, in turns: others may use the processor for a while.
    for _ in 0..100 {
        for (name, shortest) in ["ann", "bob", "eve"].into_iter().zip(&mut times) {
            let started = Instant::now();
            assert!(!sign_in.user(name).has_password(b"wrong"));
            *shortest = (*shortest).min(started.elapsed());
        }
    }
    let (least, most) = (times.iter().min().unwrap(), times.iter().max().unwrap());
    assert!(*most < *least * 2, "{times:?}");
}

#[test]
fn the_challenge_names_the_realm() {
    let spec = SignInSpec { realm: "Zoë's staff".into(), users: vec![] };
    let challenge = SignIn::new(&spec, None).challenge.clone();
    assert_eq!(challenge.as_bytes(), "Basic realm=\"Zoë's staff\", charset=\"UTF-8\"".as_bytes());
}
