//! How jobs end before their time, and how their ends are told.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use agent_test_support::upstream::{Responder, Step};
use agent_test_support::wait::eventually;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::Method;
use ring::hmac;
use serde_json::{Value, json};

use crate::research_fixture::{
    JOB_PRICE, JOBS, Setup, assert_sound, ended, events, look, paid, question, scholar, started,
};
use crate::site::{HOST, Names, PUBLIC};
use crate::support::{Holder, Running};

const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

fn cancel(service: &Running, holder: &Holder, id: &str) -> Value {
    let path = format!("{JOBS}/{id}/cancel");
    service.send(Method::POST, &path, Some(holder.key.as_str()), None).good()
}

#[test]
fn a_job_cancelled_at_any_step_is_charged() {
    let setup = Setup::new("");
    let (service, ada) = setup.ready("");
    // The calls of a model: plan, note, note, write.
    for calls in 0..4_usize {
        let good = Step::Speak(Responder(scholar), Duration::ZERO);
        let mut steps = vec![good; calls];
        steps.push(Step::Gate);
        setup.upstream.script("scholar", steps);
        let before = setup.upstream.completions().len();
        let id = started(&service, &ada, &question());
        eventually("it waits at its step", || {
            let asked = setup.upstream.completions().len() - before;
            asked == calls + 1 && setup.upstream.in_flight() == 1
        });
        let job = cancel(&service, &ada, &id);
        let expected = (&json!("cancelled"), &json!(JOB_PRICE));
        assert_eq!((&job["status"], &job["charge_micros"]), expected);
        eventually("the model is left", || setup.upstream.in_flight() == 0);
        assert_eq!(setup.upstream.cancelled().len(), calls + 1);
        let told = events(&service, &ada, &id, "");
        assert_eq!(told.last().unwrap().1, "cancelled");
        // It stays as it is.
        assert_eq!(cancel(&service, &ada, &id)["finished_at"], job["finished_at"]);
    }
    assert_eq!(paid(&service, &ada), 4 * JOB_PRICE);
    let id = started(&service, &ada, &question());
    assert_sound(&ended(&service, &ada, &id));
    assert_eq!(cancel(&service, &ada, &id)["status"], "completed");
    assert_eq!(paid(&service, &ada), 5 * JOB_PRICE);
}

#[test]
fn a_queued_job_can_be_cancelled() {
    let setup = Setup::new("");
    let (service, ada) = setup.ready(", workers: 0");
    let id = started(&service, &ada, &question());
    assert_eq!(look(&service, &ada, &id)["status"], "queued");
    assert_eq!(service.account(ada.member).held.get(), JOB_PRICE);
    assert_eq!(cancel(&service, &ada, &id)["status"], "cancelled");
    assert_eq!(paid(&service, &ada), 0);
}

#[test]
fn a_job_without_sources_fails_and_is_refunded() {
    fn silent(_: &str) -> String {
        String::new()
    }
    let setup = Setup::new("");
    let (service, ada) = setup.ready("");
    let body = json!({"query": "zyzzyva quokka numbat", "depth": "quick"});
    setup.upstream.set_default(Step::Speak(Responder(silent), Duration::ZERO));
    let id = started(&service, &ada, &body);
    let job = ended(&service, &ada, &id);
    assert_eq!((&job["status"], &job["error"]["code"]), (&json!("failed"), &json!("no_sources")));
    assert_eq!((paid(&service, &ada), &job["charge_micros"]), (0, &json!(0)));
}

/// What came to the peer of a webhook.
#[derive(Debug, Clone)]
struct Came {
    headers: Vec<(String, String)>,
    body: String,
}

impl Came {
    fn header(&self, name: &str) -> &str {
        &self.headers.iter().find(|(found, _)| found == name).unwrap().1
    }
}

/// A peer that answers with these statuses, one after the other, the last again and again.
fn peer(statuses: &'static [u16]) -> (u16, Arc<Mutex<Vec<Came>>>) {
    let listener = TcpListener::bind((PUBLIC, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let came: Arc<Mutex<Vec<Came>>> = Arc::default();
    let seen = came.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            let mut headers = Vec::new();
            let mut line = String::new();
            while reader.read_line(&mut line).unwrap() > 2 {
                if let Some((name, value)) = line.trim().split_once(": ") {
                    headers.push((name.to_lowercase(), value.to_owned()));
                }
                line.clear();
            }
            let length = headers.iter().find(|(name, _)| name == "content-length");
            let mut body = vec![0; length.unwrap().1.parse().unwrap()];
            reader.read_exact(&mut body).unwrap();
            let mut seen = seen.lock().unwrap();
            let status = statuses[seen.len().min(statuses.len() - 1)];
            seen.push(Came { headers, body: String::from_utf8(body).unwrap() });
            let answer = format!("HTTP/1.1 {status} Said\r\ncontent-length: 0\r\n\r\n");
            stream.write_all(answer.as_bytes()).unwrap();
        }
    });
    (port, came)
}

#[test]
fn webhook_is_signed_and_retried_until_delivered() {
    let (port, came) = peer(&[500, 302, 204]);
    let setup = Setup::new(&format!("fetch: {{allow_private: [\"{HOST}:{port}\"]}}\n"));
    let names = Names::new(&[(HOST, &[&[PUBLIC]])]);
    let research = format!(", webhook_secret: \"{SECRET}\", webhook_retry: 0.1");
    let service = setup.start_with(&research, names);
    let ada = service.holder("ada", 1000 * JOB_PRICE);
    let mut body = question();
    body["webhook_url"] = json!(format!("http://{HOST}:{port}/hook?a=1"));
    let id = started(&service, &ada, &body);
    assert_sound(&ended(&service, &ada, &id));
    eventually("it is delivered three times", || came.lock().unwrap().len() == 3);
    let came = came.lock().unwrap().clone();
    let key = STANDARD.decode(SECRET.strip_prefix("whsec_").unwrap()).unwrap();
    let key = hmac::Key::new(hmac::HMAC_SHA256, &key);
    for message in &came {
        let (name, at) = (message.header("webhook-id"), message.header("webhook-timestamp"));
        assert_eq!(name, came[0].header("webhook-id"));
        let signature = message.header("webhook-signature").strip_prefix("v1,").unwrap();
        let signature = STANDARD.decode(signature).unwrap();
        let signed = format!("{name}.{at}.{}", message.body);
        hmac::verify(&key, signed.as_bytes(), &signature).unwrap();
        let told: Value = serde_json::from_str(&message.body).unwrap();
        assert_eq!(told["type"], "research.job.completed");
        assert_eq!(told["data"], json!({"id": id, "status": "completed"}));
    }
}

#[test]
fn webhooks_to_private_or_invalid_urls_are_rejected() {
    let setup = Setup::new("");
    let (service, ada) = setup.ready(&format!(", webhook_secret: \"{SECRET}\""));
    for (url, status) in [
        ("http://127.0.0.1/hook", 403),
        ("http://169.254.169.254/latest", 403),
        ("http://localhost/hook", 403),
        ("https://a.example:8443/", 403),
        ("ftp://a.example/", 400),
        ("nonsense", 400),
    ] {
        let mut body = question();
        body["webhook_url"] = json!(url);
        let answer = service.post(JOBS, ada.key.as_str(), &body);
        assert_eq!(answer.status, status, "{url}: {}", answer.text());
        assert_eq!(answer.json()["error"]["param"], "webhook_url");
    }
    assert_eq!(paid(&service, &ada), 0);
}
