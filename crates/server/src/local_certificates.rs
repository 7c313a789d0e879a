//! Certificates for names that mean this machine alone, signed with a root of the installation's own: no certificate authority issues for
//! them. They are no rows: the server makes another one whenever it needs it. The root is kept, because people have told their browsers to
//! trust it.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use windlass_certificate::root::{self, CertificateWithKey};
use windlass_edge::routes::{self as edge, PrivateKey};
use windlass_store::sealed;

use crate::app::App;
use crate::error::{Error, Result};

const SECRET: &str = "root of local certificates";
/// The root as `windlass ca` prints it. It is public.
pub const ROOT_FILE: &str = "ca.pem";
/// A certificate is good for so long, and another one takes its place well before.
const DAYS: i64 = 90;
const RENEWAL_DAYS: i64 = 30;
const SECONDS_PER_DAY: i64 = 86_400;
/// Names of one machine are few. Making a key for each takes a moment.
const MOST: usize = 500;

#[derive(Serialize, Deserialize)]
struct Stored {
    chain_pem: String,
    key_pem: String,
}

/// A certificate for each of the hosts, with those that the edge has already as they are.
pub async fn certificates(
    app: &App,
    hosts: Vec<String>,
    before: &[Arc<edge::Certificate>],
) -> Result<Vec<Arc<edge::Certificate>>> {
    let known: HashMap<&str, &Arc<edge::Certificate>> =
        before.iter().map(|certificate| (certificate.id.as_str(), certificate)).collect();
    let now = app.now().micros() / 1_000_000;
    let period = now / (RENEWAL_DAYS * SECONDS_PER_DAY);
    let (mut all, mut new) = (Vec::new(), Vec::new());
    if hosts.len() > MOST {
        tracing::warn!(names = hosts.len(), "more names of this machine than certificates are made for");
    }
    for host in hosts.into_iter().take(MOST) {
        let id = format!("own.{period}.{host}");
        match known.get(id.as_str()) {
            Some(same) => all.push(Arc::clone(same)),
            None => new.push((id, host)),
        }
    }
    if !new.is_empty() {
        all.extend(issue(root(app).await?, new, now).await?);
    }
    Ok(all)
}

async fn issue(root: CertificateWithKey, new: Vec<(String, String)>, now: i64) -> Result<Vec<Arc<edge::Certificate>>> {
    let issue = move || {
        let one = |(id, host): (String, String)| {
            let CertificateWithKey { chain_pem, key_pem } = root::issue(&root, &host, now, DAYS)?;
            Ok(Arc::new(edge::Certificate { id, hosts: vec![host], chain_pem, key_pem: PrivateKey::new(key_pem) }))
        };
        new.into_iter().map(one).collect::<std::result::Result<_, root::MakeError>>()
    };
    let issued = tokio::task::spawn_blocking(issue).await.map_err(|error| Error::internal(error.to_string()))?;
    issued.map_err(|error| Error::internal(error.to_string()))
}

/// The root of this installation, made if there is none yet. All servers of one database have the same.
async fn root(app: &App) -> Result<CertificateWithKey> {
    let root = match stored_root(app).await? {
        Some(root) => root,
        None => make(app).await?,
    };
    write_root_file(&app.config.data_dir, &root).await;
    Ok(root)
}

async fn stored_root(app: &App) -> Result<Option<CertificateWithKey>> {
    let Some(sealed) = sealed::instance_secret(&mut app.db.read().await?, SECRET).await? else { return Ok(None) };
    let text = app.vault.instance_secret(&sealed).await?;
    let Stored { chain_pem, key_pem } =
        serde_json::from_str(&text).map_err(|error| Error::internal(error.to_string()))?;
    Ok(Some(CertificateWithKey { chain_pem, key_pem }))
}

async fn make(app: &App) -> Result<CertificateWithKey> {
    let id = app.new_id();
    // By its number people can tell it from that of another installation.
    let name = format!("Windlass {}", &id.simple().to_string()[20..]);
    let made = root::new(&name, app.now().micros() / 1_000_000);
    let CertificateWithKey { chain_pem, key_pem } = made.map_err(|error| Error::internal(error.to_string()))?;
    let stored = Stored { chain_pem, key_pem };
    let text = serde_json::to_string(&stored).map_err(|error| Error::internal(error.to_string()))?;
    let mut work = app.begin_step().await?;
    let value = app.vault.seal_instance_secret(&mut work, id, &text).await?;
    match sealed::insert_instance_secret(&mut work, id, SECRET, &value).await {
        Ok(()) => work.commit().await?,
        // Another server was quicker.
        Err(windlass_store::Error::Duplicate) => {
            drop(work);
            return stored_root(app).await?.ok_or_else(|| Error::internal("the root of local certificates vanished"));
        }
        Err(error) => return Err(error.into()),
    }
    Ok(CertificateWithKey { chain_pem: stored.chain_pem, key_pem: stored.key_pem })
}

/// Without the file only `windlass ca` has nothing to print.
async fn write_root_file(data_dir: &Path, root: &CertificateWithKey) {
    let (path, pem) = (data_dir.join(ROOT_FILE), root.chain_pem.clone());
    let written = tokio::task::spawn_blocking(move || match std::fs::read_to_string(&path) {
        Ok(same) if same == pem => Ok(()),
        _ => windlass_durable::file::replace(&path, pem.as_bytes()),
    });
    if let Ok(Err(error)) = written.await {
        tracing::warn!(%error, "{ROOT_FILE} could not be written to the data folder");
    }
}
