//! The servers of a zone, asked one by one.

use std::net::{SocketAddr, UdpSocket};

use windlass_dns::{DnsError, Resolver, Without, ZoneServer, servers_without_text};
use windlass_testing::name_server::NameServer;

const ZONE: &str = "example.test";
/// A text that the zone has from the beginning.
const NAME: &str = "greeting.example.test";
const TEXT: &str = "hello";

#[tokio::test]
async fn the_servers_of_a_zone_are_those_that_it_names() {
    let server = NameServer::start(ZONE);
    let resolver = Resolver::new(vec![server.address]);
    let named = ZoneServer { name: "ns.example.test".into(), addresses: vec!["127.0.0.1:53".parse().unwrap()] };
    let lost = ZoneServer { name: "ns.elsewhere.test".into(), addresses: Vec::new() };
    assert_eq!(resolver.servers_of_zone(ZONE).await, Ok(vec![lost, named]));
    assert_eq!(resolver.servers_of_zone(NAME).await, Ok(Vec::new()), "no zone begins there");
    let elsewhere = resolver.servers_of_zone("example.com").await;
    assert!(matches!(elsewhere, Err(DnsError::NoAnswer { .. })), "{elsewhere:?}");
}

#[tokio::test]
async fn a_text_is_everywhere_when_each_server_has_it() {
    let (with, without) = (NameServer::start(ZONE), NameServer::start("example.com"));
    let server = ZoneServer::at(with.address);
    assert_eq!(server.texts(NAME).await, Ok(vec![TEXT.to_owned()]));
    assert_eq!(servers_without_text(&[server.clone(), server.clone()], NAME, TEXT).await, []);
    let other = Without { server: server.name.clone(), problem: None };
    assert_eq!(servers_without_text(std::slice::from_ref(&server), NAME, "other").await, [other]);
    // It does not speak for the zone, and asks no other server.
    let stranger = ZoneServer::at(without.address);
    let told = servers_without_text(&[server, stranger.clone()], NAME, TEXT).await;
    assert!(matches!(&told[..], [Without { server, problem: Some(_) }] if *server == stranger.name), "{told:?}");
}

#[tokio::test]
async fn one_address_that_answers_is_enough() {
    let with = NameServer::start(ZONE);
    let silent = UdpSocket::bind("127.0.0.1:0").unwrap();
    let silent: SocketAddr = silent.local_addr().unwrap();
    let server = ZoneServer { name: "ns.example.test".into(), addresses: vec![silent, with.address] };
    assert_eq!(servers_without_text(&[server], NAME, TEXT).await, []);
    let nowhere = ZoneServer { name: "ns.example.test".into(), addresses: Vec::new() };
    let told = servers_without_text(&[nowhere], NAME, TEXT).await;
    assert_eq!(told, [Without { server: "ns.example.test".into(), problem: Some(DnsError::NoServers) }]);
}
