//! How long answers are: relations are embedded, but not over and over.

use serde_json::{Value, json};
use windlass_api::Role;
use windlass_testing::on_both_databases;

use crate::deploys::least;
use crate::support::{Person, TestServer, id_of, server};

on_both_databases!(server: people_in_many_organizations, what_is_not_cyclic_is_there);

const ORGANIZATIONS: usize = 99;
const APPLICATIONS: usize = 8;
/// A record with its organization, its creator and its state.
const RECORD_BYTES: usize = 4 * 1024;

/// Two people who share all of their organizations.
async fn people_in_many_organizations(server: TestServer) {
    let ada = server.admin().await;
    let grace = server.join(&ada, "grace", Role::Member).await;
    for number in 1..ORGANIZATIONS {
        let body = json!({ "name": format!("Organization {number}"), "description": "One of many" });
        let organization = server.post("/organizations", body).by(&ada).ok().await;
        let invitation = json!({ "email": grace.email, "organization_id": organization["id"] });
        let token = server.post("/organizations/invite/send", invitation).by(&ada).ok().await["token"].clone();
        server.post("/organizations/invite/accept", json!({ "token": token })).by(&grace).ok().await;
    }
    assert_eq!(server.get("/user/organizations").by(&grace).ok().await.as_array().unwrap().len(), ORGANIZATIONS);
    for number in 0..APPLICATIONS {
        server.deploy(&grace, least(&format!("shop {number}"))).await;
    }
    let applications = server.get("/deploy/applications").by(&ada).send().await;
    let shown = applications.json["data"]["applications"].as_array().unwrap();
    assert_eq!(shown.len(), APPLICATIONS);
    assert!(applications.text.len() < APPLICATIONS * RECORD_BYTES, "{} bytes", applications.text.len());
    for application in shown {
        has_no_memberships(&application["user"], &grace);
    }
    let members = server.get("/organizations/users").by(&ada).send().await;
    assert!(members.text.len() < 2 * RECORD_BYTES, "{} bytes", members.text.len());
    has_no_memberships(&members.json["data"][1]["user"], &grace);
    // Inside the organization's own record, a user's role there is the one thing to know.
    let organization = server.get("/organizations").by(&ada).send().await;
    assert!(organization.text.len() < 2 * RECORD_BYTES, "{} bytes", organization.text.len());
    let memberships = organization.json["data"]["users"][1]["organization_users"].as_array().unwrap();
    assert_eq!((memberships.len(), &memberships[0]["roles"]), (1, &json!(["member"])));
}

fn has_no_memberships(user: &Value, expected: &Person) {
    assert_eq!(id_of(user), expected.user_id);
    assert_eq!((&user["organizations"], &user["organization_users"]), (&json!([]), &json!([])));
}

/// In log lines, deployments and applications.
async fn what_is_not_cyclic_is_there(server: TestServer) {
    let ada = server.admin().await;
    let application = server.running(&ada, least("shop")).await;
    let (id, deployment) = (id_of(&application), id_of(&application["deployments"][0]));
    let logs = server.get(&format!("/deploy/application/logs/{id}")).by(&ada).ok().await;
    for line in logs["logs"].as_array().unwrap() {
        has_relations(&line["application"], &ada);
        has_no_memberships(&line["application"]["user"], &ada);
        assert_eq!(line["application_deployment"]["status"]["status"], "deployed", "{line}");
        assert_eq!(line["application_deployment"]["application"], json!({}));
    }
    let shown = server.get(&format!("/deploy/application/deployments/{deployment}")).by(&ada).ok().await;
    has_relations(&shown["application"], &ada);
    assert_eq!(shown["status"]["status"], "deployed");
    let again = server.deploy(&ada, least("shop")).await;
    has_relations(&again, &ada);
    assert_eq!(again["deployments"][0]["status"]["status"], "queued");
    assert_eq!(again["user"]["organizations"][0]["name"], "Analytical Engines");
}

fn has_relations(application: &Value, creator: &Person) {
    assert_eq!(application["organization"]["name"], "Analytical Engines", "{application}");
    assert_eq!(id_of(&application["user"]), creator.user_id);
    assert!(["running", "deploying"].contains(&application["status"]["status"].as_str().unwrap()), "{application}");
    assert_eq!(application["status"]["application"], json!({}));
}
