"""Uses every MCP tool of the loci binary through the official Python SDK, over both transports.

    pip install mcp
    loci ingest --db STORE docs/
    python server/tools/mcp_sdk.py LOCI --db STORE
    python server/tools/mcp_sdk.py http://HOST:7626/mcp --key KEY

The SDK checks what tools give against their output schemas. Both ways of beginning are used: `initialize`, and what the
SDK's `Client` negotiates. Prints a line each call; ends with status 1 at the first that is not as expected.
"""

import argparse
import asyncio
from contextlib import asynccontextmanager

from mcp import Client, ClientSession, MCPError, StdioServerParameters, stdio_client
from mcp.client.streamable_http import create_mcp_http_client, streamable_http_client

TOOLS = ["cite", "list_documents", "read_chunk", "read_document", "search", "walk_concepts"]


@asynccontextmanager
async def transport(args):
    """The two streams to the server."""
    if not args.server.startswith("http"):
        process = StdioServerParameters(command=args.server, args=["mcp", "--db", args.db])
        async with stdio_client(process) as streams:
            yield streams
        return
    async with create_mcp_http_client(headers={"Authorization": f"Bearer {args.key}"}) as http:
        async with streamable_http_client(args.server, http_client=http) as streams:
            yield streams


async def tool(session, tool_name, /, *, is_error=False, **arguments):
    """What a tool gives, which says whether it is an error as expected."""
    given = await session.call_tool(tool_name, arguments)
    text = given.content[0].text
    print(f"  {tool_name} {arguments}: {text.splitlines()[0][:80]}")
    assert bool(given.is_error) == is_error, text
    return given.structured_content


async def use(session):
    """Every tool, resources, and what is refused."""
    tools = (await session.list_tools()).tools
    assert [of.name for of in tools] == TOOLS
    assert all(of.annotations.read_only_hint and of.output_schema for of in tools)
    found = await tool(session, "search", question="How are keys kept?", k=3)
    chunk = found["passages"][0]["chunk"]
    await tool(session, "search", question="keys", strategy="text", level="section", context_tokens=300)
    await tool(session, "read_chunk", key=chunk, context=2)
    await tool(session, "cite", of=chunk)
    await tool(session, "cite", of=found["passages"][0]["document"])
    concepts = await tool(session, "walk_concepts", limit=5)
    concept = await tool(session, "walk_concepts", name=concepts["concepts"][0]["name"])
    relation = concept["concept"]["relations"][0]
    await tool(session, "walk_concepts", name=relation["source"], to=relation["target"])
    page = await tool(session, "list_documents", limit=1)
    await tool(session, "list_documents", after=page["next"])
    outline = await tool(session, "read_document", key=page["documents"][0]["document"])
    await tool(session, "read_chunk", is_error=True, key="none#1")
    await tool(session, "search", is_error=True)
    assert (await session.read_resource(outline["resource"])).contents[0].text
    assert (await session.list_resources()).resources
    for refused in (session.call_tool("none", {}), session.read_resource("loci://document/none")):
        try:
            await refused
        except MCPError as error:
            print(f"  refused: {error}")
        else:
            raise AssertionError("it was not refused")


async def main(args):
    async with transport(args) as (read, write), ClientSession(read, write) as session:
        print("initialize:", (await session.initialize()).protocol_version)
        await use(session)
    async with Client(transport(args)) as client:
        print("negotiated:", client.session.protocol_version)
        await use(client.session)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("server")
    parser.add_argument("--db")
    parser.add_argument("--key")
    asyncio.run(main(parser.parse_args()))
