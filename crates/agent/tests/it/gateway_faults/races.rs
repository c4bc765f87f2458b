//! Many clients, one balance.

use std::io::Read;
use std::net::TcpStream;
use std::sync::{Arc, Barrier};

use super::{STACK_BYTES, Seen, Setup, StoreKind, addresses, ask};
use crate::gateway::{Served, chat_body};

const CLIENTS: usize = 1000;
const COVERED: u64 = 137;

#[test]
fn a_thousand_sqlite_clients_never_exceed_the_balance() {
    race(&StoreKind::Sqlite, 1);
}

#[test]
fn a_thousand_postgresql_clients_never_exceed_the_balance() {
    race(&StoreKind::Postgres, 2);
}

fn race(books: &StoreKind, processes: usize) {
    let setup = Setup::new(books, i64::try_from(COVERED).unwrap());
    let services: Vec<Served> = (0..processes).map(|_| setup.fixture.serve()).collect();
    let seen = all_at_once(&addresses(&services), &setup.key);
    let count = |wanted: &Seen| seen.iter().filter(|seen| *seen == wanted).count() as u64;
    assert_eq!(count(&Seen::Whole), COVERED, "{:?}", setup.member());
    assert_eq!(count(&Seen::Status(402)), CLIENTS as u64 - COVERED);
    let member = setup.member();
    assert_eq!((&member["balance_micros"], &member["held_micros"]), (&0.into(), &0.into()));
    setup.wait_until_settled();
    assert_eq!(setup.fixture.upstream.completions().len() as u64, COVERED);
}

fn all_at_once(addresses: &[String], key: &str) -> Vec<Seen> {
    let start = Arc::new(Barrier::new(CLIENTS));
    let clients: Vec<_> = (0..CLIENTS)
        .map(|number| {
            let address = addresses[number % addresses.len()].clone();
            let (key, start) = (key.to_owned(), start.clone());
            let client = move || {
                start.wait();
                ask(&address, &key, number % 2 == 0)
            };
            std::thread::Builder::new().stack_size(STACK_BYTES).spawn(client).unwrap()
        })
        .collect();
    clients.into_iter().map(|client| client.join().unwrap()).collect()
}

#[test]
fn an_idempotency_key_on_two_services_is_charged_once() {
    let setup = Setup::new(&StoreKind::Postgres, 50);
    let services = [setup.fixture.serve(), setup.fixture.serve()];
    let clients: Vec<_> = (0..100)
        .map(|number: usize| {
            let address = services[number % 2].address.clone();
            let key = setup.key.clone();
            let client = move || loop {
                let (status, body) = repeat(&address, &key);
                match status {
                    409 => {}
                    status => return (status, body),
                }
            };
            std::thread::Builder::new().stack_size(STACK_BYTES).spawn(client).unwrap()
        })
        .collect();
    let answers: Vec<_> = clients.into_iter().map(|client| client.join().unwrap()).collect();
    assert!(answers.iter().all(|answer| answer.0 == 200 && *answer == answers[0]), "{answers:?}");
    assert_eq!(setup.fixture.upstream.completions().len(), 1);
    assert_eq!(setup.charged(), 1);
    setup.wait_until_settled();
}

/// Sends the same request with the same word.
fn repeat(address: &str, key: &str) -> (u16, String) {
    use std::io::Write;
    let mut stream = TcpStream::connect(address).unwrap();
    let body = chat_body("test/echo", false);
    let request = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {key}\r\n\
         idempotency-key: once\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let status = answer.split(' ').nth(1).unwrap().parse().unwrap();
    (status, answer.split_once("\r\n\r\n").unwrap().1.to_owned())
}
