//! Embeddings, moderations, reranking, completions, images, speech and transcriptions as OpenAI's
//! clients ask for them.

use agent_test_support::sdk;
use agent_test_support::upstream::{Step, Upstream};
use agent_test_support::wait::eventually;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use gateway_store::Scope;
use serde_json::{Value, json};

use crate::fixture::{paid, provider, receipt, with_providers};
use crate::raw::Raw;
use crate::support::{Answer, Holder, PRICE, Running};

const MODELS: &str = "kind: openai, health: false, models: {\
    echo: {}, \
    embed: {name: embed-3, capabilities: [embeddings], price_micros: 30}, \
    judge: {capabilities: [moderation]}, \
    rank: {capabilities: [rerank]}, \
    paint: {capabilities: [image], price_micros: 7000}, \
    speak: {capabilities: [speech], price_micros: 7000}, \
    hear: {capabilities: [transcription], price_micros: 500}}";

struct Setup {
    upstream: Upstream,
    service: Running,
    ada: Holder,
}

fn setup() -> Setup {
    let upstream = Upstream::start();
    let rest = "models: {painter: up/paint, vectors: up/embed}\n";
    let service = Running::start(&with_providers(&[provider("up", &upstream, MODELS)], rest));
    let ada = service.holder("ada", 1000 * PRICE);
    Setup { upstream, service, ada }
}

impl Setup {
    fn post(&self, path: &str, body: &Value) -> Answer {
        self.service.post(path, self.ada.key.as_str(), body)
    }

    fn run(&self, client: sdk::Client, script: &str) -> Value {
        let base = format!("{}/v1", self.service.origin());
        let home = self.service.folder.path().display().to_string();
        let key = self.ada.key.as_str();
        client.run(script, &[("OPENAI_BASE_URL", &base), ("OPENAI_API_KEY", key), ("HOME", &home)])
    }

    fn speak(&self) -> Raw {
        let body = json!({"model": "up/speak", "input": "hello", "voice": "alloy"});
        let key = self.ada.key.as_str();
        Raw::post(self.service.address, "/v1/audio/speech", key, &body)
    }
}

#[test]
fn all_paths_work_with_the_openai_python_client() {
    let setup = setup();
    let found = setup.run(sdk::OPENAI_PYTHON, include_str!("scripts/paths.py"));
    let errors = found["errors"].as_array().unwrap();
    let expected = json!({
        "embeddings": [2, 8, "up/embed", true, 2],
        "encodings_agree": true,
        "tokens": 3,
        "moderation": [true, false],
        "completion": ["Once upon and more", "up/echo", 4],
        "streamed_completion": ["Once upon and more", "up/echo"],
        "input_tokens": true,
        "compact bridged": ["response.compaction", ["message", "compaction"], "and now"],
        "compact native": ["response.compaction", ["message", "compaction"], "and now"],
        "image": "89504e47",
        "edited": ["89504e47", "a tower"],
        "speech": ["audio/wav", "RIFF", "7000"],
        "transcription": "heard talk.wav of 104 characters",
        "transcribed_text": "heard talk.wav of 104 characters",
        "transcribed_stream": ["transcript.text.delta", "transcript.text.done"],
        "errors": errors,
    });
    assert_eq!(found, expected);
    let codes: Vec<(i64, &str)> = errors
        .iter()
        .map(|error| (error[0].as_i64().unwrap(), error[1].as_str().unwrap()))
        .collect();
    assert_eq!(
        codes,
        [
            (400, "model_not_for_capability"),
            (400, "invalid_request"),
            (400, "model_not_found"),
            (400, "model_not_for_capability"),
            (404, "not_found"),
        ]
    );
    assert!(errors[4][2].as_str().unwrap().contains("/v1/embeddings"), "{found}");
    setup.service.check_ledger();
}

#[test]
fn all_paths_work_with_the_openai_node_client() {
    let setup = setup();
    let found = setup.run(sdk::OPENAI_NODE, include_str!("scripts/paths.mjs"));
    let expected = json!({
        "embeddings": [2, 8, "up/embed"],
        "moderation": true,
        "completion": "Once and more",
        "streamed_completion": "Once and more",
        "input_tokens": true,
        "edited": ["PNG", "a tower"],
        "image": "PNG",
        "transcription": "heard talk.wav of 13 characters",
        "speech": "RIFF",
    });
    assert_eq!(found, expected);
}

#[test]
fn langchain_and_llm_clients_work() {
    let setup = setup();
    let found = setup.run(sdk::LANGCHAIN, include_str!("scripts/langchain.py"));
    let turns = json!([
        "hello there",
        "hello there",
        "weather",
        "tool said: rain",
        true,
        ["news", "weather"],
        "I saw 1 image"
    ]);
    let expected = json!({"chat": turns, "responses": turns, "embeddings": [2, 8], "query": 8,
        "llm": ["hello there", "hello there", "I saw 1 image", "tool said: rain"]});
    assert_eq!(found, expected);
}

