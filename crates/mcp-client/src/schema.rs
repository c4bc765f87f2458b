//! Input schemas made fit for strict model APIs.
