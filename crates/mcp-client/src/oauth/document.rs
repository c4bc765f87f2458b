//! The client document: who we are, at an address of ours.
