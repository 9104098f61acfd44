//! What the outside is told: logs, metrics, events.
