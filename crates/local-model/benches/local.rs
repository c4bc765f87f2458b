//! Speed and memory of the model in this process, against llama.cpp on the same file where it is
//! installed (`target/peers/llama`).

#![expect(clippy::print_stdout, reason = "its table is its purpose")]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use local_model::{Host, Message, Piece, Request, Sampling, Settings};

/// Rounds of each measurement; the best counts, for both sides.
const ROUNDS: usize = 5;
/// Tokens that are decoded in a round.
const DECODED: u32 = 128;

/// What one side needed.
#[derive(Debug, Default, Clone, Copy)]
struct Figures {
    /// Tokens a second, after a prompt of about 32.
    decoded: f64,
    /// Tokens of a prompt of about 512 a second.
    read: f64,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let path = root.join("target/peers/models/smollm2-135m.gguf");
    if !path.exists() {
        return Err(format!("{} is missing; `cargo xtask test` fetches it", path.display()).into());
    }
    let host = Host::new(Settings::new(&path));
    timed(&host, request("Hello", 16)).await?;
    let memory = resident_bytes()?;
    let load = loading(&path).await?;
    let ours = ours(&host).await?;
    let (with, without) = second_turn(&host, &path).await?;
    let python = root.join("target/peers/llama/bin/python");
    let theirs = theirs(&python, &path);

    println!("| work | measured | bar |\n|---|---|---|");
    let against = |ours: f64, theirs: f64| match theirs {
        0.0 => format!("{ours:.1} tokens/s; llama.cpp is not installed"),
        _ => format!("{:.2} times llama.cpp ({ours:.1} and {theirs:.1} tokens/s)", ours / theirs),
    };
    println!(
        "| decode after a prompt of 32 tokens | {} | 0.6 |",
        against(ours.decoded, theirs.decoded)
    );
    println!("| read a prompt of 512 tokens | {} | 0.6 |", against(ours.read, theirs.read));
    println!(
        "| first token of the second turn | {:.1} times faster than without ({:.0} ms and {:.0} ms) | 4 |",
        without.as_secs_f64() / with.as_secs_f64(),
        with.as_secs_f64() * 1e3,
        without.as_secs_f64() * 1e3,
    );
    println!("| load to first token | {:.2} s | 2 s |", load.as_secs_f64());
    println!("| resident memory, loaded | {:.0} MB | 320 MB |", memory / 1e6);
    Ok(())
}

fn request(content: &str, max_tokens: u32) -> Request {
    let sampling = Sampling {
        temperature: Some(0.0),
        repeat_penalty: Some(1.0),
        max_tokens: Some(max_tokens),
        ..Sampling::default()
    };
    let messages = vec![Message { role: "user".to_owned(), content: content.to_owned() }];
    // Another owner each time, so that nothing is reused unless that is measured.
    let owner = format!("{:?}", Instant::now());
    Request { messages, sampling, owner }
}

/// How long the prompt is, and when which tokens came.
async fn timed(
    host: &Host,
    request: Request,
) -> Result<(u32, Duration, Duration, u32), Box<dyn std::error::Error>> {
    let start = Instant::now();
    let mut answer = host.generate(request).await?;
    let mut first = None;
    while let Some(piece) = answer.next().await {
        first.get_or_insert_with(|| start.elapsed());
        if let Piece::End { completion_tokens, .. } = piece? {
            let first = first.unwrap_or_default();
            return Ok((answer.prompt_tokens, first, start.elapsed(), completion_tokens));
        }
    }
    Err("an answer had no end".into())
}

/// From a host that has nothing loaded to its first token.
async fn loading(path: &Path) -> Result<Duration, Box<dyn std::error::Error>> {
    let mut best = Duration::MAX;
    for _ in 0..ROUNDS {
        let host = Host::new(Settings::new(path));
        let (_, first, _, _) = timed(&host, request("Hello", 1)).await?;
        best = best.min(first);
    }
    Ok(best)
}

