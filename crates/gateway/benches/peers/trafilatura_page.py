"""trafilatura, measured: `trafilatura_page.py PAGE MARK...`.

Reads how often the page is to be read, one number a line, and answers with what was found. See
`benches/services/peer.rs`."""

import json
import sys

import trafilatura


def main() -> None:
    page, *marks = sys.argv[1:]
    with open(page, "rb") as file:
        html = file.read()
    print("ready", flush=True)
    for line in sys.stdin:
        for _ in range(int(line)):
            text = trafilatura.extract(
                html,
                output_format="markdown",
                include_comments=False,
                include_links=True,
                include_tables=True,
            )
        is_whole = all(mark in text for mark in marks)
        print(json.dumps({"characters": len(text), "is_whole": is_whole}), flush=True)


main()
