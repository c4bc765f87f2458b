//! Tests of `endpoints`.

use super::*;

#[test]
fn routes_are_named_by_whole_segments() {
    for (pattern, expected) in [
        ("/v1/me", "me"),
        ("/v1/media/run", "media"),
        ("/v1/media/runs/{id}", "media_read"),
        ("/v1/media/artifacts/{id}", "media_read"),
        ("/v1/models/{id}", "models"),
        ("/v1/messages", "messages"),
        ("/v1/mess", "other"),
    ] {
        assert_eq!(operation(pattern), expected, "{pattern}");
    }
}
