//! Stopping, starting, pausing, and beginning anew.

use std::time::Duration;

use anyhow::{Context, Result};
use rustix::process::Signal;

use super::{Cluster, Running, new_prefix};
use crate::eventually::eventually;
use crate::process::Process;

/// How long a server may take to say goodbye to its clients.
const GRACE: Duration = Duration::from_secs(10);

impl Cluster {
    /// Stops the API server in an orderly way. Its data and its port stay; connections to it are refused.
    pub async fn stop(&self) -> Result<()> {
        let (server, controllers) = self.take();
        drop(controllers);
        match server {
            Some(server) => server.stop(GRACE).await,
            None => Ok(()),
        }
    }

    /// Kills the API server at once, as a crash would.
    pub fn kill(&self) {
        drop(self.take());
    }

    /// Starts the API server again, on the same port with the same data, and waits until it is ready.
    pub async fn start_again(&self) -> Result<()> {
        self.launch_server()?;
        let what = format!("cluster {} to be ready", self.name);
        let ready = eventually(&what, self.options.ready_within, async || {
            self.check_server()?;
            Ok(self.is_ready().await.then_some(()))
        });
        if let Err(error) = ready.await {
            return Err(error.context(format!("cluster {} does not start; {}", self.name, self.last_words())));
        }
        self.launch_controllers()
    }

    /// Throws everything away and starts empty: another cluster (a new UID) at the same address, with the same certificate
    /// and admin token. Service accounts are gone, and so their tokens are no longer good.
    pub async fn begin_anew(&self) -> Result<()> {
        self.kill();
        self.running().etcd_prefix = new_prefix(&self.name);
        self.start_again().await
    }

    /// Freezes the API server: connections stay open, the kernel accepts new ones, and nobody answers.
    pub fn pause(&self) -> Result<()> {
        self.signal(Signal::STOP)
    }

    /// Lets it go on.
    pub fn resume(&self) -> Result<()> {
        self.signal(Signal::CONT)
    }

    /// The process id of the API server, if it is running: for its memory and CPU time.
    pub fn pid(&self) -> Option<u32> {
        self.running().server.as_ref().map(Process::pid)
    }

    fn launch_server(&self) -> Result<()> {
        let mut running = self.running();
        if running.server.is_none() {
            let flags = self.server_flags(&running.etcd_prefix);
            let log = self.folder.join("kube-apiserver.log");
            running.server = Some(Process::start(&self.binaries.kube_apiserver, &flags, log)?);
        }
        Ok(())
    }

    fn launch_controllers(&self) -> Result<()> {
        let mut running = self.running();
        if self.options.controller_manager && running.controllers.is_none() {
            let log = self.folder.join("kube-controller-manager.log");
            let program = &self.binaries.kube_controller_manager;
            running.controllers = Some(Process::start(program, &self.controller_flags(), log)?);
        }
        Ok(())
    }

    fn check_server(&self) -> Result<()> {
        self.running().server.as_mut().context("the API server was stopped")?.check_running()
    }

    /// Ready and usable: the namespaces that every cluster has come a moment after `/readyz` says yes.
    async fn is_ready(&self) -> bool {
        let namespaces = ["/api/v1/namespaces/kube-system", "/api/v1/namespaces/default"];
        if !self.api.is_ready().await {
            return false;
        }
        for namespace in namespaces {
            if self.api.get(namespace).await.is_err() {
                return false;
            }
        }
        true
    }

    fn last_words(&self) -> String {
        self.running().server.as_ref().map(Process::last_words).unwrap_or_default()
    }

    fn signal(&self, signal: Signal) -> Result<()> {
        self.running().server.as_ref().context("the API server is not running")?.signal(signal)
    }

    fn take(&self) -> (Option<Process>, Option<Process>) {
        let Running { server, controllers, .. } = &mut *self.running();
        (server.take(), controllers.take())
    }
}
