//! One API server: how it is reached, asked and watched. Knows nothing of sources and copies.
