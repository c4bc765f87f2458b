//! Traces, as a collector of OTLP over HTTP gets them.

use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError, mpsc};

use agent_test_support::upstream::{Step, Upstream};
use agent_test_support::wait::eventually;
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpListener;

use crate::fixture::{chat, chat_stream, service_with};
use crate::support::{Answer, Holder, Running};

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const PARENT: &str = "b7ad6b7169203331";

/// A collector that keeps every span.
#[derive(Debug, Clone, Default)]
struct Collector {
    spans: Arc<Mutex<Vec<Value>>>,
    wrong: Arc<Mutex<Vec<String>>>,
}

impl Collector {
    /// Starts one; gives its port.
    fn start(&self) -> u16 {
        let (opening, opened) = mpsc::channel();
        let collector = self.clone();
        std::thread::spawn(move || {
            let runtime =
                tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
                opening.send(listener.local_addr().unwrap().port()).unwrap();
                while let Ok((stream, _)) = listener.accept().await {
                    let collector = collector.clone();
                    let serving = service_fn(move |request| {
                        let collector = collector.clone();
                        async move { Ok::<_, Infallible>(collector.take(request).await) }
                    });
                    let connection =
                        http1::Builder::new().serve_connection(TokioIo::new(stream), serving);
                    tokio::spawn(connection);
                }
            });
        });
        opened.recv().unwrap()
    }

    async fn take(&self, request: Request<Incoming>) -> Response<Full<Bytes>> {
        let (head, body) = request.into_parts();
        let json = head.headers.get("content-type").is_some_and(|kind| kind == "application/json");
        let body = body.collect().await.unwrap().to_bytes();
        let document = serde_json::from_slice::<Value>(&body);
        match document {
            Ok(document) if json && head.method == "POST" && head.uri == "/v1/traces" => {
                let mut spans = self.spans.lock().unwrap_or_else(PoisonError::into_inner);
                for resource in list(&document["resourceSpans"]) {
                    let scopes = list(&resource["scopeSpans"]);
                    spans.extend(scopes.iter().flat_map(|scope| list(&scope["spans"])).cloned());
                }
            }
            _ => {
                let mut wrong = self.wrong.lock().unwrap_or_else(PoisonError::into_inner);
                wrong.push(format!("{head:?} {body:?}"));
            }
        }
        Response::new(Full::new(Bytes::from_static(b"{}")))
    }

    /// The spans of a trace, once there are so many.
    fn spans_of(&self, trace: &str, count: usize) -> Vec<Value> {
        let mut found = Vec::new();
        eventually("the spans are there", || {
            let spans = self.spans.lock().unwrap_or_else(PoisonError::into_inner);
            let spans = spans.iter().filter(|span| span["traceId"] == trace);
            found = spans.cloned().collect();
            found.len() >= count
        });
        assert_eq!(found.len(), count, "{found:?}");
        found
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

/// The span of a kind: 2 is a server's, 3 a client's.
fn of_kind(spans: &[Value], kind: u64) -> &Value {
    spans.iter().find(|span| span["kind"] == kind).unwrap()
}

fn word<'a>(span: &'a Value, key: &str) -> &'a Value {
    let words = list(&span["attributes"]);
    &words.iter().find(|word| word["key"] == key).unwrap()["value"]
}

fn ask(service: &Running, ada: &Holder, parent: &str, body: &Value) -> Answer {
    let request = Request::post("/v1/chat/completions")
        .header("authorization", format!("Bearer {}", ada.key.as_str()))
        .header("traceparent", parent);
    service.send_raw(request.body(body.to_string().into_bytes()).unwrap())
}

/// A service whose spans go to a collector, of requests that are traced by their clients alone.
fn traced(upstream: &Upstream) -> (Collector, Running, Holder) {
    let collector = Collector::default();
    let port = collector.start();
    let trace = format!("trace: {{otlp_endpoint: \"http://127.0.0.1:{port}\", sample: 0}}\n");
    let (service, ada) = service_with(upstream, &trace);
    (collector, service, ada)
}

#[test]
fn a_collector_sees_the_request_and_its_upstream_in_the_trace_of_the_client() {
    let upstream = Upstream::start();
    let (collector, service, ada) = traced(&upstream);
    for (place, body) in [chat("hi"), chat_stream("hi")].iter().enumerate() {
        // Another trace for each.
        let trace = format!("{place}{}", &TRACE[1..]);
        let answer = ask(&service, &ada, &format!("00-{trace}-{PARENT}-01"), body);
        assert_eq!(answer.status, 200);
        let spans = collector.spans_of(&trace, 2);
        let (server, client) = (of_kind(&spans, 2), of_kind(&spans, 3));
        assert_eq!((&server["name"], &server["parentSpanId"]), (&"chat".into(), &PARENT.into()));
        assert_eq!(client["parentSpanId"], server["spanId"]);
        assert_eq!(word(server, "http.response.status_code")["intValue"], "200");
        assert_eq!(word(server, "agent.request_id")["stringValue"], answer.header("x-request-id"));
        assert_eq!(word(client, "agent.provider")["stringValue"], "up");
        assert_eq!(word(client, "agent.outcome")["stringValue"], "ok");
        let seen = upstream.completions().pop().unwrap();
        let told = format!("00-{trace}-{}-01", client["spanId"].as_str().unwrap());
        assert_eq!(seen.header("traceparent"), Some(told.as_str()));
        let nanos = |span: &Value, key: &str| span[key].as_str().unwrap().parse::<u64>().unwrap();
        for span in &spans {
            let (start, end) = (nanos(span, "startTimeUnixNano"), nanos(span, "endTimeUnixNano"));
            assert!(start > 1_700_000_000_000_000_000 && start <= end, "{span}");
        }
        assert!(nanos(client, "startTimeUnixNano") >= nanos(server, "startTimeUnixNano"));
    }
    let wrong = collector.wrong.lock().unwrap();
    assert!(wrong.is_empty(), "{wrong:?}");
}

#[test]
fn failures_show_in_their_spans_and_what_is_not_traced_does_not_show() {
    let upstream = Upstream::start();
    let (collector, service, ada) = traced(&upstream);
    // The client says that it does not trace this one.
    assert_eq!(ask(&service, &ada, &format!("00-{TRACE}-{PARENT}-00"), &chat("hi")).status, 200);
    assert_eq!(upstream.completions()[0].header("traceparent"), None);
    upstream.script("echo", vec![Step::Status(500)]);
    let other = format!("1{}", &TRACE[1..]);
    assert_eq!(ask(&service, &ada, &format!("00-{other}-{PARENT}-01"), &chat("hi")).status, 503);
    let spans = collector.spans_of(&other, 2);
    for kind in [2, 3] {
        assert_eq!(of_kind(&spans, kind)["status"]["code"], 2);
    }
    assert_eq!(word(of_kind(&spans, 3), "agent.outcome")["stringValue"], "broken");
    assert_eq!(word(of_kind(&spans, 2), "http.response.status_code")["intValue"], "503");
    // By now spans of the first would have come too.
    assert!(collector.spans_of(TRACE, 0).is_empty());
}
