use super::{Core, Peers, Place, Server, on};

impl Peers {
    /// It keeps as many connections to the upstream as it has used.
    pub(super) fn haproxy_proxy(&self, upstream: u16, _connections: usize) -> Server {
        let place = Place::new(&self.folder, "haproxy");
        let (http, https) = (place.http, place.https);
        let both = self.certificate_files.both.display();
        // It wants twice as many open files as connections, which not every machine allows, and which are not needed
        // here: idle visitors have no connection to the upstream.
        let file = place.write(
            "haproxy.cfg",
            &format!(
                "global
                     nbthread 1
                     maxconn 12000
                     no strict-limits
                 defaults
                     mode http
                     option http-keep-alive
                     http-reuse always
                     timeout connect 5s
                     timeout client 60s
                     timeout server 60s
                 frontend visitors
                     bind 127.0.0.1:{http}
                     bind 127.0.0.1:{https} ssl crt {both} ssl-min-ver TLSv1.3 alpn h2,http/1.1
                     option forwardfor
                     http-request set-header X-Real-IP %[src]
                     http-request set-header X-Forwarded-Proto http unless {{ ssl_fc }}
                     http-request set-header X-Forwarded-Proto https if {{ ssl_fc }}
                     default_backend up
                 backend up
                     server up 127.0.0.1:{upstream}
                 "
            ),
        );
        let mut command = on(Core::Measured, &self.haproxy);
        command.args(["-q", "-db", "-f"]).arg(&file);
        place.start("HAProxy", command, "localhost")
    }
}
