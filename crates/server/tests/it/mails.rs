//! Mails of Windlass itself, as a mail server gets them.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::sync::watch;
use uuid::Uuid;
use windlass_api::Role;
use windlass_server::jobs::{self, Registry};
use windlass_server::notify;
use windlass_store::Kind;
use windlass_testing::on_both_databases;
use windlass_testing::smtp::{Mail, Manner, Security, SmtpServer};

use crate::second_factor;
use crate::support::{PASSWORD, Person, TestServer, kind};

on_both_databases!(kind: without_a_mail_server_links_are_only_shown, a_forgotten_password_is_set_anew,
    an_unknown_address_gets_the_same_answer, a_mail_whose_link_has_ended_is_not_sent, tokens_are_not_readable_at_rest,
    an_invitation_is_mailed, an_address_changes_when_its_link_is_opened, an_address_that_is_taken_stays_where_it_is,
    a_new_password_ends_a_change_of_the_address, users_hear_of_changes_of_their_account, a_test_mail_says_what_went_wrong,
    mails_are_limited, a_mail_server_that_is_down_gets_the_mail_later,
    a_new_link_waits_for_no_older_mail);

const NEW_PASSWORD: &str = "another long password";
const LIMIT: Duration = Duration::from_secs(30);

/// A server with a mail server, and perhaps with a worker, who sends what is queued.
struct Scene {
    server: TestServer,
    mails: SmtpServer,
    stop: Option<watch::Sender<bool>>,
}

impl Scene {
    /// Nothing is sent yet.
    async fn quiet(kind: Kind, settings: &[(&str, &str)]) -> Self {
        Self::of(kind, SmtpServer::start(), settings).await
    }

    async fn new(kind: Kind) -> Self {
        let mut scene = Self::quiet(kind, &[]).await;
        scene.send();
        scene
    }

    async fn of(kind: Kind, mails: SmtpServer, settings: &[(&str, &str)]) -> Self {
        let port = mails.port().to_string();
        let own = [
            ("mail-host", "127.0.0.1"),
            ("mail-port", port.as_str()),
            ("mail-from", "Windlass <windlass@example.org>"),
            ("account-mails", "1000"),
            ("mail-security", "none"),
        ];
        let named = |name: &str| settings.iter().any(|(given, _)| *given == name);
        let own = own.into_iter().filter(|(name, _)| !named(name));
        let settings: Vec<_> = settings.iter().copied().chain(own).collect();
        Self { server: TestServer::with(kind, &settings).await, mails, stop: None }
    }

    fn send(&mut self) {
        let (stop, stopped) = watch::channel(false);
        let registry = notify::add_to(Registry::new(4, 100), &self.server.app);
        tokio::spawn(jobs::run(self.server.app.clone(), Uuid::from_u128(77), registry, stopped));
        self.stop = Some(stop);
    }

    /// The newest mail to this address with these words in its subject, as soon as there are so many.
    async fn mail(&self, to: &str, subject: &str, count: usize) -> Mail {
        let deadline = Instant::now() + LIMIT;
        loop {
            let mails = self.mails.mails();
            let has =
                |mail: &&Mail| mail.to == [to] && mail.header("subject").is_some_and(|text| text.contains(subject));
            let found: Vec<_> = mails.iter().filter(has).collect();
            if found.len() >= count {
                return found[found.len() - 1].clone();
            }
            let subjects: Vec<_> = mails.iter().map(|mail| (&mail.to, mail.header("subject"))).collect();
            assert!(Instant::now() < deadline, "no mail to {to} about {subject}: {subjects:?}");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    async fn first_try(&self) {
        let deadline = Instant::now() + LIMIT;
        while self.mails.connections() == 0 {
            assert!(Instant::now() < deadline, "the mail server was not asked");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    async fn ask_for_a_password(&self, email: &str) {
        self.server.post("/auth/request-password-reset", json!({ "email": email })).ok().await;
    }

    fn set_password<'a>(&'a self, token: &str, password: &str) -> crate::support::Call<'a> {
        self.server.post("/auth/reset-password", json!({ "token": token, "password": password }))
    }

    fn change_email<'a>(&'a self, person: &Person, email: &str) -> crate::support::Call<'a> {
        self.server.patch("/user/email", json!({ "email": email, "password": PASSWORD })).by(person)
    }

    fn verify<'a>(&'a self, token: &str) -> crate::support::Call<'a> {
        self.server.post("/auth/verify-email", json!({ "token": token }))
    }

    async fn log_in(&self, email: &str, password: &str) -> u16 {
        self.server.post("/auth/login", json!({ "email": email, "password": password })).send().await.status
    }
}