#[test]
fn the_vercel_ai_sdk_works() {
    let setup = setup();
    let found = setup.run(sdk::AI_SDK, include_str!("scripts/ai_sdk.mjs"));
    let turns = json!([
        "hello there",
        "hello there",
        2,
        "tool said: rain",
        "number",
        ["news", "weather"],
        "I saw 1 image"
    ]);
    assert_eq!(found, json!({"chat": turns, "responses": turns, "embeddings": [3, 8]}));
}

#[test]
fn the_body_is_forwarded_unchanged_except_for_the_model() {
    let setup = setup();
    let body = json!({"model": "vectors", "input": [[1, 2], [3]], "dimensions": 2, "other": 1.0});
    let answer = setup.post("/v1/embeddings", &body);
    assert_eq!(answer.good()["model"], "vectors");
    let sent = setup.upstream.requests().pop().unwrap();
    let mut expected = body.clone();
    expected["model"] = "embed-3".into();
    assert_eq!((sent.path.as_str(), sent.json()), ("/v1/embeddings", expected));
    assert_eq!(answer.header("x-charge-micros"), "30");
    let found = receipt(&setup.service, &setup.ada, answer.header("x-receipt-id"));
    assert_eq!(found, ("answered".to_owned(), 30));
}

#[test]
fn reranking_is_forwarded_and_charged() {
    let setup = setup();
    let body = json!({"model": "rank", "query": "sea", "documents": ["sand", "the sea"]});
    let answer = setup.post("/v1/rerank", &body);
    assert_eq!(answer.good()["results"][0]["index"], 1);
    assert_eq!(answer.header("x-charge-micros"), PRICE.to_string());
}

#[test]
fn failures_and_empty_answers_are_free() {
    let setup = setup();
    let body = json!({"model": "up/embed", "input": "x"});
    let raw = |text: &str| Step::Raw {
        status: 200,
        media_type: "application/json".into(),
        body: text.as_bytes().to_vec(),
    };
    for (step, status) in [
        (raw("{\"data\": []}"), 200),
        (raw("not JSON"), 503),
        (raw("{\"error\": {\"message\": \"x\"}, \"data\": [1]}"), 503),
        (Step::Status(500), 503),
        (Step::CutMidEvent, 503),
    ] {
        setup.upstream.script("embed-3", vec![step.clone()]);
        assert_eq!(setup.post("/v1/embeddings", &body).status, status, "{step:?}");
    }
    assert_eq!(paid(&setup.service, &setup.ada), 0);
}

#[test]
fn an_undecodable_image_is_rejected_and_free() {
    let setup = setup();
    let answer = |bytes: &[u8]| {
        let data = json!([{"b64_json": STANDARD.encode(bytes)}]);
        let (media_type, body) = ("application/json".into(), json!({"data": data}).to_string());
        vec![Step::Raw { status: 200, media_type, body: body.into() }]
    };
    let body = json!({"model": "up/paint", "prompt": "a lighthouse"});
    let good = setup.post("/v1/images/generations", &body).good();
    let png = STANDARD.decode(good["data"][0]["b64_json"].as_str().unwrap()).unwrap();
    assert_eq!(paid(&setup.service, &setup.ada), 7000);
    for broken in [&b"<p>no image</p>"[..], &png[..png.len() / 2], b""] {
        setup.upstream.script("paint", answer(broken));
        let refused = setup.post("/v1/images/generations", &body);
        assert_eq!(refused.failure(), (503, "upstream_unavailable".to_owned()));
    }
    setup.upstream.script("paint", answer(&png));
    setup.post("/v1/images/generations", &body).good();
    assert_eq!(paid(&setup.service, &setup.ada), 14000);
}

