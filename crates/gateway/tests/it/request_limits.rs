//! What one request may ask of a model: caps, images and tools that lead elsewhere, and large bodies.

use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use agent_test_support::upstream::Upstream;
use http::Request;
use serde_json::{Value, json};

use crate::fixture::{PLAIN, paid, with_one};
use crate::site::{HOST, Names, PUBLIC, Setup, Site, ok};
use crate::support::{Answer, PRICE, Running};

const CHAT: &str = "/v1/chat/completions";
const RESPONSES: &str = "/v1/responses";
const MESSAGES: &str = "/v1/messages";
const COMPLETIONS: &str = "/v1/completions";
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n and more";

fn chat_with(address: &str) -> Value {
    json!({"model": "up/echo", "messages": [{"role": "user", "content": [
        {"type": "text", "text": "look"}, {"type": "image_url", "image_url": {"url": address}}]}]})
}

fn response_with(address: &str) -> Value {
    json!({"model": "up/echo", "input": [{"role": "user", "content": [
        {"type": "input_text", "text": "look"}, {"type": "input_image", "image_url": address}]}]})
}

fn message_with(kind: &str, address: &str) -> Value {
    let block = json!({"type": kind, "source": {"type": "url", "url": address}});
    json!({"model": "up/echo", "max_tokens": 9, "messages": [{"role": "user", "content": [block]}]})
}

fn refusal(answer: &Answer) -> (u16, String, String) {
    let error = answer.json()["error"].clone();
    let text = |name: &str| error[name].as_str().unwrap_or_default().to_owned();
    (answer.status, text("param"), text("message"))
}

#[test]
fn cap_errors_of_models_and_aliases_name_field_value_and_cap() {
    let upstream = Upstream::start();
    let caps = "max_n: 2, max_tokens: 50, max_message_bytes: 400, max_images: 1";
    let provider = format!("kind: openai, health: false, models: {{echo: {{{caps}}}}}");
    let aliases = "models: {same: up/echo, own: {targets: [up/echo], max_n: 3}}\n";
    let service = Running::start(&with_one(&upstream, &provider, aliases));
    let ada = service.holder("ada", 1000 * PRICE);
    let ask = |path: &str, change: &dyn Fn(&mut Value)| {
        let mut body = json!({"model": "up/echo", "messages": [{"role": "user", "content": "hi"}],
            "input": "hi"});
        if path == MESSAGES {
            body["max_tokens"] = 9.into();
        }
        change(&mut body);
        service.post(path, ada.key.as_str(), &body)
    };
    let over = |path: &str, field: &str, message: &str, change: &dyn Fn(&mut Value)| {
        // Errors in Anthropic's shape name the field in the message alone.
        let param = if path == MESSAGES { "" } else { field };
        let expected = (400, param.to_owned(), message.to_owned());
        assert_eq!(refusal(&ask(path, change)), expected);
    };
    for path in [CHAT, RESPONSES, MESSAGES] {
        for name in ["max_tokens", "max_completion_tokens", "max_output_tokens"] {
            let message = format!("`{name}` is 51; the limit of this model is 50");
            over(path, name, &message, &|body| body[name] = 51.into());
        }
        over(path, "n", "`n` is 3; the limit of this model is 2", &|body| body["n"] = 3.into());
        over(path, "n", "`n` is 9; the limit of this model is 2", &|body| {
            body["model"] = "same".into();
            body["n"] = 9.into();
        });
    }
    over(CHAT, "n", "`n` is 4; the limit of this model is 3", &|body| {
        body["model"] = "own".into();
        body["n"] = 4.into();
    });
    let long = "x".repeat(500);
    over(RESPONSES, "input", "`input` has 502 bytes; the limit of this model is 400", &|body| {
        body["input"] = long.as_str().into();
    });
    let images = |body: &mut Value| {
        let image = json!({"type": "image_url", "image_url": {"url": "data:image/png;base64,AA"}});
        body["messages"][0]["content"] = json!([image, image]);
    };
    over(CHAT, "messages", "`messages` has 2 images; the limit of this model is 1", &images);
    over(MESSAGES, "messages", "`messages` has 2 images; the limit of this model is 1", &|body| {
        let source = json!({"type": "base64", "media_type": "image/png", "data": "AA"});
        let image = json!({"type": "image", "source": source});
        body["messages"][0]["content"] = json!([image, image]);
    });
    let message = "`messages` has 530 bytes; the limit of this model is 400";
    over(MESSAGES, "messages", message, &|body| {
        body["messages"][0]["content"] = long.as_str().into();
    });
    assert_eq!((paid(&service, &ada), upstream.completions().len()), (0, 0));
    // Where no limit on tokens is named, the cap is sent.
    ask(CHAT, &|_| {}).good();
    ask(CHAT, &|body| body["stream"] = true.into());
    ask(CHAT, &|body| body["max_tokens"] = 7.into()).good();
    let sent: Vec<Value> =
        upstream.completions().iter().map(|seen| seen.json()["max_tokens"].clone()).collect();
    assert_eq!(sent, [json!(50), json!(50), json!(7)]);
    ask(RESPONSES, &|_| {}).good();
    let last = upstream.completions().pop().unwrap().json();
    assert!(last["max_output_tokens"] == 50 || last["max_completion_tokens"] == 50, "{last}");
}

