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

on_both_databases!(kind: without_a_mail_server_links_are_only_shown, tokens_are_not_readable_at_rest,
    users_hear_of_changes_of_their_account, a_test_mail_says_what_went_wrong, mails_are_limited,
    a_mail_server_that_is_down_gets_the_mail_later, a_mail_waits_for_no_older_one,
    mails_say_nothing_that_a_client_calls_the_server);

pub const NEW_PASSWORD: &str = "another long password";
/// Not where the server listens: a client that asked there would be told another name.
pub const PUBLIC_URL: &str = "http://windlass.localhost:7780";
pub const LIMIT: Duration = Duration::from_secs(30);

/// A server with a mail server, and perhaps with a worker, who sends what is queued.
pub struct Scene {
    pub server: TestServer,
    pub mails: SmtpServer,
    stop: Option<watch::Sender<bool>>,
}

impl Scene {
    /// Nothing is sent yet.
    pub async fn quiet(kind: Kind, settings: &[(&str, &str)]) -> Self {
        Self::of(kind, SmtpServer::start(), settings).await
    }

    pub async fn new(kind: Kind) -> Self {
        let mut scene = Self::quiet(kind, &[]).await;
        scene.send();
        scene
    }

    pub async fn of(kind: Kind, mails: SmtpServer, settings: &[(&str, &str)]) -> Self {
        let port = mails.port().to_string();
        let own = [
            ("public-url", PUBLIC_URL),
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

    pub fn send(&mut self) {
        let (stop, stopped) = watch::channel(false);
        let registry = notify::add_to(Registry::new(4, 100), &self.server.app);
        tokio::spawn(jobs::run(self.server.app.clone(), Uuid::from_u128(77), registry, stopped));
        self.stop = Some(stop);
    }

    /// The newest mail to this address with these words in its subject, as soon as there are so many.
    pub async fn mail(&self, to: &str, subject: &str, count: usize) -> Mail {
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

    /// Until one mail was tried once, and not taken.
    pub async fn first_try(&self) {
        let deadline = Instant::now() + LIMIT;
        let tried = "update notices set attempts = attempts where attempts = 1 and state = 'waiting'";
        while self.server.place.execute(tried).await == 0 {
            assert!(Instant::now() < deadline, "the mail server was not asked");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        assert!(self.mails.mails().is_empty());
    }

    pub async fn ask_for_a_password(&self, email: &str) {
        self.server.post("/auth/request-password-reset", json!({ "email": email })).ok().await;
        self.server.resets_end().await;
    }

    /// Mails that are queued or tried.
    pub async fn jobs(&self) -> i64 {
        let (waiting, running) =
            windlass_store::jobs::counts(&mut self.server.app.db.read().await.unwrap()).await.unwrap();
        waiting + running
    }

    /// Until nothing is left to be sent now.
    pub async fn until_all_is_sent(&self) {
        let deadline = Instant::now() + LIMIT;
        while self.jobs().await > 0 {
            assert!(Instant::now() < deadline, "a mail waits");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    pub fn subjects_to(&self, to: &str) -> Vec<String> {
        let mails = self.mails.mails();
        mails.iter().filter(|mail| mail.to == [to]).filter_map(|mail| mail.header("subject")).collect()
    }

    pub fn set_password<'a>(&'a self, token: &str, password: &str) -> crate::support::Call<'a> {
        self.server.post("/auth/reset-password", json!({ "token": token, "password": password }))
    }

    pub fn change_email<'a>(&'a self, person: &Person, email: &str) -> crate::support::Call<'a> {
        self.server.patch("/user/email", json!({ "email": email, "password": PASSWORD })).by(person)
    }

    pub fn verify<'a>(&'a self, token: &str) -> crate::support::Call<'a> {
        self.server.post("/auth/verify-email", json!({ "token": token }))
    }

    pub async fn log_in(&self, email: &str, password: &str) -> u16 {
        self.server.post("/auth/login", json!({ "email": email, "password": password })).send().await.status
    }
}

/// The token of a link, which must lead to the dashboard.
pub fn token_of(mail: &Mail, name: &str) -> String {
    let link = mail.link();
    let (address, token) = link.split_once(&format!("/#{name}=")).unwrap_or_else(|| panic!("{link} is no {name}"));
    assert_eq!(address, PUBLIC_URL, "{link}");
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
    let change = json!({ "current_password": PASSWORD, "new_password": NEW_PASSWORD });
    server.post("/auth/password", change).by(&ada).ok().await;
    assert_eq!(server.place.execute("delete from notices").await, 0);
}

async fn mails_say_nothing_that_a_client_calls_the_server(kind: Kind) {
    // One that listens on its own machine alone refuses other names.
    let mut scene = Scene::quiet(kind, &[("listen", "0.0.0.0:0")]).await;
    scene.send();
    let setup_token = scene.server.app.setup_token.reveal();
    let ada = json!({ "email": "ada@example.org", "password": PASSWORD, "token": setup_token });
    let ada = scene.server.register(ada).await;
    let invitation = json!({ "email": "grace@example.org", "organization_id": ada.organization_id });
    let change = json!({ "email": "countess@example.org", "password": PASSWORD });
    let asked = json!({ "email": ada.email });
    let password = json!({ "current_password": PASSWORD, "new_password": NEW_PASSWORD });
    let calls = [
        scene.server.post("/organizations/invite/send", invitation).by(&ada),
        scene.server.patch("/user/email", change).by(&ada),
        scene.server.post("/auth/request-password-reset", asked),
        scene.server.post("/instance/mail/test", Value::Null).by(&ada),
    ];
    for call in calls {
        lying(call).ok().await;
    }
    scene.server.resets_end().await;
    scene.until_all_is_sent().await;
    // This ends the links, so it comes last.
    lying(scene.server.post("/auth/password", password).by(&ada)).ok().await;
    scene.until_all_is_sent().await;
    let mails = scene.mails.mails();
    assert_eq!(mails.len(), 6, "the address that was to be changed is told too");
    for mail in &mails {
        assert!(!mail.data.contains("evil") && !mail.text().contains("evil"), "{}", mail.data);
        assert!(!mail.text().contains(&scene.server.address.to_string()), "{}", mail.text());
    }
    for (to, subject, name) in [
        ("grace@example.org", "invites you", "invitation"),
        ("countess@example.org", "Is this your", "verify-email"),
        ("ada@example.org", "Set a new password", "reset"),
    ] {
        token_of(&scene.mail(to, subject, 1).await, name);
    }
}

