//! The stand-ins, asked by real clients: the AWS SDK, and aws-iam-authenticator behind a real kube-apiserver.

mod authenticator;
mod eks;
mod faults;
// What makes things for tests may unwrap like tests; clippy knows them by this mark.
#[cfg(test)]
mod makers;
#[cfg(test)]
mod pod_identity;
#[cfg(test)]
mod proxy;
mod signatures;
mod sts;
#[cfg(test)]
mod token;
#[cfg(test)]
mod web_identity;
