//! Where followers come from: one small file for each provider.

pub mod file;
pub mod followers_file;
pub mod kubeconfig_file;
