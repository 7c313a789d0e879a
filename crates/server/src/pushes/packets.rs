//! What git writes when it pushes, and what it is answered: lines with their length before them.

/// The side of the answer that people see, as git shows it: `remote: ...`.
const PROGRESS: u8 = 2;
const RESULT: u8 = 1;
const FATAL: u8 = 3;
/// More does not fit into one.
const MOST: usize = 65_500;
/// Longer beginnings of a push are not read: a thousand references fit.
pub const MOST_COMMANDS: usize = 256 * 1024;

/// What is to become of a reference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    pub old: String,
    pub new: String,
    pub reference: String,
}

impl Command {
    pub fn is_deletion(&self) -> bool {
        self.new.bytes().all(|byte| byte == b'0')
    }

    pub fn is_creation(&self) -> bool {
        self.old.bytes().all(|byte| byte == b'0')
    }
}

/// The beginning of a push: what is asked for, before the objects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Beginning {
    pub commands: Vec<Command>,
    /// The same again for the program, which is to answer without that.
    pub for_program: Vec<u8>,
    /// How many bytes of what was read it is.
    pub length: usize,
}

/// None as long as more is to come. An error for what is no push.
pub fn read_beginning(bytes: &[u8]) -> Result<Option<Beginning>, &'static str> {
    let mut beginning = Beginning { commands: Vec::new(), for_program: Vec::new(), length: 0 };
    loop {
        let Some((line, length)) = packet(&bytes[beginning.length..])? else { return Ok(None) };
        beginning.length += length;
        let Some(line) = line else { break };
        beginning.add(line)?;
    }
    beginning.for_program.extend(b"0000");
    Ok(Some(beginning))
}

impl Beginning {
    fn add(&mut self, line: &[u8]) -> Result<(), &'static str> {
        const NO_COMMAND: &str = "this is not how git pushes";
        let text = str::from_utf8(line).map_err(|_| NO_COMMAND)?;
        if text.starts_with("shallow ") {
            return Err("a shallow clone cannot be pushed; fetch all of it first: git fetch --unshallow");
        }
        let (command, abilities) = match text.split_once('\0') {
            Some((command, abilities)) => (command, Some(abilities)),
            None => (text, None),
        };
        let mut words = command.trim_end_matches('\n').splitn(3, ' ');
        let (Some(old), Some(new), Some(reference)) = (words.next(), words.next(), words.next()) else {
            return Err(NO_COMMAND);
        };
        if !is_hash(old) || !is_hash(new) {
            return Err(NO_COMMAND);
        }
        let mut passed = format!("{old} {new} {reference}");
        if let Some(abilities) = abilities {
            let all: Vec<_> = abilities.split_whitespace().collect();
            if !all.contains(&"side-band-64k") {
                return Err("this git is too old: it cannot show what happens meanwhile");
            }
            let kept: Vec<_> = all.into_iter().filter(|ability| *ability != "side-band-64k").collect();
            passed.push('\0');
            passed.push_str(&kept.join(" "));
        }
        self.for_program.extend(line_of(passed.as_bytes()));
        let (old, new, reference) = (old.to_owned(), new.to_owned(), reference.to_owned());
        self.commands.push(Command { old, new, reference });
        Ok(())
    }
}

fn is_hash(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// The next line and the length of it with what is around it; without a line, the mark that ends a list. None as long as it is not
/// whole.
type Packet<'a> = Option<(Option<&'a [u8]>, usize)>;

fn packet(bytes: &[u8]) -> Result<Packet<'_>, &'static str> {
    const DAMAGED: &str = "the push is damaged";
    let Some(digits) = bytes.get(..4) else { return Ok(None) };
    let digits = str::from_utf8(digits).ok().filter(|digits| !digits.starts_with('+')).ok_or(DAMAGED)?;
    let length = usize::from_str_radix(digits, 16).map_err(|_| DAMAGED)?;
    match length {
        0 => Ok(Some((None, 4))),
        1..4 => Err(DAMAGED),
        _ => Ok(bytes.get(4..length).map(|line| (Some(line), length))),
    }
}

fn line_of(text: &[u8]) -> Vec<u8> {
    [format!("{:04x}", text.len() + 4).as_bytes(), text].concat()
}

/// What the program says has become of the references: a line each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    lines: Vec<String>,
}

impl Report {
    /// None for what is none.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let (mut report, mut at) = (Self::default(), 0);
        while let Ok(Some((line, length))) = packet(&bytes[at..]) {
            at += length;
            match line {
                None => return Some(report),
                Some(line) => report.lines.push(String::from_utf8_lossy(line).trim_end_matches('\n').to_owned()),
            }
        }
        None
    }

    /// Whether the reference is what the client wanted it to be.
    pub fn is_done(&self, reference: &str) -> bool {
        self.lines.iter().any(|line| line.strip_prefix("ok ") == Some(reference))
    }

    /// Says that the reference was not changed after all.
    pub fn refuse(&mut self, reference: &str, reason: &str) {
        for line in self.lines.iter_mut().filter(|line| line.strip_prefix("ok ") == Some(reference)) {
            *line = format!("ng {reference} {reason}");
        }
    }

    pub fn bytes(&self) -> Vec<u8> {
        let lines = self.lines.iter().flat_map(|line| line_of(format!("{line}\n").as_bytes()));
        lines.chain(*b"0000").collect()
    }
}

