//! The files of a web server under test, and the client that requests one of them.

use std::net::SocketAddr;
use std::path::PathBuf;

use net::client::http::HttpClientSettings;
use net::load::LoadSettings;
use net::server::ServerPlan;
use net::service::http::HttpSettings;

use crate::{Trial, TrialError};

/// The folder that is served, with nothing else in it: where the server runs elsewhere, it is sent there.
pub fn web_folder(trial: &Trial<'_>) -> PathBuf {
    trial.scratch().join("web")
}

/// Writes a file of this size into the folder that [`web`] serves. Returns its path in a request.
pub fn web_file(trial: &Trial<'_>, bytes: usize) -> Result<String, TrialError> {
    let mut random = fastrand::Rng::with_seed(trial.seed());
    let content: Vec<u8> = std::iter::repeat_with(|| random.u8(..)).take(bytes).collect();
    let name = format!("{bytes}.bin");
    let file = web_folder(trial).join(&name);
    let written = std::fs::create_dir_all(web_folder(trial)).and_then(|()| std::fs::write(&file, content));
    written.map_err(TrialError::at(format!("to write {}", file.display())))?;
    Ok(format!("/{name}"))
}

/// A web server for the trial's folder.
pub fn web(trial: &Trial<'_>, architecture: &str) -> ServerPlan {
    let settings = HttpSettings { root: web_folder(trial), ..HttpSettings::default() };
    ServerPlan::new(architecture, &settings)
}

/// Settings of a load generator that requests one file of a web server.
pub fn web_client(address: SocketAddr, path: String) -> LoadSettings {
    let client =
        HttpClientSettings { host: address.to_string(), paths: vec![path], ..HttpClientSettings::default() };
    LoadSettings::new(address, &client)
}
