//! Whatever a client sends: a 4xx that names the field, never a 5xx, and nothing written.

use serde_json::{Value, json};
use windlass_testing::{on_both_databases, on_sqlite_and_long_on_postgres};

use crate::support::{Reply, TestServer, server};
use crate::walk::{Operation, World, body_fields, operations, refuses_unknown_fields, world};

on_sqlite_and_long_on_postgres!(world: every_field_of_every_body, every_declared_limit);
on_both_databases!(server: bodies_that_are_not_what_they_should_be, malformed_ids, good_unicode_is_kept);

async fn every_field_of_every_body(world: World) {
    let before = state(&world).await;
    let mut tried = 0;
    for operation in operations() {
        let fields = body_fields(&operation);
        if fields.is_empty() {
            continue;
        }
        let (path, body) = world.valid(&operation, world.owner()).await;
        let body = if body.is_null() { json!({}) } else { body };
        for (name, schema, required) in fields {
            for bad in bad_values(&schema, required) {
                let mut sent = body.clone();
                match &bad {
                    None => drop(sent.as_object_mut().unwrap().remove(&name)),
                    Some(value) => sent[&name] = value.clone(),
                }
                let reply = send(&world, &operation, &path, sent.to_string()).await;
                refused(&world, &operation, &reply, &name, &sent).await;
                tried += 1;
            }
            // Half of a character: JSON can spell it, no text can hold it.
            let lone_surrogate = body_with_raw(&body, &name, r#""\ud800""#);
            let reply = send(&world, &operation, &path, lone_surrogate.clone()).await;
            refused(&world, &operation, &reply, &name, &lone_surrogate.into()).await;
        }
        // Clients of these two routes may send more than is known here, so nothing is unexpected.
        if matches!(operation.id.as_str(), "create_webhook_config" | "delete_smtp_configuration") {
            assert!(!refuses_unknown_fields(&operation));
            continue;
        }
        assert!(refuses_unknown_fields(&operation), "{}", operation.id);
        let mut sent = body.clone();
        sent["unexpected"] = json!(1);
        let reply = send(&world, &operation, &path, sent.to_string()).await;
        refused(&world, &operation, &reply, "unexpected", &sent).await;
    }
    assert!(tried > 150, "only {tried} bad values were tried");
    let after = state(&world).await;
    // Making a call ready founds organizations and sends invitations; what is refused changes nothing of these.
    assert_eq!(before, after);
}

/// `None` stands for leaving the field out.
fn bad_values(schema: &Value, required: bool) -> Vec<Option<Value>> {
    let mut bad = vec![Some(json!({ "a": 1 })), Some(json!([1]))];
    if required {
        bad.extend([None, Some(Value::Null)]);
    }
    let kinds = schema["type"].as_array().cloned().unwrap_or_else(|| vec![schema["type"].clone()]);
    if kinds.contains(&json!("boolean")) {
        bad.extend([json!("true"), json!(1)].map(Some));
        return bad;
    }
    if kinds.contains(&json!("array")) {
        // Of a closed set nothing else is possible; of free texts none that is too long.
        let item =
            schema["items"]["maxLength"].as_u64().map_or("no such thing".into(), |most| "x".repeat(most as usize + 1));
        bad.extend([json!("text"), json!([null]), json!([item])].map(Some));
        bad.extend(schema["maxItems"].as_u64().map(|most| Some(numbered_items(most + 1, schema))));
        return bad;
    }
    if kinds.contains(&json!("object")) {
        let beyond = json!({ "A": "x".repeat(40_000) });
        bad.extend(
            [json!("text"), json!(5), json!({ "": "x" }), json!({ "A=B": "x" }), json!({ "A": "\u{0}" }), beyond]
                .map(Some),
        );
        bad.push(Some(numbered_entries(schema["maxProperties"].as_u64().unwrap() + 1, schema)));
        bad.push(Some(json!({ "N".repeat(schema["propertyNames"]["maxLength"].as_u64().unwrap() as usize + 1): "x" })));
        return bad;
    }
    if kinds.contains(&json!("integer")) {
        let (least, most) = (schema["minimum"].as_i64().unwrap(), schema["maximum"].as_i64().unwrap());
        let beyond = [json!(least - 1), json!(most + 1), json!(-1), json!(1e300), json!(14.5), json!("14")];
        bad.extend(beyond.map(Some));
        bad.extend(
            gap(schema).map(|(above, below)| [json!(above + 1), json!(below - 1)].map(Some)).into_iter().flatten(),
        );
        return bad;
    }
    bad.extend(
        [json!(5), json!(true), json!("a\u{0}b"), json!("a\u{7}b"), json!("a\u{202E}b"), json!("a\u{FFFF}b")].map(Some),
    );
    let most = schema["maxLength"].as_u64().unwrap_or(3_000) as usize;
    bad.push(Some(json!(text_of(most + 1, schema).unwrap_or_else(|| "x".repeat(most + 1)))));
    if schema["minLength"] != 0 {
        bad.push(Some(json!("")));
    }
    let least = schema["minLength"].as_u64().unwrap_or_default() as usize;
    bad.extend((least > 1).then(|| Some(json!("x".repeat(least - 1)))));
    bad
}

/// Values at the very edge of what is declared.
fn edge_values(schema: &Value) -> Vec<Value> {
    let number = |name: &str| schema[name].as_u64();
    let kinds = schema["type"].as_array().cloned().unwrap_or_else(|| vec![schema["type"].clone()]);
    if kinds.contains(&json!("integer")) {
        let gap = gap(schema).map(|(above, below)| [json!(above), json!(below)]);
        return [schema["minimum"].clone(), schema["maximum"].clone()]
            .into_iter()
            .chain(gap.into_iter().flatten())
            .collect();
    }
    if kinds.contains(&json!("array")) {
        return number("maxItems").map(|most| numbered_items(most, schema)).into_iter().collect();
    }
    if kinds.contains(&json!("object")) {
        let longest_name = schema["propertyNames"]["maxLength"].as_u64().unwrap() as usize;
        let longest_value = schema["additionalProperties"]["maxLength"].as_u64().unwrap() as usize;
        let longest_name = match schema["propertyNames"]["enum"].as_array() {
            Some(names) => names[0].as_str().unwrap().to_owned(),
            None => "N".repeat(longest_name),
        };
        let longest = json!({ longest_name: "x".repeat(longest_value) });
        return vec![numbered_entries(number("maxProperties").unwrap(), schema), longest, json!({})];
    }
    // Of the shortest, a pattern may ask for more than one character.
    let shortest = number("minLength").and_then(|length| text_of(length as usize, schema));
    let longest = number("maxLength").map(|length| {
        let text = text_of(length as usize, schema);
        text.unwrap_or_else(|| panic!("this test knows no text of {length} characters for {schema}"))
    });
    shortest.into_iter().chain(longest).map(Value::from).collect()
}

/// Between which numbers there are none that are accepted.
fn gap(schema: &Value) -> Option<(i64, i64)> {
    let gap = schema.get("not")?;
    Some((gap["exclusiveMinimum"].as_i64()?, gap["exclusiveMaximum"].as_i64()?))
}

fn numbered_items(number: u64, schema: &Value) -> Value {
    let item = |index: u64| match schema["items"]["$ref"].as_str() {
        None if schema["items"]["pattern"].as_str().is_some_and(|pattern| pattern.contains("[0-9A-Fa-f:.]")) => {
            json!(format!("10.0.0.{index}"))
        }
        None => json!(format!("x{index}")),
        Some("#/components/schemas/NewVolume") => json!({ "name": format!("x{index}"), "path": format!("/x{index}") }),
        Some("#/components/schemas/StatusPageApplication") => {
            json!({ "application_id": uuid::Uuid::from_u128(index.into()), "name": "x" })
        }
        Some(other) => panic!("this test knows no {other}"),
    };
    (0..number).map(item).collect()
}

/// By the names that the schema lists, or by numbers.
fn numbered_entries(number: u64, schema: &Value) -> Value {
    let value = "x".repeat(schema["additionalProperties"]["minLength"].as_u64().unwrap_or(1).max(1) as usize);
    let listed = schema["propertyNames"]["enum"].as_array().cloned().unwrap_or_default();
    let name = |index: u64| match listed.get(index as usize) {
        Some(name) => name.as_str().unwrap().to_owned(),
        None => format!("x{index}"),
    };
    (0..number).map(|index| (name(index), json!(value))).collect::<serde_json::Map<_, _>>().into()
}

/// A text of so many characters that the declared pattern lets pass.
fn text_of(length: usize, schema: &Value) -> Option<String> {
    let filled = |beginning: &str, repeated: &str, end: &str| {
        let middle = length.checked_sub(beginning.len() + end.len())?;
        Some([beginning, &repeated.chars().cycle().take(middle).collect::<String>(), end].concat())
    };
    let labels = "x".repeat(60) + ".";
    let candidates = [
        // The slash that a folder begins with counts, also where it is left out.
        filled("/", "x", ""),
        filled("", "x", ""),
        filled("NAME=", "x", ""),
        // Of a schedule.
        filled("", "0,", "0 * * * *"),
        filled("", &labels, "x"),
        filled("a@", &labels, "x"),
        filled("a@b", "", ""),
        filled("https://git.example.org/", "x", ""),
        filled("en-", "xxxxxxx-", "x"),
        filled("-----BEGIN PRIVATE KEY-----", "x", "-----END PRIVATE KEY-----"),
        filled("-----BEGIN CERTIFICATE-----", "x", "-----END CERTIFICATE-----"),
    ];
    let pattern = schema["pattern"].as_str().map(|pattern| regex::Regex::new(pattern).unwrap());
    let fits =
        |text: &String| text.chars().count() == length && pattern.as_ref().is_none_or(|pattern| pattern.is_match(text));
    candidates.into_iter().flatten().find(fits)
}

/// What is at the edge of a declared limit is accepted. A field that is not known comes after it, so that nothing is done: fields are
/// read in order, and the message is about the first that is wrong.
async fn every_declared_limit(world: World) {
    let mut tried = 0;
    for operation in operations().into_iter().filter(|operation| !body_fields(operation).is_empty()) {
        if !refuses_unknown_fields(&operation) {
            continue;
        }
        let (path, body) = world.valid(&operation, world.owner()).await;
        for (name, schema, _) in body_fields(&operation) {
            for value in edge_values(&schema) {
                let mut sent = if body.is_null() { json!({}) } else { body.clone() };
                sent[&name] = value;
                sent["unexpected"] = json!(1);
                let reply = send(&world, &operation, &path, sent.to_string()).await;
                refused(&world, &operation, &reply, "unexpected", &sent).await;
                tried += 1;
            }
        }
    }
    assert!(tried > 100, "only {tried} values were tried");
}

fn body_with_raw(body: &Value, name: &str, raw: &str) -> String {
    let mut body = body.clone();
    body[name] = json!("@@raw@@");
    body.to_string().replace("\"@@raw@@\"", raw)
}

async fn send(world: &World, operation: &Operation, path: &str, body: String) -> Reply {
    let call = world.server.call(operation.method.clone(), path).body(body);
    call.by(world.owner()).send().await
}

async fn refused(world: &World, operation: &Operation, reply: &Reply, beginning: &str, sent: &Value) {
    let sent: String = sent.to_string().chars().take(200).collect();
    let id = &operation.id;
    assert_eq!((reply.status, &reply.json["error"]), (400, &json!("invalid_request")), "{id} {sent}: {}", reply.text);
    let message = reply.json["message"].as_str().unwrap();
    // Of a list, the item: permissions[0]; of variables, the name.
    let rest = message.strip_prefix(beginning).unwrap_or_else(|| panic!("{id} {sent}: {message}"));
    assert!(rest.starts_with(": ") || rest.starts_with(['[', '.']), "{id} {sent}: {message}");
    assert!(message.contains("line 1, column"), "{id} {sent}: {message}");
    assert!(!world.is_audited(reply).await, "{id} {sent}");
}

/// What the owner can see of themselves and their organization.
async fn state(world: &World) -> Vec<Value> {
    let mut seen = Vec::new();
    for path in ["/user/settings", "/organizations/users"] {
        let mut record = world.server.get(path).by(world.owner()).ok().await;
        forget_organizations(&mut record);
        seen.push(record);
    }
    seen
}

fn forget_organizations(value: &mut Value) {
    match value {
        Value::Array(items) => {
            // The guests who were made ready for removal come and go.
            items.retain(|item| !item["user"]["email"].as_str().is_some_and(|email| email.starts_with("guest-")));
            items.iter_mut().for_each(forget_organizations);
        }
        Value::Object(fields) => {
            for name in ["organizations", "organization_users"] {
                fields.remove(name);
            }
            fields.values_mut().for_each(forget_organizations);
        }
        _ => {}
    }
}

async fn bodies_that_are_not_what_they_should_be(server: TestServer) {
    let admin = server.admin().await;
    let deep_arrays = "[".repeat(10_000) + &"]".repeat(10_000);
    let deep_objects = "{\"name\":".repeat(10_000) + "1" + &"}".repeat(10_000);
    let bodies: [&[u8]; 15] = [
        b"{",
        b"nonsense",
        b"{\"name\": \"x\"} trailing",
        b"{\"name\": \"x\",}",
        b"[\"An array\", null]",
        b"[]",
        b"\"text\"",
        b"5",
        b"null",
        b"true",
        b"{\"name\": \"\xff\xfe\"}",
        b"\xff",
        b"{\"name\": \"x\", \"name\": \"y\"}",
        deep_arrays.as_bytes(),
        deep_objects.as_bytes(),
    ];
    for body in bodies {
        let reply = server.post("/organizations", Value::Null).body(body.to_vec()).by(&admin).send().await;
        assert_eq!((reply.status, &reply.json["error"]), (400, &json!("invalid_request")), "{}", reply.text);
        let message = reply.json["message"].as_str().unwrap();
        assert!(message.contains("line 1, column") && message.len() < 300, "{message}");
    }
    let message = server
        .post("/organizations", Value::Null)
        .body("{\n  \"name\": 5\n}")
        .by(&admin)
        .fails(400, "invalid_request")
        .await;
    assert_eq!(message, "name: must be a string, not a number (line 2, column 11)");
    let message = server.post("/organizations", Value::Null).body("").by(&admin).fails(400, "invalid_request").await;
    assert_eq!(message, "name: is required; there is no body");

    let long_name = format!("{{\"{}\": 1}}", "x".repeat(100_000));
    let message =
        server.post("/organizations", Value::Null).body(long_name).by(&admin).fails(400, "invalid_request").await;
    assert!(message.len() < 300, "{message}");
    // Strangers may send less.
    let form = format!("{{\"email\":\"a@example.org\"{}}}", " ".repeat(16 * 1024));
    server.post("/auth/login", Value::Null).body(form).fails(413, "too_large").await;

    let limit = server.app.config.body_limit;
    let padded = |length: usize| format!("{{\"name\":\"x\"{}}}", " ".repeat(length - 12));
    assert_eq!(padded(limit).len(), limit);
    let message =
        server.post("/organizations", Value::Null).body(padded(limit + 1)).by(&admin).fails(413, "too_large").await;
    assert!(message.contains("1048576"), "{message}");
    server.post("/organizations", Value::Null).body(padded(limit)).by(&admin).ok().await;
}

async fn malformed_ids(server: TestServer) {
    let admin = server.admin().await;
    for bad in ["17", "", "01900000-0000-7000-8000-00000000000", "%00", "%ff", "'%20or%201=1"] {
        if !bad.is_empty() {
            server.delete(&format!("/auth/sessions/{bad}")).by(&admin).fails(400, "invalid_request").await;
            server.delete(&format!("/organizations/invites/{bad}")).by(&admin).fails(400, "invalid_request").await;
        }
        for path in ["/organizations", "/organizations/users", "/organizations/invites"] {
            let message = server.get(&format!("{path}?id={bad}")).by(&admin).fails(400, "invalid_request").await;
            assert!(message.contains("id"), "{message}");
        }
    }
    // Who it is comes first: without credentials even a malformed id is a 401.
    server.delete("/auth/sessions/17").fails(401, "unauthenticated").await;
    server.get("/organizations?id=17").fails(401, "unauthenticated").await;
}

async fn good_unicode_is_kept(server: TestServer) {
    let admin = server.admin().await;
    for name in
        ["Zoë", "東京の会社", "مؤسسة", "👩‍🚀 Astronauts", "e\u{301}", "O'Brien \"& Sons\" <b>", "'; drop table users; --"]
    {
        let created = server.post("/organizations", json!({ "name": name })).by(&admin).ok().await;
        assert_eq!(created["name"], name);
    }
}
