"""An MCP server with the authorization server of the official Python SDK, which consents at once.

The environment variable OAUTH_CLIENTS is a JSON list of the clients that are registered from the start.
The first line of output is a JSON object with the addresses. It ends when its input does.

`POST /control/{expire_access,revoke_all,forget_clients,settings}` and `GET /control/seen` are for the
test.
"""

import json
import os
import secrets
import socket
import sys
import threading
import time
from collections import Counter
from urllib.parse import parse_qsl

import uvicorn
from mcp.server.auth.provider import (
    AccessToken,
    AuthorizationCode,
    OAuthAuthorizationServerProvider,
    RefreshToken,
    TokenError,
    construct_redirect_uri,
)
from mcp.server.auth.settings import AuthSettings, ClientRegistrationOptions, RevocationOptions
from mcp.server.mcpserver import MCPServer
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken
from starlette.requests import Request
from starlette.responses import JSONResponse

CODE_SECONDS = 60
ACCESS_SECONDS = 3600
MAX_REQUESTS = 10_000
SCOPES = ["mcp:read", "mcp:write"]

# Only with an explicit protocol does asyncio send small responses at once; otherwise each takes 40 ms.
listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
listener.bind(("127.0.0.1", 0))
listener.listen()
issuer = f"http://127.0.0.1:{listener.getsockname()[1]}"


class Family(RefreshToken):
    """A refresh token that knows the login it came from."""

    login: str


class Provider(OAuthAuthorizationServerProvider[AuthorizationCode, Family, AccessToken]):
    """Keeps everything in memory. A refresh token that comes a second time ends its whole login."""

    def __init__(self) -> None:
        self.access_uses = None
        self.uses: Counter[str] = Counter()
        clients = json.loads(os.environ["OAUTH_CLIENTS"])
        known = (OAuthClientInformationFull.model_validate(client) for client in clients)
        self.clients = {client.client_id: client for client in known}
        self.codes: dict[str, AuthorizationCode] = {}
        self.access: dict[str, AccessToken] = {}
        self.refresh: dict[str, Family] = {}
        self.used: dict[str, str] = {}
        self.reused = 0

    async def get_client(self, client_id):
        return self.clients.get(client_id)

    async def register_client(self, client_info):
        self.clients[client_info.client_id] = client_info

    async def authorize(self, client, params):
        code = AuthorizationCode(
            code=secrets.token_urlsafe(32),
            scopes=params.scopes or ["mcp:read"],
            expires_at=time.time() + CODE_SECONDS,
            client_id=client.client_id,
            subject="somebody",
            **params.model_dump(exclude={"state", "scopes"}),
        )
        self.codes[code.code] = code
        return construct_redirect_uri(str(params.redirect_uri), code=code.code, state=params.state)

    async def load_authorization_code(self, client, authorization_code):
        return self.codes.get(authorization_code)

    async def exchange_authorization_code(self, client, authorization_code):
        if self.codes.pop(authorization_code.code, None) is None:
            raise TokenError("invalid_grant", "the code was used")
        return self.issue(authorization_code, authorization_code.scopes, secrets.token_hex(8))

    async def load_refresh_token(self, client, refresh_token):
        if login := self.used.get(refresh_token):
            self.reused += 1
            self.end(login)
        return self.refresh.get(refresh_token)

    async def exchange_refresh_token(self, client, refresh_token, scopes):
        if self.refresh.pop(refresh_token.token, None) is None:
            raise TokenError("invalid_grant", "the refresh token was used")
        self.used[refresh_token.token] = refresh_token.login
        return self.issue(refresh_token, scopes, refresh_token.login)

    async def load_access_token(self, token):
        self.uses[token] += 1
        if self.access_uses is not None and self.uses[token] > self.access_uses:
            self.access.pop(token, None)
        return self.access.get(token)

    async def revoke_token(self, token):
        self.access.pop(token.token, None)
        if refresh := self.refresh.get(token.token):
            self.end(refresh.login)

    def issue(self, source, scopes, login) -> OAuthToken:
        about = {"client_id": source.client_id, "resource": source.resource, "subject": source.subject}
        access = AccessToken(
            token=secrets.token_urlsafe(32),
            scopes=scopes,
            expires_at=int(time.time()) + ACCESS_SECONDS,
            claims={"login": login},
            **about,
        )
        refresh = Family(token=secrets.token_urlsafe(32), scopes=source.scopes, login=login, **about)
        self.access[access.token] = access
        self.refresh[refresh.token] = refresh
        return OAuthToken(
            access_token=access.token,
            refresh_token=refresh.token,
            expires_in=ACCESS_SECONDS,
            scope=" ".join(scopes),
        )

    def end(self, login) -> None:
        self.refresh = {key: token for key, token in self.refresh.items() if token.login != login}
        self.access = {key: token for key, token in self.access.items() if token.claims["login"] != login}


