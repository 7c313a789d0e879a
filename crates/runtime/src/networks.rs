//! Networks, each with a subnet of its own.

use std::net::Ipv4Addr;
use std::time::Duration;

use serde::Deserialize;
use serde_json::json;

use crate::call::encoded;
use crate::containers::none_if_absent;
use crate::{Docker, Error, Label, Labels, Result};

/// The engine changes the machine's packet filter, one network after another.
const CHANGE_LIMIT: Duration = Duration::from_secs(60);

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Network {
    pub name: String,
    /// As in "10.192.3.0/24".
    pub subnet: String,
    pub gateway: Ipv4Addr,
    pub labels: Labels,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NetworkSummary {
    pub name: String,
    pub subnets: Vec<String>,
    pub labels: Labels,
    /// The interface of the network that is used where none is named, as by builds.
    pub default_bridge: Option<String>,
}

impl Docker {
    /// One that exists and is the same is fine.
    pub async fn create_network(&self, network: &Network) -> Result<()> {
        let body = json!({
            "Name": network.name,
            "CheckDuplicate": true,
            "Driver": "bridge",
            // An engine can be set up to say otherwise.
            "EnableIPv6": false,
            "Labels": network.labels,
            "IPAM": { "Config": [{ "Subnet": network.subnet, "Gateway": network.gateway }] },
        });
        // While the engine is making one it has taken its subnet, but does not list it yet.
        let _turn = self.turn_to_create_network().await;
        let call = self.post("create a network", "/networks/create".to_owned()).json(&body)?.limit(CHANGE_LIMIT);
        match call.done().await {
            Err(Error::Conflict { .. }) if self.has_same(network).await? => Ok(()),
            other => other,
        }
    }

    async fn has_same(&self, wanted: &Network) -> Result<bool> {
        let same = |existing: &NetworkSummary| {
            existing.name == wanted.name
                && existing.subnets == [wanted.subnet.as_str()]
                && existing.labels == wanted.labels
        };
        Ok(self.networks(None).await?.iter().any(same))
    }

    /// Those with the label, or all that the engine has.
    pub async fn networks(&self, label: Option<&Label>) -> Result<Vec<NetworkSummary>> {
        let mut call = self.get("list networks", "/networks".to_owned());
        if let Some(label) = label {
            call = call.filters(&[("label", &[&label.filter()])])?;
        }
        let answers: Vec<NetworkAnswer> = call.read().await?;
        Ok(answers.into_iter().map(summary).collect())
    }

    /// One that is gone already is fine, one with containers in it is a conflict.
    pub async fn remove_network(&self, name: &str) -> Result<()> {
        let call = self.delete("remove a network", format!("/networks/{}", encoded(name))).limit(CHANGE_LIMIT);
        match none_if_absent(call.done().await) {
            Err(Error::Refused { status: 403, message }) => Err(Error::Conflict { message }),
            other => other.map(drop),
        }
    }
}

#[derive(Deserialize)]
struct NetworkAnswer {
    #[serde(rename = "Name")]
    name: String,
    #[serde(rename = "Labels")]
    labels: Option<Labels>,
    #[serde(rename = "IPAM")]
    ipam: IpamAnswer,
    #[serde(rename = "Options")]
    options: Option<Labels>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct IpamAnswer {
    config: Option<Vec<SubnetAnswer>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct SubnetAnswer {
    subnet: Option<String>,
}

fn summary(answer: NetworkAnswer) -> NetworkSummary {
    let mut options = answer.options.unwrap_or_default();
    let is_default = options.get("com.docker.network.bridge.default_bridge").is_some_and(|text| text == "true");
    NetworkSummary {
        name: answer.name,
        subnets: answer.ipam.config.into_iter().flatten().filter_map(|subnet| subnet.subnet).collect(),
        labels: answer.labels.unwrap_or_default(),
        default_bridge: options.remove("com.docker.network.bridge.name").filter(|_| is_default),
    }
}
