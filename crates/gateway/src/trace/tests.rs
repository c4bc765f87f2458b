//! Tests of `trace`.

use super::*;

fn header(text: &str) -> Option<(u128, u64, bool)> {
    parent(&HeaderValue::from_str(text).unwrap())
}

#[test]
fn a_traceparent_header_is_parsed() {
    let text = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let (trace, span, sampled) = header(text).unwrap();
    assert_eq!(trace, 0x0af7_6519_16cd_43dd_8448_eb21_1c80_319c);
    assert_eq!((span, sampled), (0xb7ad_6b71_6920_3331, true));
    let context = SpanContext { trace, span, parent: None };
    assert_eq!(context.header().unwrap(), text);
    assert_eq!(context.child().parent, Some(span));
}

#[test]
fn invalid_traceparent_headers_are_ignored() {
    for text in [
        "",
        "00",
        "00-00000000000000000000000000000000-b7ad6b7169203331-01",
        "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
        "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        "00-0af7651916cd43dd8448eb211c80319-b7ad6b7169203331-01",
    ] {
        assert_eq!(header(text), None, "{text}");
    }
}

#[test]
fn a_span_is_serialised_as_otlp() {
    let span = Span {
        context: SpanContext { trace: 10, span: 11, parent: Some(12) },
        kind: SpanKind::Client,
        name: "upstream",
        started: 1,
        ended: 2,
        failed: true,
        attributes: vec![("a", json!("b")), ("n", json!(7)), ("t", json!(true))],
    };
    let written = &document(&[span])["resourceSpans"][0]["scopeSpans"][0]["spans"][0];
    assert_eq!(
        *written,
        json!({
            "traceId": "0000000000000000000000000000000a",
            "spanId": "000000000000000b",
            "parentSpanId": "000000000000000c",
            "name": "upstream",
            "kind": 3,
            "startTimeUnixNano": "1000",
            "endTimeUnixNano": "2000",
            "attributes": [
                {"key": "a", "value": {"stringValue": "b"}},
                {"key": "n", "value": {"intValue": "7"}},
                {"key": "t", "value": {"boolValue": true}},
            ],
            "status": {"code": 2},
        })
    );
}
