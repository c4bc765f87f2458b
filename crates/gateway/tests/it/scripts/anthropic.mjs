// Messages as the @anthropic-ai/sdk package of Node sends them. Prints what it found.
import Anthropic from "@anthropic-ai/sdk";

const client = new Anthropic({ maxRetries: 0 });
const tool = { name: "weather", description: "The weather", input_schema: {
  type: "object", properties: { city: { type: "string" } }, required: ["city"] } };
const user = (content) => [{ role: "user", content }];

async function messages(model) {
  const ask = { model, max_tokens: 100 };
  const plain = await client.messages.create({ ...ask, messages: user("hello there") });
  const final = await client.messages.stream({ ...ask, messages: user("[[chunks-3]]") }).finalMessage();
  const called = await client.messages
    .stream({ ...ask, messages: user("use the tool now"), tools: [tool] }).finalMessage();
  const call = called.content.at(-1);
  const second = await client.messages.create({ ...ask, tools: [tool], messages: [
    ...user("use the tool now"), { role: "assistant", content: called.content },
    ...user([{ type: "tool_result", tool_use_id: call.id, content: "rain" }])] });
  const events = [];
  for await (const event of await client.messages.create({ ...ask, stream: true, messages: user("one two") }))
    events.push(event.type);
  const both = await client.messages.create({ ...ask, messages: user("use both tools now"),
    tools: [tool, { ...tool, name: "news" }] });
  const image = { type: "image", source: { type: "base64", media_type: "image/png", data: "iVBORw0KGgo=" } };
  const seen = await client.messages.create({ ...ask, messages: user([image, { type: "text", text: "what is it?" }]) });
  const count = await client.messages.countTokens({ model, messages: user("one two three") });
  return { parallel: both.content.map((block) => block.name).sort(), image: seen.content[0].text,
    count: count.input_tokens > 0, plain: [plain.content[0].text, plain.stop_reason, plain.model],
    stream: [final.content[0].text.length > 0, final.stop_reason],
    tool: [call.name, "city" in call.input, called.stop_reason, second.content[0].text],
    ends: [events[0], events.at(-1)] };
}

const models = [];
for await (const model of client.models.list()) models.push(model.id);
let failure;
try {
  await client.messages.create({ model: "open/none", max_tokens: 1, messages: user("x") });
} catch (error) {
  failure = [error.constructor.name, error.status, error.error.error.type];
}
console.log(JSON.stringify({ claude: await messages("claude/echo"), open: await messages("open/echo"),
  models, failure }));