/// As from a client that names the server as it likes.
fn lying(call: crate::support::Call<'_>) -> crate::support::Call<'_> {
    call.header("host", "evil.example:81")
        .header("x-forwarded-host", "evil.example")
        .header("x-forwarded-proto", "https")
        .header("forwarded", "host=evil.example;proto=https")
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
    let is_stored = |text: &str| stored.windows(text.len()).any(|part| part == text.as_bytes());
    assert!(is_stored("countess@example.org"), "this is all of the database");
    for token in [&reset, &verify] {
        assert!(!is_stored(token), "a token can be read in the database");
    }
    scene.set_password(&reset, NEW_PASSWORD).ok().await;
}

async fn users_hear_of_changes_of_their_account(kind: Kind) {
    let scene = Scene::new(kind).await;
    let ada = scene.server.admin().await;
    let change = json!({ "current_password": PASSWORD, "new_password": NEW_PASSWORD });
    scene.server.post("/auth/password", change).by(&ada).ok().await;
    let mail = scene.mail(&ada.email, "Your password was changed", 1).await;
    assert!(mail.text().contains("If it was not you"), "{}", mail.text());
    let grace = scene.server.join(&ada, "grace", Role::Viewer).await;
    let (secret, codes) = second_factor::enable(&scene.server, &grace).await;
    scene.mail(&grace.email, "Your second factor was turned on", 1).await;
    let login = json!({ "email": grace.email, "password": PASSWORD, "code": codes[0] });
    scene.server.post("/auth/login", login).ok().await;
    scene.mail(&grace.email, "A recovery code was used; 9 are left", 1).await;
    scene.server.post("/auth/recovery-codes", json!({ "code": codes[1] })).by(&grace).ok().await;
    scene.mail(&grace.email, "Your recovery codes were renewed", 1).await;
    // What is refused is not told.
    scene.server.post("/auth/disable-2fa", json!({ "code": codes[2] })).by(&grace).fails(401, "invalid_code").await;
    let off = |mails: &[Mail]| {
        mails.iter().filter(|mail| mail.header("subject").is_some_and(|subject| subject.contains("turned off"))).count()
    };
    scene.until_all_is_sent().await;
    assert_eq!(off(&scene.mails.mails()), 0);
    scene.server.get("/user").by(&grace).ok().await;
    scene.server.app.clock.advance_seconds(60);
    let code = second_factor::code(&scene.server, &secret);
    scene.server.post("/auth/disable-2fa", json!({ "code": code })).by(&grace).ok().await;
    scene.mail(&grace.email, "Your second factor was turned off", 1).await;
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
    // Beyond the limit the answer is the same, as it is for unknown addresses.
    let mut answers = Vec::new();
    for email in [&ada.email, "no-one@example.org"] {
        for _ in 0..4 {
            let reply = scene.server.post("/auth/request-password-reset", json!({ "email": email })).send().await;
            answers.push((reply.status, reply.json));
        }
    }
    assert!(answers.iter().all(|answer| *answer == answers[0] && answer.0 == 200), "{answers:?}");
    scene.server.resets_end().await;
    assert_eq!(scene.jobs().await, 2, "two mails to the address that is known");
    // Neither is a login in their way.
    assert_eq!(scene.log_in(&ada.email, PASSWORD).await, 200);
    // Another address is another count, up to ten times as many of one user.
    for number in 0..20 {
        scene.change_email(&ada, &format!("ada-{number}@example.org")).ok().await;
    }
    scene.change_email(&ada, "one-too-many@example.org").fails(429, "rate_limited").await;
    let invitation = json!({ "email": "grace@example.org", "organization_id": ada.organization_id });
    scene.server.post("/organizations/invite/send", invitation).by(&ada).fails(429, "rate_limited").await;
    let told = scene.server.place.execute("delete from notices where recipient = 'ada@example.org'").await;
    assert_eq!(told, 4, "two links, and two of twenty times that another address was asked for");
    scene.server.app.clock.advance_seconds(3_600);
    scene.change_email(&ada, "one-too-many@example.org").ok().await;
    scene.ask_for_a_password(&ada.email).await;
    let told = scene.server.place.execute("delete from notices where recipient = 'ada@example.org'").await;
    assert_eq!(told, 2, "an hour later both are told again");
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

async fn a_mail_waits_for_no_older_one(kind: Kind) {
    let scene = Scene::new(kind).await;
    let ada = scene.server.admin().await;
    scene.mails.say("RCPT", "451 4.3.0 Try again later");
    scene.ask_for_a_password(&ada.email).await;
    scene.first_try().await;
    scene.mails.go_on();
    // The server's clock stands still, so the first one's next try does not come by itself; nor does it because of the second.
    scene.change_email(&ada, "countess@example.org").ok().await;
    scene.mail(&ada.email, "Another e-mail address", 1).await;
    scene.mail("countess@example.org", "Is this your", 1).await;
    assert_eq!(scene.subjects_to(&ada.email), ["Another e-mail address was asked for"]);
}