provider = Provider()
server = MCPServer(
    "python-oauth-peer",
    version="1.0",
    log_level="ERROR",
    auth_server_provider=provider,
    auth=AuthSettings(
        issuer_url=issuer,
        resource_server_url=f"{issuer}/mcp",
        validate_token_resource=True,
        required_scopes=["mcp:read"],
        client_registration_options=ClientRegistrationOptions(
            enabled=True, valid_scopes=SCOPES, default_scopes=SCOPES
        ),
        revocation_options=RevocationOptions(enabled=True),
    ),
)
requests: list[dict] = []


@server.tool()
def echo(text: str) -> str:
    """Says the text again."""
    return text


@server.custom_route("/control/{action}", methods=["GET", "POST"])
async def control(request: Request) -> JSONResponse:
    match request.path_params["action"]:
        case "settings":
            for name, value in (await request.json()).items():
                setattr(provider, name, value)
        case "expire_access":
            provider.access.clear()
        case "revoke_all":
            provider.access.clear()
            provider.refresh.clear()
            provider.codes.clear()
        case "forget_clients":
            provider.clients.clear()
        case "seen":
            clients = [client.model_dump(mode="json") for client in provider.clients.values()]
            counts = {"access_tokens": len(provider.access), "refresh_tokens": len(provider.refresh)}
            seen = {"requests": requests, "clients": clients, "reused": provider.reused, **counts}
            return JSONResponse(seen)
        case _:
            return JSONResponse({}, status_code=404)
    return JSONResponse({})


def recording(app):
    """Records requests, with their forms, before they reach the SDK."""

    async def record(scope, receive, send):
        if scope["type"] != "http" or scope["path"].startswith("/control/"):
            return await app(scope, receive, send)
        query = scope["query_string"].decode()
        entry = {
            "server": "mcp" if scope["path"].startswith(("/mcp", "/.well-known/oauth-protected")) else "issuer",
            "method": scope["method"],
            "path": scope["path"] + (f"?{query}" if query else ""),
            "headers": {name.decode(): value.decode() for name, value in scope["headers"]},
            "form": {},
        }
        requests.append(entry)
        del requests[:-MAX_REQUESTS]

        async def heard():
            message = await receive()
            body = message.get("body", b"")
            if scope["path"] == "/register" and body:
                entry["form"] = json.loads(body)
            elif scope["path"] in ("/token", "/revoke") and body:
                entry["form"] = dict(parse_qsl(body.decode()))
            return message

        return await app(scope, heard, send)

    return record


def end_with_input() -> None:
    sys.stdin.read()
    os._exit(0)


threading.Thread(target=end_with_input, daemon=True).start()
print(json.dumps({"issuer": issuer, "mcp": f"{issuer}/mcp", "control": f"{issuer}/control"}), flush=True)
config = uvicorn.Config(recording(server.streamable_http_app()), log_level="error", lifespan="on")
uvicorn.Server(config).run(sockets=[listener])
