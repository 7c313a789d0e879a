//! What a mail server gets.

use windlass_smtp::{Mail, Security, Sender, SmtpError, send};
use windlass_testing::smtp::SmtpServer;

use crate::support::{LIMITS, local, mail, sent_to, server};

/// The mail as a server has it.
async fn arrived(mail: &Mail) -> windlass_testing::smtp::Mail {
    let receiver = SmtpServer::start();
    send(&server(receiver.port(), Security::None), mail, LIMITS, &local().await).await.unwrap();
    receiver.mails().remove(0)
}

async fn refusal(mail: &Mail) -> SmtpError {
    let receiver = SmtpServer::start();
    let server = server(receiver.port(), Security::None);
    let refusal = send(&server, mail, LIMITS, &local().await).await.unwrap_err();
    assert_eq!(receiver.connections(), 0);
    assert!(!refusal.is_temporary());
    refusal
}

#[tokio::test]
async fn a_mail_has_headers_a_text_and_html() {
    let arrived = arrived(&mail()).await;
    assert_eq!(
        (arrived.from.as_str(), arrived.to.as_slice()),
        ("windlass@example.org", &["ada@example.org".to_owned()][..])
    );
    let header = |name: &str| arrived.header(name).unwrap_or_default();
    assert_eq!(header("From"), "Windlass <windlass@example.org>");
    assert_eq!(header("To"), "ada@example.org");
    assert_eq!(header("Subject"), "shop failed to deploy");
    assert_eq!(header("Message-ID"), "<0198a3@windlass.example.org>");
    assert_eq!(header("Date"), "Thu, 19 Nov 2026 07:54:30 +0000");
    assert_eq!(header("Auto-Submitted"), "auto-generated");
    assert_eq!(header("MIME-Version"), "1.0");
    assert!(header("Content-Type").starts_with("multipart/alternative"), "{}", arrived.data);
    assert_eq!(arrived.text().trim_end(), "The build ended with code 1.");
    assert_eq!(arrived.html().unwrap().trim_end(), "<p>The build ended with code 1.</p>");
}

#[tokio::test]
async fn a_mail_without_html_is_its_text() {
    let arrived = arrived(&Mail { html: None, ..mail() }).await;
    assert!(arrived.header("Content-Type").unwrap().starts_with("text/plain"));
    assert_eq!(arrived.text().trim_end(), "The build ended with code 1.");
}

#[tokio::test]
async fn what_is_not_ascii_arrives() {
    let text = "Größe: 10 €, 🦀\r\n.\r\n..\n.hidden\nFrom x\rand\n=_windlass\n--=_windlass--\n";
    let from = Sender { name: "Bücher & \"Söhne\", Inc. <x@evil.example>".to_owned(), ..mail().from };
    let arrived = arrived(&Mail { from, text: text.to_owned(), subject: "Größe 🦀 ".repeat(30), ..mail() }).await;
    assert_eq!(arrived.text().trim_end(), "Größe: 10 €, 🦀\n.\n..\n.hidden\nFrom x\nand\n=_windlass\n--=_windlass--");
    assert!(arrived.html().is_some());
    assert!(arrived.data.is_ascii(), "{}", arrived.data);
    assert!(arrived.data.lines().all(|line| line.len() < 998), "{}", arrived.data);
    let from = arrived.header("From").unwrap();
    assert!(from.ends_with(" <windlass@example.org>") && from.starts_with("=?utf-8?"), "{from}");
}

#[tokio::test]
async fn no_text_adds_a_header() {
    let from = Sender { name: "a\r\nBcc: eve@evil.example".to_owned(), ..mail().from };
    let subject = "b\r\nBcc: eve@evil.example\r\n\r\nhello\n\rc\0".to_owned();
    let arrived = arrived(&Mail { from, subject, ..mail() }).await;
    assert_eq!(arrived.header("Bcc"), None);
    assert_eq!(arrived.header("Subject").unwrap(), "b Bcc: eve@evil.example hello c");
    assert_eq!(arrived.to, ["ada@example.org"]);
}

#[tokio::test]
async fn a_name_of_a_domain_is_written_in_ascii() {
    let to = vec!["ada@bücher.example".to_owned()];
    assert_eq!(arrived(&Mail { to, ..mail() }).await.to, ["ada@xn--bcher-kva.example"]);
}

#[tokio::test]
async fn what_is_no_address_is_refused_before_the_connection() {
    for address in [
        "",
        "ada",
        "@example.org",
        "ada@",
        "a da@example.org",
        "ada@example.org>",
        "<ada@example.org>",
        "ada@exam ple.org",
        "ada@example.org\r\nRCPT TO:<eve@evil.example>",
        "ada\n@example.org",
        "äda@example.org",
        "a@b@example.org",
        "Ada <ada@example.org>",
        "a,b@example.org",
    ] {
        let refused = refusal(&Mail { to: vec!["ada@example.org".to_owned(), address.to_owned()], ..mail() }).await;
        assert!(
            matches!(&refused, SmtpError::BadAddress { address } if !address.contains('\n')),
            "{address}: {refused:?}"
        );
        let from = Sender { name: String::new(), address: address.to_owned() };
        assert!(matches!(refusal(&Mail { from, ..mail() }).await, SmtpError::BadAddress { .. }), "{address}");
    }
    assert!(matches!(refusal(&Mail { to: Vec::new(), ..mail() }).await, SmtpError::BadMail { .. }));
    let many = vec!["ada@example.org".to_owned(); 101];
    assert!(matches!(refusal(&Mail { to: many, ..mail() }).await, SmtpError::BadMail { .. }));
    for id in ["", "a", "a@", "@a", "a@b@c", "a b@c", "a@b>\r\nBcc: x@y"] {
        let refused = refusal(&Mail { message_id: id.to_owned(), ..mail() }).await;
        assert!(matches!(refused, SmtpError::BadMail { .. }), "{id}");
    }
}

#[tokio::test]
async fn one_recipient_that_is_refused_does_not_keep_the_mail_from_others() {
    let receiver = SmtpServer::start();
    receiver.say("RCPT TO:<eve@", "550 5.1.1 No such user");
    receiver.say("RCPT TO:<bob@", "451 4.2.1 Try later");
    let to = ["eve@example.org", "ada@example.org", "bob@example.org"].map(str::to_owned).to_vec();
    let server = server(receiver.port(), Security::None);
    let sent = send(&server, &Mail { to, ..mail() }, LIMITS, &local().await).await.unwrap();
    assert_eq!(receiver.mails()[0].to, ["ada@example.org"]);
    let told: Vec<_> =
        sent.rejected.iter().map(|one| (one.address.as_str(), one.answer.to_string(), one.is_temporary())).collect();
    assert_eq!(
        told,
        [
            ("eve@example.org", "550 5.1.1 No such user".to_owned(), false),
            ("bob@example.org", "451 4.2.1 Try later".to_owned(), true),
        ]
    );
    assert_eq!(sent.answer.to_string(), "250 2.0.0 Taken");
}

#[tokio::test]
async fn a_large_mail_arrives() {
    let text = "A line of a log.\n".repeat(60_000);
    let arrived = arrived(&Mail { text: text.clone(), html: None, ..mail() }).await;
    assert_eq!(arrived.text().trim_end(), text.trim_end());
}

#[tokio::test]
async fn nothing_is_left_behind_for_the_next_mail() {
    let receiver = SmtpServer::start();
    for count in 1..=3 {
        sent_to(receiver.address()).await.unwrap();
        assert_eq!((receiver.mails().len(), receiver.connections()), (count, count));
    }
}
