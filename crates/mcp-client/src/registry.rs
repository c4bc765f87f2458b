//! What all servers offer, under the names a model sees.