/// A line for people.
pub fn progress(text: &str) -> Vec<u8> {
    let text: String = text.chars().filter(|c| !c.is_control() || *c == '\t').collect();
    on_side(PROGRESS, format!("{text}\n").as_bytes())
}

/// Nothing, so that connections stay open.
pub fn beat() -> Vec<u8> {
    line_of(&[PROGRESS])
}

/// The end of an answer.
pub fn result(report: &Report) -> Vec<u8> {
    [on_side(RESULT, &report.bytes()), b"0000".to_vec()].concat()
}

/// The end of an answer without a report.
pub fn fatal(text: &str) -> Vec<u8> {
    on_side(FATAL, format!("{text}\n").as_bytes())
}

fn on_side(side: u8, bytes: &[u8]) -> Vec<u8> {
    bytes.chunks(MOST).flat_map(|part| line_of(&[&[side], part].concat())).collect()
}

/// What the list of references begins with.
pub fn announcement() -> Vec<u8> {
    [line_of(b"# service=git-receive-pack\n"), b"0000".to_vec()].concat()
}

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests {
    use super::*;

    fn push() -> Vec<u8> {
        let (zeros, hash) = ("0".repeat(40), "a1".repeat(20));
        let first = format!("{zeros} {hash} refs/heads/main\0 report-status-v2 side-band-64k quiet agent=git/2.39");
        let second = format!("{hash} {zeros} refs/heads/übung");
        [line_of(first.as_bytes()), line_of(second.as_bytes()), b"0000PACK...".to_vec()].concat()
    }

    #[test]
    fn a_push_is_read_as_far_as_its_objects() {
        let bytes = push();
        let beginning = read_beginning(&bytes).unwrap().unwrap();
        assert_eq!(&bytes[beginning.length..], b"PACK...");
        let names: Vec<_> = beginning.commands.iter().map(|command| command.reference.as_str()).collect();
        assert_eq!(names, ["refs/heads/main", "refs/heads/übung"]);
        assert!(beginning.commands[0].is_creation() && beginning.commands[1].is_deletion());
        let passed = String::from_utf8(beginning.for_program.clone()).unwrap();
        assert!(passed.contains("\0report-status-v2 quiet agent=git/2.39"), "{passed:?}");
        for cut in 0..beginning.length {
            assert_eq!(read_beginning(&bytes[..cut]), Ok(None), "{cut}");
        }
        assert_eq!(read_beginning(b"0000").unwrap().unwrap().commands, []);
    }

    #[test]
    fn what_is_no_push() {
        for bytes in
            [b"zzzz".as_slice(), b"+000", b"0001", b"0003", b"0009hello", b"000fa b refs/x\n", "0009é ü".as_bytes()]
        {
            assert!(read_beginning(bytes).is_err(), "{bytes:?}");
        }
        let old = line_of(format!("{0} {0} refs/heads/main\0report-status", "a".repeat(40)).as_bytes());
        assert!(read_beginning(&old).unwrap_err().contains("too old"));
        let shallow = line_of(format!("shallow {}", "a".repeat(40)).as_bytes());
        assert!(read_beginning(&shallow).unwrap_err().contains("--unshallow"));
    }

    #[test]
    fn reports_can_be_taken_back() {
        let lines = ["unpack ok\n", "ok refs/heads/main\n", "ok refs/heads/main2\n", "ng refs/heads/x no\n"];
        let bytes: Vec<u8> = lines.iter().flat_map(|line| line_of(line.as_bytes())).chain(*b"0000").collect();
        let mut report = Report::read(&bytes).unwrap();
        assert_eq!(report.bytes(), bytes);
        assert!(report.is_done("refs/heads/main") && !report.is_done("refs/heads/x"));
        report.refuse("refs/heads/main", "build_failed");
        assert!(!report.is_done("refs/heads/main") && report.is_done("refs/heads/main2"));
        assert!(String::from_utf8(report.bytes()).unwrap().contains("ng refs/heads/main build_failed\n"));
        assert_eq!(Report::read(&bytes[..bytes.len() - 1]), None);
    }

    #[test]
    fn sides() {
        assert_eq!(progress("a\x1b[31mb\n"), b"000c\x02a[31mb\n");
        assert_eq!(beat(), b"0005\x02");
        assert!(fatal("no").starts_with(b"0008\x03no"));
        let long = progress(&"x".repeat(100_000));
        assert_eq!(packet(&long).unwrap().unwrap().1, MOST + 5);
        assert!(announcement().ends_with(b"\n0000"));
    }
}
