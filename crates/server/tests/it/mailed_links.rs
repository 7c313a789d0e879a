//! Links that are mailed: for a new password, to another address, to an organization.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use windlass_api::Role;
use windlass_server::app::RESET_REQUESTS;
use windlass_store::Kind;
use windlass_testing::on_both_databases;

use crate::mails::{LIMIT, NEW_PASSWORD, PUBLIC_URL, Scene, token_of};
use crate::second_factor;
use crate::support::{PASSWORD, kind};

on_both_databases!(kind: a_forgotten_password_is_set_anew, a_link_that_is_asked_for_ends_no_other,
    a_request_is_answered_in_time_whatever_it_finds, only_some_requests_are_worked_on_at_once,
    a_link_that_does_not_work_any_more_is_not_sent, an_unknown_address_gets_the_same_answer, an_invitation_is_mailed,
    an_address_changes_when_its_link_is_opened, another_address_takes_the_second_factor,
    an_address_that_is_taken_stays_where_it_is, a_new_password_ends_a_change_of_the_address,
    a_mail_whose_link_has_ended_is_not_sent);

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
    scene.set_password("of no link", NEW_PASSWORD).fails(404, "not_found").await;
    scene.server.get("/user").by(&ada).ok().await;
    scene.set_password(&first, NEW_PASSWORD).ok().await;
    // A password that was set ends the others.
    for token in [&first, &second] {
        scene.set_password(token, PASSWORD).fails(404, "not_found").await;
    }
    scene.server.get("/user").by(&ada).fails(401, "unauthenticated").await;
    assert_eq!((scene.log_in(&ada.email, PASSWORD).await, scene.log_in(&ada.email, NEW_PASSWORD).await), (401, 200));
    scene.mail(&ada.email, "Your password was changed by a link", 1).await;
    // Half an hour later a link is of no use.
    scene.ask_for_a_password(&ada.email).await;
    let third = token_of(&scene.mail(&ada.email, "Set a new password", 3).await, "reset");
    scene.server.app.clock.advance_seconds(30 * 60);
    scene.set_password(&third, PASSWORD).fails(404, "not_found").await;
}

async fn a_link_that_is_asked_for_ends_no_other(kind: Kind) {
    let scene = Scene::quiet(kind, &[("account-mails", "2")]).await;
    let ada = scene.server.admin().await;
    let make = async || {
        let path = format!("/instance/users/{}/password-reset", ada.user_id);
        let made = scene.server.post(&path, Value::Null).by(&ada).ok().await;
        assert!(made["link"].as_str().unwrap().starts_with(PUBLIC_URL), "{made}");
        made["token"].as_str().unwrap().to_owned()
    };
    let (replaced, made) = (make().await, make().await);
    // A stranger asks again and again.
    for _ in 0..5 {
        scene.ask_for_a_password(&ada.email).await;
    }
    assert_eq!(scene.jobs().await, 2);
    scene.set_password(&replaced, NEW_PASSWORD).fails(404, "not_found").await;
    scene.set_password(&made, NEW_PASSWORD).ok().await;
    assert_eq!(scene.log_in(&ada.email, NEW_PASSWORD).await, 200);
}

async fn a_request_is_answered_in_time_whatever_it_finds(kind: Kind) {
    let scene = Scene::quiet(kind, &[]).await;
    let ada = scene.server.admin().await;
    // Another task holds the account, and with SQLite the database.
    let mut tx = scene.server.app.db.begin().await.unwrap();
    windlass_store::second_factors::hold_state(&mut tx, ada.user_id).await.unwrap();
    let mut answers = Vec::new();
    for email in [&ada.email, "no-one@example.org"] {
        let ask = scene.server.post("/auth/request-password-reset", json!({ "email": email })).send();
        let reply = tokio::time::timeout(LIMIT, ask).await.expect("it waits for what is held");
        answers.push((reply.status, reply.json));
    }
    assert_eq!(answers[0], answers[1]);
    assert_eq!(answers[0].0, 200);
    assert!(scene.server.app.reset_requests.available_permits() < RESET_REQUESTS, "it is worked on after the answer");
    drop(tx);
    scene.server.resets_end().await;
    assert_eq!(scene.jobs().await, 1);
}