/// The token of a link, which must lead to the dashboard.
fn token_of(mail: &Mail, name: &str) -> String {
    let link = mail.link();
    let (address, token) = link.split_once(&format!("/#{name}=")).unwrap_or_else(|| panic!("{link} is no {name}"));
    assert!(address.starts_with("http://127.0.0.1:"), "{link}");
    token.to_owned()
}

async fn without_a_mail_server_links_are_only_shown(kind: Kind) {
    let server = TestServer::with(kind, &[]).await;
    let ada = server.admin().await;
    let mut answers = Vec::new();
    for email in [&ada.email, "no-one@example.org"] {
        let ask = server.post("/auth/request-password-reset", json!({ "email": email }));
        answers.push(ask.fails(409, "no_mail_server").await);
    }
    assert!(answers[0].contains("operator") && answers[0] == answers[1], "{answers:?}");
    let change = json!({ "email": "countess@example.org", "password": PASSWORD });
    server.patch("/user/email", change).by(&ada).fails(409, "no_mail_server").await;
    server.post("/instance/mail/test", Value::Null).by(&ada).fails(409, "no_mail_server").await;
    // An invitation's link is shown, and nothing waits to be sent.
    server.join(&ada, "grace", Role::Viewer).await;
    let jobs = windlass_store::jobs::counts(&mut server.app.db.read().await.unwrap()).await.unwrap();
    assert_eq!(jobs, (0, 0));
}

async fn a_forgotten_password_is_set_anew(kind: Kind) {
    let scene = Scene::new(kind).await;
    let ada = scene.server.admin().await;
    // Addresses are compared in lower case.
    scene.ask_for_a_password("ADA@example.org").await;
    let first = scene.mail(&ada.email, "Set a new password", 1).await;
    assert_eq!((first.from.as_str(), first.is_encrypted, &first.user), ("windlass@example.org", false, &None));
    assert_eq!(first.header("from").as_deref(), Some("Windlass <windlass@example.org>"));
    scene.ask_for_a_password(&ada.email).await;
    let second = scene.mail(&ada.email, "Set a new password", 2).await;
    let (first, second) = (token_of(&first, "reset"), token_of(&second, "reset"));
    scene.set_password(&first, NEW_PASSWORD).fails(404, "not_found").await;
    scene.server.get("/user").by(&ada).ok().await;
    scene.set_password(&second, NEW_PASSWORD).ok().await;
    scene.set_password(&second, PASSWORD).fails(404, "not_found").await;
    scene.server.get("/user").by(&ada).fails(401, "unauthenticated").await;
    assert_eq!((scene.log_in(&ada.email, PASSWORD).await, scene.log_in(&ada.email, NEW_PASSWORD).await), (401, 200));
    scene.mail(&ada.email, "Your password was changed by a link", 1).await;
    // Half an hour later a link is of no use.
    scene.ask_for_a_password(&ada.email).await;
    let third = token_of(&scene.mail(&ada.email, "Set a new password", 3).await, "reset");
    scene.server.app.clock.advance_seconds(30 * 60);
    scene.set_password(&third, PASSWORD).fails(404, "not_found").await;
}

async fn an_unknown_address_gets_the_same_answer(kind: Kind) {
    let scene = Scene::quiet(kind, &[]).await;
    let ada = scene.server.admin().await;
    let mut answers = Vec::new();
    for email in [&ada.email, "no-one@example.org"] {
        let begun = Instant::now();
        let reply = scene.server.post("/auth/request-password-reset", json!({ "email": email })).send().await;
        assert!(begun.elapsed() >= Duration::from_millis(250), "{email} is answered after {:?}", begun.elapsed());
        answers.push((reply.status, reply.json));
    }
    assert_eq!(answers[0], answers[1]);
    assert_eq!(answers[0].0, 200);
    let jobs = windlass_store::jobs::counts(&mut scene.server.app.db.read().await.unwrap()).await.unwrap();
    assert_eq!(jobs.0, 1, "one mail is queued, to the address that is known");
    for bad in [json!({}), json!({ "email": "ada" }), json!({ "email": ada.email, "more": 1 })] {
        scene.server.post("/auth/request-password-reset", bad).fails(400, "invalid_request").await;
    }
    let entries = scene.server.get("/audit/logs?scope=instance&page_size=100").by(&ada).ok().await.to_string();
    assert!(entries.contains("asked for a mail with a link with which ada@example.org can set"), "{entries}");
    assert!(!entries.contains("no-one@example.org"), "{entries}");
}

