//! Where followers come from: one small file for each provider.

pub mod kubeconfig_file;
