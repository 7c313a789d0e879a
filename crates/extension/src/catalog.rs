//! The extensions that come with the server.

/// The name of a file and its text.
macro_rules! file {
    ($name:literal) => {
        ($name, include_str!(concat!("../catalog/", $name)))
    };
}

/// All of them: the name of the file, and the text.
pub const ALL: &[(&str, &str)] = &[
    file!("adminer.yaml"),
    file!("fail2ban-ssh.yaml"),
    file!("file-browser.yaml"),
    file!("firewall-ufw.yaml"),
    file!("ghost.yaml"),
    file!("gitea-runner.yaml"),
    file!("gitea.yaml"),
    file!("gotify.yaml"),
    file!("grafana.yaml"),
    file!("linkding.yaml"),
    file!("mailpit.yaml"),
    file!("mariadb.yaml"),
    file!("meilisearch.yaml"),
    file!("miniflux.yaml"),
    file!("mongodb.yaml"),
    file!("mysql.yaml"),
    file!("n8n.yaml"),
    file!("nats.yaml"),
    file!("nextcloud.yaml"),
    file!("postgresql.yaml"),
    file!("prometheus.yaml"),
    file!("rabbitmq.yaml"),
    file!("redis.yaml"),
    file!("seaweedfs.yaml"),
    file!("swap-file.yaml"),
    file!("umami.yaml"),
    file!("unattended-upgrades.yaml"),
    file!("uptime-kuma.yaml"),
    file!("valkey.yaml"),
    file!("vaultwarden.yaml"),
    file!("wiki-js.yaml"),
];
