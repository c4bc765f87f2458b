"""A server of the official Python SDK, for the tests of the client.

Usage: server.py stdio | server.py streamable PORT | server.py sse PORT

When the environment names a file in CANCEL_LOG, a cancelled `slow` writes a line to it.
"""

import os
import sys

import anyio
from mcp.server.lowlevel.server import NotificationOptions
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.utilities.types import Audio, Image
from mcp.types import ListToolsResult
from pydantic import BaseModel

TOOLS_PER_PAGE = 4

# The smallest picture that is one: a GIF of one pixel.
PIXEL = bytes.fromhex("47494638396101000100800000000000ffffff21f90401000000002c00000000010001000002014c003b")


class PagedServer(MCPServer):
    """Hands out its tools a few at a time."""

    async def _handle_list_tools(self, ctx, params):
        first = int(params.cursor) if params is not None and params.cursor else 0
        tools = await self.list_tools()
        end = first + TOOLS_PER_PAGE
        return ListToolsResult(
            tools=tools[first:end], next_cursor=str(end) if end < len(tools) else None
        )


server = PagedServer("python-peer", version="1.0", instructions="Made for tests.")


class Sum(BaseModel):
    sum: int


@server.tool()
def echo(text: str) -> str:
    """Says what it was told."""
    return text


@server.tool()
def add(a: int, b: int) -> Sum:
    """Adds two numbers; the result is structured."""
    return Sum(sum=a + b)


@server.tool()
def image() -> Image:
    """One pixel."""
    return Image(data=PIXEL, format="gif")


@server.tool()
def audio() -> Audio:
    """A few bytes that claim to be sound."""
    return Audio(data=b"RIFF\x24\0\0\0WAVE", format="wav")


@server.tool()
async def slow(seconds: float, ctx: Context) -> str:
    """Takes its time and reports progress ten times a second."""
    steps = max(1, round(seconds * 10))
    try:
        for step in range(steps):
            await ctx.report_progress(step, steps, f"step {step}")
            await anyio.sleep(0.1)
    except anyio.get_cancelled_exc_class():
        note_cancel()
        raise
    return f"slept {seconds}"


def note_cancel() -> None:
    print("slow was cancelled", file=sys.stderr, flush=True)
    if path := os.environ.get("CANCEL_LOG"):
        with open(path, "a", encoding="utf-8") as log:
            log.write("slow was cancelled\n")


@server.tool()
def fail() -> str:
    """Always fails."""
    raise ToolError("this tool always fails")


@server.tool()
async def grow(ctx: Context) -> str:
    """Adds the tool `grown` and says that the list changed, in the way of both eras."""

    def grown() -> str:
        """Was not there at first."""
        return "grown"

    server.add_tool(grown)
    await ctx.notify_tools_changed()
    try:
        await ctx.session.send_tool_list_changed()
    except Exception as error:  # A stateless request has no session to notify.
        print(f"no session to notify: {error}", file=sys.stderr, flush=True)
    return "added grown"


@server.tool()
def big(kilobytes: int) -> str:
    """A text of so many kilobytes."""
    return ("0123456789abcde\n" * 64) * kilobytes


@server.resource("note://today", mime_type="text/plain")
def today() -> str:
    """A fixed note."""
    return "a note for today"


@server.resource("note://bytes", mime_type="application/octet-stream")
def raw() -> bytes:
    """Bytes that are no text."""
    return bytes(range(256))


@server.resource("note://named/{name}", mime_type="text/plain")
def named(name: str) -> str:
    """A note for a name."""
    return f"a note for {name}"


@server.prompt()
def greeting(name: str, tone: str = "warm") -> str:
    """A greeting in some tone."""
    return f"Greet {name} in a {tone} tone."


def announce_changes() -> None:
    """The handshake says that lists may change; left alone, this SDK says that they do not."""
    lowlevel = server._lowlevel_server
    plain = lowlevel.create_initialization_options
    changes = NotificationOptions(tools_changed=True, prompts_changed=True, resources_changed=True)
    lowlevel.create_initialization_options = lambda *rest: plain(changes, *rest[1:])


def main() -> None:
    announce_changes()
    match sys.argv[1:]:
        case ["stdio"]:
            server.run("stdio")
        case ["streamable", port]:
            server.run("streamable-http", port=int(port))
        case ["sse", port]:
            server.run("sse", port=int(port))
        case _:
            sys.exit(__doc__)


main()
