//! The network of an organization, and an address in it for each container. Both are rows before the engine hears of them. The
//! preview of a fork has a network of its own: a stranger's code must not reach what else the organization runs.

use std::collections::HashSet;
use std::net::Ipv4Addr;

use uuid::Uuid;
use windlass_api::Failure;
use windlass_runtime as runtime;
use windlass_store::applications::Application;
use windlass_store::networks::{self, Network};

use super::failure::{Interruption, Result, failed};
use super::isolation;
use crate::config::Subnet;
use crate::host::Host;
use crate::labels::{INSTANCE_LABEL, short};
use crate::service::work::Work;
use crate::{firewall, host_route};

/// The length of a network's part of the pool.
const PREFIX: u8 = 24;
/// Subnets that others turn out to have, one after another.
const MOST_TRIES: usize = 64;

/// The network that containers of an application are in.
pub async fn of_application(host: &Host, application: &Application) -> Result<Network> {
    ensure(host, isolation::owner_of(&host.app, application).await?).await
}

/// Makes sure that an organization, or the preview of a fork, has its network, and that the engine has it too.
pub async fn ensure(host: &Host, owner_id: Uuid) -> Result<Network> {
    let _one_at_a_time = host.networks.lock().await;
    let mut refused = HashSet::new();
    for _ in 0..MOST_TRIES {
        let network = row(host, owner_id, &refused).await?;
        match host.create_network(&described(host, &network)?).await {
            Ok(()) => {
                host_route::add(&host.app.config.data_dir, host.app.config.network_pool).await;
                firewall::apply(host).await?;
                return Ok(network);
            }
            Err(runtime::Error::SubnetTaken { .. }) => {
                refused.insert(subnet(&network.subnet)?);
            }
            Err(error) => return Err(error.into()),
        }
    }
    failed(Failure::EngineRefused, format!("network-pool: {MOST_TRIES} parts of it in a row are in use by others"))
}

/// The owner's row, with a subnet that is not one of those that were refused.
async fn row(host: &Host, owner_id: Uuid, refused: &HashSet<Subnet>) -> Result<Network> {
    let stored = networks::get(&mut host.app.db.read().await?, owner_id).await?;
    if let Some(stored) = &stored
        && !refused.contains(&subnet(&stored.subnet)?)
    {
        return Ok(stored.clone());
    }
    if let Some(stored) = &stored
        && networks::has_containers(&mut host.app.db.read().await?, owner_id).await?
    {
        // Their addresses would lie outside of another one.
        let words = format!("the network {} is in use by another network on the engine", stored.subnet);
        return failed(Failure::EngineRefused, words);
    }
    let on_engine = host.all_networks().await?;
    let on_engine =
        on_engine.iter().flat_map(|network| &network.subnets).filter_map(|text| Subnet::try_from(text.as_str()).ok());
    let mut taken: Vec<Subnet> = on_engine.chain(refused.iter().copied()).chain(host_routes().await).collect();
    let mut tx = host.app.begin_step().await?;
    for network in networks::all(&mut tx).await? {
        taken.push(subnet(&network.subnet)?);
    }
    let free = host.app.config.network_pool.parts(PREFIX).find(|part| !taken.iter().any(|other| other.overlaps(*part)));
    let Some(free) = free else {
        return failed(Failure::EngineRefused, "network-pool: no part of it is free. Choose a larger one.");
    };
    let network = Network {
        owner_id,
        name: format!("wl-{}-{}", short(host.installation), short(owner_id)),
        subnet: free.to_string(),
        created_at: host.app.now(),
    };
    match stored {
        Some(_) => networks::set_subnet(&mut tx, owner_id, &network.subnet).await?,
        None => networks::insert(&mut tx, &network).await?,
    }
    tx.commit().await?;
    Ok(network)
}

