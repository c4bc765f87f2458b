//! The limit that we are held against: nginx.

use std::fs;
use std::net::{SocketAddr, TcpListener};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tempfile::TempDir;

use crate::process::Processes;

/// A running nginx with one worker, which ends with this value.
#[derive(Debug)]
pub(crate) struct Nginx {
    pub(crate) address: SocketAddr,
    pub(crate) processes: Processes,
    master: Child,
    _folder: TempDir,
}

impl Nginx {
    /// Starts it with what stands in the blocks `http` and `server` besides.
    pub(crate) async fn start(http: &str, server: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let at = folder.path().display().to_string();
        // Debian's nginx tells nobody which port it was given.
        let address = TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr());
        let address = address.expect("a port");
        let file = folder.path().join("nginx.conf");
        fs::write(&file, configuration(&at, address, (http, server))).expect("a file");
        let master = Command::new("nginx")
            .args(["-e", "stderr", "-p", &at, "-c"])
            .arg(&file)
            .stdin(Stdio::null())
            .spawn()
            .expect("nginx starts");
        let worker = loop {
            let children = format!("/proc/{0}/task/{0}/children", master.id());
            let children = fs::read_to_string(children).unwrap_or_default();
            let listens = tokio::net::TcpStream::connect(address).await.is_ok();
            match children.split_whitespace().next().and_then(|pid| pid.parse().ok()) {
                Some(worker) if listens => break worker,
                _ => tokio::time::sleep(Duration::from_millis(20)).await,
            }
        };
        let processes = Processes(vec![master.id(), worker]);
        Self { address, processes, master, _folder: folder }
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        let master = rustix::process::Pid::from_child(&self.master);
        // The master ends its worker with itself when it is asked to, not when it is killed.
        let _ = rustix::process::kill_process(master, rustix::process::Signal::TERM);
        let _ = self.master.wait();
    }
}

/// The worker is who started this: what is served may be for its owner alone.
fn configuration(folder: &str, address: SocketAddr, (http, server): (&str, &str)) -> String {
    let user = if rustix::process::geteuid().is_root() { "user root root;" } else { "" };
    format!(
        "daemon off;
{user}
worker_processes 1;
worker_rlimit_nofile 20000;
pid {folder}/nginx.pid;
error_log stderr error;
events {{ worker_connections 15000; }}
http {{
    access_log off;
    keepalive_requests 100000000;
    tcp_nodelay on;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    {http}
    server {{
        listen {address} backlog=4096;
        {server}
    }}
}}
"
    )
}
