# Every path of the openai package of Python besides chat and responses. Prints what it found.
import base64, io, json, openai

client = openai.OpenAI(max_retries=0)
found = {}

answer = client.embeddings.create(model="up/embed", input=["a lighthouse", "a tower"])
found["embeddings"] = [len(answer.data), len(answer.data[0].embedding), answer.model,
                       answer.data[0].embedding != answer.data[1].embedding, answer.usage.prompt_tokens]
plain = client.embeddings.create(model="up/embed", input="a lighthouse", encoding_format="float")
found["encodings_agree"] = all(abs(one - other) < 1e-6 for one, other in
                               zip(answer.data[0].embedding, plain.data[0].embedding))
found["tokens"] = len(client.embeddings.create(model="up/embed", input=[1, 2, 3], dimensions=3).data[0].embedding)

result = client.moderations.create(input="no harm meant").results[0]
found["moderation"] = [result.flagged, client.moderations.create(model="up/judge", input="hello").results[0].flagged]

answer = client.completions.create(model="up/echo", prompt="Once upon")
found["completion"] = [answer.choices[0].text, answer.model, answer.usage.total_tokens]
chunks = list(client.completions.create(model="up/echo", prompt="Once upon", stream=True))
found["streamed_completion"] = ["".join(chunk.choices[0].text for chunk in chunks), chunks[0].model]

counted = client.responses.input_tokens.count(model="up/echo", input="four words of input")
found["input_tokens"] = counted.input_tokens > 3
for name in ("bridged", "native"):
    compact = client.responses.compact(model="up/echo", input=[{"role": "user", "content": "my goal"},
                                                               {"role": "assistant", "content": "done"}])
    kinds = [item.type for item in compact.output]
    again = [item.model_dump(exclude_none=True) for item in compact.output]
    more = client.responses.create(model="up/echo", input=again + [{"role": "user", "content": "and now"}])
    found["compact " + name] = [compact.object, kinds, more.output_text]

answer = client.images.generate(model="up/paint", prompt="a lighthouse")
found["image"] = base64.b64decode(answer.data[0].b64_json)[:4].hex()
answer = client.images.edit(model="up/paint", prompt="a tower", image=("in.png", io.BytesIO(b"\x89PNG"), "image/png"))
found["edited"] = [base64.b64decode(answer.data[0].b64_json)[:4].hex(), answer.data[0].revised_prompt]

with client.audio.speech.with_streaming_response.create(
        model="up/speak", voice="alloy", input="hello there", response_format="wav") as speech:
    audio = b"".join(speech.iter_bytes())
    found["speech"] = [speech.headers["content-type"], audio[:4].decode(), speech.headers["x-price-micros"]]

audio = ("talk.wav", io.BytesIO(b"RIFF" + bytes(100)), "audio/wav")
answer = client.audio.transcriptions.create(model="up/hear", file=audio)
found["transcription"] = answer.text
found["transcribed_text"] = client.audio.transcriptions.create(model="up/hear", file=audio, response_format="text")
events = list(client.audio.transcriptions.create(model="up/hear", file=audio, stream=True))
found["transcribed_stream"] = [event.type for event in events]

found["errors"] = []
for call in [lambda: client.embeddings.create(model="up/echo", input="x"),
             lambda: client.embeddings.create(model="up/embed", input=""),
             lambda: client.images.generate(model="painter", prompt="x"),
             lambda: client.audio.speech.create(model="up/echo", voice="alloy", input="x"),
             lambda: client.batches.list()]:
    try:
        call()
        found["errors"].append("none")
    except openai.APIStatusError as error:
        found["errors"].append([error.status_code, error.code, (error.body or {}).get("message")])
print(json.dumps(found))
