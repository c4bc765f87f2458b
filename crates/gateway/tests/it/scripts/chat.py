# Chat as the openai package of Python does it. Prints what it found.
import base64, json, os, threading, openai
from pydantic import BaseModel

url = os.environ["OPENAI_BASE_URL"]
key = os.environ["OPENAI_API_KEY"]
client = openai.OpenAI(max_retries=0)
user = lambda content: [{"role": "user", "content": content}]
weather = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"],
           "additionalProperties": False}
tool = {"type": "function", "function": {"name": "weather", "strict": True, "parameters": weather}}
pixel = "data:image/png;base64," + base64.b64encode(b"\x89PNG\r\n\x1a\n and more").decode()

class Point(BaseModel):
    x: int
    name: str

def chat(model):
    found = {}
    raw = client.chat.completions.with_raw_response.create(model=model, messages=user("hello there"))
    answer = raw.parse()
    found["plain"] = [answer.choices[0].message.content, answer.choices[0].finish_reason,
                      answer.usage.total_tokens, answer.object]
    found["charge"] = [raw.headers["x-charge-micros"],
                       raw.headers["x-request-id"] == raw.headers["x-receipt-id"],
                       answer._request_id == raw.headers["x-request-id"]]

    chunks = list(client.chat.completions.create(model=model, messages=user("[[chunks-3]]"), stream=True))
    found["stream"] = ["".join(chunk.choices[0].delta.content or "" for chunk in chunks),
                       chunks[-1].choices[0].finish_reason, sum(1 for chunk in chunks if chunk.usage)]
    chunks = list(client.chat.completions.create(model=model, messages=user("[[chunks-3]]"), stream=True,
                                                 stream_options={"include_usage": True}))
    found["usage"] = [chunks[-1].choices, chunks[-1].usage.completion_tokens,
                      sum(1 for chunk in chunks if chunk.usage)]

    said = user("use the tool now")
    answer = client.chat.completions.create(model=model, messages=said, tools=[tool])
    call = answer.choices[0].message.tool_calls[0]
    said += [answer.choices[0].message, {"role": "tool", "tool_call_id": call.id, "content": "rain"}]
    second = client.chat.completions.create(model=model, messages=said, tools=[tool])
    found["tool"] = [call.function.name, json.loads(call.function.arguments),
                     answer.choices[0].finish_reason, second.choices[0].message.content]
    with client.chat.completions.stream(model=model, messages=user("use the tool now"),
                                        tools=[tool]) as stream:
        kinds = {event.type for event in stream}
        final = stream.get_final_completion().choices[0]
    found["streamed_tool"] = ["tool_calls.function.arguments.done" in kinds, final.finish_reason,
                              final.message.tool_calls[0].function.parsed_arguments
                              or json.loads(final.message.tool_calls[0].function.arguments)]
    answer = client.chat.completions.create(
        model=model, messages=user("both tools"),
        tools=[tool, {"type": "function", "function": {"name": "clock", "parameters": weather}}])
    found["both"] = [call.function.name for call in answer.choices[0].message.tool_calls]

    parsed = client.chat.completions.parse(model=model, messages=user("a point"), response_format=Point)
    found["parsed"] = parsed.choices[0].message.parsed.model_dump()
    parts = [{"type": "text", "text": "what is this"}, {"type": "image_url", "image_url": {"url": pixel}},
             {"type": "image_url", "image_url": {"url": pixel}}]
    found["vision"] = client.chat.completions.create(
        model=model, messages=[{"role": "system", "content": "look"}, *user(parts)]).choices[0].message.content
    return found

def failing(work):
    try:
        work()
    except openai.APIStatusError as error:
        return [type(error).__name__, error.status_code, error.code, error.type, error.param,
                error.request_id == error.response.headers["x-request-id"] == error.body["request_id"]]
    except openai.APIError as error:
        return [type(error).__name__, error.code]
    return "nothing failed"

def ask(content, of=client, **more):
    return of.chat.completions.create(**{"model": "native/echo", "messages": user(content), **more})

def with_key(name):
    return openai.OpenAI(api_key=os.environ[name], max_retries=0)

def errors():
    found = {
        "400": failing(lambda: ask("x", model="native/ecko")),
        "400 upstream": failing(lambda: ask("[[status-400]]")),
        "401": failing(lambda: ask("x", openai.OpenAI(api_key="agk_nothing", max_retries=0))),
        "402": failing(lambda: ask("x", with_key("POOR_KEY"))),
        "403": failing(lambda: ask("x", with_key("LIST_KEY"))),
        "403 model": failing(lambda: ask("x", with_key("CLAUDE_KEY"))),
        "404": failing(lambda: client.models.retrieve("native/nothing")),
        "503": failing(lambda: ask("[[status-500]]")),
        "in stream": failing(lambda: list(ask("[[error-event]]", stream=True))),
    }
    again = {"extra_headers": {"Idempotency-Key": "one"}}
    done = []
    first = threading.Thread(target=lambda: done.append(ask("[[slow-500]] slowly", **again)))
    first.start()
    while client.get("/me", cast_to=object)["held_micros"] == 0:
        pass
    found["409"] = failing(lambda: ask("[[slow-500]] slowly", **again))
    first.join()
    found["422"] = failing(lambda: ask("another", **again))
    found["replayed"] = ask("[[slow-500]] slowly", **again).id == done[0].id
    hasty = with_key("HASTY_KEY")
    hasty.models.list()
    hasty.models.list()
    found["429"] = failing(hasty.models.list)
    return found

def retries():
    patient = openai.OpenAI(max_retries=2)
    first = ask("again", patient, model="native/flaky").choices[0].message.content
    # The bucket of this key holds 60 and gets one more each second.
    hasty = openai.OpenAI(api_key=os.environ["BRISK_KEY"], max_retries=2)
    refused = 0
    while not refused:
        try:
            hasty.with_options(max_retries=0).models.list()
        except openai.RateLimitError:
            refused += 1
    return [first, ask("rates", hasty).choices[0].message.content]

print(json.dumps({
    "models": sorted(model.id for model in client.models.list()),
    "model": client.models.retrieve("claude/echo").model_dump(exclude={"created", "shutdown_date"}),
    "native": chat("native/echo"),
    "claude": chat("claude/echo"),
    "errors": errors(),
    "retries": retries(),
}))
