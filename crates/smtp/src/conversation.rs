//! The steps of sending one mail.

use std::net::SocketAddr;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use windlass_outgoing::Outgoing;

use crate::connection::{Clock, Connection};
use crate::mail::{Written, write};
use crate::{Answer, Credentials, Limits, Mail, Phase, Rejected, Security, Sent, Server, SmtpError};

/// The mail is the server's by then; this is only politeness.
const GOODBYE: Duration = Duration::from_secs(1);

/// Sends a mail over a connection of its own. One recipient that the server refuses does not keep the mail from the others. When the
/// future is dropped the connection closes.
pub async fn send(server: &Server, mail: &Mail, limits: Limits, outgoing: &Outgoing) -> Result<Sent, SmtpError> {
    let written = write(mail)?;
    check(server.credentials.as_ref())?;
    // On the heap, because a TLS connection is large and callers hold this future.
    Box::pin(send_written(server, &written, Clock::start(server, limits), limits.step, outgoing)).await
}

/// A NUL would end the user name or the password within AUTH PLAIN.
fn check(credentials: Option<&Credentials>) -> Result<(), SmtpError> {
    let has_nul = |text: &str| text.contains('\0');
    let is_bad = credentials.is_some_and(|login| has_nul(&login.user) || has_nul(&login.password));
    if is_bad { Err(SmtpError::BadCredentials) } else { Ok(()) }
}

async fn send_written(
    server: &Server,
    mail: &Written,
    clock: Clock,
    step: Duration,
    outgoing: &Outgoing,
) -> Result<Sent, SmtpError> {
    let (host, credentials) = (server.host.as_str(), server.credentials.as_ref());
    let stream = clock.within(Phase::Connecting, outgoing.connect(host, server.port, step)).await??;
    let own_name = own_name(&stream);
    match server.security {
        Security::None => {
            let mut connection = Connection::new(stream, clock);
            greeting(&mut connection).await?;
            let offers = hello(&mut connection, &own_name).await?;
            deliver(connection, credentials, &offers, mail).await
        }
        Security::Tls => {
            let stream = clock.within(Phase::Handshake, outgoing.secure(host, stream)).await??;
            let mut connection = Connection::new(stream, clock);
            greeting(&mut connection).await?;
            let offers = hello(&mut connection, &own_name).await?;
            deliver(connection, credentials, &offers, mail).await
        }
        Security::Starttls => {
            let stream = agreed_to_tls(Connection::new(stream, clock.clone()), &own_name).await?;
            let stream = clock.within(Phase::Handshake, outgoing.secure(host, stream)).await??;
            let mut connection = Connection::new(stream, clock);
            // What it offered before cannot be believed.
            let offers = hello(&mut connection, &own_name).await?;
            deliver(connection, credentials, &offers, mail).await
        }
    }
}

/// An address, because this machine may have no name that others know.
fn own_name(stream: &TcpStream) -> String {
    match stream.local_addr() {
        Ok(SocketAddr::V4(address)) => format!("[{}]", address.ip()),
        Ok(SocketAddr::V6(address)) => format!("[IPv6:{}]", address.ip()),
        Err(_) => "[127.0.0.1]".to_owned(),
    }
}

async fn greeting<S: AsyncRead + AsyncWrite + Unpin>(connection: &mut Connection<S>) -> Result<(), SmtpError> {
    let (answer, _) = connection.answer(Phase::Greeting).await?;
    refused_unless_good(answer, |answer| SmtpError::GreetingRefused { host: connection.host(), answer })?;
    Ok(())
}

/// The lines of what the server offers.
async fn hello<S: AsyncRead + AsyncWrite + Unpin>(
    connection: &mut Connection<S>,
    own_name: &str,
) -> Result<Vec<String>, SmtpError> {
    let (answer, lines) = connection.ask_for_lines(Phase::Hello, &format!("EHLO {own_name}")).await?;
    refused_unless_good(answer, |answer| SmtpError::GreetingRefused { host: connection.host(), answer })?;
    // The first has the server's name.
    Ok(lines.into_iter().skip(1).collect())
}

async fn agreed_to_tls(mut connection: Connection<TcpStream>, own_name: &str) -> Result<TcpStream, SmtpError> {
    greeting(&mut connection).await?;
    let offers = hello(&mut connection, own_name).await?;
    if !offers.iter().any(|offer| offer.trim().eq_ignore_ascii_case("STARTTLS")) {
        return Err(SmtpError::StarttlsNotOffered { host: connection.host() });
    }
    let answer = connection.ask(Phase::Starttls, "STARTTLS").await?;
    refused_unless_good(answer, |answer| SmtpError::StarttlsRefused { host: connection.host(), answer })?;
    connection.into_silent_stream()
}