#[test]
fn images_are_verified_completely_in_every_position() {
    let setup = setup();
    let answer = |media_type: &str, body: String| {
        vec![Step::Raw { status: 200, media_type: media_type.into(), body: body.into() }]
    };
    let images = |data: Value| answer("application/json", json!({"data": data}).to_string());
    let asked = json!({"model": "up/paint", "prompt": "a lighthouse"});
    let post = || setup.post("/v1/images/generations", &asked);
    let own = |name: &str| json!([{"url": format!("{}/{name}", setup.upstream.base_url())}]);
    setup.upstream.script("paint", images(own("files/picture.png")));
    assert_eq!(post().good()["data"], own("files/picture.png"));
    assert_eq!(paid(&setup.service, &setup.ada), 7000);
    let events = "data: {\"b64_json\": \"AA\"}\n\n".to_owned();
    for wrong in [images(own("models")), images(json!([{}])), answer("text/event-stream", events)] {
        setup.upstream.script("paint", wrong);
        assert_eq!(post().failure(), (503, "upstream_unavailable".to_owned()));
    }
    setup.upstream.script("paint", images(json!([{"url": "http://169.254.169.254/x.png"}])));
    let refused = post();
    assert_eq!(refused.failure(), (400, "invalid_request".to_owned()));
    assert_eq!(refused.json()["error"]["param"], "response_format");
    let seen = setup.upstream.requests().len();
    let mut streamed = asked.clone();
    streamed["stream"] = true.into();
    let refused = setup.post("/v1/images/generations", &streamed);
    assert_eq!((refused.status, &refused.json()["error"]["param"]), (400, &json!("stream")));
    let field = |name, value| {
        format!("--x\r\ncontent-disposition: form-data; name={name}\r\n\r\n{value}\r\n")
    };
    let fields = [("model", "up/paint"), ("prompt", "x"), ("stream", "true")];
    let form: String = fields.into_iter().map(|(name, value)| field(name, value)).collect();
    let request = http::Request::post("/v1/images/edits")
        .header("authorization", format!("Bearer {}", setup.ada.key.as_str()))
        .header("content-type", "multipart/form-data; boundary=x");
    let refused = setup.service.send_raw(request.body((form + "--x--\r\n").into()).unwrap());
    assert_eq!((refused.status, &refused.json()["error"]["param"]), (400, &json!("stream")));
    assert_eq!(setup.upstream.requests().len(), seen);
    assert_eq!(paid(&setup.service, &setup.ada), 7000);
}

