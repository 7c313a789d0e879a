//! Servers that are slow, talk without end, or do not speak SMTP.

use std::time::Duration;

use windlass_smtp::{Limits, Phase, Security, SmtpError, send};
use windlass_testing::smtp::SmtpServer;

use crate::support::{LIMITS, local, mail, scripted, sent_to, server, silent_after};

#[tokio::test]
async fn a_server_that_hangs_is_told_with_the_step() {
    let limits = Limits { step: Duration::from_millis(300), ..LIMITS };
    for (command, step) in [
        ("CONNECT", Phase::Greeting),
        ("EHLO", Phase::Hello),
        ("MAIL", Phase::Sender),
        ("RCPT", Phase::Recipients),
        ("DATA", Phase::Message),
        ("END", Phase::Message),
    ] {
        let receiver = SmtpServer::start();
        receiver.hang_at(command);
        let server = server(receiver.port(), Security::None);
        let refused = send(&server, &mail(), limits, &local().await).await.unwrap_err();
        let expected = SmtpError::TimedOut { host: "127.0.0.1".to_owned(), phase: step, limit: limits.step };
        assert_eq!(refused, expected, "{command}");
        assert!(refused.is_temporary());
    }
}

#[tokio::test]
async fn the_whole_has_a_limit_too() {
    let address = silent_after("220-hi\r\n").await;
    let limits = Limits { whole: Duration::from_millis(300), ..LIMITS };
    let refused = send(&server(address.port(), Security::None), &mail(), limits, &local().await).await.unwrap_err();
    assert!(matches!(&refused, SmtpError::TimedOut { limit, .. } if *limit == limits.whole), "{refused:?}");
}

#[tokio::test]
async fn a_handshake_that_hangs_is_told() {
    let address = silent_after("").await;
    let limits = Limits { step: Duration::from_millis(300), ..LIMITS };
    let trusted = SmtpServer::start();
    let outgoing = crate::support::trusting(&trusted).await;
    let refused = send(&server(address.port(), Security::Tls), &mail(), limits, &outgoing).await.unwrap_err();
    assert!(matches!(&refused, SmtpError::TimedOut { phase: Phase::Handshake, .. }), "{refused:?}");
}

#[tokio::test]
async fn answers_without_end_are_not_read() {
    let line = format!("220 {}\r\n", "x".repeat(100_000));
    let lines = "220-and more\r\n".repeat(100_000);
    for greeting in [line, lines, "x".repeat(100_000)] {
        let (address, _heard) = scripted(&[&greeting]).await;
        let refused = sent_to(address).await.unwrap_err();
        assert!(matches!(&refused, SmtpError::TooMuch { phase: Phase::Greeting, .. }), "{refused:?}");
        assert!(!refused.is_temporary());
    }
}

#[tokio::test]
async fn what_is_not_smtp_is_told() {
    for greeting in [
        "SSH-2.0-OpenSSH_9.2\r\n",
        "HTTP/1.1 400 Bad Request\r\n",
        "\r\n",
        "22\r\n",
        "220x\r\n",
        "999 hi\r\n",
        "120 hi\r\n",
        "220-a\r\n250 b\r\n",
        "\u{ff}\u{fe}\r\n",
    ] {
        let (address, _heard) = scripted(&[greeting]).await;
        let refused = sent_to(address).await.unwrap_err();
        assert!(matches!(&refused, SmtpError::NotSmtp { phase: Phase::Greeting, .. }), "{greeting}: {refused:?}");
    }
}

#[tokio::test]
async fn the_words_of_a_server_are_cut_and_in_one_line() {
    let line = format!("554-{}\r\n554 \u{1b}[31mb\tc\r\n", "a".repeat(700));
    let (address, _heard) = scripted(&[&line]).await;
    let SmtpError::GreetingRefused { answer, .. } = sent_to(address).await.unwrap_err() else { panic!("not refused") };
    assert_eq!((answer.code, answer.text.chars().count()), (554, 500));
    let (address, _heard) = scripted(&["554-a\r\n554 \u{1b}[31mb\tc\u{0}\r\n"]).await;
    let SmtpError::GreetingRefused { answer, .. } = sent_to(address).await.unwrap_err() else { panic!("not refused") };
    assert_eq!(answer.text, "a [31mb c");
}
