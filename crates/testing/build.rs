//! Compiles the application that tests deploy: one static file, which runs in an image that holds nothing else.

#![allow(clippy::expect_used, reason = "a failure here is a failed build")]

use std::path::Path;
use std::process::Command;

const SOURCE: &str = "testapp/main.rs";

fn main() {
    let variable = |name| std::env::var_os(name).expect("cargo sets it");
    let program = Path::new(&variable("OUT_DIR")).join("testapp");
    let mut rustc = Command::new(variable("RUSTC"));
    rustc.args(["--edition=2024", "-O", "-C", "target-feature=+crt-static", "-C", "strip=symbols", "--target"]);
    rustc.arg(variable("TARGET")).arg("-o").arg(&program).arg(SOURCE);
    assert!(rustc.status().expect("rustc starts").success(), "{SOURCE} does not compile");
    println!("cargo::rerun-if-changed={SOURCE}");
    println!("cargo::rustc-env=WINDLASS_TESTAPP={}", program.display());
}
