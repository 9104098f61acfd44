//! The daemon `towline`.
fn main() {}
