//! What a server can say no to, and what is wrong before it can.

use windlass_outgoing::CallError;
use windlass_smtp::{Phase, Security, SmtpError, send};
use windlass_testing::smtp::SmtpServer;

use crate::support::{LIMITS, local, mail, sent_to, server};

/// What comes of this answer to this command.
async fn answered(command: &str, line: &str) -> SmtpError {
    let receiver = SmtpServer::start();
    receiver.say(command, line);
    let refused = sent_to(receiver.address()).await.unwrap_err();
    assert!(receiver.mails().is_empty());
    assert_eq!(refused.is_temporary(), line.starts_with('4'), "{refused:?}");
    assert!(refused.to_string().contains(line), "{refused}");
    refused
}

#[tokio::test]
async fn each_step_has_a_refusal_of_its_own() {
    for line in ["421 4.3.2 Too busy", "554 5.7.1 No service"] {
        assert!(matches!(answered("CONNECT", line).await, SmtpError::GreetingRefused { .. }));
        assert!(matches!(answered("EHLO", line).await, SmtpError::GreetingRefused { .. }));
        assert!(matches!(answered("MAIL", line).await, SmtpError::SenderRefused { .. }));
        assert!(matches!(answered("DATA", line).await, SmtpError::MessageRefused { .. }));
        assert!(matches!(answered("END", line).await, SmtpError::MessageRefused { .. }));
    }
    for line in ["450 4.2.0 Greylisted", "550 5.1.1 No such user"] {
        let refused = answered("RCPT", line).await;
        assert!(
            matches!(&refused, SmtpError::AllRecipientsRefused { rejected, .. } if rejected.len() == 1),
            "{refused:?}"
        );
    }
}

#[tokio::test]
async fn a_server_that_closes_is_told_with_the_step() {
    for (command, step) in [
        ("CONNECT", Phase::Greeting),
        ("EHLO", Phase::Hello),
        ("MAIL", Phase::Sender),
        ("RCPT", Phase::Recipients),
        ("DATA", Phase::Message),
        ("END", Phase::Message),
    ] {
        let receiver = SmtpServer::start();
        receiver.close_at(command);
        let refused = sent_to(receiver.address()).await.unwrap_err();
        assert!(matches!(&refused, SmtpError::ClosedEarly { phase, .. } if *phase == step), "{command}: {refused:?}");
        assert!(refused.is_temporary());
    }
}

#[tokio::test]
async fn a_goodbye_that_fails_takes_nothing_back() {
    let receiver = SmtpServer::start();
    receiver.close_at("QUIT");
    sent_to(receiver.address()).await.unwrap();
    receiver.go_on();
    receiver.hang_at("QUIT");
    sent_to(receiver.address()).await.unwrap();
    assert_eq!(receiver.mails().len(), 2);
}

#[tokio::test]
async fn a_port_where_nothing_listens_refuses() {
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let address = socket.local_addr().unwrap();
    let refused = sent_to(address).await.unwrap_err();
    assert_eq!(refused, CallError::Refused { address }.into());
    assert!(refused.is_temporary());
}

#[tokio::test]
async fn a_name_that_is_none_is_told() {
    let mut server = server(25, Security::None);
    for host in ["", "a b", "mail.example.org:25", "https://example.org"] {
        server.host = host.to_owned();
        let refused = send(&server, &mail(), LIMITS, &local().await).await.unwrap_err();
        assert!(matches!(&refused, SmtpError::Connection(CallError::BadUrl { .. })), "{host}: {refused:?}");
    }
}
