//! TLS: whom the client trusts, and what it does when there is none.

use windlass_outgoing::{CallError, Outgoing, Settings};
use windlass_smtp::{Phase, Security, SmtpError, send};
use windlass_testing::smtp::{Manner, Security as Secured, SmtpServer};

use crate::support::{LIMITS, local, mail, scripted, sent_to, server, trusting, with_login};

const BOTH: [(Security, Secured); 2] = [(Security::Starttls, Secured::Starttls), (Security::Tls, Secured::Tls)];

/// Why a server with such a certificate is not trusted.
async fn mistrust(security: Security, manner: Manner) -> String {
    let receiver = SmtpServer::with(manner);
    let server = with_login(receiver.port(), security);
    let refused = send(&server, &mail(), LIMITS, &trusting(&receiver).await).await.unwrap_err();
    assert!(receiver.mails().is_empty() && !refused.is_temporary());
    refused.to_string()
}

#[tokio::test]
async fn a_mail_goes_over_tls() {
    for (security, secured) in BOTH {
        let receiver = SmtpServer::with(Manner { security: secured, ..Manner::default() });
        let server = server(receiver.port(), security);
        send(&server, &mail(), LIMITS, &trusting(&receiver).await).await.unwrap();
        assert!(receiver.mails()[0].is_encrypted);
    }
}

#[tokio::test]
async fn a_certificate_of_an_unknown_issuer_is_refused() {
    let other = SmtpServer::start();
    for (security, secured) in BOTH {
        let receiver = SmtpServer::with(Manner { security: secured, ..Manner::default() });
        let server = with_login(receiver.port(), security);
        let refused = send(&server, &mail(), LIMITS, &trusting(&other).await).await.unwrap_err();
        assert!(matches!(&refused, SmtpError::Connection(CallError::TlsFailed { .. })), "{refused:?}");
        assert!(receiver.mails().is_empty());
    }
}

#[tokio::test]
async fn a_certificate_for_another_name_or_an_expired_one_is_refused() {
    for (security, secured) in BOTH {
        let manner = Manner { security: secured, login: Some(("ada", "x")), ..Manner::default() };
        let other = mistrust(security, Manner { certificate_for: "mail.example.org", ..manner }).await;
        assert!(other.contains("for another name"), "{other}");
        let expired = mistrust(security, Manner { is_certificate_expired: true, ..manner }).await;
        assert!(expired.contains("expired"), "{expired}");
    }
}

#[tokio::test]
async fn a_server_without_starttls_gets_neither_credentials_nor_mail() {
    for offers in ["250 mail.test\r\n", "250-STARTTLS\r\n250 AUTH PLAIN\r\n", "250-mail.test\r\n250 XSTARTTLS\r\n"] {
        let (address, mut heard) = scripted(&["220 hi\r\n", offers, "250 ok\r\n", "250 ok\r\n"]).await;
        let refused =
            send(&with_login(address.port(), Security::Starttls), &mail(), LIMITS, &local().await).await.unwrap_err();
        assert_eq!(refused, SmtpError::StarttlsNotOffered { host: "127.0.0.1".to_owned() });
        heard.close();
        while let Some(line) = heard.recv().await {
            assert!(line.is_empty() || line.starts_with("EHLO "), "{line}");
        }
    }
}

#[tokio::test]
async fn a_server_may_refuse_starttls() {
    let (address, _heard) = scripted(&["220 hi\r\n", "250-a\r\n250 starttls\r\n", "454 4.7.0 not now\r\n"]).await;
    let refused = send(&server(address.port(), Security::Starttls), &mail(), LIMITS, &local().await).await.unwrap_err();
    assert!(matches!(&refused, SmtpError::StarttlsRefused { answer, .. } if answer.code == 454), "{refused:?}");
    assert!(refused.is_temporary());
}

#[tokio::test]
async fn what_comes_before_the_handshake_is_not_believed_after() {
    let injected = "220 go on\r\n250-mail.test\r\n250 AUTH PLAIN\r\n";
    let (address, _heard) = scripted(&["220 hi\r\n", "250-a\r\n250 STARTTLS\r\n", injected]).await;
    let refused =
        send(&with_login(address.port(), Security::Starttls), &mail(), LIMITS, &local().await).await.unwrap_err();
    assert_eq!(refused, SmtpError::Injected { host: "127.0.0.1".to_owned() });
}

#[tokio::test]
async fn a_server_that_does_not_speak_tls_is_told() {
    let receiver = SmtpServer::start();
    let server = server(receiver.port(), Security::Tls);
    let refused = send(&server, &mail(), LIMITS, &trusting(&receiver).await).await.unwrap_err();
    assert!(refused.to_string().contains("does not answer in TLS"), "{refused}");
}

#[tokio::test]
async fn a_server_that_wants_tls_from_the_first_byte_never_greets() {
    let receiver = SmtpServer::with(Manner { security: Secured::Tls, ..Manner::default() });
    let limits = windlass_smtp::Limits { step: std::time::Duration::from_millis(300), ..LIMITS };
    let refused = send(&server(receiver.port(), Security::None), &mail(), limits, &local().await).await.unwrap_err();
    assert!(matches!(&refused, SmtpError::TimedOut { phase: Phase::Greeting, .. }), "{refused:?}");
}

#[tokio::test]
async fn private_addresses_are_refused_before_a_connection() {
    let receiver = SmtpServer::start();
    let outgoing = Outgoing::new(Settings::default()).await.unwrap();
    let refused = send(&server(receiver.port(), Security::None), &mail(), LIMITS, &outgoing).await.unwrap_err();
    assert_eq!(refused, CallError::PrivateAddress { host: "127.0.0.1".to_owned() }.into());
    assert_eq!(receiver.connections(), 0);
    assert!(sent_to(receiver.address()).await.is_ok());
}
