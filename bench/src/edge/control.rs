//! The edge's control socket: one line of JSON each way.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use serde::Serialize;
use serde_json::{Value, json};

pub struct Control {
    stream: BufReader<UnixStream>,
}

/// How long a new table took: from the request's first byte to the answer's last, and by the edge's own clock if it
/// says so.
#[derive(Debug, Serialize)]
pub struct Swap {
    pub round_trip_us: f64,
    pub build_us: Option<f64>,
    pub swap_us: Option<f64>,
}

impl Control {
    pub fn open(data_dir: &Path) -> Self {
        let stream = UnixStream::connect(data_dir.join("edge.sock")).expect("the edge's control socket");
        stream.set_read_timeout(Some(Duration::from_secs(30))).expect("an option");
        Self { stream: BufReader::new(stream) }
    }

    pub fn apply(&mut self, routes: &Value) -> Swap {
        let request = format!("{}\n", json!({ "version": 1, "apply": routes }));
        let mut line = String::new();
        let started = Instant::now();
        self.stream.get_mut().write_all(request.as_bytes()).expect("a request");
        self.stream.read_line(&mut line).expect("an answer");
        let round_trip_us = started.elapsed().as_secs_f64() * 1e6;
        let answer: Value = serde_json::from_str(&line).expect("JSON");
        assert!(answer["ok"].is_object(), "the edge refuses the table: {line}");
        let own = |name: &str| answer["ok"][name].as_f64();
        Swap { round_trip_us, build_us: own("build_us"), swap_us: own("swap_us") }
    }
}
