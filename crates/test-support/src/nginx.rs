//! nginx in front of services, or as the peer of a measurement.

use std::fs;
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

use crate::port;
use crate::process_tree::process_tree;
use crate::wait::eventually;

/// A running nginx with one worker, stopped with this value.
#[derive(Debug)]
pub struct Nginx {
    pub address: SocketAddr,
    master: Child,
    _folder: TempDir,
}

impl Nginx {
    /// Starts nginx with these lines in the blocks `http` and `server`.
    pub fn start(http: &str, server: &str) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let at = folder.path().display().to_string();
        let address = port::free();
        let file = folder.path().join("nginx.conf");
        fs::write(&file, configuration(&at, address, (http, server))).expect("a file");
        let master = Command::new("nginx")
            .args(["-e", "stderr", "-p", &at, "-c"])
            .arg(&file)
            .stdin(Stdio::null())
            .spawn()
            .expect("nginx starts");
        let nginx = Self { address, master, _folder: folder };
        eventually("nginx accepts connections", || {
            nginx.processes().len() > 1 && TcpStream::connect(address).is_ok()
        });
        nginx
    }

    pub fn processes(&self) -> Vec<u32> {
        process_tree(self.master.id())
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        let master = rustix::process::Pid::from_child(&self.master);
        // The master stops its worker on SIGTERM, not on SIGKILL.
        let _ = rustix::process::kill_process(master, rustix::process::Signal::TERM);
        let _ = self.master.wait();
    }
}

/// The worker runs as the current user, who alone may be able to read the served files.
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
