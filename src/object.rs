//! What a ConfigMap or Secret holds: decoding, the payload that cannot be printed, digests, TLS pairs. No I/O.

pub mod decode;
pub mod digest;
pub mod hidden;
pub mod payload;
pub mod tls;
