//! Lines to a server and answers from it, each within a bound and a time.

use std::io;
use std::sync::Arc;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::time::Instant;

use crate::{Answer, Credentials, Limits, Phase, Server, SmtpError};

/// RFC 5321 has 512; servers with long banners have more.
const LONGEST_LINE: usize = 2048;
const MOST_LINES: usize = 100;

/// The limits of one mail: of each step, and of all. And what no answer may show.
#[derive(Clone)]
pub(crate) struct Clock {
    pub host: String,
    secrets: Arc<[String]>,
    limits: Limits,
    end: Instant,
}

impl Clock {
    pub(crate) fn start(server: &Server, limits: Limits) -> Self {
        let secrets = server.credentials.as_ref().map(Credentials::secrets).unwrap_or_default().into();
        Self { host: server.host.clone(), secrets, limits, end: Instant::now() + limits.whole }
    }

    /// What a step gives, unless it takes longer than a step may or the whole has left.
    pub(crate) async fn within<T>(&self, phase: Phase, step: impl Future<Output = T>) -> Result<T, SmtpError> {
        let step_end = Instant::now() + self.limits.step;
        let limit = if step_end < self.end { self.limits.step } else { self.limits.whole };
        let too_late = |_| SmtpError::TimedOut { host: self.host.clone(), phase, limit };
        tokio::time::timeout_at(step_end.min(self.end), step).await.map_err(too_late)
    }
}

pub(crate) struct Connection<S> {
    stream: S,
    /// What was read and belongs to the next answer.
    read: Vec<u8>,
    clock: Clock,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Connection<S> {
    pub(crate) fn new(stream: S, clock: Clock) -> Self {
        Self { stream, read: Vec::new(), clock }
    }

    /// The stream, if the server has said nothing beyond its last answer.
    pub(crate) fn into_silent_stream(self) -> Result<S, SmtpError> {
        if self.read.is_empty() { Ok(self.stream) } else { Err(SmtpError::Injected { host: self.clock.host }) }
    }

    pub(crate) fn host(&self) -> String {
        self.clock.host.clone()
    }

    /// A command, and the answer to it.
    pub(crate) async fn ask(&mut self, phase: Phase, command: &str) -> Result<Answer, SmtpError> {
        let (answer, _) = self.ask_for_lines(phase, command).await?;
        Ok(answer)
    }

    pub(crate) async fn ask_for_lines(
        &mut self,
        phase: Phase,
        command: &str,
    ) -> Result<(Answer, Vec<String>), SmtpError> {
        self.write(phase, format!("{command}\r\n").as_bytes()).await?;
        self.answer(phase).await
    }

    pub(crate) async fn write(&mut self, phase: Phase, bytes: &[u8]) -> Result<(), SmtpError> {
        let clock = self.clock.clone();
        let writing = async {
            self.stream.write_all(bytes).await?;
            self.stream.flush().await
        };
        let written = clock.within(phase, writing).await?;
        written.map_err(|error| self.broken(phase, &error))
    }

    /// The next answer, with its lines.
    pub(crate) async fn answer(&mut self, phase: Phase) -> Result<(Answer, Vec<String>), SmtpError> {
        let clock = self.clock.clone();
        clock.within(phase, self.unlimited_answer(phase)).await?
    }

    async fn unlimited_answer(&mut self, phase: Phase) -> Result<(Answer, Vec<String>), SmtpError> {
        let not_smtp = || SmtpError::NotSmtp { host: self.clock.host.clone(), phase };
        let not_smtp = not_smtp();
        let mut lines = Vec::new();
        let mut code = None;
        loop {
            let line = self.line(phase).await?;
            let Some((number, is_last, text)) = parts(&line) else { return Err(not_smtp) };
            if code.is_some_and(|code| code != number) {
                return Err(not_smtp);
            }
            code = Some(number);
            lines.push(text);
            if is_last {
                return Ok((Answer::new(number, &lines, &self.clock.secrets), lines));
            }
            if lines.len() == MOST_LINES {
                return Err(SmtpError::TooMuch { host: self.host(), phase });
            }
        }
    }

    /// Without its end.
    async fn line(&mut self, phase: Phase) -> Result<Vec<u8>, SmtpError> {
        loop {
            if let Some(end) = self.read.iter().position(|byte| *byte == b'\n') {
                let mut line: Vec<u8> = self.read.drain(..=end).collect();
                line.pop();
                if line.last() == Some(&b'\r') {
                    line.pop();
                }
                return Ok(line);
            }
            if self.read.len() > LONGEST_LINE {
                return Err(SmtpError::TooMuch { host: self.host(), phase });
            }
            match self.stream.read_buf(&mut self.read).await {
                Ok(0) => return Err(SmtpError::ClosedEarly { host: self.host(), phase }),
                Ok(_) => {}
                Err(error) => return Err(self.broken(phase, &error)),
            }
        }
    }

    fn broken(&self, phase: Phase, error: &io::Error) -> SmtpError {
        match error.kind() {
            io::ErrorKind::InvalidData => SmtpError::NotSmtp { host: self.host(), phase },
            _ => SmtpError::ClosedEarly { host: self.host(), phase },
        }
    }
}

/// The number of a line, whether it is the last of its answer, and its words.
pub(crate) fn parts(line: &[u8]) -> Option<(u16, bool, String)> {
    let (digits, rest) = line.split_at_checked(3)?;
    let is_number = digits.iter().all(u8::is_ascii_digit) && (b'2'..=b'5').contains(&digits[0]);
    let number = std::str::from_utf8(digits).ok().filter(|_| is_number)?.parse().ok()?;
    let words = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    match rest {
        [] => Some((number, true, String::new())),
        [b' ', text @ ..] => Some((number, true, words(text))),
        [b'-', text @ ..] => Some((number, false, words(text))),
        _ => None,
    }
}
