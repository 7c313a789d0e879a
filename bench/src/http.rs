//! Just enough of a client: one answer, whose length is stated, off a kept-alive connection.

use std::io::{BufRead, BufReader, Read};

/// The status and the body.
pub fn read_answer<R: Read>(stream: &mut BufReader<R>) -> (u16, Vec<u8>) {
    let mut line = String::new();
    stream.read_line(&mut line).expect("a status line");
    let status = line.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
    let mut length = 0;
    while line != "\r\n" {
        line.clear();
        let read = stream.read_line(&mut line).expect("a line");
        assert!(read > 0, "the connection ends inside a head");
        if let Some(text) = line.to_lowercase().strip_prefix("content-length:") {
            length = text.trim().parse().expect("a length");
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).expect("a body");
    (status, body)
}