/// Networks whose organization has no application any more, or whose preview is gone.
pub async fn remove_unused(host: &Host) -> Result<()> {
    let _one_at_a_time = host.networks.lock().await;
    let unused = networks::unused(&mut host.app.db.read().await?).await?;
    for network in unused {
        // The row first: another server may be about to use the network, and what has no row is swept from the engine.
        let mut tx = host.app.begin_step().await?;
        let is_deleted = networks::delete_unused(&mut tx, network.owner_id).await?;
        tx.commit().await?;
        if is_deleted && let Err(error) = host.remove_network(&network.name).await {
            tracing::warn!(network = network.name, %error, "a network could not be removed; trying again");
        }
    }
    Ok(())
}

fn described(host: &Host, network: &Network) -> Result<runtime::Network> {
    Ok(runtime::Network {
        name: network.name.clone(),
        subnet: network.subnet.clone(),
        gateway: subnet(&network.subnet)?.gateway(),
        labels: [(INSTANCE_LABEL.to_owned(), host.installation.to_string())].into(),
    })
}

fn subnet(text: &str) -> Result<Subnet> {
    Subnet::try_from(text).map_err(|problem| Interruption::Failed(Failure::Internal, format!("{text}: {problem}")))
}

/// An address for a container that is about to be, if its owner may have one more. One that was never used first, then the one that was free for longest: a
/// stale route must not lead to another application's container.
pub async fn take_address(work: &mut Work<'_>, network: &Network, container_id: Uuid) -> Result<Ipv4Addr> {
    let organization_id = networks::organization_of(work, network.owner_id).await?;
    // Always in this order. An organization without a network of its own has only previews of forks.
    networks::lock(work, organization_id).await?;
    networks::lock(work, network.owner_id).await?;
    let known = networks::addresses(work, network.owner_id).await?;
    let (most, used) = (work.app.config.organization_containers, networks::containers_of(work, organization_id).await?);
    if used >= most {
        return failed(
            Failure::CeilingReached,
            format!(
                "the organization has {used} containers, and {most} is the most that the operator gives it \
                 (organization-containers). Each instance takes one, and twice as many are needed while they are replaced: \
                 use fewer replicas, or stop an application."
            ),
        );
    }
    let used: HashSet<&str> = known.iter().map(|address| address.address.as_str()).collect();
    let fresh = subnet(&network.subnet)?.hosts().find(|host| !used.contains(host.to_string().as_str()));
    let oldest = known.iter().find(|address| address.container_id.is_none());
    let address = fresh.or_else(|| oldest.and_then(|address| address.address.parse().ok()));
    let Some(address) = address else {
        // The ceiling is lower, whatever it is.
        return failed(Failure::EngineRefused, format!("all addresses of the network {} are in use", network.subnet));
    };
    networks::take_address(work, network.owner_id, &address.to_string(), container_id).await?;
    Ok(address)
}

/// What this machine can already reach. Not the default route, which leads everywhere.
async fn host_routes() -> Vec<Subnet> {
    let table = tokio::fs::read_to_string("/proc/net/route").await.unwrap_or_default();
    table.lines().skip(1).filter_map(parsed_route).filter(|route| route.prefix() > 0).collect()
}

/// The kernel's flag of a route that leads nowhere, such as the one for the pool itself.
const UNREACHABLE: u32 = 0x200;

/// A line of the kernel's table: numbers in hexadecimal, in the machine's own order of bytes.
fn parsed_route(line: &str) -> Option<Subnet> {
    let mut fields = line.split_whitespace().skip(1);
    let address = |text: &str| Some(Ipv4Addr::from(u32::from_str_radix(text, 16).ok()?.to_ne_bytes()));
    let destination = address(fields.next()?)?;
    let flags = u32::from_str_radix(fields.nth(1)?, 16).ok()?;
    let mask = address(fields.nth(3)?)?;
    if flags & UNREACHABLE != 0 {
        return None;
    }
    Subnet::masked(destination, mask)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_routes_are_understood() {
        let line = "docker0\t000011AC\t00000000\t0001\t0\t0\t0\t0000FFFF\t0\t0\t0";
        assert_eq!(parsed_route(line).unwrap().to_string(), "172.17.0.0/16");
        assert!(parsed_route("*\t0000C00A\t00000000\t0200\t0\t0\t0\t0000F0FF\t0\t0\t0").is_none());
        assert!(parsed_route("Iface\tDestination").is_none());
    }
}
