//! unregister: what an application has registered at its code host is taken back: when it is deleted, gets another
//! connection, or another key.

use windlass_codehost::api::{HookId, KeyId};
use windlass_store::connections;

use crate::app::App;
use crate::code_host::{Failed, PullFor, api, full_name, send};
use crate::error::Error;
use crate::jobs::Held;
use crate::service::queue::Registered;

pub async fn unregister(app: &App, held: &Held, registered: &Registered) -> Result<(), Failed> {
    let connection = connections::get(&mut app.db.read().await.map_err(Error::from)?, registered.connection_id).await;
    let connection = connection.map_err(Error::from)?;
    // Without its connection nothing can be taken back any more.
    let at_host = connection.and_then(|connection| {
        let name = full_name(&connection, &registered.repository)?;
        Some((connection, name))
    });
    if let Some((connection, name)) = at_host {
        let api = api(app, &connection, &name, PullFor::Job).await?;
        if !registered.hook_id.is_empty() {
            let ask = api.delete_hook(&name, &HookId(registered.hook_id.clone())).map_err(Failed::Api)?;
            send(app, ask).await?;
        }
        if !registered.deploy_key_id.is_empty() {
            let ask = api.delete_deploy_key(&name, &KeyId(registered.deploy_key_id.clone())).map_err(Failed::Api)?;
            send(app, ask).await?;
        }
    }
    let mut work = held.begin().await.map_err(Error::from)?;
    held.done(&mut work).await.map_err(Error::from)?;
    work.commit().await.map_err(Error::from)?;
    Ok(())
}
