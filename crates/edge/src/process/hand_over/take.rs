//! The new process's side of a hand-over: it takes the sockets and the routes of the process that is running.

use std::fs::File;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixListener;

use tokio::net::UnixStream;
use windlass_durable::kill_point;

use super::predecessor::Predecessor;
use super::{Inventory, STEP_LIMIT};
use crate::process::control::client::Client;
use crate::process::control::lines::{LONGEST_LINE, line};
use crate::process::control::{self, Call, Message, Reply, TakeOver, VERSION};
use crate::process::descriptors;
use crate::process::holdings::{Holdings, VisitorSocket, bind};
use crate::process::options::{EdgeError, Listen, Options};
use crate::process::route_file::Loaded;
use crate::process::start::ProcessStart;
use crate::routes::NEWEST_VERSION;
use crate::scheme::Scheme;

pub async fn take(options: &Options) -> Result<ProcessStart, EdgeError> {
    let failed = |error: io::Error| EdgeError::TakeOver(error.to_string());
    let receiving = async {
        let stream = UnixStream::connect(control::socket(&options.data_dir)).await?;
        let call = Call::TakeOver(TakeOver { pid: std::process::id(), route_version: NEWEST_VERSION });
        descriptors::send(&stream, &line(&Message { version: VERSION, call })?, &[]).await?;
        let (text, received) = descriptors::receive_line(&stream, LONGEST_LINE).await?;
        Ok((stream, text, received))
    };
    let (stream, text, received) =
        tokio::time::timeout(STEP_LIMIT, receiving).await.map_err(|error| failed(error.into()))?.map_err(failed)?;
    kill_point::reached("take-over-after-sockets");
    let inventory = match serde_json::from_slice(&text).map_err(|error| failed(error.into()))? {
        Reply::Ok::<Inventory>(inventory) => inventory,
        Reply::Error(refusal) => return Err(EdgeError::TakeOver(refusal.message)),
    };
    let mut received = received.into_iter();
    let mut next = || received.next().ok_or_else(|| EdgeError::TakeOver("sockets are missing".into()));
    let lock = File::from(next()?);
    let control = UnixListener::from(next()?);
    let requested = Listen { http: inventory.requested, https: inventory.requested_https };
    let given = requested.all().map(|listening| Ok((listening, next()?))).collect::<Result<_, EdgeError>>()?;
    let holdings = Holdings { lock, control, sockets: wanted(&options.listen, given)? };
    inventory.routes.check().map_err(|problems| EdgeError::TakeOver(problems.join("; ")))?;
    let routes = match inventory.damaged {
        Some(why) => Loaded::Damaged(why),
        None => Loaded::Routes(inventory.routes),
    };
    let predecessor = Predecessor::new(Client::new(stream), inventory.route_version);
    Ok(ProcessStart { holdings, routes, predecessor: Some(predecessor), tickets: inventory.tickets })
}

/// The sockets that this process is to listen on: those that it was given, and new ones for the rest.
fn wanted(listen: &Listen, mut given: Vec<((Scheme, SocketAddr), OwnedFd)>) -> Result<Vec<VisitorSocket>, EdgeError> {
    let mut sockets = Vec::new();
    for (scheme, address) in listen.all() {
        sockets.push(match given.iter().position(|(requested, _)| *requested == (scheme, address)) {
            Some(index) => {
                let listener = TcpListener::from(given.swap_remove(index).1);
                VisitorSocket { scheme, requested: address, listener }
            }
            None => bind(scheme, address)?,
        });
    }
    Ok(sockets)
}