#[test]
fn caps_cover_definitions_and_best_of() {
    let upstream = Upstream::start();
    let provider = "kind: openai, health: false, \
        models: {echo: {max_n: 2, max_message_bytes: 400}, \
        paint: {capabilities: [image], max_n: 2}}";
    let service = Running::start(&with_one(&upstream, provider, ""));
    let ada = service.holder("ada", 1000 * PRICE);
    let ask = |path: &str, field: &str, value: &Value| {
        let mut body = json!({"model": "up/echo", "max_tokens": 9, "prompt": "hi", "input": "hi",
            "messages": [{"role": "user", "content": "hi"}]});
        body[field] = value.clone();
        service.post(path, ada.key.as_str(), &body)
    };
    let long = "x".repeat(500);
    let tools = json!([{"type": "function", "name": "f", "description": long}]);
    for (path, conversation) in
        [(CHAT, "messages"), (MESSAGES, "messages"), (RESPONSES, "input"), (COMPLETIONS, "prompt")]
    {
        for field in ["tools", "Tools", "functions", "response_format", "text", "output_config"] {
            let (status, _, message) = refusal(&ask(path, field, &tools));
            let expected = format!("`{conversation}` with tools and formats has ");
            assert!(status == 400 && message.starts_with(&expected), "{path} {field} {message}");
        }
    }
    let (status, param, message) = refusal(&ask(COMPLETIONS, "best_of", &3.into()));
    let expected = (400, "best_of", "`best_of` is 3; the limit of this model is 2");
    assert_eq!((status, &*param, &*message), expected);
    let field = |(name, value)| {
        format!("--x\r\ncontent-disposition: form-data; name={name}\r\n\r\n{value}\r\n")
    };
    let form: String = [("model", "up/paint"), ("prompt", "x"), ("n", "3")].map(field).concat();
    let request = Request::post("/v1/images/edits")
        .header("authorization", format!("Bearer {}", ada.key.as_str()))
        .header("content-type", "multipart/form-data; boundary=x");
    let (status, _, message) =
        refusal(&service.send_raw(request.body((form + "--x--\r\n").into()).unwrap()));
    assert_eq!((status, &*message), (400, "`n` is 3; the limit of this model is 2"));
    assert_eq!((paid(&service, &ada), upstream.completions().len()), (0, 0));
    ask(CHAT, "tools", &json!([])).good();
    ask(COMPLETIONS, "best_of", &2.into()).good();
}