async fn a_mail_whose_link_has_ended_is_not_sent(kind: Kind) {
    let mut scene = Scene::quiet(kind, &[]).await;
    let ada = scene.server.admin().await;
    scene.ask_for_a_password(&ada.email).await;
    scene.server.app.clock.advance_seconds(30 * 60 + 1);
    scene.send();
    // The one that is asked for now is the only one that comes.
    scene.ask_for_a_password(&ada.email).await;
    let token = token_of(&scene.mail(&ada.email, "Set a new password", 1).await, "reset");
    scene.set_password(&token, NEW_PASSWORD).ok().await;
    scene.mail(&ada.email, "Your password was changed", 1).await;
    assert_eq!(scene.mails.mails().len(), 2);
}

async fn tokens_are_not_readable_at_rest(kind: Kind) {
    let mut scene = Scene::quiet(kind, &[]).await;
    let ada = scene.server.admin().await;
    scene.ask_for_a_password(&ada.email).await;
    scene.change_email(&ada, "countess@example.org").ok().await;
    let stored = scene.server.place.bytes().await;
    scene.send();
    let reset = token_of(&scene.mail(&ada.email, "Set a new password", 1).await, "reset");
    let verify = token_of(&scene.mail("countess@example.org", "Is this your e-mail address?", 1).await, "verify-email");
    for token in [&reset, &verify] {
        let is_stored = stored.windows(token.len()).any(|part| part == token.as_bytes());
        assert!(!is_stored, "a token can be read in the database");
    }
    scene.set_password(&reset, NEW_PASSWORD).ok().await;
}

async fn an_invitation_is_mailed(kind: Kind) {
    let scene = Scene::new(kind).await;
    let ada = scene.server.admin().await;
    let invitation = json!({ "email": "grace@example.org", "role": "member", "organization_id": ada.organization_id });
    let made = scene.server.post("/organizations/invite/send", invitation).by(&ada).send().await;
    assert_eq!(made.status, 200, "{}", made.text);
    assert!(made.json["message"].as_str().unwrap().contains("mailed"), "{}", made.text);
    let mail = scene.mail("grace@example.org", "Ada invites you to Analytical Engines", 1).await;
    assert!(mail.text().contains("as member"), "{}", mail.text());
    let token = token_of(&mail, "invitation");
    // Those who invite see it too, as without a mail server.
    assert_eq!(made.json["data"]["token"], json!(token));
    let register = json!({ "email": "grace@example.org", "password": PASSWORD, "token": token, "username": "Grace" });
    scene.server.post("/auth/register", register).ok().await;
}

async fn an_address_changes_when_its_link_is_opened(kind: Kind) {
    let scene = Scene::new(kind).await;
    let ada = scene.server.admin().await;
    let grace = scene.server.join(&ada, "grace", Role::Viewer).await;
    let wrong = json!({ "email": "hopper@example.org", "password": "not the password" });
    let problem = scene.server.patch("/user/email", wrong).by(&grace).fails(400, "invalid_request").await;
    assert!(problem.starts_with("password: "), "{problem}");
    let asked = scene.change_email(&grace, "Amazing@example.org").ok().await;
    assert_eq!(asked, json!({ "email": "amazing@example.org", "expires_at": "2026-01-02T00:00:00.000000Z" }));
    scene.change_email(&grace, "hopper@example.org").ok().await;
    let replaced = token_of(&scene.mail("amazing@example.org", "Is this your", 1).await, "verify-email");
    let token = token_of(&scene.mail("hopper@example.org", "Is this your", 1).await, "verify-email");
    // Until then nothing changes.
    assert_eq!(scene.server.get("/user").by(&grace).ok().await["email"], "grace@example.org");
    scene.verify(&replaced).fails(404, "not_found").await;
    scene.verify(&token).ok().await;
    scene.verify(&token).fails(404, "not_found").await;
    let user = scene.server.get("/user").by(&grace).ok().await;
    assert_eq!((&user["email"], &user["is_verified"]), (&json!("hopper@example.org"), &json!(true)));
    assert_eq!(
        (scene.log_in("grace@example.org", PASSWORD).await, scene.log_in("hopper@example.org", PASSWORD).await),
        (401, 200)
    );
    scene.mail("grace@example.org", "Your e-mail address was changed", 1).await;
    let problem = scene.change_email(&grace, "hopper@example.org").fails(400, "invalid_request").await;
    assert!(problem.starts_with("email: "), "{problem}");
    // A day later a link is of no use.
    scene.change_email(&grace, "late@example.org").ok().await;
    let late = token_of(&scene.mail("late@example.org", "Is this your", 1).await, "verify-email");
    scene.server.app.clock.advance_seconds(24 * 3_600);
    scene.verify(&late).fails(404, "not_found").await;
    let entries = scene.server.get("/audit/logs?scope=instance&page_size=100").by(&ada).ok().await.to_string();
    assert!(entries.contains("grace proved to have the e-mail address hopper@example.org"), "{entries}");
}

