//! What BuildKit could tell, and what it never would: lines come of it, or a refusal.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use super::*;
use crate::lines::LONGEST_LINE;

const IMAGE: &str = "windlass/0123:4567";

fn name() -> impl Strategy<Value = String> {
    let pieces = select(
        &["v", "w", "RUN make", "[internal] load ", "\n", "\r", "\u{e9}", IMAGE, "context canceled", "no space left"][..],
    );
    prop_oneof![vec(pieces, 0..4).prop_map(|pieces| pieces.concat()), any::<String>()]
}

fn moment() -> impl Strategy<Value = Option<Moment>> {
    any::<bool>().prop_map(|is_there| is_there.then_some(Moment {}))
}

fn vertex() -> impl Strategy<Value = Vertex> {
    let error = prop_oneof![Just(String::new()), name()];
    (select(&["v", "w", ""][..]), name(), any::<bool>(), moment(), moment(), error).prop_map(
        |(digest, name, cached, started, completed, error)| Vertex {
            digest: digest.to_owned(),
            name,
            cached,
            started,
            completed,
            error,
        },
    )
}

fn log() -> impl Strategy<Value = VertexLog> {
    (
        select(&["v", "w", "x"][..]),
        0..4_i64,
        prop_oneof![any::<Vec<u8>>(), "[ab\u{e9}\\r\\n]{0,9}".prop_map(String::into_bytes)],
    )
        .prop_map(|(vertex, stream, text)| VertexLog { vertex: vertex.to_owned(), stream, text })
}

fn task() -> impl Strategy<Value = Task> {
    (name(), select(&["v", "w", "x"][..]), moment()).prop_map(|(id, vertex, completed)| Task {
        id,
        vertex: vertex.to_owned(),
        completed,
    })
}

fn status() -> impl Strategy<Value = Status> {
    (vec(vertex(), 0..4), vec(task(), 0..3), vec(log(), 0..4)).prop_map(|(vertexes, tasks, logs)| Status {
        vertexes,
        tasks,
        logs,
    })
}

fn told(progress: &mut BuildProgress, status: &Status) -> Vec<PrintedLine> {
    progress.lines_of(&STANDARD.encode(status.encode_to_vec())).unwrap()
}

proptest! {
    #[test]
    fn every_status_becomes_lines(statuses in vec(status(), 1..4)) {
        let mut progress = BuildProgress::new(IMAGE);
        let mut lines: Vec<_> = statuses.iter().flat_map(|status| told(&mut progress, status)).collect();
        lines.extend(progress.unfinished_lines());
        for line in lines {
            assert!(!line.text.contains('\n') && line.text.len() <= LONGEST_LINE + "…".len(), "{line:?}");
            // What a program prints is its own business.
            assert!(line.stream != Stream::Note || !line.text.contains(IMAGE), "{line:?}");
        }
        assert!(!progress.failure(IMAGE).to_string().contains(IMAGE));
    }

    #[test]
    fn output_is_the_same_in_whichever_pieces(text in "[ab\u{e9}\\r\\n]{0,20}", cut in any::<prop::sample::Index>()) {
        let begun = || Vertex {
            digest: "v".to_owned(), name: "RUN make".to_owned(), cached: false, started: Some(Moment {}), completed: None, error: String::new(),
        };
        let output = |pieces: &[&[u8]]| {
            let mut progress = BuildProgress::new(IMAGE);
            told(&mut progress, &Status { vertexes: vec![begun()], tasks: Vec::new(), logs: Vec::new() });
            let log = |text: &&[u8]| VertexLog { vertex: "v".to_owned(), stream: 1, text: text.to_vec() };
            let each = |piece| told(&mut progress, &Status { vertexes: Vec::new(), tasks: Vec::new(), logs: vec![log(piece)] });
            let mut lines: Vec<_> = pieces.iter().flat_map(each).collect();
            lines.extend(progress.unfinished_lines());
            lines
        };
        let (first, second) = text.as_bytes().split_at(cut.index(text.len() + 1));
        assert_eq!(output(&[first, second]), output(&[text.as_bytes()]));
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in any::<Vec<u8>>(), trace in any::<String>()) {
        let mut progress = BuildProgress::new(IMAGE);
        let _ = progress.lines_of(&STANDARD.encode(bytes));
        let _ = progress.lines_of(&trace);
    }
}