#[test]
fn a_completion_has_one_prompt() {
    let upstream = Upstream::start();
    let service = Running::start(&with_one(&upstream, PLAIN, ""));
    let ada = service.holder("ada", 1000 * PRICE);
    let ask = |prompt: &str| {
        let body = format!("{{\"model\":\"up/echo\",{prompt}}}");
        let request = Request::post(COMPLETIONS)
            .header("authorization", format!("Bearer {}", ada.key.as_str()))
            .header("content-type", "application/json");
        service.send_raw(request.body(body.into_bytes()).unwrap())
    };
    for several in [
        r#""prompt":["a","b"]"#,
        r#""prompt": [ "a" , 1 ] "#,
        r#""prompt":[[1,2],[3]]"#,
        r#""prompt":["]", "b"]"#,
        r#""prompt":"a","Prompt":["a","b"]"#,
    ] {
        let message = "`prompt` must be one prompt; send a request for each".to_owned();
        assert_eq!(refusal(&ask(several)), (400, "prompt".to_owned(), message), "{several}");
    }
    assert_eq!((paid(&service, &ada), upstream.completions().len()), (0, 0));
    let single = [r#""a""#, r#"[ "a" ]"#, "[1,2,3]", "[ [1,2] ]"];
    for prompt in single {
        ask(&format!("\"prompt\":{prompt}")).good();
    }
    assert_eq!(paid(&service, &ada), PRICE * i64::try_from(single.len()).unwrap());
}

#[test]
fn tools_on_servers_given_by_url_are_rejected_unless_allowed() {
    let address = "http://10.0.0.1/";
    let tools = json!([{"type": "mcp", "server_label": "x", "server_url": address}]);
    let servers = json!([{"type": "url", "url": address, "name": "x"}]);
    let cases = [
        ("kind: openai", CHAT, "tools", &tools),
        ("kind: openai, responses: native", RESPONSES, "tools", &tools),
        ("kind: openai, responses: native", "/v1/responses/input_tokens", "tools", &tools),
        ("kind: anthropic", MESSAGES, "mcp_servers", &servers),
        ("kind: anthropic", "/v1/messages/count_tokens", "mcp_servers", &servers),
    ];
    for (kind, path, field, value) in cases {
        let mut body = json!({"model": "up/echo", "max_tokens": 9, field: value});
        if path.starts_with(RESPONSES) {
            body["input"] = "hi".into();
        } else {
            body["messages"] = json!([{"role": "user", "content": "hi"}]);
        }
        for is_allowed in [false, true] {
            let upstream = Upstream::start();
            let rest = if is_allowed { "remote_tools: pass\n" } else { "" };
            let provider = format!("{kind}, models: [echo], health: false");
            let service = Running::start(&with_one(&upstream, &provider, rest));
            let ada = service.holder("ada", 1000 * PRICE);
            let answer = service.post(path, ada.key.as_str(), &body);
            if is_allowed {
                answer.good();
                let sent = upstream.requests().pop().unwrap().json();
                assert_eq!(&sent[field], value, "{path}");
            } else {
                let (status, _, message) = refusal(&answer);
                let expected = format!("`{field}` names a server by URL");
                assert!(status == 400 && message.starts_with(&expected), "{path} {message}");
                assert_eq!((paid(&service, &ada), upstream.requests().len()), (0, 0));
            }
        }
    }
}

#[test]
fn remote_images_are_rejected_unless_allowed() {
    let upstream = Upstream::start();
    let site = Site::of(&[]);
    let service = Running::start(&with_one(&upstream, PLAIN, ""));
    let ada = service.holder("ada", 1000 * PRICE);
    for address in [&*site.url("/a.png"), "https://a.example/", "//a.example/", "file:///x", ""] {
        for (path, body) in [(CHAT, chat_with(address)), (RESPONSES, response_with(address))] {
            let answer = service.post(path, ada.key.as_str(), &body);
            assert_eq!(refusal(&answer).1, "image_url", "{address}");
            assert_eq!(answer.status, 400);
        }
    }
    let mut twice = chat_with("data:image/png;base64,AA");
    twice["Messages"] = chat_with("http://10.0.0.1/")["messages"].clone();
    assert_eq!(service.post(CHAT, ada.key.as_str(), &twice).status, 400);
    assert_eq!((paid(&service, &ada), upstream.completions().len()), (0, 0));
    assert!(site.paths().is_empty());
    for (path, body) in [
        (CHAT, chat_with("data:image/png;base64,AA")),
        (RESPONSES, response_with("data:image/png;base64,AA")),
    ] {
        let answer = service.post(path, ada.key.as_str(), &body);
        assert!(answer.text().contains("I saw 1 image"), "{}", answer.text());
    }
}

#[test]
fn remote_images_are_fetched_through_the_guard_and_inlined() {
    let site = Site::start(|asked, stream| match asked.path.as_str() {
        "/a.png" => stream.write_all(&ok("image/png", PNG)),
        "/page" => stream.write_all(&ok("text/html", b"<p>words</p>")),
        "/lie" => stream.write_all(&ok("image/png", b"<p>words</p>")),
        _ => stream.write_all(&crate::site::plain(404, "not here")),
    });
    for kind in ["openai", "anthropic"] {
        let upstream = Upstream::start();
        let provider = format!("kind: {kind}, models: [echo], health: false");
        let port = site.address.port();
        let rest =
            format!("remote_images: inline\nfetch: {{allow_private: [\"{HOST}:{port}\"]}}\n");
        let text = with_one(&upstream, &provider, &rest);
        let folder = Arc::new(tempfile::tempdir().unwrap());
        let names = Names::new(&[(HOST, &[&[PUBLIC]])]);
        let setup = Setup::start(folder, &text, names);
        let key = setup.ada.key.as_str();
        for (path, with) in [
            (CHAT, chat_with as fn(&str) -> Value),
            (RESPONSES, response_with as fn(&str) -> Value),
        ] {
            let answer = setup.service.post(path, key, &with(&site.url("/a.png")));
            assert!(answer.text().contains("I saw 1 image"), "{kind} {}", answer.text());
            let sent = upstream.completions().pop().unwrap().json().to_string();
            assert!(sent.contains("iVBORw0KGgo") && !sent.contains(HOST), "{kind} {sent}");
            let asked = upstream.completions().len();
            for bad in [&*site.url("/page"), &site.url("/lie"), &site.url("/x"), "http://10.0.0.1/"]
            {
                let answer = setup.service.post(path, key, &with(bad));
                assert_eq!(refusal(&answer).1, "image_url", "{kind} {bad} {}", answer.text());
                assert_eq!(answer.header("x-charge-micros"), "0", "{kind} {bad}");
            }
            assert_eq!(upstream.completions().len(), asked);
        }
        let message =
            |kind: &str, url: &str| setup.service.post(MESSAGES, key, &message_with(kind, url));
        let answer = message("image", &site.url("/a.png"));
        assert!(answer.text().contains("I saw 1 image"), "{kind} {}", answer.text());
        let asked = upstream.completions().len();
        for (kind, url) in [("image", "/page"), ("image", "/x"), ("document", "/a.png")] {
            let answer = message(kind, &site.url(url));
            assert_eq!(answer.status, 400, "{kind} {url} {}", answer.text());
            assert!(answer.text().contains("source.url"), "{kind} {url} {}", answer.text());
        }
        assert_eq!(upstream.completions().len(), asked);
        assert_eq!(setup.paid(), 3 * PRICE);
    }
}

#[test]
fn image_timeouts_count_as_fetch_timeouts_of_the_key() {
    let upstream = Upstream::start();
    let site = Site::start(|_, _| {
        std::thread::sleep(Duration::from_secs(30)); // sleep: the site is silent on purpose.
        Ok(())
    });
    let rest = format!(
        "remote_images: inline\nfetch: {{allow_private: [\"{HOST}:{}\"], robots: false, \
         timeout: 0.2, timeouts_per_minute: 3}}\n",
        site.address.port()
    );
    let folder = Arc::new(tempfile::tempdir().unwrap());
    let names = Names::new(&[(HOST, &[&[PUBLIC]])]);
    let setup = Setup::start(folder, &with_one(&upstream, PLAIN, &rest), names);
    let asked = [
        (CHAT, chat_with(&site.url("/a.png"))),
        (RESPONSES, response_with(&site.url("/a.png"))),
        (MESSAGES, message_with("image", &site.url("/a.png"))),
        ("/v1/web/fetch", json!({"url": site.url("/page")})),
    ];
    let ask = |key: &str, (path, body): &(&str, Value)| setup.service.post(path, key, body);
    let key = setup.ada.key.as_str();
    let statuses: Vec<u16> = asked.iter().map(|asked| ask(key, asked).status).collect();
    assert_eq!(statuses, [503, 503, 503, 429]);
    for asked in &asked {
        let answer = ask(key, asked);
        assert_eq!(answer.status, 429, "{}", answer.text());
        let wait: u64 = answer.header("retry-after").parse().unwrap();
        assert!(wait > 1 && answer.text().contains("too many fetches of this key"), "{wait}");
    }
    assert_eq!(site.paths().len(), 3, "nothing is asked of the site");
    let bob = setup.service.holder("bob", 10 * PRICE);
    assert_eq!(ask(bob.key.as_str(), &asked[0]).status, 503);
    assert_eq!((setup.paid(), upstream.completions().len()), (0, 0));
}

/// The most memory that this process has ever had, in bytes.
pub(crate) fn peak_bytes() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<usize>().unwrap() * 1024
}

