# Messages as the anthropic package of Python sends them. Prints what it found.
import base64, json, os, anthropic

client = anthropic.Anthropic(max_retries=0)
tool = {"name": "weather", "description": "The weather", "input_schema": {
    "type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}}
user = lambda content: [{"role": "user", "content": content}]
pixel = base64.b64encode(b"\x89PNG\r\n\x1a\n and more").decode()
image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": pixel}}

def messages(model):
    ask = dict(model=model, max_tokens=100)
    found = {}
    # The first answer of each upstream is scripted.
    deep = dict(model=model, max_tokens=2048, thinking={"type": "enabled", "budget_tokens": 1024})
    with client.messages.stream(messages=user("think"), **deep) as stream:
        answer = stream.get_final_message()
    thought, text = answer.content
    said = user("think") + [{"role": "assistant", "content": answer.content}] + user("go on")
    again = client.messages.create(messages=said, **deep)
    found["thinking"] = [thought.type, thought.thinking, thought.signature, text.text, again.content[0].text]

    raw = client.messages.with_raw_response.create(messages=user("hello there"), system="be brief", **ask)
    answer = raw.parse()
    found["plain"] = [answer.content[0].text, answer.stop_reason, answer.model, answer.role]
    found["tokens"] = answer.usage.input_tokens > 0 and answer.usage.output_tokens > 0
    found["charge"] = [raw.headers["x-charge-micros"], answer._request_id == raw.headers["x-request-id"]]

    with client.messages.stream(messages=user("[[chunks-3]]"), **ask) as stream:
        texts = list(stream.text_stream)
        final = stream.get_final_message()
    found["stream"] = ["".join(texts) == final.content[0].text, len(texts), final.stop_reason, final.model]

    said = user("use the tool now")
    with client.messages.stream(messages=said, tools=[tool], **ask) as stream:
        answer = stream.get_final_message()
    call = answer.content[-1]
    said += [{"role": "assistant", "content": answer.content},
             {"role": "user", "content": [{"type": "tool_result", "tool_use_id": call.id, "content": "rain"}]}]
    second = client.messages.create(messages=said, tools=[tool], **ask)
    found["tool"] = [call.type, call.name, "city" in call.input, answer.stop_reason, second.content[0].text]

    answer = client.messages.create(messages=user("use both tools now"), tools=[tool, {**tool, "name": "news"}], **ask)
    found["parallel"] = sorted(block.name for block in answer.content if block.type == "tool_use")

    answer = client.messages.create(messages=user([image, {"type": "text", "text": "what is it?"}]), **ask)
    found["image"] = answer.content[0].text

    documents = [{"type": "document", "title": "l.pdf",
                  "source": {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0="}},
                 {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "a lighthouse"}}]
    answer = client.messages.create(messages=user(documents + [{"type": "text", "text": "read them"}]), **ask)
    found["documents"] = answer.content[0].text.endswith("read them")

    found["count"] = client.messages.count_tokens(model=model, messages=user("one two three")).input_tokens > 0
    try:
        client.messages.create(messages=user("[[status-429]]"), **ask)
    except anthropic.APIStatusError as error:
        found["failure"] = [error.status_code, error.type if hasattr(error, "type") else error.body["error"]["type"]]
    return found

def errors():
    ask = dict(max_tokens=100, messages=user("x"))
    found = []
    for key, model in [("agk_wrong", "open/echo"), (os.environ["ANTHROPIC_API_KEY"], "open/none"),
                       (os.environ["POOR_KEY"], "open/echo")]:
        try:
            anthropic.Anthropic(api_key=key, max_retries=0).messages.create(model=model, **ask)
        except anthropic.APIStatusError as error:
            found.append([type(error).__name__, error.status_code])
    return found

models = [model.id for model in client.models.list()]
print(json.dumps({"claude": messages("claude/echo"), "open": messages("open/echo"), "models": models,
                  "model": client.models.retrieve("open/echo").id, "errors": errors()}))
