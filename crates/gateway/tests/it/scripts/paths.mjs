// Every path of the openai package of Node besides chat and responses. Prints what it found.
import OpenAI, { toFile } from "openai";

const client = new OpenAI({ maxRetries: 0 });
const found = {};

const embeddings = await client.embeddings.create({ model: "up/embed", input: ["a", "b"] });
found.embeddings = [embeddings.data.length, embeddings.data[0].embedding.length, embeddings.model];
found.moderation = (await client.moderations.create({ input: "harm" })).results[0].flagged;
found.completion = (await client.completions.create({ model: "up/echo", prompt: "Once" })).choices[0].text;
found.streamed_completion = "";
for await (const chunk of await client.completions.create({ model: "up/echo", prompt: "Once", stream: true }))
  found.streamed_completion += chunk.choices[0].text;
found.input_tokens = (await client.responses.inputTokens.count({ model: "up/echo", input: "four words of input" })).input_tokens > 3;
const image = await client.images.generate({ model: "up/paint", prompt: "a lighthouse" });
found.image = Buffer.from(image.data[0].b64_json, "base64").subarray(1, 4).toString();
const picture = await toFile(Buffer.from("PNG"), "in.png", { type: "image/png" });
const edited = await client.images.edit({ model: "up/paint", prompt: "a tower", image: picture });
found.edited = [Buffer.from(edited.data[0].b64_json, "base64").subarray(1, 4).toString(), edited.data[0].revised_prompt];
// The file precedes the model in the form.
const file = await toFile(Buffer.from("RIFF and more"), "talk.wav", { type: "audio/wav" });
found.transcription = (await client.audio.transcriptions.create({ file, model: "up/hear" })).text;
const speech = await client.audio.speech.create(
  { model: "up/speak", voice: "alloy", input: "hello", response_format: "wav" });
found.speech = Buffer.from(await speech.arrayBuffer()).subarray(0, 4).toString();
console.log(JSON.stringify(found));
