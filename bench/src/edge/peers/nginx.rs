use super::{Core, ENDLESS, Peers, Place, Server, on};

impl Peers {
    /// Files, plain only.
    pub fn nginx_files(&self, core: Core) -> Server {
        let root = format!("root {};", self.files_folder().display());
        self.nginx(core, |place| format!("server {{ listen 127.0.0.1:{} backlog=4096; {root} }}", place.http))
    }

    /// The buffers hold the large answer; with the default of 32 KB it was a quarter to a third slower.
    pub(super) fn nginx_proxy(&self, upstream: u16, connections: usize) -> Server {
        let (chain, key) = (self.certificate_files.chain.display(), self.certificate_files.key.display());
        self.nginx(Core::Measured, |Place { http, https, .. }| {
            format!(
                "upstream up {{
                     server 127.0.0.1:{upstream};
                     keepalive {connections};
                     keepalive_requests {ENDLESS};
                 }}
                 server {{
                     listen 127.0.0.1:{http} backlog=4096;
                     listen 127.0.0.1:{https} ssl backlog=4096;
                     ssl_certificate {chain};
                     ssl_certificate_key {key};
                     ssl_protocols TLSv1.3;
                     location / {{
                         proxy_pass http://up;
                         proxy_http_version 1.1;
                         proxy_buffers 16 8k;
                         proxy_busy_buffers_size 64k;
                         proxy_set_header Connection \"\";
                         proxy_set_header Host $host;
                         proxy_set_header X-Real-IP $remote_addr;
                         proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
                         proxy_set_header X-Forwarded-Proto $scheme;
                     }}
                 }}"
            )
        })
    }

    /// Without `tcp_nopush`: with it, some answers of 64 KB through a proxy waited for a delayed acknowledgement, up to
    /// 40 ms.
    ///
    /// As the current user and inside the folder: nothing of the system's own nginx is read or written.
    fn nginx(&self, core: Core, servers: impl Fn(&Place) -> String) -> Server {
        let place = Place::new(&self.folder, "nginx");
        // Otherwise root's workers would run as a user that may not read the folder.
        let user = if rustix::process::geteuid().is_root() { "user root root;" } else { "" };
        let servers = servers(&place);
        let file = place.write(
            "nginx.conf",
            &format!(
                "{user}
                 daemon off;
                 worker_processes 1;
                 pid nginx.pid;
                 error_log stderr warn;
                 events {{ worker_connections 16384; }}
                 http {{
                     access_log off;
                     keepalive_requests {ENDLESS};
                     sendfile on;
                     open_file_cache max=1000;
                     client_body_temp_path body;
                     proxy_temp_path proxy;
                     fastcgi_temp_path fastcgi;
                     uwsgi_temp_path uwsgi;
                     scgi_temp_path scgi;
                     {servers}
                 }}
                 "
            ),
        );
        let mut command = on(core, &self.nginx);
        command.arg("-p").arg(&place.folder).arg("-c").arg(&file).args(["-e", "stderr"]);
        place.start("nginx", command, "localhost")
    }
}