async fn an_address_that_is_taken_stays_where_it_is(kind: Kind) {
    let scene = Scene::new(kind).await;
    let ada = scene.server.admin().await;
    let grace = scene.server.join(&ada, "grace", Role::Viewer).await;
    // Who asks does not learn that there is such a user; who can read their mails does.
    scene.change_email(&grace, &ada.email).ok().await;
    let token = token_of(&scene.mail(&ada.email, "Is this your", 1).await, "verify-email");
    scene.verify(&token).fails(409, "email_taken").await;
    assert_eq!(scene.server.get("/user").by(&grace).ok().await["email"], "grace@example.org");
    assert_eq!(scene.server.get("/user").by(&ada).ok().await["email"], "ada@example.org");
}

async fn a_new_password_ends_a_change_of_the_address(kind: Kind) {
    let scene = Scene::new(kind).await;
    let ada = scene.server.admin().await;
    scene.change_email(&ada, "countess@example.org").ok().await;
    let token = token_of(&scene.mail("countess@example.org", "Is this your", 1).await, "verify-email");
    let change = json!({ "current_password": PASSWORD, "new_password": NEW_PASSWORD });
    scene.server.post("/auth/password", change).by(&ada).ok().await;
    scene.verify(&token).fails(404, "not_found").await;
    // And another address ends a link that was sent to the one before.
    scene.ask_for_a_password(&ada.email).await;
    let reset = token_of(&scene.mail(&ada.email, "Set a new password", 1).await, "reset");
    let change = json!({ "email": "countess@example.org", "password": NEW_PASSWORD });
    scene.server.patch("/user/email", change).by(&ada).ok().await;
    let token = token_of(&scene.mail("countess@example.org", "Is this your", 2).await, "verify-email");
    scene.verify(&token).ok().await;
    scene.set_password(&reset, PASSWORD).fails(404, "not_found").await;
}

async fn users_hear_of_changes_of_their_account(kind: Kind) {
    let scene = Scene::new(kind).await;
    let ada = scene.server.admin().await;
    let change = json!({ "current_password": PASSWORD, "new_password": NEW_PASSWORD });
    scene.server.post("/auth/password", change).by(&ada).ok().await;
    let mail = scene.mail(&ada.email, "Your password was changed", 1).await;
    assert!(mail.text().contains("If it was not you"), "{}", mail.text());
    let grace = scene.server.join(&ada, "grace", Role::Viewer).await;
    let (_, codes) = second_factor::enable(&scene.server, &grace).await;
    scene.mail(&grace.email, "Your second factor was turned on", 1).await;
    let login = json!({ "email": grace.email, "password": PASSWORD, "code": codes[0] });
    scene.server.post("/auth/login", login).ok().await;
    scene.mail(&grace.email, "A recovery code was used to log in", 1).await;
    scene.server.post("/auth/recovery-codes", json!({ "code": codes[1] })).by(&grace).ok().await;
    scene.mail(&grace.email, "Your recovery codes were renewed", 1).await;
    // What is refused is not told.
    scene.server.post("/auth/disable-2fa", json!({ "code": codes[2] })).by(&grace).fails(401, "invalid_code").await;
    let off = |mails: &[Mail]| {
        mails.iter().filter(|mail| mail.header("subject").is_some_and(|subject| subject.contains("turned off"))).count()
    };
    assert_eq!(off(&scene.mails.mails()), 0);
    for mail in scene.mails.mails() {
        assert!(!mail.data.contains(NEW_PASSWORD) && !mail.data.contains(codes[0].as_str().unwrap()), "{}", mail.data);
    }
}

