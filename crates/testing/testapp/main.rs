//! The application that tests deploy: it says which version it is, slowly if asked to, and fails in every way that it
//! is told. It uses the standard library alone, so that it compiles in seconds to one static file.

use std::collections::HashMap;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

const PIECES: u64 = 10;
const MAX_BODY: u64 = 64 << 20;

fn main() {
    if let Some(code) = number("EXIT_CODE") {
        say(&format!("exiting with {code}, as EXIT_CODE says"));
        std::process::exit(i32::try_from(code).unwrap_or(1));
    }
    if let Some(megabytes) = number("EAT_MB") {
        eat_in_a_child(megabytes);
    }
    thread::sleep(Duration::from_millis(number("START_DELAY_MS").unwrap_or(0)));
    let version: Arc<str> = version().into();
    if let Ok(folder) = std::env::var("WRITE_TO") {
        write_lines(&folder, &version);
    }
    crash_soon();
    let listener = TcpListener::bind(address()).expect("the address is free");
    say(&format!("listening on {}, version {version}", listener.local_addr().expect("an address")));
    for connection in listener.incoming().flatten() {
        let version = version.clone();
        thread::spawn(move || drop(serve(connection, &version)));
    }
}

/// With a file `/crash` it serves for a second, and then says what is in the file and ends.
fn crash_soon() {
    let Ok(last_words) = std::fs::read_to_string("/crash") else { return };
    thread::spawn(move || {
        thread::sleep(Duration::from_secs(1));
        say(last_words.trim());
        std::process::exit(3);
    });
}

/// Not `println!`, which panics when the reader has gone.
fn say(line: &str) {
    let _ = writeln!(io::stdout(), "{line}");
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.trim().parse().ok()
}

fn address() -> String {
    std::env::var("LISTEN").unwrap_or_else(|_| format!("0.0.0.0:{}", number("PORT").unwrap_or(8080)))
}

fn version() -> String {
    let text = std::fs::read_to_string("/version").or_else(|_| std::env::var("VERSION")).unwrap_or_default();
    text.trim().to_owned()
}

/// Ends as if it had been killed itself, a second after the child was: the engine can lose the news about a container that
/// runs out of memory as soon as it has started, or that ends with it.
fn eat_in_a_child(megabytes: u64) {
    if std::env::var_os("IS_CHILD").is_some() {
        thread::sleep(Duration::from_secs(1));
        eat(megabytes);
        std::process::exit(0);
    }
    let program = std::env::current_exe().expect("a program");
    let status = std::process::Command::new(program).env("IS_CHILD", "").status().expect("the child starts");
    if !status.success() {
        thread::sleep(Duration::from_secs(1));
        std::process::exit(137);
    }
}

/// Memory that is really there: a byte of every page is written.
fn eat(megabytes: u64) {
    let mut memory = vec![0_u8; usize::try_from(megabytes << 20).expect("a size")];
    for byte in memory.iter_mut().step_by(4096) {
        *byte = 1;
    }
    std::hint::black_box(memory);
}

struct Request {
    method: String,
    path: String,
    query: HashMap<String, u64>,
    /// As it was sent: `/data/notes`, or `/data/notes=a text to be appended`.
    raw_query: String,
    keep_alive: bool,
    body: Vec<u8>,
}

/// One connection, request after request.
fn serve(stream: TcpStream, version: &str) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let (mut reader, mut writer) = (BufReader::new(stream.try_clone()?), stream);
    while let Some(request) = read_request(&mut reader)? {
        answer(&request, version, &mut writer)?;
        if !request.keep_alive {
            break;
        }
    }
    Ok(())
}

fn read_request(reader: &mut impl BufRead) -> io::Result<Option<Request>> {
    let Some(first) = read_line(reader)? else { return Ok(None) };
    let mut words = first.split(' ');
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or("/"));
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let raw_query = query.to_owned();
    let query = query.split('&').filter_map(|pair| pair.split_once('='));
    let query = query.filter_map(|(name, value)| Some((name.to_owned(), value.parse().ok()?))).collect();
    let (method, path) = (method.to_owned(), path.to_owned());
    let mut headers = HashMap::new();
    while let Some(line) = read_line(reader)?.filter(|line| !line.is_empty()) {
        if let Some((name, value)) = line.split_once(':') {
            headers.insert(name.trim().to_ascii_lowercase(), value.trim().to_ascii_lowercase());
        }
    }
    let body = read_body(reader, &headers)?;
    let asked = headers.get("connection").map_or("", String::as_str);
    let keep_alive = if first.ends_with("HTTP/1.0") { asked == "keep-alive" } else { asked != "close" };
    Ok(Some(Request { method, path, query, raw_query, keep_alive, body }))
}

