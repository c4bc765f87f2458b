//! Formats of pages, and hostile pages.

use std::fmt::Write as _;
use std::time::Duration;

use lopdf::content::{Content, Operation};
use lopdf::{Document as Pdf, Object, Stream, dictionary};
use rustix::time::{ClockId, clock_gettime};

use super::*;

fn page(content_type: &str) -> PageJob {
    PageJob {
        url: "https://example.org/dir/page".to_owned(),
        content_type: Some(content_type.to_owned()),
        format: PageFormat::Markdown,
    }
}

/// Parses a page with the stack size of a worker.
fn parsed(content_type: &str, bytes: impl Into<Vec<u8>>) -> Result<Document, Rejection> {
    let (job, bytes) = (page(content_type), bytes.into());
    let thread = std::thread::Builder::new().stack_size(64 * 1024 * 1024);
    thread.spawn(move || document(&job, &bytes)).unwrap().join().unwrap()
}

/// The CPU time of parsing a page.
fn cpu_time(html: &str) -> Duration {
    let now = || Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap();
    let before = now();
    document(&page("text/html"), html.as_bytes()).unwrap();
    now().saturating_sub(before)
}

fn pdf(pages: &[&str]) -> Vec<u8> {
    let mut pdf = Pdf::with_version("1.5");
    let parent = pdf.new_object_id();
    let font = pdf.add_object(dictionary! {
        "Type" => "Font", "Subtype" => "Type1", "BaseFont" => "Courier",
    });
    let resources = pdf.add_object(dictionary! { "Font" => dictionary! { "F1" => font } });
    let kids: Vec<Object> = pages
        .iter()
        .map(|text| {
            let operations = vec![
                Operation::new("BT", vec![]),
                Operation::new("Tf", vec!["F1".into(), 12.into()]),
                Operation::new("Td", vec![50.into(), 700.into()]),
                Operation::new("Tj", vec![Object::string_literal(*text)]),
                Operation::new("ET", vec![]),
            ];
            let content = Content { operations }.encode().unwrap();
            let content = pdf.add_object(Stream::new(dictionary! {}, content));
            let page = dictionary! { "Type" => "Page", "Parent" => parent, "Contents" => content };
            pdf.add_object(page).into()
        })
        .collect();
    let count = i64::try_from(kids.len()).unwrap();
    let pages = dictionary! {
        "Type" => "Pages", "Kids" => kids, "Count" => count, "Resources" => resources,
        "MediaBox" => vec![0.into(), 0.into(), 595.into(), 842.into()],
    };
    pdf.objects.insert(parent, Object::Dictionary(pages));
    let catalog = pdf.add_object(dictionary! { "Type" => "Catalog", "Pages" => parent });
    let info = pdf.add_object(dictionary! {
        "Title" => Object::string_literal("A report"), "Author" => Object::string_literal("Ada"),
        "CreationDate" => Object::string_literal("D:20240229120000Z"),
    });
    pdf.trailer.set("Root", catalog);
    pdf.trailer.set("Info", info);
    pdf.compress();
    let mut bytes = Vec::new();
    pdf.save_to(&mut bytes).unwrap();
    bytes
}

#[test]
fn pdf_pages_and_metadata_are_read() {
    let bytes = pdf(&["The first page.", "The second page."]);
    let document = parsed("application/pdf", bytes).unwrap();
    let (first, second) = document.content.split_once("\n\n").unwrap();
    assert_eq!((first.trim(), second.trim()), ("The first page.", "The second page."));
    assert_eq!(document.title.as_deref(), Some("A report"));
    assert_eq!(document.byline.as_deref(), Some("Ada"));
    assert_eq!(document.published_at.as_deref(), Some("2024-02-29"));
    assert_eq!(document.media_type, "application/pdf");
}

#[test]
fn damaged_and_empty_pdfs_are_rejected_without_panic() {
    let good = pdf(&["Some words on a page."]);
    assert!(matches!(parsed("application/pdf", pdf(&[""])), Err(Rejection::PdfWithoutText)));
    for length in (0..good.len()).step_by(37) {
        let _ = document(&page("application/pdf"), &good[..length]);
    }
    // Single changed bytes never cause a panic.
    for at in (0..good.len()).step_by(5) {
        let mut bytes = good.clone();
        bytes[at] ^= 0x55;
        let result = std::panic::catch_unwind(|| document(&page("application/pdf"), &bytes));
        assert!(result.is_ok(), "{at}");
    }
}

