use super::{Core, Peers, Place, Server, on};

impl Peers {
    pub(super) fn caddy_proxy(&self, upstream: u16, connections: usize) -> Server {
        let place = Place::new(&self.folder, "caddy");
        let (http, https) = (place.http, place.https);
        let (chain, key) = (self.certificate_files.chain.display(), self.certificate_files.key.display());
        // Every connection that `wrk` leaves at the end of a round would be a line of its log.
        // HTTP/3 would listen as well.
        // It keeps 32 idle connections to an upstream unless told otherwise.
        let file = place.write(
            "Caddyfile",
            &format!(
                "{{
                    admin off
                    auto_https off
                    log {{
                        level PANIC
                    }}
                    servers {{
                        protocols h1 h2
                    }}
                }}
                (proxy) {{
                    bind 127.0.0.1
                    reverse_proxy 127.0.0.1:{upstream} {{
                        transport http {{
                            keepalive_idle_conns_per_host {connections}
                        }}
                    }}
                }}
                http://:{http} {{
                    import proxy
                }}
                https://:{https} {{
                    import proxy
                    tls {chain} {key} {{
                        protocols tls1.3
                    }}
                }}
                "
            ),
        );
        let mut command = on(Core::Measured, &self.caddy);
        command.arg("run").arg("--adapter").arg("caddyfile").arg("--config").arg(&file).env("GOMAXPROCS", "1");
        for variable in ["HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME"] {
            command.env(variable, &place.folder);
        }
        place.start("Caddy", command, "localhost")
    }
}
