//! The listener on loopback that waits for a browser to come back.