/// 28 MB of a list of numbers, in a field of this object.
fn large(start: &str, end: &str) -> Vec<u8> {
    let mut body = start.as_bytes().to_vec();
    body.resize(start.len() + 28_000_000, b'0');
    body[start.len()..].iter_mut().skip(1).step_by(2).for_each(|byte| *byte = b',');
    body.pop();
    body.extend_from_slice(end.as_bytes());
    body
}

#[test]
fn a_large_body_needs_at_most_a_few_times_its_size() {
    let upstream = Upstream::start();
    let rest = "research: {}\n";
    let service = Running::start(&with_one(&upstream, PLAIN, rest));
    let rich = service.holder("ada", 1000 * PRICE);
    let poor = service.holder("eve", 0);
    let list = |field: &str, start: &str, end: &str| {
        large(&format!("{{\"model\":\"up/echo\",{start},\"{field}\":["), &format!("]{end}}}"))
    };
    let input = "\"input\":\"hi\"";
    let messages = "\"max_tokens\":9,\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}]";
    let cases = [
        (RESPONSES, list("metadata", input, "")),
        (RESPONSES, list("other", input, "")),
        (RESPONSES, list("input", "\"x\":1", "")),
        (MESSAGES, list("metadata", messages, "")),
        (MESSAGES, list("other", messages, "")),
        (MESSAGES, list("messages", "\"max_tokens\":9", "")),
        ("/v1/research/jobs", large("{\"query\":\"why\",\"metadata\":{\"a\":[", "]}}")),
        ("/v1/search", large("{\"query\":\"why\",\"domains\":{\"include\":[", "]}}")),
        (
            "/mcp",
            large("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\",\"params\":{\"a\":[", "]}}"),
        ),
    ];
    for (path, body) in cases {
        for (holder, is_rich) in [(&poor, false), (&rich, true)] {
            let length = body.len();
            let request = Request::post(path)
                .header("authorization", format!("Bearer {}", holder.key.as_str()))
                .header("content-type", "application/json")
                .header("accept", "application/json, text/event-stream");
            // The test's own copy of it, which the client sends.
            let request = request.body(body.clone()).unwrap();
            let before = peak_bytes();
            let answer = service.send_raw(request);
            let grown = peak_bytes() - before;
            assert!((400..500).contains(&answer.status), "{path} {}", answer.status);
            if [RESPONSES, MESSAGES].contains(&path) {
                assert_eq!(answer.status, if is_rich { 400 } else { 402 }, "{}", answer.text());
            }
            assert!(grown < 3 * length, "{path} rich={is_rich}: {grown} bytes for {length}");
        }
    }
    assert_eq!((paid(&service, &rich), upstream.completions().len()), (0, 0));
}
