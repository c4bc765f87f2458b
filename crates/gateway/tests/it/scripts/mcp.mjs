// The tools of the service as the packages of TypeScript see them: `@modelcontextprotocol/client`, or
// `@modelcontextprotocol/sdk` before it. Prints what it found.
const { URL: address, KEY, WRONG_KEY, TOOLS, PACKAGE } = process.env;
const isBefore = PACKAGE === "sdk";
const { Client } = await import(isBefore ? "@modelcontextprotocol/sdk/client/index.js" : "@modelcontextprotocol/client");
const { StreamableHTTPClientTransport } = isBefore
  ? await import("@modelcontextprotocol/sdk/client/streamableHttp.js")
  : await import("@modelcontextprotocol/client");
const tools = JSON.parse(TOOLS);
const words = ["", "äöü", "漢字", "🎉", "\u2028", "line\nline", '"quoted"', "\\"];

const connect = async (key, mode) => {
  const client = new Client({ name: "test", version: "1" }, { versionNegotiation: { mode } });
  const headers = { authorization: `Bearer ${key}` };
  const transport = new StreamableHTTPClientTransport(new URL(address), { requestInit: { headers } });
  await client.connect(transport);
  return [client, transport];
};

const shown = (result) => ({
  error: result.isError ?? false,
  text: result.content[0].text,
  charge: result._meta["agent/charge_micros"] ?? null,
  status: result._meta["agent/status"] ?? null,
  structured: result.structuredContent !== undefined,
});

const refused = async (promise) => {
  try {
    await promise;
  } catch (error) {
    return error.code ?? String(error);
  }
};

const visit = async (mode) => {
  const found = { good: {}, bad: {} };
  const [client, transport] = await connect(KEY, mode);
  const call = (name, values, options) => {
    const params = { name, arguments: values };
    return isBefore ? client.callTool(params, undefined, options) : client.callTool(params, options);
  };
  found.version = transport.protocolVersion ?? client.getNegotiatedProtocolVersion?.();
  found.server = client.getServerVersion()?.name ?? null;
  found.tools = (await client.listTools()).tools.map((tool) => tool.name);
  for (const [name, { good, bad }] of Object.entries(tools)) {
    // The client holds structured content against the schema of the tool.
    found.good[name] = shown(await call(name, good));
    found.bad[name] = shown(await call(name, bad));
  }
  found.unknown_tool = await refused(call("no_such_tool", {}));
  const echo = async (number) => {
    const prompt = `${number} ${words[number % words.length]} end`;
    const said = await call("ask", { prompt, model: "up/echo" });
    return said.structuredContent.answer === prompt;
  };
  found.many = await Promise.all(Array.from({ length: 16 }, (_, number) => echo(number)));
  const big = await call("ask", { prompt: "ü".repeat(1_000_000), model: "up/echo" });
  found.big = [big.structuredContent.answer.length, big.structuredContent.truncated];

  const off = new AbortController();
  const onprogress = ({ message }) => {
    found.progress ??= message;
    off.abort();
  };
  const hanging = call("ask", { prompt: "x", model: "up/hang" }, { onprogress, signal: off.signal });
  await refused(hanging);
  found.after = shown(await call("account", {})).error;
  await client.close();
  try {
    await connect(WRONG_KEY, mode);
    found.wrong_key = "connected";
  } catch (error) {
    found.wrong_key = `${error.name}: ${error.message}`;
  }
  return found;
};

const all = {};
for (const mode of isBefore ? ["legacy"] : ["legacy", "auto", "2026-07-28"]) {
  all[mode] = await visit(/^\d/.test(mode) ? { pin: mode } : mode);
}
console.log(JSON.stringify(all));
