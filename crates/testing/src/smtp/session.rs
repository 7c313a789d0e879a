//! What a client and the server say to each other (RFC 5321, RFC 3207 for TLS, RFC 4954 for logins).

use std::io;
use std::net::TcpListener;
use std::sync::Arc;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::sync::oneshot;

use super::{Deed, Mail, Security, Shared};

/// Until the other end of `stopped` is gone.
pub fn run(listener: TcpListener, stopped: oneshot::Receiver<()>, shared: &Arc<Shared>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        listener.set_nonblocking(true).expect("a socket");
        let listener = tokio::net::TcpListener::from_std(listener).expect("a socket");
        let mut stopped = stopped;
        loop {
            tokio::select! {
                _ = &mut stopped => return,
                Ok((stream, _)) = listener.accept() => {
                    shared.state().connections += 1;
                    let shared = shared.clone();
                    // A client that goes away in the middle of it is no failure of the server.
                    tokio::spawn(async move { drop(serve(&shared, stream).await) });
                }
            }
        }
    });
}

async fn serve(shared: &Shared, mut stream: TcpStream) -> io::Result<()> {
    if shared.manner.security == Security::Tls {
        let mut stream = shared.acceptor.accept(stream).await?;
        return Session::new(shared, &mut stream, true).talk(true).await.map(drop);
    }
    if let Ended::ForTls = Session::new(shared, &mut stream, false).talk(true).await? {
        let mut stream = shared.acceptor.accept(stream).await?;
        Session::new(shared, &mut stream, true).talk(false).await?;
    }
    Ok(())
}

/// How a conversation ends.
enum Ended {
    ByClient,
    ForTls,
}

struct Session<'a, S> {
    shared: &'a Shared,
    stream: BufReader<&'a mut S>,
    is_encrypted: bool,
    user: Option<String>,
    from: Option<String>,
    to: Vec<String>,
}

impl<'a, S: AsyncRead + AsyncWrite + Unpin> Session<'a, S> {
    fn new(shared: &'a Shared, stream: &'a mut S, is_encrypted: bool) -> Self {
        Self { shared, stream: BufReader::new(stream), is_encrypted, user: None, from: None, to: Vec::new() }
    }

    async fn talk(mut self, greets: bool) -> io::Result<Ended> {
        if greets && !self.misbehaves("CONNECT").await? {
            self.say("220 mail.test ESMTP").await?;
        }
        loop {
            let Some(line) = self.line().await? else { return Ok(Ended::ByClient) };
            if self.misbehaves(&line).await? {
                continue;
            }
            let verb = line.split_whitespace().next().unwrap_or_default().to_ascii_uppercase();
            match verb.as_str() {
                "EHLO" => self.greet().await?,
                "HELO" | "NOOP" => self.say("250 2.0.0 OK").await?,
                "STARTTLS" if self.can_switch() => {
                    self.say("220 2.0.0 Go ahead").await?;
                    return Ok(Ended::ForTls);
                }
                "AUTH" => self.log_in(&line).await?,
                "RSET" => {
                    self.forget();
                    self.say("250 2.0.0 OK").await?;
                }
                "QUIT" => {
                    self.say("221 2.0.0 Bye").await?;
                    return Ok(Ended::ByClient);
                }
                "MAIL" | "RCPT" | "DATA" => self.take(&verb, &line).await?,
                _ => self.say("502 5.5.1 Unknown command").await?,
            }
        }
    }

    /// Whether a test has told what to do at this command, which is done then. An answer of 421 is the last one.
    async fn misbehaves(&mut self, command: &str) -> io::Result<bool> {
        match self.shared.deed_at(command) {
            None => Ok(false),
            Some(Deed::Say(line)) => {
                self.say(&line).await?;
                if line.starts_with("421") { Err(io::ErrorKind::ConnectionAborted.into()) } else { Ok(true) }
            }
            Some(Deed::Close) => Err(io::ErrorKind::ConnectionAborted.into()),
            Some(Deed::Hang) => {
                // Until the client has gone.
                while self.stream.read_u8().await.is_ok() {}
                Err(io::ErrorKind::ConnectionAborted.into())
            }
        }
    }

    async fn greet(&mut self) -> io::Result<()> {
        let mut lines = vec!["mail.test".to_owned(), "8BITMIME".to_owned()];
        if self.can_switch() {
            lines.push("STARTTLS".into());
        }
        if self.shared.manner.login.is_some() && !self.can_switch() {
            lines.push(format!("AUTH {}", self.shared.manner.mechanisms));
        }
        let last = lines.len() - 1;
        for (at, line) in lines.iter().enumerate() {
            let mark = if at == last { ' ' } else { '-' };
            self.say(&format!("250{mark}{line}")).await?;
        }
        Ok(())
    }

