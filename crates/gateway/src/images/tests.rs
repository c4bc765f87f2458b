//! Tests of `images`.

use serde_json::json;

use super::*;

fn found(conversation: &Value) -> (usize, usize, Option<&'static str>) {
    let in_text = Images::in_text(&conversation.to_string()).unwrap();
    let in_items = Images::in_items(conversation.as_array().unwrap());
    assert_eq!(in_text, in_items);
    (in_text.count, in_text.remote, in_text.other)
}

fn part(part: &Value) -> Value {
    json!([{ "role": "user", "content": [{ "type": "text", "text": "see" }, part] }])
}

#[test]
fn images_and_remote_urls_are_detected_in_every_format() {
    let data = "data:image/png;base64,AAAA";
    for (address, remote) in [(data, 0), ("DATA:image/png,x", 0), ("http://a.b/c", 1), ("", 1)] {
        let chat = json!({ "type": "image_url", "image_url": { "url": address } });
        assert_eq!(found(&part(&chat)), (1, remote, None), "{address}");
        let responses = json!({ "type": "input_image", "image_url": address });
        assert_eq!(found(&part(&responses)), (1, remote, None), "{address}");
        for (outer, inner) in [("Image_URL", "URL"), ("Image_Url", "Url")] {
            let other_case = json!({ outer: { inner: address } });
            assert_eq!(found(&part(&other_case)), (1, remote, None), "{address}");
        }
    }
    let elsewhere = "file:///etc/passwd";
    for (fields, name) in [
        (json!({ "video_url": { "url": elsewhere } }), "video_url"),
        (json!({ "file_url": elsewhere }), "file_url"),
        (json!({ "source": { "type": "url", "url": elsewhere } }), "source.url"),
        (json!({ "Source": { "Url": elsewhere } }), "source.url"),
        (json!({ "SOURCE": { "URL": elsewhere } }), "source.url"),
    ] {
        assert_eq!(found(&part(&fields)), (0, 0, Some(name)));
    }
}

#[test]
fn escaped_json_keys_are_recognised() {
    let text = r#"[{"content":[{"\u0069mage_ur\u006c":"http://a.b"}]}]"#;
    assert_eq!(Images::in_text(text).unwrap().remote, 1);
}

#[test]
fn urls_that_are_not_fetched_do_not_count() {
    let text = json!([{ "role": "user", "content": "\"image_url\": \"http://a.b\"" }]);
    assert_eq!(found(&text), (0, 0, None));
    let cited = json!([{ "role": "assistant", "content": [{ "type": "output_text", "text": "x",
        "annotations": [{ "type": "url_citation", "url": "https://a.b", "source": "web" }] }] }]);
    assert_eq!(found(&cited), (0, 0, None));
}

#[test]
fn remote_images_are_rejected_or_fetched_as_configured() {
    let remote = |count: usize| Images { count, remote: count, ..Images::default() };
    assert_eq!(remote(0).check_remote(RemoteImages::Refuse).unwrap(), Remote::None);
    let refused = remote(1).check_remote(RemoteImages::Refuse).unwrap_err();
    assert_eq!(refused.code(), Code::InvalidRequest);
    let fetched = remote(MAX_FETCHED).check_remote(RemoteImages::Inline).unwrap();
    assert_eq!(fetched, Remote::Fetched);
    assert!(remote(MAX_FETCHED + 1).check_remote(RemoteImages::Inline).is_err());
    let other = Images { other: Some("video_url"), ..Images::default() };
    assert!(other.check_remote(RemoteImages::Inline).is_err());
}

#[test]
fn servers_of_tools_are_rejected_unless_allowed() {
    let check = |choice: RemoteTools, body: &Value| {
        let body = body.to_string();
        check_tools(choice, &RawObject::parse(body.as_bytes()).unwrap())
    };
    let parameters = json!({"properties": {"server_url": {"type": "string"}}});
    for harmless in [
        json!({}),
        json!({"tools": [], "mcp_servers": []}),
        json!({"tools": [{"type": "mcp", "connector_id": "x"}, {"type": "web_search"}]}),
        json!({"tools": [{"type": "function", "name": "add", "parameters": parameters}]}),
    ] {
        check(RemoteTools::Refuse, &harmless).unwrap();
    }
    let address = "http://10.0.0.1/";
    for (field, body) in [
        ("mcp_servers", json!({"mcp_servers": [{"type": "url", "url": address}]})),
        ("mcp_servers", json!({"MCP_Servers": {"a": {"url": address}}})),
        ("tools", json!({"tools": [{"type": "mcp", "server_url": address}]})),
        ("tools", json!({"Tools": [{"Type": "MCP", "Server_Url": address}]})),
        ("tools", json!({"tools": [{"type": "x", "tools": [{"server_url": address}]}]})),
    ] {
        let refused = check(RemoteTools::Refuse, &body).unwrap_err();
        assert_eq!(refused.code(), Code::InvalidRequest);
        assert!(refused.message().starts_with(&format!("`{field}` names")), "{body}");
        check(RemoteTools::Pass, &body).unwrap();
    }
}
