"""The official Python client, measured: `client.py ERA stdio COMMAND [ARGUMENT...]` or
`client.py ERA http URL`. See `benches/calls/foreign.rs` for what it reads and writes."""

import asyncio
import json
import sys
import time

from mcp import Client, StdioServerParameters


async def main() -> None:
    era, way, place, *rest = sys.argv[1:]
    server = StdioServerParameters(command=place, args=rest) if way == "stdio" else place
    async with Client(server, mode=era) as client:
        await client.list_tools()
        print("ready", flush=True)
        while line := await asyncio.to_thread(sys.stdin.readline):
            task = json.loads(line)
            times = []
            for _ in range(task["calls"]):
                started = time.perf_counter_ns()
                result = await client.call_tool(task["tool"], task["arguments"])
                times.append(time.perf_counter_ns() - started)
                if result.content[0].text != task["expected"]:
                    raise ValueError("another answer than was expected")
            print(json.dumps(times), flush=True)


asyncio.run(main())