#[test]
fn pdf_pages_that_decompress_to_too_much_are_skipped() {
    let mut pdf = Pdf::load_mem(&pdf(&["words"])).unwrap();
    let page = pdf.page_iter().next().unwrap();
    let huge = vec![b' '; 40 * 1024 * 1024];
    let mut stream = Stream::new(dictionary! {}, huge);
    stream.compress().unwrap();
    let content = pdf.add_object(stream);
    pdf.get_object_mut(page).unwrap().as_dict_mut().unwrap().set("Contents", content);
    let mut bytes = Vec::new();
    pdf.save_to(&mut bytes).unwrap();
    assert!(bytes.len() < 1_000_000);
    assert_eq!(parsed("application/pdf", bytes), Err(Rejection::PdfWithoutText));
}

/// Pages that waste time, memory or stack of a naive parser.
fn hostile_pages() -> Vec<(&'static str, String)> {
    let words = "<p>There are words in this page, and they are found.</p>";
    let mut attributes = String::from("<body><p");
    for number in 0..5_000 {
        let _ = write!(attributes, " a{number}=1");
    }
    let mut fonts = String::new();
    for number in 0..2_000 {
        let _ = write!(fonts, "<font size={number}><p>");
    }
    vec![
        ("deep", "<div>".repeat(300_000) + words),
        ("deep and hidden", "<div><!--</div>-->".repeat(5_000) + words),
        ("deep tables", "<table><tr><td>".repeat(3_000) + words),
        ("deep lists", "<ul><li>".repeat(5_000) + words),
        ("deep quotes", "<blockquote>".repeat(5_000) + words),
        ("deep marks", "<b><i>".repeat(5_000) + words),
        ("deep links", "<a href=x>".repeat(5_000) + words),
        ("deep foreign", "<svg>".repeat(5_000) + words),
        ("misnested", "<div><table></div>".repeat(3_000) + words),
        ("fonts", fonts + words),
        ("attributes", attributes + ">" + words),
        ("wide", "<p>x</p>".repeat(20_000) + words),
        ("entities", "&amp;".repeat(20_000) + words),
        ("open tag", "<".repeat(50_000) + words),
        ("open comment", words.to_owned() + &"<!--".repeat(50_000)),
        (
            "one table",
            format!("<table>{}</table>{words}", "<tr><td colspan=1000 rowspan=1000>x".repeat(300)),
        ),
        ("selects", "<select><option>".repeat(5_000) + words),
        ("forms", "<form><input>".repeat(5_000) + words),
        ("templates", "<template>".repeat(5_000) + words),
        ("one line", "x".repeat(500_000)),
    ]
}

#[test]
fn hostile_pages_are_parsed_or_rejected() {
    for (name, html) in hostile_pages() {
        if let Ok(document) = parsed("text/html", html) {
            assert!(!document.content.trim().is_empty(), "{name}");
        }
    }
}

#[test]
fn nesting_does_not_multiply_the_cpu_time() {
    const COUNT: usize = 4000;
    const DEPTH: usize = 380;
    let words = "<p>There are words in this page.</p>";
    for element in [
        "<main></main>", "<article></article>", "<header></header>",
        "<li><input type=checkbox></li>", "<time datetime=never></time>",
    ] {
        let many = element.repeat(COUNT) + words;
        let flat = cpu_time(&many);
        let nested = cpu_time(&("<div>".repeat(DEPTH) + &many));
        assert!(nested < flat * 20, "{element}: {nested:?} instead of {flat:?}");
    }
    // Nested boilerplate elements that are too large to be boilerplate.
    let text = "<p>word</p>".repeat(COUNT);
    let flat = cpu_time(&text);
    for element in ["<nav>", "<div class=menu>", "<span>", "<section><dd>"] {
        let nested = cpu_time(&(element.repeat(DEPTH / 2) + &text));
        assert!(nested < flat * 20, "{element}: {nested:?} instead of {flat:?}");
    }
}

#[test]
fn pages_beyond_the_nesting_limit_keep_their_text() {
    let html = format!("<title>Deep &amp; dark</title>{}The words.", "<div>".repeat(2000));
    let document = parsed("text/html", html).unwrap();
    assert_eq!(
        (document.title.as_deref(), document.content.as_str()),
        (Some("Deep & dark"), "The words.")
    );
}

#[test]
fn links_are_unique_and_limited() {
    let mut html = String::from("<p>");
    for number in 0..MAX_LINKS + 10 {
        let _ = write!(html, "<a href=/{number}>link {number}</a> <a href=/{number}>again</a> ");
    }
    let document = parsed("text/html", html).unwrap();
    assert_eq!(document.links.len(), MAX_LINKS);
    assert_eq!(document.links[1].url, "https://example.org/1");
}