async fn a_test_mail_says_what_went_wrong(kind: Kind) {
    let manner =
        Manner { security: Security::Starttls, login: Some(("ops", "a very secret password")), ..Manner::default() };
    let mails = SmtpServer::with(manner);
    let folder = tempfile::tempdir().unwrap();
    let roots = folder.path().join("roots.pem");
    std::fs::write(&roots, mails.certificate()).unwrap();
    let settings = [
        ("mail-security", "starttls"),
        ("mail-username", "ops"),
        ("mail-password", "a very secret password"),
        ("mail-roots-file", roots.to_str().unwrap()),
    ];
    let scene = Scene::of(kind, mails, &settings).await;
    let ada = scene.server.admin().await;
    let grace = scene.server.join(&ada, "grace", Role::Owner).await;
    let test = || scene.server.post("/instance/mail/test", Value::Null);
    test().fails(401, "unauthenticated").await;
    test().by(&grace).fails(403, "forbidden").await;
    test().by(&ada).ok().await;
    let mail = scene.mails.mails()[0].clone();
    assert_eq!((&mail.to[..], mail.is_encrypted, mail.user.as_deref()), (&[ada.email.clone()][..], true, Some("ops")));
    for (command, line) in [
        ("AUTH", "535 5.7.8 No such login"),
        ("MAIL", "550 5.7.1 Not from there"),
        ("RCPT", "550 5.1.1 No such mailbox"),
        ("END", "552 5.2.2 The mailbox is full"),
        ("CONNECT", "554 5.3.2 Closed for today"),
    ] {
        scene.mails.say(command, line);
        let problem = test().by(&ada).fails(502, "mail_failed").await;
        let words = &line[10..];
        assert!(problem.contains(words), "{command}: {problem}");
        assert!(!problem.contains("a very secret password"), "{problem}");
        scene.mails.go_on();
    }
    scene.mails.close_at("DATA");
    let problem = test().by(&ada).fails(502, "mail_failed").await;
    assert!(problem.contains("closed the connection"), "{problem}");
    scene.mails.go_on();
    test().by(&ada).ok().await;
    // A certificate that no root here has signed.
    let other =
        Scene::of(kind, SmtpServer::with(Manner { login: None, ..manner }), &[("mail-security", "starttls")]).await;
    let ada = other.server.admin().await;
    let problem = other.server.post("/instance/mail/test", Value::Null).by(&ada).fails(502, "mail_failed").await;
    assert!(problem.to_lowercase().contains("certificate"), "{problem}");
    let entries = other.server.get("/audit/logs?scope=instance&page_size=100").by(&ada).ok().await.to_string();
    assert!(entries.contains("Ada tried to send themselves a test mail"), "{entries}");
}

async fn mails_are_limited(kind: Kind) {
    let scene = Scene::quiet(kind, &[("account-mails", "2")]).await;
    let ada = scene.server.admin().await;
    for email in [&ada.email, "no-one@example.org"] {
        for _ in 0..2 {
            scene.ask_for_a_password(email).await;
        }
        let ask = scene.server.post("/auth/request-password-reset", json!({ "email": email }));
        ask.fails(429, "rate_limited").await;
    }
    // Another address is another count, up to ten times as many of one user.
    for number in 0..20 {
        scene.change_email(&ada, &format!("ada-{number}@example.org")).ok().await;
    }
    scene.change_email(&ada, "one-too-many@example.org").fails(429, "rate_limited").await;
    let invitation = json!({ "email": "grace@example.org", "organization_id": ada.organization_id });
    scene.server.post("/organizations/invite/send", invitation).by(&ada).fails(429, "rate_limited").await;
    scene.server.app.clock.advance_seconds(3_600);
    scene.change_email(&ada, "one-too-many@example.org").ok().await;
}

async fn a_mail_server_that_is_down_gets_the_mail_later(kind: Kind) {
    let scene = Scene::new(kind).await;
    let ada = scene.server.admin().await;
    scene.mails.say("RCPT", "451 4.3.0 Try again later");
    scene.ask_for_a_password(&ada.email).await;
    scene.first_try().await;
    scene.mails.go_on();
    let deadline = Instant::now() + LIMIT;
    // The server waits some seconds after the first try, and longer after each.
    while scene.mails.mails().is_empty() {
        assert!(Instant::now() < deadline, "the mail does not come");
        scene.server.app.clock.advance_seconds(10);
        scene.server.app.jobs_waiting.notify_one();
        tokio::time::sleep(Duration::from_millis(250)).await;
    }
    assert_eq!(scene.mails.mails().len(), 1);
}

async fn a_new_link_waits_for_no_older_mail(kind: Kind) {
    let scene = Scene::new(kind).await;
    let ada = scene.server.admin().await;
    scene.mails.say("RCPT", "451 4.3.0 Try again later");
    scene.ask_for_a_password(&ada.email).await;
    scene.first_try().await;
    scene.mails.go_on();
    // The server's clock stands still, so the first one's next try does not come by itself.
    scene.ask_for_a_password(&ada.email).await;
    scene.mail(&ada.email, "Set a new password", 2).await;
}
