//! A page as large ones are: an article of half a megabyte between navigation, a sidebar, comments
//! and scripts. The same in every run.

use std::fmt::Write as _;

use fastrand::Rng;

use crate::corpus::Corpus;

/// How long the page is.
pub(crate) const PAGE_BYTES: usize = 500_000;
/// What the article begins and ends with.
pub(crate) const FIRST: &str = "Harbours were the first clocks that a town could read";
pub(crate) const LAST: &str = "so the last lamp on the pier was put out at noon";
const COMMENTS: usize = 120;

/// The page.
pub(crate) fn page() -> String {
    let mut writer = Writer { corpus: Corpus::new(), random: Rng::with_seed(7), text: head() };
    writer.navigation();
    writer.text.push_str("<div class=\"layout\"><main id=\"content\">\n<article class=\"post\">\n");
    writer.opening();
    let behind = writer.behind();
    let mut section = 0;
    while writer.text.len() + behind.len() < PAGE_BYTES {
        section += 1;
        writer.section(section);
    }
    let Writer { mut text, .. } = writer;
    let _ = write!(text, "<p>In the end nothing more was heard of it, {LAST}.</p>\n</article>\n");
    text.push_str(&behind);
    text
}

struct Writer {
    corpus: Corpus,
    random: Rng,
    text: String,
}

impl Writer {
    fn said(&mut self, sentences: usize) -> String {
        self.corpus.sentences(&mut self.random, sentences)
    }

    fn few_words(&mut self) -> String {
        let said = self.said(1);
        said.split(' ').take(4).collect::<Vec<_>>().join(" ")
    }

    fn links(&mut self, count: usize, class: &str) -> String {
        let mut list = format!("<ul class=\"{class}\">\n");
        for number in 0..count {
            let words = self.few_words();
            let _ = writeln!(
                list,
                "  <li class=\"item\"><a href=\"/{class}/{number}?from=menu\" \
                 title=\"{words}\">{words}</a></li>"
            );
        }
        list + "</ul>\n"
    }

    fn navigation(&mut self) {
        let (menu, more) = (self.links(60, "menu"), self.links(40, "topics"));
        let _ = write!(
            self.text,
            "<body class=\"single\">\n<a class=\"skip\" href=\"#content\">Skip to content</a>\n\
             <header role=\"banner\"><div class=\"logo\"><a href=\"/\"><img src=\"/logo.svg\" \
             alt=\"The Pier\"></a></div>\n<nav aria-label=\"Main\">{menu}{more}</nav>\n\
             <form action=\"/search\" role=\"search\"><input name=\"q\" placeholder=\"Search\">\
             <button>Search</button></form></header>\n\
             <div class=\"cookie-banner\" role=\"dialog\"><p>We use cookies.</p>\
             <button>Accept all</button></div>\n"
        );
    }

    fn opening(&mut self) {
        let said = self.said(4);
        let _ = write!(
            self.text,
            "<header><h1>How harbours learned to tell the time</h1>\n\
             <p class=\"byline\">By <a rel=\"author\" href=\"/people/ada\">Ada Example</a>, \
             <time datetime=\"2024-03-05T08:00:00Z\">5 March 2024</time></p></header>\n\
             <figure><img src=\"/pier.jpg\" alt=\"A pier\"><figcaption>The pier at noon\
             </figcaption></figure>\n<p class=\"lead\">{FIRST}. {said}</p>\n"
        );
    }

    /// A heading, paragraphs, and now and then a list, a table, code or a quotation.
    fn section(&mut self, number: usize) {
        let title = self.few_words();
        let _ = writeln!(self.text, "<h2 id=\"part-{number}\">{title}</h2>");
        for _ in 0..6 {
            let (before, link, strong, after) =
                (self.said(3), self.few_words(), self.few_words(), self.said(3));
            let _ = writeln!(
                self.text,
                "<p>{before} <a href=\"/part/{number}\">{link}</a> and <em>{strong}</em>, \
                 <strong>{link}</strong> with <code>{strong}</code>. {after}</p>"
            );
        }
        match number % 4 {
            0 => self.table(),
            1 => self.code(),
            2 => self.list(),
            _ => {
                let said = self.said(2);
                let _ = write!(
                    self.text,
                    "<blockquote><p>{said}</p></blockquote>\n<aside class=\"related\">\
                     <h3>Read also</h3><a href=\"/also/{number}\">{title}</a></aside>\n"
                );
            }
        }
    }

