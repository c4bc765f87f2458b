//! Images, audio and documents reach models that take them, within limits.

use std::fs;

use agent_test_support::mcp::{everything_stdio, python_stdio};
use agent_test_support::upstream::Step;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::{Value, json};

use super::{REQUIRED, Setup, call, calls, launched, say};
use crate::gateway::Fixture;

const SCREEN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/screen.py");
const PIXEL: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\0\0\0\0:~\x9bU\
    \0\0\0\nIDATx\x9cch\0\0\0\x82\0\x81w\xcdr\xb6\0\0\0\0IEND\xaeB`\x82";

/// A PNG of 2000 by 200 pixels.
const WIDE: &str = "iVBORw0KGgoAAAANSUhEUgAAB9AAAADIAQAAAACYYUesAAAA8UlEQVR4nO3PMQEAAAiAMPv3sKcxPMYSwCxrvgP+tC\
    5qXdS6qHVR66LWRa2LWhe1Lmpd1LqodVHrotZFrYtaF7Uual3Uuqh1Ueui1kWti1oXtS5qXdS6qHVR66LWRa2LWhe1\
    Lmpd1LqodVHrotZFrYtaF7Uual3Uuqh1Ueui1kWti1oXtS5qXdS6qHVR66LWRa2LWhe1Lmpd1LqodVHrotZFrYtaF7\
    Uual3Uuqh1Ueui1kWti1oXtS5qXdS6qHVR66LWRa2LWhe1Lmpd1LqodVHrotZFrYtaF7Uual3Uuqh1Ueui1kWti1oX\
    tS5qXdS66ADgs+nk6WI5GgAAAABJRU5ErkJggg==";

fn setup(more: &str) -> Setup {
    with_servers(Setup::new(), more)
}

fn with_servers(setup: Setup, more: &str) -> Setup {
    let mut screen = python_stdio();
    screen.args = vec![SCREEN.to_owned()];
    let servers =
        launched("screen", &screen, REQUIRED) + &launched("all", &everything_stdio(), REQUIRED);
    setup.configure(&format!("{more}mcp_servers:\n{servers}"));
    setup
}

/// Width and height of the images in the latest request, which are PNG.
fn sizes(setup: &Setup) -> Vec<(u32, u32)> {
    let urls = parts(setup, "image_url").into_iter().map(|part| part["image_url"]["url"].clone());
    let size = |url: Value| {
        let data = url.as_str().unwrap().strip_prefix("data:image/png;base64,").unwrap().to_owned();
        let bytes = BASE64.decode(data).unwrap();
        let side = |at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap());
        (side(16), side(20))
    };
    urls.map(size).collect()
}

/// The parts of this type in the latest request.
fn parts(setup: &Setup, kind: &str) -> Vec<Value> {
    let asked = setup.asked();
    let messages = asked.last().unwrap()["messages"].as_array().unwrap().clone();
    let contents =
        messages.into_iter().filter_map(|message| message["content"].as_array().cloned());
    contents.flatten().filter(|part| part["type"] == kind).collect()
}

#[test]
fn images_of_tools_reach_the_model() {
    for tool in ["mcp__all__get_tiny_image", "mcp__screen__screenshot"] {
        let setup = setup("");
        // The second step describes the images that arrived.
        setup.script(vec![call(tool, &json!({})), Step::Images]);
        let (run, events) = setup.events(&["What is on the screen?"]);
        assert_eq!(run.code, 0, "{run:?}");
        assert_eq!(events.last().unwrap()["answer"], "I saw 1 image", "{run:?}");
        let image = &parts(&setup, "image_url")[0]["image_url"]["url"];
        assert!(image.as_str().unwrap().starts_with("data:image/png;base64,iVBOR"), "{image}");
        // Events describe the image; they do not contain it.
        let result = events.iter().find(|event| event["type"] == "tool_result").unwrap();
        assert_eq!(result["attachments"][0]["mime"], "image/png");
        assert!(!run.stdout.contains("iVBOR"), "{run:?}");
    }
}

#[test]
fn large_images_are_scaled_and_the_model_knows_it() {
    let setup = setup("");
    let screen = json!({"width": 4000, "height": 3000});
    setup.script(vec![call("mcp__screen__screenshot", &screen), Step::Images]);
    let run = setup.run(&["--server", "screen", "Go"]);
    assert_eq!((run.code, run.stdout.as_str()), (0, "I saw 1 image\n"), "{run:?}");
    assert_eq!(sizes(&setup), [(1568, 1176)]);
    let told = "[attachment 1 is scaled from 4000x3000 to 1568x1176 pixels]";
    assert!(setup.told().iter().any(|result| result.contains(told)), "{:?}", setup.told());
    // The file of a person, too.
    let image = setup.fixture.agent.work().join("wide.png");
    fs::write(&image, BASE64.decode(WIDE).unwrap()).unwrap();
    setup.configure("task: {max_image_side: 100}\n");
    setup.script(vec![Step::Images]);
    let run = setup.run(&["--no-tools", "--image", "wide.png", "What is this?"]);
    assert_eq!((run.code, run.stdout.as_str()), (0, "I saw 1 image\n"), "{run:?}");
    assert_eq!(sizes(&setup), [(100, 10)]);
}

#[test]
fn images_that_cannot_be_decoded_are_left_out() {
    let setup = setup("");
    let none = json!({});
    let three = ["broken", "bomb", "screenshot"].map(|tool| format!("mcp__screen__{tool}"));
    setup.script(vec![calls(&three.each_ref().map(|tool| (tool.as_str(), &none))), Step::Images]);
    let run = setup.run(&["--server", "screen", "Go"]);
    assert_eq!((run.code, run.stdout.as_str()), (0, "I saw 1 image\n"), "{run:?}");
    let asked = setup.asked().last().unwrap().to_string();
    for told in ["its image cannot be decoded", "its image has too many pixels"] {
        assert!(asked.contains(&format!("[attachment 1 is not shown: {told}]")), "{asked}");
    }
}

#[test]
fn responses_api_carries_images_in_results() {
    let setup = setup("");
    setup.script(vec![call("mcp__screen__screenshot", &json!({})), Step::Images]);
    let run = setup.run(&["--api", "responses", "--server", "screen", "Go"]);
    assert_eq!((run.code, run.stdout.as_str()), (0, "I saw 1 image\n"), "{run:?}");
    let asked = setup.asked();
    let items = asked.last().unwrap()["input"].as_array().unwrap().clone();
    let output =
        &items.iter().find(|item| item["type"] == "function_call_output").unwrap()["output"];
    assert!(output[0]["text"].as_str().unwrap().starts_with("64 pixels wide"), "{output}");
    assert_eq!(output[1]["type"], "input_image");
}

#[test]
fn results_of_one_round_are_contiguous() {
    let setup = setup("");
    let none = json!({});
    let two = [("mcp__screen__screenshot", &none), ("mcp__screen__report", &none)];
    setup.script(vec![calls(&two), Step::Images]);
    let run = setup.run(&["--server", "screen", "Go"]);
    // The model rejects a message between two results.
    assert_eq!((run.code, run.stdout.as_str()), (0, "I saw 1 image\n"), "{run:?}");
    let document = &parts(&setup, "file")[0]["file"];
    assert_eq!(document["filename"], "document.pdf");
    assert!(document["file_data"].as_str().unwrap().starts_with("data:application/pdf;base64,"));
}

#[test]
fn unsupported_attachments_are_described_as_text() {
    let setup = setup("task: {attachments: []}\n");
    let none = json!({});
    setup.script(vec![call("mcp__screen__screenshot", &none), say("I cannot see it.")]);
    let run = setup.run(&["--server", "screen", "Go"]);
    assert_eq!(run.code, 0, "{run:?}");
    let told = &setup.told()[0];
    assert!(told.contains("[image, image/png,") && told.contains("64 pixels wide"), "{told}");
    assert!(told.ends_with("[attachment 1 is not shown: you cannot be given images]"), "{told}");
    assert!(!setup.asked().last().unwrap().to_string().contains("base64"));
    // Few models take audio, so it needs a word of the service or of the configuration.
    let setup = self::setup("task: {attachments: [audio]}\n");
    setup.script(vec![call("mcp__screen__sound", &none), say("Silence.")]);
    assert_eq!(setup.run(&["--server", "screen", "Go"]).code, 0);
    assert_eq!(parts(&setup, "input_audio")[0]["input_audio"]["format"], "wav");
}

#[test]
fn a_rejected_request_is_repeated_without_attachments() {
    let setup = setup("");
    let none = json!({});
    let two = [("mcp__screen__screenshot", &none), ("mcp__screen__report", &none)];
    // First the document is left out, then the image.
    setup.script(vec![calls(&two), Step::Status(400), Step::Status(400), say("Blind.")]);
    let run = setup.run(&["--server", "screen", "Go"]);
    assert_eq!((run.code, run.stdout.as_str()), (0, "Blind.\n"), "{run:?}");
    assert!(run.stderr.contains("the model does not accept images"), "{run:?}");
    let told = setup.told();
    assert!(told[0].contains("removed, the model does not accept images"), "{told:?}");
    assert!(told[1].contains("removed, the model does not accept documents"), "{told:?}");
    // Without attachments an error is an error.
    setup.script(vec![Step::Status(400)]);
    assert_ne!(setup.run(&["--server", "screen", "Go"]).code, 0);
}

#[test]
fn attachments_are_bounded_in_size_number_and_type() {
    let setup = setup("");
    setup.script(vec![
        call("mcp__screen__large", &json!({"mebibytes": 4})),
        call("mcp__screen__disguised", &json!({})),
        call("mcp__screen__several", &json!({"count": 16})),
        call("mcp__screen__several", &json!({"count": 17})),
        Step::Images,
    ]);
    let run = setup.run(&["--server", "screen", "Go"]);
    assert_eq!((run.code, run.stdout.as_str()), (0, "I saw 20 images\n"), "{run:?}");
    let told = setup.told();
    // Almost all of the first one were no pixels.
    assert!(told[0].contains("[image, image/png, 4194"), "{}", told[0]);
    assert!(told[0].contains("[image/png, 77 bytes: removed, newer ones take its"), "{}", told[0]);
    assert!(told[1].contains("not an image, recording or document"), "{}", told[1]);
    assert!(!told[1].contains("Ignore"), "{}", told[1]);
    // The oldest ones give way to newer ones, and a result has at most 16.
    assert_eq!(told[2].matches("newer ones take its place").count(), 12, "{}", told[2]);
    assert!(told[3].contains("omitted: more than 16 attachments"), "{}", told[3]);
}

#[test]
fn an_oversized_image_fails_only_its_call() {
    let setup = setup("");
    setup.script(vec![
        call("mcp__screen__large", &json!({"mebibytes": 100})),
        call("mcp__screen__screenshot", &json!({})),
        Step::Images,
    ]);
    let run = setup.run(&["--server", "screen", "Go"]);
    assert_eq!((run.code, run.stdout.as_str()), (0, "I saw 1 image\n"), "{run:?}");
    assert!(setup.told()[0].len() < 1000, "{}", &setup.told()[0][..1000]);
}

#[test]
fn files_are_attached_to_a_task() {
    let setup = Setup::new();
    let work = setup.fixture.agent.work();
    fs::write(work.join("shot.png"), PIXEL).unwrap();
    setup.script(vec![Step::Images]);
    let run = setup.run(&["--no-tools", "--image", "shot.png", "What is this?"]);
    assert_eq!((run.code, run.stdout.as_str()), (0, "I saw 1 image\n"), "{run:?}");
    fs::write(work.join("note.png"), "no image").unwrap();
    fs::write(work.join("half.png"), &PIXEL[..40]).unwrap();
    for (arguments, why) in [
        (&["--image", "half.png"][..], "its image cannot be decoded"),
        (&["--image", "note.png"], "cannot attach note.png"),
        (&["--image", "missing.png"], "cannot read missing.png"),
        (&["--image", "."], "is not a file"),
    ] {
        let run = setup.run(&[&["--no-tools", "Go"], arguments].concat());
        assert!(run.code == 2 && run.stderr.contains(why), "{run:?}");
    }
    setup.configure("task: {attachments: [document]}\n");
    let run = setup.run(&["--no-tools", "--image", "shot.png", "What is this?"]);
    assert!(run.code == 2 && run.stderr.contains("does not accept images"), "{run:?}");
    assert_eq!(setup.asked().len(), 1);
}

/// Steps of a model whose provider has the messages form.
fn claude(more: &str) -> Setup {
    let fixture = Fixture::new();
    let url = fixture.upstream.base_url();
    fixture.configure(&format!(
        "  claude:\n    kind: anthropic\n    base_url: {url}\n    api_key: ${{UPSTREAM_KEY}}\n    \
         models: [echo]\n    health: false\n"
    ));
    let (key, served) = (fixture.alice(), fixture.serve());
    with_servers(Setup { fixture, served, key }, more)
}

#[test]
fn images_of_tools_reach_providers_of_the_messages_form() {
    for api in ["chat", "responses"] {
        let setup = claude("");
        setup.script(vec![call("mcp__screen__screenshot", &json!({})), Step::Images]);
        let run = setup
            .agent(&["run", "--model", "claude/echo", "--api", api, "--server", "screen", "Go"]);
        assert_eq!((run.code, run.stdout.as_str()), (0, "I saw 1 image\n"), "{run:?}");
        let seen = setup.fixture.upstream.completions().pop().unwrap();
        assert_eq!(seen.path, "/v1/messages");
        let image = &parts(&setup, "image")[0]["source"];
        assert_eq!((&image["type"], &image["media_type"]), (&json!("base64"), &json!("image/png")));
        assert!(image["data"].as_str().unwrap().starts_with("iVBOR"), "{image}");
    }
}

#[test]
fn audio_is_left_out_for_providers_of_the_messages_form() {
    for api in ["chat", "responses"] {
        let setup = claude("task: {attachments: [audio, image]}\n");
        let two = [("mcp__screen__sound", &json!({})), ("mcp__screen__screenshot", &json!({}))];
        setup.script(vec![calls(&two), Step::Images]);
        let run = setup
            .agent(&["run", "--model", "claude/echo", "--api", api, "--server", "screen", "Go"]);
        assert_eq!((run.code, run.stdout.as_str()), (0, "I saw 1 image\n"), "{run:?}");
        assert!(run.stderr.contains("the model does not accept audio files"), "{run:?}");
        let asked = setup.asked().pop().unwrap().to_string();
        assert!(asked.contains("removed, the model does not accept audio files]"), "{asked}");
        assert_eq!(setup.asked().len(), 2, "the service rejects the audio before the provider");
    }
}
