//! Changes at a real name server.

use windlass_dns::Resolver;
use windlass_testing::name_server::NameServer;
use windlass_zone::{Provider, TsigKey};

const ZONE: &str = "example.test";
const NAME: &str = "_acme-challenge.example.test";

fn provider(server: &NameServer) -> Provider {
    Provider::rfc2136(server.address, TsigKey::parse(&server.key).unwrap())
}

async fn texts(server: &NameServer, name: &str) -> Vec<String> {
    let mut texts = Resolver::new(vec![server.address]).texts(name).await.unwrap();
    texts.sort();
    texts
}

#[tokio::test]
async fn values_come_and_go_one_by_one() {
    let server = NameServer::start(ZONE);
    let provider = provider(&server);
    provider.add_text(ZONE, NAME, "first").await.unwrap();
    assert_eq!(texts(&server, NAME).await, ["first"]);
}