fn read_line(reader: &mut impl BufRead) -> io::Result<Option<String>> {
    let mut line = String::new();
    let length = reader.by_ref().take(64 << 10).read_line(&mut line)?;
    Ok((length > 0).then(|| line.trim_end().to_owned()))
}

fn read_body(reader: &mut impl BufRead, headers: &HashMap<String, String>) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    if headers.get("transfer-encoding").is_some_and(|encoding| encoding == "chunked") {
        while let Some(line) = read_line(reader)? {
            let length = u64::from_str_radix(&line, 16).unwrap_or(0).min(MAX_BODY);
            reader.by_ref().take(length).read_to_end(&mut body)?;
            read_line(reader)?;
            if length == 0 {
                break;
            }
        }
    } else {
        let length = headers.get("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
        reader.by_ref().take(MAX_BODY.min(length)).read_to_end(&mut body)?;
    }
    Ok(body)
}

fn answer(request: &Request, version: &str, writer: &mut impl Write) -> io::Result<()> {
    let milliseconds = request.query.get("ms").copied().unwrap_or(0);
    match (request.method.as_str(), request.path.as_str()) {
        ("GET", "/") if std::env::var_os("RELAY_TO").is_some() => relay(request, version, writer),
        ("GET" | "HEAD", "/" | "/api" | "/api/users" | "/apiary") => send(request, 200, version, version.as_bytes(), writer),
        ("GET", "/slow") => {
            thread::sleep(Duration::from_millis(milliseconds));
            send(request, 200, version, version.as_bytes(), writer)
        }
        ("GET", "/stream") => stream(version, Duration::from_millis(milliseconds), writer),
        ("GET", "/env") => send(request, 200, version, environment().as_bytes(), writer),
        ("GET", "/hostname") => send(request, 200, version, hostname().as_bytes(), writer),
        ("GET", "/health") => {
            let status = number("HEALTH_STATUS").unwrap_or(200);
            send(request, status, version, b"health", writer)
        }
        ("GET", "/exit") => {
            send(request, 200, version, b"exiting", writer)?;
            say("exiting, as requested");
            let code = request.query.get("code").copied().unwrap_or(0);
            std::process::exit(i32::try_from(code).unwrap_or(1))
        }
        ("GET", "/print") => {
            send(request, 200, version, b"printing", writer)?;
            print(&request.query)
        }
        ("POST", "/say") => {
            io::stdout().write_all(&request.body)?;
            send(request, 200, version, b"said", writer)
        }
        ("POST", "/complain") => {
            io::stderr().write_all(&request.body)?;
            send(request, 200, version, b"complained", writer)
        }
        ("GET", "/file") => match std::fs::read(&request.raw_query) {
            Ok(bytes) => send(request, 200, version, &bytes, writer),
            Err(error) => send(request, 404, version, error.to_string().as_bytes(), writer),
        },
        ("GET", "/append") => {
            let (path, text) = request.raw_query.split_once('=').unwrap_or_default();
            match append(path, format!("{text}\n").as_bytes()) {
                Ok(()) => send(request, 200, version, b"written", writer),
                Err(error) => send(request, 500, version, error.to_string().as_bytes(), writer),
            }
        }
        ("POST", "/echo") => send(request, 200, version, &request.body, writer),
        _ => send(request, 404, version, b"not here", writer),
    }
}

/// What it is, and what the one says that `RELAY_TO` names: `web>api>database`.
fn relay(request: &Request, version: &str, writer: &mut impl Write) -> io::Result<()> {
    let asked = std::env::var("RELAY_TO").map_err(io::Error::other).and_then(|peer| ask(&peer));
    match asked {
        Ok(said) => send(request, 200, version, format!("{version}>{said}").as_bytes(), writer),
        Err(error) => send(request, 502, version, error.to_string().as_bytes(), writer),
    }
}

fn ask(peer: &str) -> io::Result<String> {
    let limit = Some(Duration::from_secs(10));
    let mut stream = TcpStream::connect(peer)?;
    stream.set_read_timeout(limit)?;
    write!(stream, "GET / HTTP/1.1\r\nhost: {peer}\r\nconnection: close\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    match answer.split_once("\r\n\r\n") {
        Some((head, body)) if head.contains(" 200 ") => Ok(body.to_owned()),
        _ => Err(io::Error::other(format!("{peer} answered {answer}"))),
    }
}

