// The official TypeScript client, measured: `client.mjs PACKAGE ERA stdio COMMAND [ARGUMENT...]` or
// `client.mjs PACKAGE ERA http URL`. See `benches/calls/foreign.rs` for what it reads and writes.

import { createInterface } from "node:readline";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [folder, era, way, place, ...rest] = process.argv.slice(2);
const load = (file) => import(pathToFileURL(join(folder, "dist", file)).href);
const { Client, StreamableHTTPClientTransport } = await load("index.mjs");
const { StdioClientTransport } = await load("stdio.mjs");

const transport =
  way === "stdio"
    ? new StdioClientTransport({ command: place, args: rest })
    : new StreamableHTTPClientTransport(new URL(place));
const mode = era === "legacy" ? "legacy" : { pin: era };
const client = new Client({ name: "bench", version: "1" }, { versionNegotiation: { mode } });
await client.connect(transport);
await client.listTools();
console.log("ready");

for await (const line of createInterface({ input: process.stdin })) {
  const { tool, arguments: values, expected, calls } = JSON.parse(line);
  const times = [];
  for (let call = 0; call < calls; call += 1) {
    const started = process.hrtime.bigint();
    const result = await client.callTool({ name: tool, arguments: values });
    times.push(Number(process.hrtime.bigint() - started));
    if (result.content[0].text !== expected) throw new Error("another answer than was expected");
  }
  console.log(JSON.stringify(times));
}
await client.close();
