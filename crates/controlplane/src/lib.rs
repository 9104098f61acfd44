//! Real Kubernetes control planes on loopback, for tests, demo and bench.
