//! Tests of `sendfile`.

use std::future::poll_fn;
use std::io::Write;
use std::task::Waker;

use tokio::io::AsyncReadExt;
use tokio::net::TcpListener;

use super::*;

async fn pair() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (client, served) = tokio::join!(TcpStream::connect(address), listener.accept());
    (client.unwrap(), served.unwrap().0)
}

fn body(transfer: &Arc<FileTransfer>, bytes: &[u8], start: u64) -> FileBody {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(bytes).unwrap();
    let part = FilePart { file: Arc::new(file), part: start..start + MIN_FILE_BYTES };
    transfer.body(part).unwrap()
}

async fn send(transfer: &FileTransfer, stream: &TcpStream, length: usize) -> io::Result<usize> {
    poll_fn(|context| transfer.poll_send(stream, context, length)).await
}

#[tokio::test]
async fn the_kernel_sends_the_file_instead_of_the_placeholder() {
    let (mut client, served) = pair().await;
    let transfer = Arc::default();
    let bytes: Vec<u8> = (0..=255).cycle().take(70_000).collect();
    let mut body = body(&transfer, &bytes, 2);
    let mut piece = poll_fn(|context| body.poll_piece(context)).await.unwrap().unwrap();
    assert!(is_placeholder(piece.chunk()) && !is_placeholder(b"abc") && !is_placeholder(b""));
    let mut got = vec![0; piece.remaining()];
    let sending = async {
        while piece.has_remaining() {
            let count = send(&transfer, &served, piece.remaining()).await.unwrap();
            piece.advance(count);
        }
    };
    let (read, ()) = tokio::join!(client.read_exact(&mut got), sending);
    read.unwrap();
    assert_eq!(got, bytes[2..2 + got.len()]);
    assert!(transfer.check().is_ok() && body.remaining() == 0);
}

#[tokio::test]
async fn an_unsent_placeholder_fails_the_connection() {
    let (_client, served) = pair().await;
    let transfer = Arc::default();
    let mut body = body(&transfer, &vec![7; 70_000], 0);
    let mut piece = poll_fn(|context| body.poll_piece(context)).await.unwrap().unwrap();
    piece.advance(1);
    assert!(transfer.check().is_err());
    assert!(send(&transfer, &served, 3).await.is_err());
}

#[tokio::test]
async fn a_missing_or_short_file_is_an_error() {
    let (_client, served) = pair().await;
    let transfer = Arc::default();
    assert!(send(&transfer, &served, 3).await.is_err());
    let mut body = body(&transfer, b"abc", 3);
    let error = send(&transfer, &served, 1).await.unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
    assert!(poll_fn(|context| body.poll_piece(context)).await.unwrap().is_err());
}

#[tokio::test]
async fn sending_blocks_while_the_client_does_not_read() {
    let (_client, served) = pair().await;
    let transfer = Arc::default();
    let _body = body(&transfer, &vec![7; 64 * 1024 * 1024], 0);
    let mut context = Context::from_waker(Waker::noop());
    let blocks = (0..1000)
        .any(|_| matches!(transfer.poll_send(&served, &mut context, MAX_BYTES), Poll::Pending));
    assert!(blocks);
}
