//! One file per subcommand.

pub mod args;