fn append(path: &str, bytes: &[u8]) -> io::Result<()> {
    std::fs::OpenOptions::new().create(true).append(true).open(path)?.write_all(bytes)
}

/// A numbered line every now and then into `lines` of a folder, going on after the last one that is there. Only one process may
/// do so at a time: it holds a lock, and one that cannot get it says so in `violations` and ends.
fn write_lines(folder: &str, version: &str) {
    let lock = std::fs::File::create(format!("{folder}/lock")).expect("the folder can be written to");
    if lock.try_lock().is_err() {
        let _ = append(&format!("{folder}/violations"), format!("{version} beside another\n").as_bytes());
        std::process::exit(9);
    }
    let path = format!("{folder}/lines");
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    let last = written.lines().last().and_then(|line| line.split(' ').next()?.parse::<u64>().ok());
    let (version, pause) = (version.to_owned(), Duration::from_millis(number("WRITE_EVERY_MS").unwrap_or(1000)));
    thread::spawn(move || {
        for number in last.unwrap_or(0) + 1.. {
            append(&path, format!("{number} {version}\n").as_bytes()).expect("a line is written");
            thread::sleep(pause);
        }
        drop(lock);
    });
}

/// Numbered lines as fast as it can, or so many a second; with `both` also to the other stream, in numbers of its own.
fn print(query: &HashMap<String, u64>) -> io::Result<()> {
    let given = |name: &str, default| query.get(name).copied().unwrap_or(default);
    let (first, count, rate, both) = (given("from", 1), given("count", 1), given("rate", 0), given("both", 0) > 0);
    let filling = "x".repeat(usize::try_from(given("bytes", 0)).unwrap_or(0));
    let (began, mut out) = (Instant::now(), io::BufWriter::with_capacity(32 << 10, io::stdout().lock()));
    for number in 0..count {
        writeln!(out, "line {} {filling}", first + number)?;
        if both {
            // Line by line, so that the two streams are really mixed.
            out.flush()?;
            writeln!(io::stderr(), "error {}", first + number)?;
        }
        if rate > 0 && number % (rate / 100).max(1) == 0 {
            out.flush()?;
            thread::sleep(Duration::from_micros(number * 1_000_000 / rate).saturating_sub(began.elapsed()));
        }
    }
    out.flush()
}

fn send(request: &Request, status: u64, version: &str, body: &[u8], writer: &mut impl Write) -> io::Result<()> {
    let (kind, length) = (if request.path == "/env" { "application/json" } else { "text/plain" }, body.len());
    let close = if request.keep_alive { "" } else { "connection: close\r\n" };
    let mut bytes = format!(
        "HTTP/1.1 {status} as asked\r\nx-version: {version}\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\n{close}\r\n"
    )
    .into_bytes();
    if request.method != "HEAD" {
        bytes.extend_from_slice(body);
    }
    writer.write_all(&bytes)
}

/// The version again and again, in as many pieces over the whole time.
fn stream(version: &str, time: Duration, writer: &mut impl Write) -> io::Result<()> {
    let head = "content-type: text/plain\r\ntransfer-encoding: chunked";
    write!(writer, "HTTP/1.1 200 OK\r\nx-version: {version}\r\n{head}\r\n\r\n")?;
    let piece = format!("{version}\n");
    for _ in 0..PIECES {
        write!(writer, "{:x}\r\n{piece}\r\n", piece.len())?;
        thread::sleep(time / u32::try_from(PIECES).unwrap_or(1));
    }
    write!(writer, "0\r\n\r\n")
}

fn hostname() -> String {
    std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default().trim().to_owned()
}

fn environment() -> String {
    let mut pairs: Vec<_> = std::env::vars_os().collect();
    pairs.sort();
    let pairs = pairs
        .iter()
        .map(|(name, value)| format!("{}:{}", quoted(&name.to_string_lossy()), quoted(&value.to_string_lossy())));
    format!("{{{}}}", pairs.collect::<Vec<_>>().join(","))
}

fn quoted(text: &str) -> String {
    let mut quoted = String::from('"');
    for character in text.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            control if control < ' ' => quoted.push_str(&format!("\\u{:04x}", u32::from(control))),
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}