async fn deliver<S: AsyncRead + AsyncWrite + Unpin>(
    mut connection: Connection<S>,
    credentials: Option<&Credentials>,
    offers: &[String],
    mail: &Written,
) -> Result<Sent, SmtpError> {
    if let Some(credentials) = credentials {
        log_in(&mut connection, credentials, offers).await?;
    }
    let host = connection.host();
    let answer = connection.ask(Phase::Sender, &format!("MAIL FROM:<{}>", mail.from)).await?;
    refused_unless_good(answer, |answer| SmtpError::SenderRefused { host: host.clone(), answer })?;
    let rejected = name_recipients(&mut connection, &mail.to).await?;
    let answer = connection.ask(Phase::Message, "DATA").await?;
    if answer.code != 354 {
        return Err(SmtpError::MessageRefused { host, answer });
    }
    connection.write(Phase::Message, &mail.data).await?;
    let (answer, _) = connection.answer(Phase::Message).await?;
    let answer = refused_unless_good(answer, |answer| SmtpError::MessageRefused { host, answer })?;
    let _ = tokio::time::timeout(GOODBYE, connection.ask(Phase::Message, "QUIT")).await;
    Ok(Sent { rejected, answer })
}

/// Those that the server refused, if it took at least one.
async fn name_recipients<S: AsyncRead + AsyncWrite + Unpin>(
    connection: &mut Connection<S>,
    recipients: &[String],
) -> Result<Vec<Rejected>, SmtpError> {
    let mut rejected = Vec::new();
    for address in recipients {
        let answer = connection.ask(Phase::Recipients, &format!("RCPT TO:<{address}>")).await?;
        if !answer.is_good() {
            rejected.push(Rejected { address: address.clone(), answer });
        }
    }
    if rejected.len() == recipients.len() {
        return Err(SmtpError::AllRecipientsRefused { host: connection.host(), rejected });
    }
    Ok(rejected)
}

async fn log_in<S: AsyncRead + AsyncWrite + Unpin>(
    connection: &mut Connection<S>,
    credentials: &Credentials,
    offers: &[String],
) -> Result<(), SmtpError> {
    let Credentials { user, password } = credentials;
    let answer = if offers_login(offers, "PLAIN") {
        connection.ask(Phase::Authentication, &format!("AUTH PLAIN {}", credentials.plain())).await?
    } else if offers_login(offers, "LOGIN") {
        let mut answer = connection.ask(Phase::Authentication, "AUTH LOGIN").await?;
        for text in [user, password] {
            if answer.code != 334 {
                break;
            }
            answer = connection.ask(Phase::Authentication, &STANDARD.encode(text)).await?;
        }
        answer
    } else {
        return Err(SmtpError::AuthenticationNotOffered { host: connection.host() });
    };
    refused_unless_good(answer, |answer| SmtpError::AuthenticationRefused { host: connection.host(), answer })?;
    Ok(())
}

/// Among the words after AUTH, as in "AUTH PLAIN LOGIN", or in "AUTH=PLAIN LOGIN" as old servers write it.
fn offers_login(offers: &[String], way: &str) -> bool {
    offers.iter().any(|offer| {
        let upper = offer.to_ascii_uppercase().replace('=', " ");
        let mut words = upper.split_whitespace();
        words.next() == Some("AUTH") && words.any(|word| word == way)
    })
}

fn refused_unless_good(answer: Answer, refused: impl FnOnce(Answer) -> SmtpError) -> Result<Answer, SmtpError> {
    if answer.is_good() { Ok(answer) } else { Err(refused(answer)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ways_to_log_in_are_whole_words_after_auth() {
        let offers = |line: &str, way: &str| offers_login(&[line.to_owned()], way);
        assert!(offers("AUTH PLAIN LOGIN", "LOGIN"));
        assert!(offers("auth cram-md5 plain", "PLAIN"));
        assert!(offers("AUTH=LOGIN PLAIN", "LOGIN"));
        assert!(!offers("AUTH XPLAIN", "PLAIN"));
        assert!(!offers("AUTHPLAIN", "PLAIN"));
        assert!(!offers("SIZE PLAIN", "PLAIN"));
        assert!(!offers("AUTH", "PLAIN"));
    }
}
