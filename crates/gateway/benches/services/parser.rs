//! What it costs to parse a page in a confined process instead of in the service itself.

use std::time::Instant;

use document_parser::{Job, Limits, PageJob, Pool, WorkerProgram};
use wire::web::PageFormat;

use crate::Effort;
use crate::article;
use crate::service;
use crate::table::{Better, Goal, Spread, row as print};

/// How often each parses the page in a round.
const TIMES: usize = 40;

/// The two take turns, page by page, so that both meet the same machine.
pub(crate) async fn row(effort: &Effort) {
    let name = format!("parsing a page of {} kB, in a process", article::PAGE_BYTES / 1000);
    if !effort.is_wanted(&name) {
        return;
    }
    let html = article::page().into_bytes();
    let page = PageJob {
        url: "https://example.org/".to_owned(),
        content_type: Some("text/html".to_owned()),
        format: PageFormat::Markdown,
    };
    let program = WorkerProgram {
        path: service::program(),
        arguments: vec!["parse-worker".to_owned()],
        environment: vec![("MIMALLOC_ARENA_RESERVE".to_owned(), "65536".to_owned())],
    };
    let pool = Pool::new(program, Limits::default(), 2);
    pool.page(None, page.clone(), &html).await.expect("a page");
    let (mut ours, mut theirs, mut more) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..effort.rounds {
        let (mut outside, mut inside) = (Vec::new(), Vec::new());
        for _ in 0..TIMES {
            let begun = Instant::now();
            pool.page(None, page.clone(), &html).await.expect("a page");
            outside.push(begun.elapsed().as_secs_f64() * 1e3);
            let begun = Instant::now();
            let (job, bytes) = (Job::Page(page.clone()), html.clone());
            let parsed = tokio::task::spawn_blocking(move || document_parser::parse(&job, &bytes));
            parsed.await.expect("a thread").expect("a page");
            inside.push(begun.elapsed().as_secs_f64() * 1e3);
        }
        let (outside, inside) = (Spread::new(outside).median(), Spread::new(inside).median());
        more.push(outside - inside);
        ours.push(outside);
        theirs.push(inside);
    }
    let goal = Goal { bar: 2.0, aim: None, unit: "ms more", better: Better::Lower };
    let own = format!("{:.1} ms", Spread::new(ours).median());
    let against = format!("in this process {:.1} ms", Spread::new(theirs).median());
    print(&name, &own, &against, &Spread::new(more), Some(goal));
}
