//! Asks a GGUF file: `cargo run --release -p local-model --example ask -- FILE WORDS`.

use std::io::Write as _;
use std::time::Instant;

use local_model::{About, Host, Message, Piece, Request, Sampling, Settings};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut words = std::env::args().skip(1);
    let path = words.next().ok_or("give a GGUF file")?;
    let content = words.collect::<Vec<_>>().join(" ");
    println!("{:?}", About::read(path.as_ref())?);
    let host = Host::new(Settings::new(path));
    let messages = vec![Message { role: "user".to_owned(), content }];
    for _ in 0..2 {
        let sampling = Sampling { temperature: Some(0.0), ..Sampling::default() };
        let request = Request { messages: messages.clone(), sampling, owner: String::new() };
        let start = Instant::now();
        let mut answer = host.generate(request).await?;
        println!(
            "{:?} prompt {} cached {}",
            start.elapsed(),
            answer.prompt_tokens,
            answer.cached_tokens
        );
        let mut first = None;
        while let Some(piece) = answer.next().await {
            first.get_or_insert_with(|| start.elapsed());
            match piece? {
                Piece::Text(text) => print!("{text}"),
                Piece::End { reason, completion_tokens } => {
                    let rate = f64::from(completion_tokens)
                        / (start.elapsed() - first.unwrap_or_default()).as_secs_f64();
                    println!("\n{reason:?} {completion_tokens} {rate:.1}/s first {first:?}");
                }
            }
            std::io::stdout().flush()?;
        }
        println!("{:?}", host.memory());
    }
    Ok(())
}
