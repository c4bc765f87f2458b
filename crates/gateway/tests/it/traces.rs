//! Traces, as an OpenTelemetry collector receives them.

use agent_test_support::collector::{CollectedSpan, OtelCollector};
use agent_test_support::upstream::{Step, Upstream};
use agent_test_support::wait::eventually;
use http::Request;
use serde_json::Value;

use crate::fixture::{chat, chat_stream, service_with};
use crate::support::{Answer, Holder, Running};

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const PARENT: &str = "b7ad6b7169203331";

/// The spans of a trace, once there are so many.
fn spans_of(collector: &OtelCollector, trace: &str, count: usize) -> Vec<CollectedSpan> {
    let mut found = Vec::new();
    eventually("the spans arrive", || {
        found = collector.spans();
        found.retain(|span| span.fields["Trace ID"] == trace);
        found.len() >= count
    });
    assert_eq!(found.len(), count, "{found:?}");
    found
}

fn of_kind<'a>(spans: &'a [CollectedSpan], kind: &str) -> &'a CollectedSpan {
    spans.iter().find(|span| span.fields["Kind"] == kind).unwrap()
}

fn ask(service: &Running, ada: &Holder, parent: &str, body: &Value) -> Answer {
    let request = Request::post("/v1/chat/completions")
        .header("authorization", format!("Bearer {}", ada.key.as_str()))
        .header("traceparent", parent);
    service.send_raw(request.body(body.to_string().into_bytes()).unwrap())
}

/// A service that sends spans to a collector, only for requests that their clients trace.
fn traced(upstream: &Upstream) -> (OtelCollector, Running, Holder) {
    let collector = OtelCollector::start();
    let trace = format!("trace: {{otlp_endpoint: \"{}\", sample: 0}}\n", collector.endpoint());
    let (service, ada) = service_with(upstream, &trace);
    (collector, service, ada)
}

const SERVER: &str = "SPAN_KIND_SERVER";
const CLIENT: &str = "SPAN_KIND_CLIENT";

#[test]
fn traces_contain_client_request_and_upstream_spans() {
    let upstream = Upstream::start();
    let (collector, service, ada) = traced(&upstream);
    for (place, body) in [chat("hi"), chat_stream("hi")].iter().enumerate() {
        // Another trace for each.
        let trace = format!("{place}{}", &TRACE[1..]);
        let answer = ask(&service, &ada, &format!("00-{trace}-{PARENT}-01"), body);
        assert_eq!(answer.status, 200);
        let spans = spans_of(&collector, &trace, 2);
        let (server, client) = (of_kind(&spans, SERVER), of_kind(&spans, CLIENT));
        assert_eq!((&*server.fields["Name"], &*server.fields["Parent ID"]), ("chat", PARENT));
        assert_eq!(client.fields["Parent ID"], server.fields["ID"]);
        assert_eq!(server.attributes["http.response.status_code"], "Int(200)");
        let request_id = format!("Str({})", answer.header("x-request-id"));
        assert_eq!(server.attributes["agent.request_id"], request_id);
        assert_eq!(client.attributes["agent.provider"], "Str(up)");
        assert_eq!(client.attributes["agent.outcome"], "Str(ok)");
        let seen = upstream.completions().pop().unwrap();
        let sent = format!("00-{trace}-{}-01", client.fields["ID"]);
        assert_eq!(seen.header("traceparent"), Some(sent.as_str()));
        let nanos = |span: &CollectedSpan, field: &str| span.fields[field].parse::<u64>().unwrap();
        for span in &spans {
            let (start, end) = (nanos(span, "Start time"), nanos(span, "End time"));
            assert!(start > 1_700_000_000_000_000_000 && start <= end, "{span:?}");
        }
        assert!(nanos(client, "Start time") >= nanos(server, "Start time"));
    }
    let log = collector.log();
    assert!(!log.contains("ERROR"), "{log}");
}

#[test]
fn failures_are_recorded_and_untraced_requests_are_not() {
    let upstream = Upstream::start();
    let (collector, service, ada) = traced(&upstream);
    // The client says that it does not trace this one.
    assert_eq!(ask(&service, &ada, &format!("00-{TRACE}-{PARENT}-00"), &chat("hi")).status, 200);
    assert_eq!(upstream.completions()[0].header("traceparent"), None);
    upstream.script("echo", vec![Step::Status(500)]);
    let other = format!("1{}", &TRACE[1..]);
    assert_eq!(ask(&service, &ada, &format!("00-{other}-{PARENT}-01"), &chat("hi")).status, 503);
    let spans = spans_of(&collector, &other, 2);
    for kind in [SERVER, CLIENT] {
        assert_eq!(of_kind(&spans, kind).fields["Status code"], "STATUS_CODE_ERROR");
    }
    assert_eq!(of_kind(&spans, CLIENT).attributes["agent.outcome"], "Str(broken)");
    let status = &of_kind(&spans, SERVER).attributes["http.response.status_code"];
    assert_eq!(status, "Int(503)");
    // By now spans of the first would have come too.
    assert!(spans_of(&collector, TRACE, 0).is_empty());
}
