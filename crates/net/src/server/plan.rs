//! What a server is to be, as it is written for a process that serves.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::service::ServiceSettings;
use crate::worker::Limits;

/// What a server is to be.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default)]
pub struct ServerPlan {
    /// Name of the architecture.
    pub architecture: String,
    /// Name of the service.
    pub service: String,
    /// Settings of the service, which it alone can read. Fields that are missing have its defaults.
    pub settings: serde_json::Value,
    /// Where to listen; port 0 lets the system choose.
    pub address: SocketAddr,
    /// Connections come from this machine alone: with the address 0.0.0.0 all of 127.0.0.0/8 is served.
    pub loopback: bool,
    /// Processes that share the port; one is this process itself.
    pub workers: usize,
    /// Threads or processes of an architecture that has a fixed pool of them.
    pub pool: usize,
    /// What is taken, and for how long.
    pub limits: Limits,
    /// File that the access log is appended to; `-` is standard output.
    pub log: Option<PathBuf>,
    /// Name of the user to become once it listens.
    pub user: Option<String>,
    /// The processor that all of it stays on, where the system can do that.
    pub cpu: Option<u32>,
    /// The beginning of the command that `inetd` executes for every connection; it is given one more word,
    /// and hands that to [`super::session()`].
    pub session_command: Vec<String>,
}

impl Default for ServerPlan {
    fn default() -> ServerPlan {
        ServerPlan {
            architecture: "thread".to_owned(),
            service: "busy".to_owned(),
            settings: serde_json::json!({}),
            address: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            loopback: false,
            workers: 1,
            pool: 32,
            limits: Limits::default(),
            log: None,
            user: None,
            cpu: None,
            session_command: Vec::new(),
        }
    }
}

impl ServerPlan {
    /// A server of this architecture for the service of these settings.
    pub fn new<S: ServiceSettings>(architecture: &str, settings: &S) -> ServerPlan {
        ServerPlan {
            architecture: architecture.to_owned(),
            service: S::NAME.to_owned(),
            settings: crate::options::to_value(settings),
            ..ServerPlan::default()
        }
    }
}
