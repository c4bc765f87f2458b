# The service as LangChain and llm use it. Prints what they found.
import json, os, llm
from langchain_openai import ChatOpenAI, OpenAIEmbeddings
from langchain_core.messages import HumanMessage, ToolMessage
from pydantic import BaseModel

class Point(BaseModel):
    """A point."""
    x: int
    name: str

def weather(city: str) -> str:
    """The weather of a city."""
    return "rain"

def news(topic: str) -> str:
    """The news about a topic."""
    return "none"

image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
found = {}
for name, responses in [("chat", False), ("responses", True)]:
    chat = ChatOpenAI(model="up/echo", max_retries=0, use_responses_api=responses)
    bound = chat.bind_tools([weather])
    said = [HumanMessage("use the weather tool now")]
    call = bound.invoke(said)
    said += [call, ToolMessage("rain", tool_call_id=call.tool_calls[0]["id"])]
    found[name] = [chat.invoke("hello there").text, "".join(part.text for part in chat.stream("hello there")),
                   call.tool_calls[0]["name"], bound.invoke(said).text,
                   chat.with_structured_output(Point).invoke("a point").model_dump().keys() == {"x", "name"},
                   sorted(call["name"] for call in chat.bind_tools([weather, news]).invoke("use both tools now").tool_calls),
                   chat.invoke([HumanMessage([{"type": "text", "text": "what is it?"}, image])]).text]

# Otherwise it downloads the tokenizer of OpenAI's models.
embeddings = OpenAIEmbeddings(model="up/embed", max_retries=0, check_embedding_ctx_length=False)
vectors = embeddings.embed_documents(["a lighthouse", "a tower"])
found["embeddings"] = [len(vectors), len(vectors[0])]
found["query"] = len(embeddings.embed_query("a lighthouse"))

# llm keeps its models in a folder of the user.
from llm.default_plugins.openai_models import Chat
model = Chat("up/echo", api_base=os.environ["OPENAI_BASE_URL"], key=os.environ["OPENAI_API_KEY"],
             vision=True, supports_tools=True)
picture = llm.Attachment(type="image/png", content=b"\x89PNG\r\n\x1a\n")
found["llm"] = [model.prompt("hello there", stream=False).text(), model.prompt("hello there", stream=True).text(),
                model.prompt("what is it?", attachments=[picture], stream=False).text(),
                model.chain("use the weather tool now", tools=[weather], stream=False).text()]
print(json.dumps(found))