#[test]
fn without_a_usable_model_no_request_is_sent() {
    let upstream = Upstream::start();
    let models = MODELS.replace("health: false", "health: {interval: 0.05, failures: 3}");
    let text = with_providers(&[provider("up", &upstream, &models)], "");
    let service = Running::start(&text);
    let ada = service.holder("ada", 1000 * PRICE);
    let form = "--x\r\ncontent-disposition: form-data; name=model\r\n\r\nup/hear\r\n\
        --x\r\ncontent-disposition: form-data; name=file; filename=a.wav\r\n\r\nRIFF\r\n--x--\r\n";
    let requests = [
        ("/v1/images/generations", "application/json", r#"{"model":"up/paint","prompt":"x"}"#),
        ("/v1/audio/speech", "application/json", r#"{"model":"up/speak","input":"x"}"#),
        ("/v1/audio/transcriptions", "multipart/form-data; boundary=x", form),
    ];
    let ask = |(path, media_type, body): (&str, &str, &str)| {
        let request = http::Request::post(path)
            .header("authorization", format!("Bearer {}", ada.key.as_str()))
            .header("content-type", media_type);
        service.send_raw(request.body(body.into()).unwrap())
    };
    upstream.go_down();
    let unavailable = (503, "capability_unavailable".to_owned());
    eventually("the provider is out", || ask(requests[0]).failure() == unavailable);
    for request in requests {
        let refused = ask(request);
        assert_eq!(refused.failure(), unavailable, "{request:?}");
        assert_eq!(refused.header("x-receipt-id"), "", "{request:?}");
    }
    assert_eq!(paid(&service, &ada), 0);
}

#[test]
fn media_models_need_their_full_id() {
    let setup = setup();
    for (path, field) in [("/v1/images/generations", "prompt"), ("/v1/audio/speech", "input")] {
        let answer = setup.post(path, &json!({"model": "painter", field: "x"}));
        assert_eq!(answer.failure(), (400, "model_not_found".to_owned()), "{path}");
    }
    assert_eq!(setup.upstream.requests().len(), 0);
    let chat = setup.service.key_with(setup.ada.member, |key| key.scopes = vec![Scope::Chat]);
    let body = json!({"model": "up/paint", "prompt": "x"});
    let answer = setup.service.post("/v1/images/generations", chat.as_str(), &body);
    assert_eq!(answer.failure(), (403, "scope_missing".to_owned()));
    let many = json!({"model": "up/paint", "prompt": "x", "n": 2});
    assert_eq!(setup.post("/v1/images/generations", &many).failure().0, 400);
}

#[test]
fn interrupted_speech_aborts_the_connection_and_is_free() {
    let setup = setup();
    setup.upstream.script("speak", vec![Step::CutMidEvent]);
    let mut client = setup.speak();
    // The break may come before the head is sent.
    if let Some(head) = client.try_head() {
        assert_eq!((head.status, head.header("x-price-micros")), (200, "7000"));
        while client.try_piece().is_some_and(|piece| !piece.is_empty()) {}
        assert_eq!(receipt(&setup.service, &setup.ada, head.header("x-receipt-id")).1, 0);
    }
    assert_eq!(paid(&setup.service, &setup.ada), 0);
}

#[test]
fn speech_is_charged_if_the_client_disconnects_midway() {
    let setup = setup();
    setup.upstream.script("speak", vec![Step::Endless]);
    let mut client = setup.speak();
    let id = client.head().header("x-receipt-id").to_owned();
    client.piece();
    drop(client);
    eventually("the request has ended", || paid(&setup.service, &setup.ada) == 7000);
    assert_eq!(receipt(&setup.service, &setup.ada, &id).1, 7000);
}

#[test]
fn speech_is_stored_for_its_idempotency_key() {
    let setup = setup();
    let body =
        json!({"model": "up/speak", "input": "hello", "voice": "a", "response_format": "wav"});
    let post = || {
        let request = http::Request::post("/v1/audio/speech")
            .header("authorization", format!("Bearer {}", setup.ada.key.as_str()))
            .header("idempotency-key", "once")
            .header("content-type", "application/json");
        setup.service.send_raw(request.body(body.to_string().into_bytes()).unwrap())
    };
    let (first, second) = (post(), post());
    assert_eq!(first.body, second.body);
    assert_eq!(second.header("content-type"), "audio/wav");
    assert_eq!(second.header("idempotent-replayed"), "true");
    assert_eq!(paid(&setup.service, &setup.ada), 7000);
}

#[test]
fn upstream_html_is_never_served_as_html() {
    let setup = setup();
    let page = b"<script>alert(1)</script>".to_vec();
    let media_type = "text/html".to_owned();
    setup.upstream.script("speak", vec![Step::Raw { status: 200, media_type, body: page }]);
    let answer =
        setup.post("/v1/audio/speech", &json!({"model": "up/speak", "input": "x", "voice": "a"}));
    assert_eq!(answer.header("content-type"), "application/octet-stream");
    assert_eq!(answer.header("x-content-type-options"), "nosniff");
}

#[test]
fn websocket_upgrades_return_426() {
    let setup = setup();
    let request = http::Request::get("/v1/responses")
        .header("authorization", format!("Bearer {}", setup.ada.key.as_str()))
        .header("connection", "upgrade")
        .header("upgrade", "websocket");
    let answer = setup.service.send_raw(request.body(Vec::new()).unwrap());
    assert_eq!(answer.failure(), (426, "websocket_not_offered".to_owned()));
}

#[test]
fn remote_urls_are_not_sent_to_upstreams() {
    let setup = setup();
    let image = json!([{"type": "image_url", "image_url": {"url": "http://10.0.0.1/secret"}}]);
    for (path, model) in [("/v1/moderations", "up/judge"), ("/v1/embeddings", "up/embed")] {
        let answer = setup.post(path, &json!({"model": model, "input": image}));
        assert_eq!(answer.failure(), (400, "invalid_request".to_owned()), "{path}");
    }
    assert_eq!(setup.upstream.requests().len(), 0);
    let inline = json!([{"type": "image_url", "image_url": {"url": "data:image/png;base64,AA"}}]);
    setup.post("/v1/moderations", &json!({"model": "up/judge", "input": inline})).good();
}

#[test]
fn input_that_is_neither_text_nor_list_is_rejected() {
    let setup = setup();
    for input in [json!(true), json!(7), json!({"text": "a"})] {
        let answer = setup.post("/v1/embeddings", &json!({"model": "up/embed", "input": input}));
        assert_eq!(answer.failure(), (400, "invalid_request".to_owned()), "{input}");
        assert!(answer.text().contains("`input` must be a string or a list"), "{input}");
    }
    assert_eq!(setup.upstream.requests().len(), 0);
}

#[test]
fn multipart_forms_are_validated() {
    let setup = setup();
    let post = |media_type: &str, body: &str| {
        let request = http::Request::post("/v1/audio/transcriptions")
            .header("authorization", format!("Bearer {}", setup.ada.key.as_str()))
            .header("content-type", media_type);
        setup.service.send_raw(request.body(body.as_bytes().to_vec()).unwrap()).failure()
    };
    let form = "multipart/form-data; boundary=x";
    let invalid = (400, "invalid_request".to_owned());
    assert_eq!(post("multipart/form-data", "x"), invalid);
    assert_eq!(post(form, "--x\r\nbroken"), invalid);
    let model = "--x\r\nContent-Disposition: form-data; name=\"model\"\r\n\r\nup/hear\r\n";
    assert_eq!(post(form, &format!("{model}--x--\r\n")), invalid);
    assert_eq!(post(form, &format!("{}--x--\r\n", model.repeat(65))), invalid);
    assert_eq!(setup.upstream.requests().len(), 0);
}