    fn table(&mut self) {
        let mut rows = String::new();
        for number in 0..12 {
            let (name, about) = (self.few_words(), self.few_words());
            let _ = writeln!(rows, "<tr><td>{name}</td><td>{number}</td><td>{about}</td></tr>");
        }
        let _ = write!(
            self.text,
            "<table><thead><tr><th>Name</th><th>Number</th><th>About</th></tr></thead>\n\
             <tbody>{rows}</tbody></table>\n"
        );
    }

    fn code(&mut self) {
        let mut lines = String::new();
        for number in 0..14 {
            let words = self.few_words().replace(' ', "_");
            let _ = writeln!(lines, "    let {words} = tide[{number}] &lt; 4 &amp;&amp; is_open;");
        }
        let _ = write!(
            self.text,
            "<pre><code class=\"language-rust\">fn main() {{\n{lines}}}</code></pre>\n"
        );
    }

    fn list(&mut self) {
        self.text.push_str("<ol>\n");
        for _ in 0..8 {
            let said = self.said(1);
            let _ = writeln!(self.text, "<li>{said}</li>");
        }
        self.text.push_str("</ol>\n");
    }

    /// Everything after the article.
    fn behind(&mut self) -> String {
        let mut comments = String::new();
        for number in 0..COMMENTS {
            let (who, said) = (self.few_words(), self.said(2));
            let _ = writeln!(
                comments,
                "<li class=\"comment\" id=\"comment-{number}\"><div class=\"meta\">\
                 <a href=\"/people/{number}\">{who}</a></div><p>{said}</p>\
                 <button class=\"reply\">Reply</button></li>"
            );
        }
        let (side, tags) = (self.links(80, "latest"), self.links(60, "tags"));
        let (first, second) = (self.links(40, "about"), self.links(40, "legal"));
        let mut script = String::new();
        for number in 0..400 {
            let _ = writeln!(script, "window.state.push({{id:{number},seen:false,kind:'item'}});");
        }
        format!(
            "<section id=\"comments\" class=\"comments\"><h2>{COMMENTS} comments</h2>\
             <ol class=\"comment-list\">{comments}</ol></section>\n</main>\n\
             <aside class=\"sidebar\"><h3>Latest</h3>{side}<h3>Tags</h3>{tags}\
             <div class=\"newsletter\"><p>Subscribe to our letter.</p></div></aside></div>\n\
             <footer><div>{first}</div><div>{second}</div><p>© The Pier</p></footer>\n\
             <script>window.state=[];\n{script}</script>\n</body></html>\n"
        )
    }
}

fn head() -> String {
    let mut style = String::new();
    for number in 0..200 {
        let _ = writeln!(style, ".c{number} {{ margin: {number}px; color: #123456; }}");
    }
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n\
         <title>How harbours learned to tell the time | The Pier</title>\n\
         <meta name=\"description\" content=\"Clocks, tides and towns.\">\n\
         <meta property=\"og:type\" content=\"article\">\n\
         <meta property=\"article:published_time\" content=\"2024-03-05T08:00:00Z\">\n\
         <link rel=\"stylesheet\" href=\"/style.css\"><style>\n{style}</style>\n\
         <script type=\"application/ld+json\">{{\"@context\": \"https://schema.org\", \
         \"@type\": \"Article\", \"headline\": \"How harbours learned to tell the time\", \
         \"author\": {{\"@type\": \"Person\", \"name\": \"Ada Example\"}}}}</script></head>\n"
    )
}
