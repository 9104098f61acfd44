//! Network trouble at will: a stable address on loopback in front of a server.

mod tunnel;

use std::net::SocketAddr;

use anyhow::{Context, Result, anyhow};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinSet;

use crate::port::ReservedPort;
use crate::runtime;

/// What a proxy does with connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Behaviour {
    /// New connections go to this address; those that are open go on to where they went.
    Forward(SocketAddr),
    /// Connections, old and new, stay open and nothing passes, not even their end. What was held up passes once the
    /// behaviour is [`Behaviour::Forward`] again. Unlike behind a firewall that drops packets, the kernel still accepts
    /// connections and acknowledges bytes, so that TCP alone notices nothing.
    BlackHole,
    /// Open connections are reset, new ones refused.
    Refuse,
}

/// A TCP proxy. Ends when dropped. The certificate of a [`crate::Cluster`] behind it stays good.
pub struct Proxy {
    address: SocketAddr,
    orders: mpsc::UnboundedSender<Order>,
    accepted: watch::Receiver<u64>,
    _task: JoinSet<()>,
}

/// A change of behaviour, and whom to tell once it is in force.
struct Order {
    behaviour: Behaviour,
    cut: Cut,
    done: oneshot::Sender<Result<()>>,
}

/// What happens to the open connections.
#[derive(PartialEq, Eq)]
enum Cut {
    Keep,
    Reset,
}

impl Proxy {
    /// Starts to forward to `target`.
    pub fn start(target: SocketAddr) -> Result<Self> {
        let port = ReservedPort::any()?;
        let address = port.address();
        let (orders, inbox) = mpsc::unbounded_channel();
        let (count, accepted) = watch::channel(0);
        let _inside = runtime::background()?.enter();
        let listener = Some(listen(&port)?);
        let behaviour = watch::Sender::new(Behaviour::Forward(target));
        let worker = Worker { port, listener, behaviour, tunnels: JoinSet::new(), count };
        let mut task = JoinSet::new();
        task.spawn(worker.run(inbox));
        Ok(Self { address, orders, accepted, _task: task })
    }

    /// Where it listens, always.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The same as the URL of an API server.
    pub fn url(&self) -> String {
        format!("https://{}", self.address)
    }

    /// Changes what it does. In force when this returns.
    pub async fn set(&self, behaviour: Behaviour) -> Result<()> {
        let cut = if behaviour == Behaviour::Refuse { Cut::Reset } else { Cut::Keep };
        self.order(behaviour, cut).await
    }

    /// Forwards to another address; open connections are reset.
    pub async fn retarget(&self, target: SocketAddr) -> Result<()> {
        self.order(Behaviour::Forward(target), Cut::Reset).await
    }

    /// How many connections it has accepted so far.
    pub fn accepted(&self) -> u64 {
        *self.accepted.borrow()
    }

    async fn order(&self, behaviour: Behaviour, cut: Cut) -> Result<()> {
        let (done, told) = oneshot::channel();
        self.orders.send(Order { behaviour, cut, done }).map_err(|_| anyhow!("the proxy has ended"))?;
        told.await.context("the proxy has ended")?
    }
}

/// Owns the listener and all connections.
struct Worker {
    port: ReservedPort,
    /// None while connections are refused.
    listener: Option<TcpListener>,
    behaviour: watch::Sender<Behaviour>,
    tunnels: JoinSet<()>,
    count: watch::Sender<u64>,
}

impl Worker {
    async fn run(mut self, mut inbox: mpsc::UnboundedReceiver<Order>) {
        loop {
            tokio::select! {
                order = inbox.recv() => match order {
                    Some(order) => self.obey(order).await,
                    None => return,
                },
                Some(client) = accept(self.listener.as_ref()) => self.open(client),
                Some(_) = self.tunnels.join_next() => {}
            }
        }
    }

    async fn obey(&mut self, order: Order) {
        self.behaviour.send_replace(order.behaviour);
        let listening = match order.behaviour {
            Behaviour::Refuse => {
                self.listener = None;
                Ok(())
            }
            _ => self.ensure_listening(),
        };
        if order.cut == Cut::Reset {
            self.tunnels.shutdown().await;
        }
        // Nobody waits any more if the caller gave up.
        let _ = order.done.send(listening);
    }

    fn ensure_listening(&mut self) -> Result<()> {
        if self.listener.is_none() {
            self.listener = Some(listen(&self.port)?);
        }
        Ok(())
    }

    fn open(&mut self, client: TcpStream) {
        self.count.send_modify(|count| *count += 1);
        self.tunnels.spawn(tunnel::run(client, self.behaviour.subscribe()));
    }
}

fn listen(port: &ReservedPort) -> Result<TcpListener> {
    port.socket()?.listen(1024).context("cannot listen")
}

/// None when there is nothing to accept from, or the client has left already.
async fn accept(listener: Option<&TcpListener>) -> Option<TcpStream> {
    listener?.accept().await.ok().map(|(client, _)| client)
}
