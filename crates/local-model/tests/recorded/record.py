"""Records what llama.cpp makes of SmolLM2-135M-Instruct, for the tests to compare with.

Run with a Python that has llama-cpp-python: `python record.py FILE.gguf`. It writes `tokens.json`,
`likely.json` and `answers.json` beside itself. Answers are recorded with what the tests ask for:
always the likeliest token, no penalty, 24 tokens.
"""

import json
import pathlib
import sys

import llama_cpp

HERE = pathlib.Path(__file__).parent

WORDS = [
    "", " ", "  ", "\n", "\n\n", "\t", " \n ", "a", " a", "a ", "Hello", "hello world", "Hello, world!",
    "The quick brown fox jumps over the lazy dog.", "  two  spaces  ", "trailing   ", "line\nline\r\nline",
    "tab\tseparated\tvalues", "UPPER lower MiXeD", "camelCaseWord snake_case_word kebab-case-word",
    "supercalifragilisticexpialidocious", "a.b.c", "...", "!!!", "?!?!", "(parentheses) [brackets] {braces}",
    "\"quoted\" 'single' `back`", "e-mail@example.org", "https://example.org/path?query=1&other=2#part",
    "C:\\Windows\\System32", "/usr/local/bin", "~/.config", "$HOME", "50%", "#hashtag", "@mention", "a/b",
    "one,two,three", "one;two;three", "x=1", "x == 1", "x != y", "x <= y", "a->b", "a=>b", "::", ":::",
]
NUMBERS = [
    "0", "1", "12", "123", "1234", "12345", "123456789", "1,234,567.89", "3.14159", "-42", "+7", "1e10",
    "0xFF", "0b1010", "1/2", "50%", "$9.99", "€5", "2024-01-31", "12:34:56", "v1.2.3", "1st 2nd 3rd",
    "room 101", "A1B2C3", "10 20 30", " 7", "7 ", "phone 555-0123", "٣", "１２３", "½", "x²", "H2O", "007",
]
CONTRACTIONS = [
    "I'm", "you're", "he's", "we've", "they'd", "she'll", "don't", "can't", "won't", "it's", "let's",
    "I'M", "DON'T", "o'clock", "rock 'n' roll", "dogs'", "'tis", "y'all'd've", "l'homme", "I’m", "don’t",
]
CODE = [
    "def f(x):\n    return x + 1\n", "fn main() {\n    println!(\"{}\", 1);\n}\n", "for (int i = 0; i < n; i++) {}",
    "if (a && b || !c) { return; }", "SELECT * FROM t WHERE id = 1;", "<div class=\"x\">text</div>",
    "{\"key\": [1, 2.5, null, true]}", "import os, sys", "#include <stdio.h>", "let x: Vec<u8> = vec![];",
    "    four spaces", "        eight spaces", "\tone tab", "\t\ttwo tabs", "a  b   c    d", "// comment",
    "/* block */", "# heading\n\n- item\n- item\n", "| a | b |\n|---|---|", "```rust\ncode\n```",
    "git commit -m 'message'", "echo $?", "x += 1; y -= 1", "a[0][1]", "obj.method().field", "lambda x: x**2",
    "λ x → x", "r\"raw\"", "%d %s %f", "\\n \\t \\\\", "0..=10", "&mut self", "Option<Result<T, E>>",
]
SCRIPTS = [
    "Ünïcödé", "naïve café résumé", "Straße", "Ångström", "œuvre", "Příliš žluťoučký kůň", "Zażółć gęślą jaźń",
    "Привет, мир!", "Ελληνικά", "שלום עולם", "مرحبا بالعالم", "नमस्ते दुनिया", "สวัสดีชาวโลก", "こんにちは世界",
    "カタカナ", "漢字かな交じり文", "你好，世界！", "안녕하세요 세계", "გამარჯობა", "Բարեւ", "ትግርኛ", "தமிழ்",
    "Tiếng Việt", "Türkçe ığüşöç İ", "Íslenska þð", "Gàidhlig", "ʻōlelo Hawaiʻi", "ﬁ ﬂ ligatures", "Ａｆｕｌｌ",
    "e\u0301 combining", "\u200b zero width", "a\u00a0b", "\u2028", "\ufeff", "soft\u00adhyphen", "𝔘𝔫𝔦𝔠𝔬𝔡𝔢", "𓀀",
]
EMOJI = [
    "😀", "😀😃😄", "👍🏽", "👨‍👩‍👧‍👦", "🇩🇪", "❤️", "✅ done", "1️⃣", "🚀 to the moon 🌕", "¯\\_(ツ)_/¯", "♠♥♦♣", "→←↑↓",
    "☃", "…", "—", "–", "“quotes”", "‘single’", "«guillemets»", "•", "°C", "±", "×", "÷", "≠", "∞", "√2", "∑",
]
SPECIAL = [
    "<|im_start|>", "<|im_end|>", "<|endoftext|>", "<|im_start|>user\nHello<|im_end|>\n",
    "<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n<|im_start|>user\nWhat is 2 + 2?<|im_end|>\n"
    "<|im_start|>assistant\n", "text<|im_end|>text", "<|im_end|><|im_end|>", "<|im_end", "im_end|>", "<|unknown|>",
    " <|im_start|> ", "<repo_name>", "<file_sep>", "<|IM_END|>", "</s>", "<s>", "[INST]",
]
MIXED = [
    "In 1969, Neil Armstrong walked on the Moon; it's 384,400 km away.", "Price: $1,299.00 (incl. 19% VAT)",
    "Call me at +49 30 123456 or e-mail me!", "Q: What's 37*91?\nA: 3367", "1. First\n2. Second\n10. Tenth\n",
    "The year's 2024's best: 3's company, isn't it?", "He said: \"I don't know...\" and left.",
    "α=0.05, β≤0.2, n≥30", "E = mc²", "The café's menu costs 12€50.", "10:30am–11:45pm", "a1b22c333d4444",
    "x" * 64, "ab" * 50, " " * 17, "\n" * 5, "ha" * 20 + "!", "9" * 40, ". " * 10, "word " * 30,
]
STRINGS = WORDS + NUMBERS + CONTRACTIONS + CODE + SCRIPTS + EMOJI + SPECIAL + MIXED

