//! Which objects to ship, and where to: metadata watches on the management cluster, a GET for annotated objects alone.
//!
//! ```text
//! metadata watch ──notice──▶ Store (pure) ──▶ Snapshot (persistent map, cheap to clone) ──▶ every worker
//!                              │   ▲
//!                            fetch │ object, whole
//!                              ▼   │
//!                         GET of annotated objects
//! ```

pub mod census;
pub mod reader;
pub mod shipment;
pub mod snapshot;
pub mod store;

pub use shipment::{Condition, Frozen, Packing, Shipment, Source};
pub use snapshot::{Farewell, Reading, Scope, Snapshot};
pub use store::Store;
