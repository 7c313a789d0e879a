//! Mail to a server that others have written.

use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdout, Command, Stdio};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rcgen::{CertifiedKey, generate_simple_self_signed};
use serde_json::Value;
use tempfile::{TempDir, tempdir};
use windlass_outgoing::{Outgoing, Settings};
use windlass_smtp::{Credentials, Mail, Security, SmtpError, send};

use crate::support::{LIMITS, local, mail, server};

const SCRIPT: &str = "tests/receivers/mail.py";

struct Aiosmtpd {
    process: Child,
    output: BufReader<ChildStdout>,
    port: u16,
    folder: TempDir,
}

impl Aiosmtpd {
    fn start(security: &str) -> Self {
        let python = std::env::var("RECEIVERS_PYTHON")
            .unwrap_or_else(|_| panic!("type: scripts/with-receivers cargo test -p windlass-smtp"));
        let folder = tempdir().unwrap();
        let [certificate, key] = ["certificate.pem", "key.pem"].map(|name| folder.path().join(name));
        let CertifiedKey { cert, signing_key } = generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
        std::fs::write(&certificate, pem("CERTIFICATE", cert.der())).unwrap();
        std::fs::write(&key, pem("PRIVATE KEY", &signing_key.serialize_der())).unwrap();
        let mut process = Command::new(python)
            .args(["-B", SCRIPT, security])
            .args([&certificate, &key])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut output = BufReader::new(process.stdout.take().unwrap());
        let mut port = String::new();
        output.read_line(&mut port).unwrap();
        Self { process, output, port: port.trim().parse().unwrap(), folder }
    }

    async fn trusting(&self) -> Outgoing {
        let roots = Some(self.folder.path().join("certificate.pem"));
        Outgoing::new(Settings { allow_private: true, extra_roots: roots }).await.unwrap()
    }

    /// The next mail that it has taken.
    fn mail(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    }
}

impl Drop for Aiosmtpd {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn pem(kind: &str, bytes: &[u8]) -> String {
    let text = STANDARD.encode(bytes);
    let lines: Vec<&str> = text.as_bytes().chunks(64).map(|line| std::str::from_utf8(line).unwrap()).collect();
    format!("-----BEGIN {kind}-----\n{}\n-----END {kind}-----\n", lines.join("\n"))
}

const WAYS: [(&str, Security); 3] =
    [("none", Security::None), ("starttls", Security::Starttls), ("tls", Security::Tls)];

#[tokio::test]
async fn it_takes_mail_over_each_security_and_refuses_one_recipient() {
    for (name, security) in WAYS {
        let mut receiver = Aiosmtpd::start(name);
        let mut server = server(receiver.port, security);
        if security != Security::None {
            server.credentials = Some(Credentials { user: "ada".to_owned(), password: "käse".to_owned() });
        }
        let to = ["eve@example.org", "ada@example.org"].map(str::to_owned).to_vec();
        let text = "Größe\n.\n..two\n".to_owned();
        let sent = send(&server, &Mail { to, text, ..mail() }, LIMITS, &receiver.trusting().await).await.unwrap();
        assert_eq!(sent.rejected[0].address, "eve@example.org");
        assert_eq!((sent.rejected.len(), sent.rejected[0].answer.code), (1, 550));
        let mail = receiver.mail();
        assert_eq!(mail["to"], serde_json::json!(["ada@example.org"]));
        assert_eq!(mail["is_encrypted"], security != Security::None, "{mail}");
        assert_eq!(mail["user"] == "ada", security != Security::None, "{mail}");
        let data = mail["data"].as_str().unwrap();
        assert!(data.contains("Gr=C3=B6=C3=9Fe\r\n.\r\n..two\r\n"), "{data}");
    }
}

#[tokio::test]
async fn it_refuses_a_wrong_password_and_its_certificate_is_looked_at() {
    for (name, security) in &WAYS[1..] {
        let receiver = Aiosmtpd::start(name);
        let mut server = server(receiver.port, *security);
        server.credentials = Some(Credentials { user: "ada".to_owned(), password: "guess".to_owned() });
        let refused = send(&server, &mail(), LIMITS, &receiver.trusting().await).await.unwrap_err();
        assert!(
            matches!(&refused, SmtpError::AuthenticationRefused { answer, .. } if answer.code == 535),
            "{refused:?}"
        );
        let mistrusted = send(&server, &mail(), LIMITS, &local().await).await.unwrap_err();
        assert!(matches!(mistrusted, SmtpError::Connection(_)), "{mistrusted:?}");
    }
}
