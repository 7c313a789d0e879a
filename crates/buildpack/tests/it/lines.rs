//! What every Dockerfile must be: one instruction on each line, with each command as one argument of one shell.

const SHELL: [&str; 2] = ["/bin/sh", "-c"];

/// Reads a Dockerfile back, and gives its commands.
pub fn check(dockerfile: &str) -> Vec<String> {
    let mut commands = Vec::new();
    let mut is_first = true;
    for line in dockerfile.split('\n').filter(|line| !line.is_empty()) {
        assert!(line.len() < 65_535, "the engine refuses such a long line");
        assert!(!line.contains("<<"), "a here-document may begin: {line}");
        assert!(!line.chars().any(char::is_control), "{line:?}");
        let (instruction, rest) = line.split_once(' ').unwrap();
        assert!(is_first == (is_first && instruction == "FROM"), "{line}");
        is_first = false;
        match instruction {
            "FROM" | "WORKDIR" | "ENV" | "EXPOSE" | "ARG" => assert!(is_plain(rest), "{line}"),
            "USER" => assert_eq!(rest, "10001:10001"),
            "COPY" => {
                let words = words(rest, line);
                assert!(words.len() >= 2 && words.iter().all(|word| is_plain(word)), "{line}");
            }
            "RUN" | "CMD" => {
                let mut words = words(rest, line);
                if words.len() == 3 && words[..2] == SHELL {
                    commands.push(words.remove(2));
                } else {
                    // An image without a shell.
                    assert_eq!(words, ["/app/app"], "{line}");
                }
            }
            other => panic!("{other} is not expected: {line}"),
        }
    }
    check_user(dockerfile.rsplit("FROM ").next().unwrap());
    commands
}

/// What runs, runs as a user, in a folder that the engine has made for that user.
fn check_user(last: &str) {
    let Some((as_root, as_user)) = last.split_once("\nUSER ") else {
        return assert!(!last.contains("\nCMD "), "{last}");
    };
    assert!(!as_root.contains("WORKDIR ") && !as_user.contains("\nRUN "), "{last}");
    assert!(as_user.contains("\nWORKDIR /app\n") && as_user.contains("\nCMD "), "{last}");
    // The only copy in the folder that is not the user's is a program of Go.
    let mut copies =
        as_user.lines().filter(|line| line.starts_with("COPY ") && !line.starts_with("COPY --chown=10001:10001 "));
    assert!(copies.all(|line| line == "COPY --from=build [\"/out/app\",\"./app\"]"), "{last}");
}

/// The JSON after the flags.
fn words(rest: &str, line: &str) -> Vec<String> {
    let at = rest.find('[').unwrap();
    assert!(rest[..at].split_whitespace().all(|flag| flag.starts_with("--") && is_plain(flag)), "{line}");
    serde_json::from_str(&rest[at..]).unwrap_or_else(|error| panic!("{error}: {line}"))
}

fn is_plain(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b" ._-/:=$@,+{}".contains(&byte))
}