    fn can_switch(&self) -> bool {
        self.shared.manner.security == Security::Starttls && !self.is_encrypted
    }

    async fn log_in(&mut self, line: &str) -> io::Result<()> {
        let mut words = line.split_whitespace().skip(1);
        let (mechanism, initial) = (words.next().unwrap_or_default().to_ascii_uppercase(), words.next());
        let offered = self.shared.manner.mechanisms.split(' ').any(|offered| offered == mechanism);
        if !offered || self.can_switch() {
            return self.say("504 5.5.4 Not offered").await;
        }
        let given = match (mechanism.as_str(), initial) {
            ("PLAIN", Some(initial)) => initial.to_owned(),
            ("PLAIN", None) => self.ask("334 ").await?,
            (_, Some(name)) => format!("{name} {}", self.ask("334 UGFzc3dvcmQ6").await?),
            (_, None) => {
                let name = self.ask("334 VXNlcm5hbWU6").await?;
                format!("{name} {}", self.ask("334 UGFzc3dvcmQ6").await?)
            }
        };
        let (name, password) = credentials(&given);
        match self.shared.manner.login {
            Some(known) if known == (name.as_str(), password.as_str()) => {
                self.user = Some(name);
                self.say("235 2.7.0 Welcome").await
            }
            _ => self.say("535 5.7.8 Authentication credentials invalid").await,
        }
    }

    async fn take(&mut self, verb: &str, line: &str) -> io::Result<()> {
        if self.can_switch() {
            return self.say("530 5.7.0 Must issue a STARTTLS command first").await;
        }
        if self.shared.manner.login.is_some() && self.user.is_none() {
            return self.say("530 5.7.0 Authentication required").await;
        }
        match verb {
            "MAIL" => {
                self.forget();
                self.from = Some(address(line));
                self.say("250 2.1.0 OK").await
            }
            "RCPT" if self.from.is_some() => {
                self.to.push(address(line));
                self.say("250 2.1.5 OK").await
            }
            "DATA" if !self.to.is_empty() => self.take_data().await,
            _ => self.say("503 5.5.1 Not yet").await,
        }
    }

    async fn take_data(&mut self) -> io::Result<()> {
        self.say("354 Go on").await?;
        let mut data = String::new();
        loop {
            let Some(line) = self.line().await? else { return Err(io::ErrorKind::UnexpectedEof.into()) };
            if line == "." {
                break;
            }
            data.push_str(line.strip_prefix('.').unwrap_or(&line));
            data.push_str("\r\n");
        }
        if self.misbehaves("END").await? {
            self.forget();
            return Ok(());
        }
        let mail = Mail {
            from: self.from.take().unwrap_or_default(),
            to: std::mem::take(&mut self.to),
            is_encrypted: self.is_encrypted,
            user: self.user.clone(),
            data,
        };
        self.shared.state().mails.push(mail);
        self.say("250 2.0.0 Taken").await
    }

    fn forget(&mut self) {
        (self.from, self.to) = (None, Vec::new());
    }

    async fn ask(&mut self, line: &str) -> io::Result<String> {
        self.say(line).await?;
        self.line().await?.ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }

    async fn say(&mut self, line: &str) -> io::Result<()> {
        self.stream.get_mut().write_all(format!("{line}\r\n").as_bytes()).await?;
        self.stream.get_mut().flush().await
    }

    /// Without its end; none when the client has gone.
    async fn line(&mut self) -> io::Result<Option<String>> {
        let mut line = Vec::new();
        if self.stream.read_until(b'\n', &mut line).await? == 0 {
            return Ok(None);
        }
        let line = String::from_utf8_lossy(&line);
        Ok(Some(line.strip_suffix("\r\n").or_else(|| line.strip_suffix('\n')).unwrap_or(&line).to_owned()))
    }
}

/// `MAIL FROM:<ada@example.org> SIZE=1` names ada@example.org.
fn address(line: &str) -> String {
    let inside = line.split_once('<').and_then(|(_, rest)| rest.split_once('>'));
    inside.map_or("", |(address, _)| address).to_owned()
}

/// Of PLAIN one text with zeros between its parts, of LOGIN two.
fn credentials(given: &str) -> (String, String) {
    let read = |text: &str| BASE64_STANDARD.decode(text).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    let texts: Vec<String> = given.split(' ').map(|text| read(text).unwrap_or_default()).collect();
    match texts.as_slice() {
        [name, password] => (name.clone(), password.clone()),
        [plain] => {
            let mut parts = plain.split('\0').skip(1).map(str::to_owned);
            (parts.next().unwrap_or_default(), parts.next().unwrap_or_default())
        }
        _ => (String::new(), String::new()),
    }
}
