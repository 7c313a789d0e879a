//! Checking and exporting the audit log from the command line.

use rustix::process::Signal;
use windlass_testing::DatabaseLocation;

use crate::process::{Process, run, token_in, windlass};

#[test]
fn verify_names_the_first_broken_link() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let place = runtime.block_on(DatabaseLocation::fresh(windlass_testing::Kind::Sqlite));
    let folder = place.folder.path();
    let verify = || run(windlass().args(["audit", "verify", "--data-dir"]).arg(folder));
    let server = Process::serve(folder, &[]);
    let token = token_in(&server.register(""));
    for number in 1..=5 {
        server.ok("PUT", "/organizations", &token, &format!(r#"{{"description":"{number}"}}"#));
    }
    // While the server runs: 3 entries of the instance, 6 of the organization.
    let output = verify();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "9 entries in 2 chain(s): every link holds.\n");
    let changed = "update audit_entries set actor = 'Eve' where seq = 4";
    assert_eq!(runtime.block_on(place.execute(changed)), 1);
    let output = verify();
    assert_eq!(output.status.code(), Some(1));
    let problem = String::from_utf8(output.stderr).unwrap();
    assert!(problem.contains("1 of 2 chain(s) are broken"), "{problem}");
    assert!(problem.contains("entry 4: it is not what was written"), "{problem}");
    runtime.block_on(place.execute("update audit_entries set actor = 'ada' where seq = 4"));
    assert!(verify().status.success());
    // Put back to an earlier time, head and all, it is whole in itself; only a copy kept elsewhere tells.
    let keep = "create table kept_heads as select * from audit_chains; \
                create table kept_entries as select * from audit_entries";
    runtime.block_on(place.execute(keep));
    server.ok("PUT", "/organizations", &token, r#"{"description":"6"}"#);
    let copy = folder.join("copy.jsonl");
    let exported = run(windlass().args(["audit", "export", "--data-dir"]).arg(folder));
    std::fs::write(&copy, exported.stdout).unwrap();
    let against = || run(windlass().args(["audit", "verify", "--data-dir"]).arg(folder).arg("--against").arg(&copy));
    server.ok("PUT", "/organizations", &token, r#"{"description":"7"}"#);
    assert!(against().status.success(), "what came after the copy is no harm");
    let put_back = "delete from audit_entries; insert into audit_entries select * from kept_entries; \
                    delete from audit_chains; insert into audit_chains select * from kept_heads";
    runtime.block_on(place.execute(put_back));
    assert!(verify().status.success());
    for entry in [7, 8] {
        let problem = String::from_utf8(against().stderr).unwrap();
        assert!(problem.contains("entry 7: it is not the one of the copy"), "{problem}");
        // Nor does going on hide it.
        server.ok("PUT", "/organizations", &token, &format!(r#"{{"description":"again {entry}"}}"#));
        assert!(verify().status.success());
    }
    std::fs::write(&copy, "nonsense\n").unwrap();
    assert!(String::from_utf8(against().stderr).unwrap().contains("against: line 1"));

    runtime.block_on(place.execute("delete from audit_entries where seq >= 5"));
    let problem = String::from_utf8(verify().stderr).unwrap();
    assert!(problem.contains("entry 5: it and all up to entry 8 are cut off"), "{problem}");
}

#[test]
fn export_writes_a_line_for_each_entry() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = Process::serve(folder.path(), &[]);
    let registered = server.register("");
    let organization = registered.split("\"organization_id\":\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
    server.signal(Signal::TERM);
    server.wait();
    let export = |arguments: &[&str]| {
        let output = run(windlass().args(["audit", "export", "--data-dir"]).arg(folder.path()).args(arguments));
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8(output.stdout).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect::<Vec<serde_json::Value>>()
    };
    let all = export(&[]);
    let messages: Vec<_> = all.iter().map(|line| line["message"].as_str().unwrap()).collect();
    let team = "ada created the organization ada's team";
    assert_eq!(messages, ["ada registered", team, "ada logged in", team]);
    assert!(all[0]["organization_id"].is_null() && all[0]["mac"].as_str().unwrap().len() == 64);
    let one = export(&["--organization", &organization]);
    assert_eq!((one.len(), &one[0]["seq"], &one[0]["organization_id"]), (1, &1.into(), &organization.into()));
    let output = run(windlass().args(["audit", "export", "--organization", "17"]));
    assert_eq!(output.status.code(), Some(2));
}