SYSTEM = "You are a helpful assistant."
QUESTIONS = [
    "What is the capital of France?", "What is 2 + 2?", "Write a Python function that reverses a string.",
    "Name three colours.", "Who wrote Hamlet?", "Translate 'good morning' to Spanish.", "Why is the sky blue?",
    "Write a haiku about the sea.", "List the days of the week.", "What does CPU stand for?",
]


def prompt(question):
    turns = [("system", SYSTEM), ("user", question)]
    text = "".join(f"<|im_start|>{role}\n{words}<|im_end|>\n" for role, words in turns)
    return text + "<|im_start|>assistant\n"


def write(name, value):
    (HERE / name).write_text(json.dumps(value, ensure_ascii=False, indent=0) + "\n")


def main():
    llm = llama_cpp.Llama(sys.argv[1], n_ctx=2048, logits_all=True, verbose=False, n_threads=2)
    tokens = lambda text: llm.tokenize(text.encode(), add_bos=False, special=True)
    write("tokens.json", [[text, tokens(text)] for text in STRINGS])

    asked = tokens(prompt(QUESTIONS[0]))
    llm.reset()
    llm.eval(asked)
    likely = llm.scores[len(asked) - 1]
    best = sorted(range(len(likely)), key=lambda token: -likely[token])[:40]
    some = list(range(0, len(likely), 997))
    write("likely.json", {
        "question": QUESTIONS[0],
        "numbers": [[int(token), round(float(likely[token]), 4)] for token in best + some],
    })

    answers = []
    for question in QUESTIONS:
        llm.reset()
        made = []
        for token in llm.generate(tokens(prompt(question)), temp=0.0, repeat_penalty=1.0):
            if token == llm.token_eos() or len(made) == 24:
                break
            made.append(token)
        answers.append([question, llm.detokenize(made).decode(errors="replace")])
    write("answers.json", answers)
    print(len(STRINGS), "strings")


main()
