//! Everything that a container prints: nothing lost and nothing twice, while the engine has it.

mod engine;
mod entry;
mod file;
mod files;
mod gather;
mod position;
mod rotation;
mod text;
pub(crate) mod watch;

#[cfg(test)]
mod tests;

use std::io;
use std::time::Instant;

use time::OffsetDateTime;

use crate::{Container, Docker, Error, Result, State, Stream};
use engine::Engine;
use files::Files;
pub use position::Position;
pub use watch::Watched;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutputLine {
    pub stream: Stream,
    pub at: OffsetDateTime,
    /// Without its end. What a carriage return has overwritten is not in it.
    pub text: Vec<u8>,
    /// So many bytes were left out, because the line was longer than the limit.
    pub cut: u64,
    /// It is not the beginning: that was given out before it was known that there is more.
    pub is_rest: bool,
}

/// Something the engine no longer had: between two moments, or bytes in its files that are no output.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Gap {
    pub after: Option<OffsetDateTime>,
    pub until: Option<OffsetDateTime>,
    pub bytes: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Portion {
    /// What is missing before these lines.
    pub gap: Option<Gap>,
    pub lines: Vec<OutputLine>,
    /// After these lines: to be stored together with them.
    pub position: Position,
    /// Nothing more was there at the moment of reading. Of a container that has ended, unfinished lines are included.
    pub is_end: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// The engine's log files where they can be read, its API otherwise.
    Files,
    /// The API only.
    Engine,
}

/// A reader of what one container prints.
pub struct Output {
    docker: Docker,
    /// Its id, once it has been found.
    container: String,
    access: Access,
    longest_line: usize,
    position: Position,
    /// None after a read that was not completed, and while the container has not been started.
    source: Option<Source>,
    /// It was seen that the container does not run.
    has_ended: bool,
}

enum Source {
    Files(Box<Files>),
    Engine(Box<Engine>),
}

impl Docker {
    /// A reader from a position on: from the very beginning with `Position::default()`. Of lines longer than
    /// `longest_line` bytes it gives the beginning.
    pub async fn output(
        &self,
        container: &str,
        access: Access,
        longest_line: usize,
        position: Position,
    ) -> Result<Output> {
        let mut output = Output {
            docker: self.clone(),
            container: container.to_owned(),
            access,
            longest_line,
            position,
            source: None,
            has_ended: false,
        };
        output.source = output.open().await?;
        Ok(output)
    }
}

impl Output {
    /// The next lines: at most about `most_bytes` of text, and one line in any case. It returns at once when there is
    /// nothing new. After a read that failed or was given up, the next one begins where the last that succeeded ended.
    pub async fn read(&mut self, most_bytes: usize) -> Result<Portion> {
        let source = match self.source.take() {
            Some(source) => Some(source),
            None => self.open().await?,
        };
        let Some(mut source) = source else { return Ok(self.nothing()) };
        let portion = loop {
            let mut portion;
            (source, portion) = source.read(most_bytes, std::mem::take(&mut self.has_ended)).await?;
            if !portion.is_end || !(source.is_unfinished() || source.is_removed()) {
                break portion;
            }
            // The engine may fail to answer, so what was read is given out before it is asked.
            if !portion.lines.is_empty() || portion.gap.is_some() {
                portion.is_end = false;
                break portion;
            }
            let container = self.docker.description(&self.container).await?;
            match container {
                Some(container) if is_running(&container) || !source.is_unfinished() => break portion,
                None if !source.is_unfinished() => return Err(self.absent()),
                _ => {}
            }
            // The rest may have come before it was known that nothing follows, so it is read with that knowledge.
            self.has_ended = true;
        };
        self.position = portion.position.clone();
        self.source = Some(source);
        Ok(portion)
    }

    /// Waits for what is printed next, from now on. None if the engine has to be asked, also whether a line is complete, or the kernel
    /// cannot tell.
    pub async fn watch(&self) -> Option<Watched> {
        let Some(Source::Files(files)) = self.source.as_ref().filter(|_| self.can_be_watched()) else { return None };
        let (file, watch) = (files.newest().to_owned(), self.docker.file_watch()?.clone());
        blocking(move || watch.watch(&file)).await.ok()?.ok()
    }

    /// Whether what comes next is written to the file that is read, so that it can be waited for.
    pub fn can_be_watched(&self) -> bool {
        matches!(&self.source, Some(Source::Files(files)) if !files.is_unfinished() && !files.is_removed())
    }

    pub fn reads_files(&self) -> bool {
        matches!(self.source, Some(Source::Files(_)))
    }

    async fn open(&mut self) -> Result<Option<Source>> {
        let container = self.docker.description(&self.container).await?.ok_or_else(|| self.absent())?;
        // From now on another container that gets the name is not taken for it.
        self.container.clone_from(&container.id);
        if container.state == State::Created {
            return Ok(None);
        }
        let (longest, position) = (self.longest_line, self.position.clone());
        if let (Access::Files, Some(path)) = (self.access, container.log_path) {
            let opening = move || Files::open(path, longest, &position);
            match blocking(opening).await? {
                Ok(files) => return Ok(Some(Source::Files(Box::new(files)))),
                // The engine is on another machine, or this process is not allowed to read its files.
                Err(error) if is_out_of_reach(&error) => {}
                Err(error) => return Err(unreadable(&error)),
            }
        }
        let engine = Engine::new(self.docker.clone(), container.id, longest, &self.position);
        Ok(Some(Source::Engine(Box::new(engine))))
    }

    fn nothing(&self) -> Portion {
        Portion { gap: None, lines: Vec::new(), position: self.position.clone(), is_end: true }
    }

    fn absent(&self) -> Error {
        Error::NotFound { message: format!("No such container: {}", self.container) }
    }
}

impl Source {
    async fn read(self, most_bytes: usize, has_ended: bool) -> Result<(Self, Portion)> {
        let now = Instant::now();
        match self {
            Self::Engine(mut engine) => {
                let portion = engine.read(most_bytes, has_ended, now).await?;
                Ok((Self::Engine(engine), portion))
            }
            Self::Files(mut files) => {
                let reading = move || files.read(most_bytes, has_ended, now).map(|portion| (files, portion));
                let (files, portion) = blocking(reading).await?.map_err(|error| unreadable(&error))?;
                Ok((Self::Files(files), portion))
            }
        }
    }

    fn is_unfinished(&self) -> bool {
        match self {
            Self::Files(files) => files.is_unfinished(),
            Self::Engine(engine) => engine.is_unfinished(),
        }
    }

    fn is_removed(&self) -> bool {
        match self {
            Self::Files(files) => files.is_removed(),
            Self::Engine(_) => false,
        }
    }
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T> {
    tokio::task::spawn_blocking(work).await.map_err(Error::unreadable)
}

fn is_running(container: &Container) -> bool {
    matches!(container.state, State::Running | State::Paused)
}

fn is_out_of_reach(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied | io::ErrorKind::NotADirectory)
}

fn unreadable(error: &io::Error) -> Error {
    match error.kind() {
        // It may work the next time.
        io::ErrorKind::ResourceBusy => Error::Unreachable { message: error.to_string() },
        _ => Error::unreadable(format!("its log file: {error}")),
    }
}
