# The tools of the service as the mcp package of Python sees them. Prints what it found.
import asyncio, json, os, httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError

url, key = os.environ["URL"], os.environ["KEY"]
tools = json.loads(os.environ["TOOLS"])
words = ["", "äöü", "漢字", "🎉", "\u2028", "line\nline", "\"quoted\"", "\\"]

def bearer(key):
    return httpx2.AsyncClient(headers={"authorization": f"Bearer {key}"}, timeout=30)

def shown(result):
    meta = result.meta or {}
    return {"error": result.is_error, "text": result.content[0].text, "charge": meta.get("agent/charge_micros"),
            "status": meta.get("agent/status"), "structured": result.structured_content is not None}

async def refused(awaitable):
    try:
        await awaitable
    except MCPError as error:
        return error.error.code

async def connect_with(key, mode):
    try:
        async with bearer(key) as http, Client(streamable_http_client(url, http_client=http), mode=mode) as client:
            await client.list_tools()
            return "connected"
    except BaseException as error:
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        return f"{type(error).__name__}: {error}"

async def visit(mode):
    found = {"good": {}, "bad": {}}
    async with bearer(key) as http, Client(streamable_http_client(url, http_client=http), mode=mode) as client:
        found["version"] = client.protocol_version
        found["server"] = client.server_info and client.server_info.name
        listed = (await client.list_tools()).tools
        found["tools"] = [tool.name for tool in listed]
        for name, tool in tools.items():
            # The client holds structured content against the schema of the tool.
            found["good"][name] = shown(await client.call_tool(name, tool["good"]))
            found["bad"][name] = shown(await client.call_tool(name, tool["bad"]))
        found["unknown_tool"] = await refused(client.call_tool("no_such_tool", {}))
        found["prompts"] = await refused(client.list_prompts())

        async def echo(number):
            prompt = f"{number} {words[number % len(words)]} end"
            said = await client.call_tool("ask", {"prompt": prompt, "model": "up/echo"})
            return said.structured_content["answer"] == prompt
        found["many"] = await asyncio.gather(*(echo(number) for number in range(16)))
        big = await client.call_tool("ask", {"prompt": "ü" * 1_000_000, "model": "up/echo"})
        found["big"] = [len(big.structured_content["answer"]), big.structured_content["truncated"]]

        heard = asyncio.Event()
        async def progress(done, total, message):
            found.setdefault("progress", message)
            heard.set()
        hanging = asyncio.create_task(
            client.call_tool("ask", {"prompt": "x", "model": "up/hang"}, progress_callback=progress))
        await heard.wait()
        hanging.cancel()
        await asyncio.gather(hanging, return_exceptions=True)
        found["after"] = shown(await client.call_tool("account", {}))["error"]
    found["wrong_key"] = await connect_with(os.environ["WRONG_KEY"], mode)
    return found

async def main():
    print(json.dumps({mode: await visit(mode) for mode in ["legacy", "auto", "2026-07-28"]}))

asyncio.run(main())
