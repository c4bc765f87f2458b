# The responses interface as the openai package of Python does it. Prints what it found.
import base64, json, time, openai
from pydantic import BaseModel
from openai.types.responses import ResponseStreamEvent
from typing import get_args

client = openai.OpenAI(max_retries=0)
weather = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"],
           "additionalProperties": False}
tool = {"type": "function", "name": "weather", "strict": True, "parameters": weather}
pixel = "data:image/png;base64," + base64.b64encode(b"\x89PNG\r\n\x1a\n and more").decode()
known = {event for event in get_args(get_args(ResponseStreamEvent)[0])}

class Point(BaseModel):
    x: int
    name: str

def failing(work):
    try:
        work()
    except openai.APIStatusError as error:
        return [type(error).__name__, error.status_code, error.code]
    except openai.APIError as error:
        return [type(error).__name__, error.code]
    return "nothing failed"

def counted(events):
    return [event.sequence_number for event in events] == list(range(len(events)))

def finished(id):
    while True:
        response = client.responses.retrieve(id)
        if response.status not in ("queued", "in_progress"):
            return response
        time.sleep(0.02)

def streams(model):
    found = {}
    events = list(client.responses.create(model=model, input="[[chunks-2]]", stream=True))
    found["types"] = [event.type for event in events]
    found["known"] = [counted(events), all(type(event) in known for event in events)]
    found["ids"] = len({event.response.id for event in events if hasattr(event, "response")})
    found["usage"] = events[-1].response.usage.output_tokens
    with client.responses.stream(model=model, input="[[chunks-2]]") as stream:
        deltas = [event.delta for event in stream if event.type == "response.output_text.delta"]
        final = stream.get_final_response()
    found["helper"] = [deltas, final.output_text, final.status]
    with client.responses.stream(model=model, input="use the tool now", tools=[tool]) as stream:
        kinds = [event.type for event in stream]
        final = stream.get_final_response()
    found["tool"] = ["response.function_call_arguments.delta" in kinds,
                     "response.function_call_arguments.done" in kinds,
                     final.output[0].name, json.loads(final.output[0].arguments)]
    events = list(client.responses.create(model=model, input="[[cut-mid-event]] one two", stream=True))
    found["cut"] = [events[-1].type, events[-1].response.status, counted(events)]
    return found

def whole(model):
    found = {}
    answer = client.responses.create(model=model, input="hello there", instructions="be kind",
                                     metadata={"a": "b"})
    found["plain"] = [answer.output_text, answer.usage.total_tokens, answer.status, answer.model,
                      answer.instructions, answer.metadata, answer.store]
    again = client.responses.retrieve(answer.id)
    found["retrieved"] = again.output_text == answer.output_text and again.id == answer.id
    items = list(client.responses.input_items.list(answer.id))
    found["items"] = [[item.type, item.role, item.content[0].text] for item in items]
    second = client.responses.create(model=model, input="and more", previous_response_id=answer.id)
    found["second"] = [second.output_text, second.previous_response_id == answer.id]
    found["deleted"] = [client.responses.delete(answer.id) or "gone",
                        failing(lambda: client.responses.retrieve(answer.id)),
                        failing(lambda: client.responses.create(
                            model=model, input="x", previous_response_id=answer.id))]

    first = client.responses.create(model=model, input="use the tool now", tools=[tool])
    call = first.output[0]
    second = client.responses.create(
        model=model, previous_response_id=first.id, tools=[tool],
        input=[{"type": "function_call_output", "call_id": call.call_id, "output": "rain"}])
    found["tool"] = [call.type, call.name, json.loads(call.arguments), second.output_text]

    parsed = client.responses.parse(model=model, input="a point", text_format=Point)
    found["parsed"] = parsed.output_parsed.model_dump()
    parts = [{"type": "input_text", "text": "what is this"}, {"type": "input_image", "image_url": pixel,
              "detail": "auto"}]
    found["vision"] = client.responses.create(
        model=model, input=[{"role": "user", "content": parts}]).output_text
    unkept = client.responses.create(model=model, input="x", store=False)
    found["unkept"] = failing(lambda: client.responses.retrieve(unkept.id))
    found["failed"] = failing(lambda: client.responses.create(model=model, input="[[status-500]]"))
    return found

def background(model):
    found = {}
    started = client.responses.create(model=model, input="hello there", background=True)
    ended = finished(started.id)
    found["polled"] = [started.status, started.background, ended.status, ended.output_text,
                       ended.usage.output_tokens, ended.background]
    started = client.responses.create(model=model, input="[[hang]]", background=True)
    cancelled = client.responses.cancel(started.id)
    found["cancelled"] = [cancelled.status, client.responses.retrieve(started.id).status]
    started = client.responses.create(model=model, input="[[status-500]]", background=True)
    failed = finished(started.id)
    found["failed"] = [failed.status, failed.error.code]

    stream = client.responses.create(model=model, input="[[chunks-5]]", background=True, stream=True)
    begun = []
    for event in stream:
        begun.append(event)
        if len(begun) == 3:
            break
    stream.close()
    id = begun[0].response.id
    rest = list(client.responses.retrieve(id, stream=True, starting_after=begun[-1].sequence_number))
    found["resumed"] = [counted(begun + rest), rest[-1].type, rest[-1].response.output_text]
    found["again"] = counted(list(client.responses.retrieve(id, stream=True)))
    return found

models = ("native/echo", "bridged/echo", "claude/echo")
print(json.dumps({model: {"whole": whole(model), "streams": streams(model),
                          "background": background(model)} for model in models}))
