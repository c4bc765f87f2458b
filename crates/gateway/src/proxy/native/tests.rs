//! Tests of `native`.

use bytes::Bytes;
use wire::sse::Splitter;

use super::*;

fn watch() -> NativeWatch {
    let ours = json!({"id": "resp_ours", "store": true});
    NativeWatch::new(ours.as_object().unwrap().clone())
}

fn feed(watch: &mut NativeWatch, stream: &'static str) -> (String, String, Option<Fault>) {
    let mut out = Output::default();
    let mut splitter = Splitter::new(10_000);
    splitter.push(Bytes::from_static(stream.as_bytes()));
    let mut fault = None;
    while let Some(event) = splitter.next() {
        if let Err(found) = watch.feed(&event.unwrap(), &mut out) {
            fault = Some(found);
            break;
        }
    }
    let text =
        |out: &mut EventBuffer| String::from_utf8(out.take().unwrap_or_default().to_vec()).unwrap();
    (text(&mut out.ready), text(&mut out.last), fault)
}

#[test]
fn own_fields_are_replaced_and_others_passed_through() {
    let mut watch = watch();
    let (out, last, fault) = feed(
        &mut watch,
        concat!(
            "event: response.created\ndata: {\"type\":\"response.created\",\"sequence_number\":0,\"response\":{\"id\":\"theirs\",\"x\":1}}\n\n",
            "event: response.output_text.delta\ndata: {\"type\":\"response.output_text.delta\",\"delta\":\"a\",\"sequence_number\":1}\n\n",
            "event: response.completed\ndata: {\"type\":\"response.completed\",\"sequence_number\":2,\"response\":{\"id\":\"theirs\",\"usage\":{\"input_tokens\":4,\"output_tokens\":2}}}\n\n",
        ),
    );
    assert_eq!(fault, None);
    assert!(out.contains("resp_ours") && !out.contains("theirs"), "{out}");
    assert!(out.contains("event: response.output_text.delta\ndata: {\"type\""), "{out}");
    assert!(last.starts_with("event: response.completed\n"), "{last}");
    assert_eq!(watch.tokens, TokenCounts { input: Some(4), output: Some(2) });
    assert_eq!(watch.final_response().unwrap()["id"], "resp_ours");
    assert!(watch.has_content);
}

#[test]
fn a_failed_response_is_a_fault_with_our_message() {
    let mut watch = watch();
    let (_, _, fault) = feed(
        &mut watch,
        "data: {\"type\":\"response.x.delta\",\"sequence_number\":6}\n\ndata: {\"type\":\"response.failed\",\"sequence_number\":99,\"response\":{\"id\":\"x\",\"error\":{\"message\":\"their words\"}}}\n\n",
    );
    assert_eq!(fault, Some(Fault::Told(Some("their words".to_owned()))));
    let mut out = EventBuffer::default();
    watch.fail(&ApiError::internal(), &mut out);
    let text = String::from_utf8(out.take().unwrap().to_vec()).unwrap();
    assert!(text.contains("\"sequence_number\":7") && !text.contains("their words"), "{text}");
}
