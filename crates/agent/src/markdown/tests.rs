//! What Markdown looks like, whole and in pieces.

use super::*;

fn bare(text: &str, width: usize) -> String {
    anstream::adapter::strip_str(&rendered(text, width)).to_string()
}

const ALL: &str = "\
# A report on *tides*

The moon pulls the sea, **twice** a day, says [NOAA](https://noaa.example/tides) and
also <https://example.com/>. Use `tide --now`.\\
A separate line.

Setext
------

- one
- two with a long tail that must be wrapped to the next line
  - nested
  - deeper

    a paragraph of the deeper one
- [x] done

3. three
4. four

   ```rust
   fn in_list() {}

   ```
5. five

> quoted text that runs on
> > and within
>
> again

```python
def f():
\treturn 1  # a line of code that is longer than the terminal is wide, and stays whole

# no heading
```
~~~
unclosed ``` inside
~~~

| name | size | note |
|------|-----:|:----:|
| a    | 1    | x |
| `b`  | 1000 | a long note that does not fit |

    indented code

    runs on

---

<div>html</div>

Claims [1] and ![alt](pic.png).

[1]: https://one.example
[2]: https://two.example
The end, ~~not~~.
";

#[test]
fn every_markdown_element_is_rendered() {
    insta::assert_snapshot!("every_element_at_60_columns", bare(ALL, 60));
    insta::assert_snapshot!("every_element_at_24_columns", bare(ALL, 24));
}

#[test]
fn styles_are_written_line_by_line() {
    let text = rendered("# A *b*\n\nx **bold words** `code` [l](u)\n", 12);
    insta::assert_snapshot!(text.replace('\u{1b}', "^"));
}

#[test]
fn chunk_boundaries_do_not_change_the_result() {
    for text in [ALL.to_owned(), ALL.replace('\n', "\r\n"), ALL.repeat(2)] {
        let whole = rendered(&text, 40);
        for at in 0..=text.len() {
            let Some((one, other)) = text.split_at_checked(at) else { continue };
            let mut renderer = Renderer::new(40);
            let got = renderer.push(one) + &renderer.push(other) + &renderer.finish();
            assert_eq!(got, whole, "split at {at}");
        }
        let mut renderer = Renderer::new(40);
        let mut got: String = text.chars().map(|it| renderer.push(&it.to_string())).collect();
        got.push_str(&renderer.finish());
        assert_eq!(got, whole, "letter by letter");
    }
}

#[test]
fn finished_blocks_and_code_lines_are_printed_immediately() {
    let mut renderer = Renderer::new(80);
    assert_eq!(renderer.push("one"), "");
    assert_eq!(renderer.push("\ntwo\n"), "");
    assert_eq!(renderer.push("\n"), "one two\n");
    assert_eq!(strip(&renderer.push("# head\n")), "\n# head\n");
    assert_eq!(renderer.push("```sh\nmake"), "\n");
    assert_eq!(strip(&renderer.push("\nmake install\nrm")), "    make\n    make install\n");
    assert_eq!(strip(&renderer.push("\n```\n- a\n\n- b\n")), "    rm\n");
    assert_eq!(strip(&renderer.push("text")), "");
    assert_eq!(renderer.finish(), "\n• a\n\n• b text\n");
    assert_eq!(renderer.finish(), "");
}

fn strip(text: &str) -> String {
    anstream::adapter::strip_str(text).to_string()
}

#[test]
fn control_characters_are_removed() {
    let evil = "a\u{1b}[2Jb\u{7}\u{9b}31m\u{0}\r x\n\n`\u{1b}]0;t\u{7}`\n\n```\n\u{1b}[31m\n```\n\n\
                [l\u{1b}[1m](http://x/\u{1b}[2J)\n\n[d]: http://x/\u{1b}[2J\n\n<b\u{1b}[2J>\n\n\
                | a\u{1b}[2J |\n|---|\n| \u{8}b |\n";
    let text = strip(&rendered(evil, 80));
    assert!(text.chars().all(|letter| letter == '\n' || !letter.is_control()), "{text:?}");
    let styled = rendered(evil, 80);
    assert!(!styled.contains("\u{1b}[2J") && !styled.contains("\u{1b}]0"), "{styled:?}");
}

#[test]
fn lines_fit_the_width() {
    for width in [20, 33, 80] {
        for line in bare(ALL, width).lines() {
            let is_whole = line.starts_with("    ") || line.contains("://");
            let wide = crate::wrap::columns(line);
            assert!(is_whole || wide <= width, "{wide} of {width}: {line}");
        }
    }
}

#[test]
fn endless_lines_and_blocks_are_printed_in_parts() {
    let mut renderer = Renderer::new(80);
    let mut printed = 0;
    for _ in 0..MAX_BLOCK_BYTES / 1000 + 2 {
        printed += renderer.push(&"word ".repeat(200)).len();
        printed += renderer.push("\n").len();
    }
    assert!(printed > MAX_BLOCK_BYTES / 2, "{printed}");
    let long = "x".repeat(MAX_LINE_BYTES);
    let mut renderer = Renderer::new(80);
    let text = format!("```\n{long}y\n");
    assert!(strip(&renderer.push(&text)) == format!("    {long}\n    y\n"));
}

#[test]
fn extreme_nesting_and_width_are_rendered() {
    let deep = format!("{}text\n", ">".repeat(3000));
    let items = (0..300).map(|depth| format!("{}- x\n", "  ".repeat(depth)));
    let list = items.collect::<Vec<_>>().concat();
    let wide = format!("|{}\n|{}\n", "a|".repeat(500), "-|".repeat(500));
    for text in [deep, list, wide, "*".repeat(5000), "[".repeat(5000), "`".repeat(5001)] {
        assert!(rendered(&text, 40).len() < 2_000_000);
    }
    assert_eq!(bare("", 40), "");
    assert_eq!(bare("\n \n\t\n", 40), "");
    assert_eq!(bare("-\n-\n", 40), "•\n•\n");
}

proptest::proptest! {
    #[test]
    fn any_chunking_gives_the_same_text(
        pieces in proptest::collection::vec("[a-z#>*`~|\\-\\[\\]():!1-3.\\\\ \t\r\n]{0,12}", 0..24),
        width in 16_usize..60,
    ) {
        let text = pieces.concat();
        let mut renderer = Renderer::new(width);
        let mut got: String = pieces.iter().map(|piece| renderer.push(piece)).collect();
        got.push_str(&renderer.finish());
        proptest::prop_assert_eq!(got, rendered(&text, width));
    }
}
