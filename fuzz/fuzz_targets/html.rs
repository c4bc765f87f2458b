//! Any bytes as an HTML page: parsing never panics, and takes no more memory than `-rss_limit_mb`.
#![no_main]

use document_parser::{Job, PageJob, parse};
use wire::web::PageFormat;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    for format in [PageFormat::Markdown, PageFormat::Html] {
        let job = Job::Page(PageJob {
            url: "https://example.org/".to_owned(),
            content_type: Some("text/html".to_owned()),
            format,
        });
        let _ = parse(&job, bytes);
    }
});
