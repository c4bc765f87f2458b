//! What passes untouched, both ways.

use agent_test_support::upstream::{Step, Upstream};
use http::Request;

use crate::fixture::{PLAIN, service, with_one};
use crate::support::{Answer, Holder, PRICE, Running};

fn send(service: &Running, holder: &Holder, body: &str) -> Answer {
    let request = Request::post("/v1/chat/completions")
        .header("authorization", format!("Bearer {}", holder.key.as_str()))
        .header("x-of-the-client", "1")
        .body(body.as_bytes().to_vec());
    service.send_raw(request.unwrap())
}

fn asked(upstream: &Upstream) -> String {
    String::from_utf8(upstream.completions().last().unwrap().body.clone()).unwrap()
}

const FIELDS: &str = r#""messages":[ {"role":"user", "content":"\u0068i \ud83d\ude00", "x-new":null} ],"temperature":1.10,"big":12345678901234567890123,"tiny":1e-400,"nested":{ "a":[1 ,2], "a":3 },"é":"\u00e9""#;

#[test]
fn a_request_is_forwarded_unchanged_except_model_and_stream() {
    let upstream = Upstream::start();
    let (service, ada) = service(&upstream);
    let answer = send(&service, &ada, &format!(r#"{{ "model" : "up/echo", {FIELDS} }}"#));
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert_eq!(asked(&upstream), format!(r#"{{{FIELDS},"model":"echo","stream":false}}"#));
    // In a stream the usage is asked for as well, beside what the client wants of it.
    let stream = r#""stream":true"#;
    send(&service, &ada, &format!(r#"{{"model":"up/echo",{stream},{FIELDS}}}"#));
    let options = r#""stream_options":{"include_usage":true}"#;
    assert_eq!(asked(&upstream), format!(r#"{{{FIELDS},"model":"echo",{stream},{options}}}"#));
    let own = r#""stream_options":{"include_usage":false,"include_obfuscation":false}"#;
    send(&service, &ada, &format!(r#"{{"model":"up/echo",{stream},{own},{FIELDS}}}"#));
    let options = r#""stream_options":{"include_obfuscation":false,"include_usage":true}"#;
    assert_eq!(asked(&upstream), format!(r#"{{{FIELDS},"model":"echo",{stream},{options}}}"#));
    let seen = upstream.completions().pop().unwrap();
    assert_eq!(seen.header("x-of-the-client"), None);
    assert_eq!(seen.header("authorization").unwrap(), format!("Bearer {}", upstream.key()));
}

#[test]
fn an_answer_is_forwarded_unchanged() {
    let upstream = Upstream::start();
    let (service, ada) = service(&upstream);
    let whole = r#"{ "choices":[ {"message":{"content":"\u0068i","x":1.10}, "x":[ ]} ],"zz":12345678901234567890123,
        "usage":{"prompt_tokens":1,"completion_tokens":1,"of_its_own":1e-400} }"#;
    let step = Step::Raw {
        status: 200,
        media_type: "application/json; charset=utf-8".to_owned(),
        body: whole.as_bytes().to_vec(),
    };
    upstream.script("echo", vec![step]);
    let answer =
        send(&service, &ada, r#"{"model":"up/echo","messages":[{"role":"user","content":"x"}]}"#);
    assert_eq!((answer.status, answer.text()), (200, whole));
    assert_eq!(answer.header("content-type"), "application/json");
    assert_eq!(answer.header("openai-organization"), "");

    let events = [
        "data: {\"choices\":[ {\"delta\":{\"content\":\"\\u0068i\"},\"x\":1.10} ],\"zz\":1e-400}\n\n",
        "event: odd\nid: 7\ndata: {\"choices\":[],\ndata: \"new\":true}\n\n",
        "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":1}}\n\n",
        "data: [DONE]\n\n",
    ];
    let steps = [(); 2]
        .map(|()| Step::RawStream(events.iter().map(|event| event.as_bytes().to_vec()).collect()));
    upstream.script("echo", steps.to_vec());
    let ask = |more: &str| {
        let messages = r#""messages":[{"role":"user","content":"x"}]"#;
        send(&service, &ada, &format!(r#"{{"model":"up/echo","stream":true,{messages}{more}}}"#))
    };
    let with_usage = ask(r#","stream_options":{"include_usage":true}"#);
    assert_eq!(with_usage.text(), events.concat());
    assert_eq!(with_usage.header("content-type"), "text/event-stream");
    assert_eq!(ask("").text(), [events[0], events[1], events[3]].concat());
    assert_eq!(service.account(ada.member).balance.get(), 997 * PRICE);
}

#[test]
fn stream_usage_is_not_requested_if_disabled() {
    let upstream = Upstream::start();
    let text = with_one(
        &upstream,
        &format!("{PLAIN}, stream_usage: false, headers: {{x-team: blue}}"),
        "",
    );
    let service = Running::start(&text);
    let ada = service.holder("ada", PRICE);
    let body = r#"{"model":"up/echo","stream":true,"messages":[{"role":"user","content":"x"}]}"#;
    assert_eq!(send(&service, &ada, body).status, 200);
    let seen = upstream.completions().pop().unwrap();
    assert_eq!(seen.json().get("stream_options"), None);
    assert_eq!(seen.header("x-team"), Some("blue"));
}
