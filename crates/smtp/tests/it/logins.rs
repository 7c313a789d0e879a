//! Credentials: taken, refused, and never where they may be read.

use windlass_smtp::{Credentials, Security, Server, SmtpError, send};
use windlass_testing::smtp::{Manner, Security as Secured, SmtpServer};

use crate::support::{LIMITS, local, mail, scripted, server, trusting, with_login};

const LOGIN: (&str, &str) = ("ada", "käse\" \\");

#[tokio::test]
async fn a_login_is_made_in_each_way_over_each_security() {
    for (security, secured) in
        [(Security::None, Secured::None), (Security::Starttls, Secured::Starttls), (Security::Tls, Secured::Tls)]
    {
        for mechanisms in ["PLAIN", "LOGIN", "CRAM-MD5 LOGIN", "LOGIN PLAIN"] {
            let receiver =
                SmtpServer::with(Manner { security: secured, login: Some(LOGIN), mechanisms, ..Manner::default() });
            let server = with_login(receiver.port(), security);
            send(&server, &mail(), LIMITS, &trusting(&receiver).await).await.unwrap();
            let arrived = receiver.mails().remove(0);
            assert_eq!(arrived.user.as_deref(), Some("ada"), "{mechanisms}");
            assert_eq!(arrived.is_encrypted, security != Security::None);
        }
    }
}

#[tokio::test]
async fn a_wrong_password_is_told_with_the_servers_words() {
    for mechanisms in ["PLAIN", "LOGIN"] {
        let receiver = SmtpServer::with(Manner { login: Some(LOGIN), mechanisms, ..Manner::default() });
        let mut server = with_login(receiver.port(), Security::None);
        server.credentials = Some(Credentials { user: "ada".to_owned(), password: "secret-guess".to_owned() });
        let refused = send(&server, &mail(), LIMITS, &local().await).await.unwrap_err();
        assert!(
            matches!(&refused, SmtpError::AuthenticationRefused { answer, .. } if answer.code == 535),
            "{refused:?}"
        );
        assert!(!refused.is_temporary());
        assert!(!format!("{refused} {refused:?} {server:?}").contains("secret-guess"));
    }
}

/// Servers quote what they were sent. Wherever the words are cut, nothing is left of a password.
#[tokio::test]
async fn what_a_server_quotes_shows_no_credentials() {
    for (before, quoted) in [
        (0, "secret-guess"),
        (495, "secret-guess"),
        // Of the password, and of both as AUTH PLAIN sends them.
        (490, "c2VjcmV0LWd1ZXNz"),
        (480, "AGFkYQBzZWNyZXQtZ3Vlc3M="),
    ] {
        let receiver = SmtpServer::with(Manner { login: Some(LOGIN), ..Manner::default() });
        receiver.say("AUTH", &format!("535 {}{quoted} is wrong", "x".repeat(before)));
        let mut server = with_login(receiver.port(), Security::None);
        server.credentials = Some(Credentials { user: "ada".to_owned(), password: "secret-guess".to_owned() });
        let refused = send(&server, &mail(), LIMITS, &local().await).await.unwrap_err().to_string();
        assert!(refused.contains("****") && !refused.contains(&quoted[..4]), "{refused}");
    }
}

#[tokio::test]
async fn a_login_that_fails_for_now_may_be_tried_again() {
    let receiver = SmtpServer::with(Manner { login: Some(LOGIN), ..Manner::default() });
    receiver.say("AUTH", "454 4.7.0 Temporary failure");
    let server = with_login(receiver.port(), Security::None);
    assert!(send(&server, &mail(), LIMITS, &local().await).await.unwrap_err().is_temporary());
}

#[tokio::test]
async fn a_server_without_a_known_way_gets_no_credentials() {
    let (address, mut heard) =
        scripted(&["220 hi\r\n", "250-mail.test\r\n250 AUTH CRAM-MD5 XOAUTH2\r\n", "500 what\r\n"]).await;
    let refused = send(&with_login(address.port(), Security::None), &mail(), LIMITS, &local().await).await.unwrap_err();
    assert_eq!(refused, SmtpError::AuthenticationNotOffered { host: "127.0.0.1".to_owned() });
    heard.close();
    while let Some(line) = heard.recv().await {
        assert!(line.is_empty() || line.starts_with("EHLO "), "{line}");
    }
}

#[tokio::test]
async fn credentials_with_zeros_are_refused() {
    for (user, password) in [("a\0b", "c"), ("a", "b\0c")] {
        let credentials = Credentials { user: user.to_owned(), password: password.to_owned() };
        let server = Server { credentials: Some(credentials), ..server(1, Security::None) };
        assert_eq!(send(&server, &mail(), LIMITS, &local().await).await.unwrap_err(), SmtpError::BadCredentials);
    }
}

#[tokio::test]
async fn a_server_that_wants_a_login_refuses_a_mail_without() {
    let receiver = SmtpServer::with(Manner { login: Some(LOGIN), ..Manner::default() });
    let refused = send(&server(receiver.port(), Security::None), &mail(), LIMITS, &local().await).await.unwrap_err();
    assert!(matches!(&refused, SmtpError::SenderRefused { answer, .. } if answer.code == 530), "{refused:?}");
}