async fn only_some_requests_are_worked_on_at_once(kind: Kind) {
    let scene = Scene::quiet(kind, &[]).await;
    let ada = scene.server.admin().await;
    let all = u32::try_from(RESET_REQUESTS).unwrap();
    let held = scene.server.app.reset_requests.clone().acquire_many_owned(all).await.unwrap();
    let mut answers = Vec::new();
    for email in [&ada.email, "no-one@example.org"] {
        let ask = scene.server.post("/auth/request-password-reset", json!({ "email": email }));
        answers.push(ask.fails(429, "rate_limited").await);
    }
    assert_eq!(answers[0], answers[1]);
    drop(held);
    scene.ask_for_a_password(&ada.email).await;
    assert_eq!(scene.jobs().await, 1);
}

async fn a_link_that_does_not_work_any_more_is_not_sent(kind: Kind) {
    let mut scene = Scene::quiet(kind, &[]).await;
    let ada = scene.server.admin().await;
    let invite = async |name: &str| {
        let body = json!({ "email": format!("{name}@example.org"), "organization_id": ada.organization_id });
        scene.server.post("/organizations/invite/send", body).by(&ada).ok().await
    };
    let withdrawn = invite("withdrawn").await;
    let path = format!("/organizations/invites/{}", withdrawn["invitation"]["id"].as_str().unwrap());
    scene.server.delete(&path).by(&ada).ok().await;
    let replaced = invite("grace").await["token"].clone();
    let newest = invite("grace").await["token"].clone();
    assert_ne!(replaced, newest);
    for email in ["replaced@example.org", "countess@example.org"] {
        scene.change_email(&ada, email).ok().await;
    }
    let linus = scene.server.join(&ada, "linus", Role::Viewer).await;
    scene.ask_for_a_password(&linus.email).await;
    let change = json!({ "current_password": PASSWORD, "new_password": NEW_PASSWORD });
    scene.server.post("/auth/password", change).by(&linus).ok().await;
    scene.send();
    scene.until_all_is_sent().await;
    assert_eq!(scene.subjects_to("withdrawn@example.org"), [""; 0]);
    assert_eq!(scene.subjects_to("replaced@example.org"), [""; 0]);
    assert_eq!(scene.subjects_to(&linus.email), ["Your password was changed"], "neither invitation nor link");
    assert_eq!(scene.subjects_to("countess@example.org"), ["Is this your e-mail address?"]);
    assert_eq!(scene.subjects_to("grace@example.org").len(), 1);
    let mail = scene.mail("grace@example.org", "invites you", 1).await;
    assert_eq!(json!(token_of(&mail, "invitation")), newest);
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
    scene.server.resets_end().await;
    assert_eq!(scene.jobs().await, 1, "one mail is queued, to the address that is known");
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
    scene.until_all_is_sent().await;
    assert_eq!(scene.mails.mails().len(), 2);
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
    // The present address is told while there is still something to be done about it.
    let told = scene.mail("grace@example.org", "Another e-mail address was asked for", 1).await;
    assert!(told.text().contains("amazing@") && told.text().contains("If it was not you"), "{}", told.text());
    let replaced = token_of(&scene.mail("amazing@example.org", "Is this your", 1).await, "verify-email");
    assert!(!told.data.contains(&replaced), "who reads the mails of the present address has not the other one");
    scene.change_email(&grace, "hopper@example.org").ok().await;
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

async fn another_address_takes_the_second_factor(kind: Kind) {
    let scene = Scene::quiet(kind, &[]).await;
    let ada = scene.server.admin().await;
    let (secret, codes) = second_factor::enable(&scene.server, &ada).await;
    let ask = |code: &Value| {
        let body = json!({ "email": "countess@example.org", "password": PASSWORD, "code": code });
        scene.server.patch("/user/email", body).by(&ada)
    };
    let before = scene.jobs().await;
    scene.change_email(&ada, "countess@example.org").fails(401, "code_required").await;
    ask(&json!("000000")).fails(401, "invalid_code").await;
    assert_eq!(scene.jobs().await, before, "nothing is sent");
    scene.server.app.clock.advance_seconds(60);
    let code = second_factor::code(&scene.server, &secret);
    ask(&json!(code)).ok().await;
    ask(&json!(code)).fails(401, "invalid_code").await;
    // The link, and a word to the present address.
    assert_eq!(scene.jobs().await, before + 2);
    ask(&codes[0]).ok().await;
    ask(&codes[0]).fails(401, "invalid_code").await;
    assert_eq!(scene.jobs().await, before + 5, "that a recovery code was used is told too");
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
