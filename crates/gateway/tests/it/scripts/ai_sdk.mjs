// The service as the AI SDK of Vercel uses it. Prints what it found.
import { createOpenAI } from "@ai-sdk/openai";
import { generateText, streamText, embedMany, generateObject, tool, jsonSchema, stepCountIs } from "ai";

const openai = createOpenAI({ baseURL: process.env.OPENAI_BASE_URL, apiKey: process.env.OPENAI_API_KEY });
const found = {};
for (const [name, model] of [["chat", openai.chat("up/echo")], ["responses", openai.responses("up/echo")]]) {
  const weather = tool({
    description: "The weather of a city",
    inputSchema: jsonSchema({ type: "object", properties: { city: { type: "string" } }, required: ["city"], additionalProperties: false }),
    execute: async () => "rain",
  });
  const plain = await generateText({ model, prompt: "hello there", maxRetries: 0 });
  const stream = streamText({ model, prompt: "hello there", maxRetries: 0 });
  let streamed = "";
  for await (const piece of stream.textStream) streamed += piece;
  const tools = await generateText({ model, prompt: "use the weather tool now", tools: { weather }, stopWhen: stepCountIs(2), maxRetries: 0 });
  const schema = jsonSchema({ type: "object", properties: { x: { type: "integer" } }, required: ["x"], additionalProperties: false });
  const object = await generateObject({ model, schema, prompt: "a point", maxRetries: 0 });
  const both = await generateText({ model, prompt: "use both tools now", tools: { weather, news: weather }, maxRetries: 0 });
  const image = { type: "image", image: new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]), mediaType: "image/png" };
  const seen = await generateText({ model, maxRetries: 0,
    messages: [{ role: "user", content: [{ type: "text", text: "what is it?" }, image] }] });
  found[name] = [plain.text, streamed, tools.steps.length, tools.text, typeof object.object.x,
    both.toolCalls.map((call) => call.toolName).sort(), seen.text];
}
const { embeddings } = await embedMany({ model: openai.embedding("up/embed"), values: ["a", "b", "c"], maxRetries: 0 });
found.embeddings = [embeddings.length, embeddings[0].length];
console.log(JSON.stringify(found));
