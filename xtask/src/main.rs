//! What developers run: test, demo, bench, control planes.
fn main() {}
