// Chat and responses as the openai package of Node does it. Prints what it found.
import OpenAI from "openai";

const client = new OpenAI({ maxRetries: 0 });
const user = (content) => [{ role: "user", content }];
const parameters = {
    type: "object", properties: { city: { type: "string" } }, required: ["city"], additionalProperties: false,
};
const tool = { type: "function", function: { name: "weather", strict: true, parameters } };
const schema = { type: "object", properties: { x: { type: "integer" } }, required: ["x"], additionalProperties: false };
const counted = (events) => events.every((event, place) => event.sequence_number === place);

async function all(stream) {
    const events = [];
    for await (const event of stream) events.push(event);
    return events;
}

async function failing(work) {
    try {
        await work();
    } catch (error) {
        return [error.constructor.name, error.status ?? null, error.code ?? null];
    }
    return "nothing failed";
}

async function chat(model) {
    const create = (content, more) => client.chat.completions.create({ model, messages: user(content), ...more });
    const found = {};
    const answer = await create("hello there");
    found.plain = [answer.choices[0].message.content, answer.usage.total_tokens];
    const chunks = await all(await create("[[chunks-3]]", { stream: true }));
    found.stream = [chunks.map((chunk) => chunk.choices[0]?.delta.content ?? "").join(""),
        chunks.filter((chunk) => chunk.usage).length];
    const counting = await all(await create("[[chunks-3]]", { stream: true, stream_options: { include_usage: true } }));
    found.usage = [counting.at(-1).usage.completion_tokens, counting.filter((chunk) => chunk.usage).length];

    const messages = user("use the tool now");
    const called = await client.chat.completions.stream({ model, messages, tools: [tool] }).finalChatCompletion();
    const call = called.choices[0].message.tool_calls[0];
    const second = await client.chat.completions.create({
        model, tools: [tool],
        messages: [...messages, called.choices[0].message, { role: "tool", tool_call_id: call.id, content: "rain" }],
    });
    found.tool = [call.function.name, JSON.parse(call.function.arguments), second.choices[0].message.content];
    const format = { type: "json_schema", json_schema: { name: "point", strict: true, schema } };
    const parsed = await client.chat.completions.parse({ model, messages: user("a point"), response_format: format });
    found.parsed = JSON.parse(parsed.choices[0].message.content);
    return found;
}

async function responses(model) {
    const create = (input, more) => client.responses.create({ model, input, ...more });
    const found = {};
    const answer = await create("hello there");
    found.plain = [answer.output_text, answer.usage.total_tokens];
    const second = await create("and more", { previous_response_id: answer.id });
    found.second = [second.output_text, (await client.responses.retrieve(second.id)).output_text];
    const items = await all(client.responses.inputItems.list(answer.id));
    found.items = items.map((item) => item.content[0].text);
    const final = await client.responses.stream({ model, input: "[[chunks-2]]" }).finalResponse();
    found.stream = [final.output_text, final.status];
    await client.responses.delete(answer.id);
    found.deleted = await failing(() => client.responses.retrieve(answer.id));

    const started = await create("hello there", { background: true });
    let polled = started;
    while (["queued", "in_progress"].includes(polled.status)) polled = await client.responses.retrieve(started.id);
    found.background = [started.status, polled.status, polled.output_text];
    const hanging = await create("[[hang]]", { background: true });
    found.cancelled = (await client.responses.cancel(hanging.id)).status;
    const begun = [];
    for await (const event of await create("[[chunks-5]]", { background: true, stream: true })) {
        begun.push(event);
        if (begun.length === 3) break;
    }
    const rest = await all(await client.responses.retrieve(begun[0].response.id, {
        stream: true, starting_after: begun.at(-1).sequence_number,
    }));
    found.resumed = [counted([...begun, ...rest]), rest.at(-1).type];
    return found;
}

async function errors() {
    const ask = (content, of = client, more = {}, options = {}) => failing(() =>
        of.chat.completions.create({ model: "native/echo", messages: user(content), ...more }, options));
    const withKey = (name) => new OpenAI({ apiKey: process.env[name], maxRetries: 0 });
    const once = { headers: { "Idempotency-Key": "one of node" } };
    const found = {
        400: await ask("x", client, { model: "nothing/at-all" }),
        401: await ask("x", new OpenAI({ apiKey: "agk_nothing", maxRetries: 0 })),
        402: await ask("x", withKey("POOR_KEY")),
        403: await ask("x", withKey("LIST_KEY")),
        404: await failing(() => client.models.retrieve("native/nothing")),
        503: await ask("[[status-500]]"),
    };
    const both = await Promise.all([ask("[[slow-300]]", client, {}, once), ask("[[slow-300]]", client, {}, once)]);
    found[409] = both.find((one) => one !== "nothing failed");
    found[422] = await ask("another", client, {}, once);
    const hasty = withKey("HASTY_KEY");
    for (let count = 0; count < 2; count++) await failing(() => hasty.models.list());
    found[429] = await failing(() => hasty.models.list());
    found.stream = await failing(async () => all(await client.chat.completions.create({
        model: "native/echo", messages: user("[[error-event]]"), stream: true })));
    const patient = new OpenAI({ maxRetries: 2 });
    const flaky = await patient.chat.completions.create({ model: "native/flaky", messages: user("again") });
    found.retried = flaky.choices[0].message.content;
    return found;
}

const found = { models: (await all(client.models.list())).map((model) => model.id).sort() };
found.model = (await client.models.retrieve("bridged/echo")).id;
for (const model of ["native/echo", "claude/echo"]) found[`chat ${model}`] = await chat(model);
for (const model of ["native/echo", "bridged/echo", "claude/echo"])
    found[`responses ${model}`] = await responses(model);
found.errors = await errors();
console.log(JSON.stringify(found));