async fn ours(host: &Host) -> Result<Figures, Box<dyn std::error::Error>> {
    let long = "The quick brown fox jumps over the lazy dog. ".repeat(49);
    let mut figures = Figures::default();
    for _ in 0..ROUNDS {
        let question = request("Write a long story about a sailor.", DECODED);
        let (_, first, all, tokens) = timed(host, question).await?;
        let decoded = f64::from(tokens - 1) / all.saturating_sub(first).as_secs_f64();
        figures.decoded = figures.decoded.max(decoded);
        let (prompt, first, _, _) = timed(host, request(&long, 1)).await?;
        figures.read = figures.read.max(f64::from(prompt) / first.as_secs_f64());
    }
    Ok(figures)
}

/// The first token of the second turn, with what the first turn left and without.
async fn second_turn(
    host: &Host,
    path: &Path,
) -> Result<(Duration, Duration), Box<dyn std::error::Error>> {
    let words = "The quick brown fox jumps over the lazy dog. ".repeat(20);
    let mut best = (Duration::MAX, Duration::MAX);
    let fresh = Host::new(Settings::new(path));
    timed(&fresh, request("Hello", 1)).await?;
    for round in 0..ROUNDS {
        let mut first = request(&format!("{round}: {words}"), 16);
        timed(host, first.clone()).await?;
        let turn = |role: &str, content: &str| Message {
            role: role.to_owned(),
            content: content.to_owned(),
        };
        first.messages.extend([turn("assistant", "Yes."), turn("user", "Why?")]);
        first.sampling.max_tokens = Some(1);
        let (_, with, _, _) = timed(host, first.clone()).await?;
        let (_, without, _, _) = timed(&fresh, first).await?;
        best = (best.0.min(with), best.1.min(without));
    }
    Ok(best)
}

/// The same work by llama.cpp, on as many threads.
fn theirs(python: &PathBuf, path: &Path) -> Figures {
    const WORK: &str = "
import sys, time, llama_cpp
llm = llama_cpp.Llama(sys.argv[1], n_ctx=2048, n_threads=int(sys.argv[2]), n_threads_batch=int(sys.argv[2]), verbose=False)
def prompt(words):
    return llm.tokenize(('<|im_start|>system\\nYou are a helpful assistant.<|im_end|>\\n<|im_start|>user\\n' + words
        + '<|im_end|>\\n<|im_start|>assistant\\n').encode(), add_bos=False, special=True)
short, long = prompt('Write a long story about a sailor.'), prompt('The quick brown fox jumps over the lazy dog. ' * 49)
decoded = read = 0
for _ in range(int(sys.argv[3])):
    llm.reset(); llm.eval(short)
    start, made = time.perf_counter(), 0
    for token in llm.generate(short, temp=0.0, repeat_penalty=1.0, reset=True):
        made += 1
        if made == 1: start = time.perf_counter()
        if made == int(sys.argv[4]): break
    decoded = max(decoded, (made - 1) / (time.perf_counter() - start))
    llm.reset(); start = time.perf_counter(); llm.eval(long)
    read = max(read, len(long) / (time.perf_counter() - start))
print(decoded, read)
";
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let output = Command::new(python)
        .args(["-c", WORK])
        .arg(path)
        .args([cores.to_string(), ROUNDS.to_string(), DECODED.to_string()])
        .output();
    let text = output.ok().filter(|output| output.status.success());
    let text = text.and_then(|output| String::from_utf8(output.stdout).ok()).unwrap_or_default();
    let mut numbers = text.split_whitespace().filter_map(|number| number.parse().ok());
    Figures {
        decoded: numbers.next().unwrap_or_default(),
        read: numbers.next().unwrap_or_default(),
    }
}

/// What this process has in memory.
fn resident_bytes() -> Result<f64, Box<dyn std::error::Error>> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).ok_or("no VmRSS")?;
    let kib: f64 = line.split_whitespace().nth(1).ok_or("no number")?.parse()?;
    Ok(kib * 1024.0)
}
