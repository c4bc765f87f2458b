// A small MCP server that requires a token: Streamable HTTP at /mcp, and the
// transport of 2024-11-05 at /sse. `echo` needs the scope mcp:read, `write` needs mcp:write.
import { createHash, randomUUID } from 'node:crypto';

const TOOLS = { echo: 'mcp:read', write: 'mcp:write' };
const SUPPORTED = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'];

const schema = { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] };
const tools = Object.keys(TOOLS).map((name) => ({
  name, description: `Says the text again (${TOOLS[name]}).`, inputSchema: schema,
  annotations: { readOnlyHint: name === 'echo' },
}));

/** The result of a request; undefined for an unknown method. */
const result = ({ method, params }) => {
  switch (method) {
    case 'initialize': return {
      protocolVersion: SUPPORTED.includes(params?.protocolVersion) ? params.protocolVersion : SUPPORTED[0],
      capabilities: { tools: {} },
      serverInfo: { name: 'protected', version: '1' },
    };
    case 'ping': return {};
    case 'tools/list': return { tools };
    case 'tools/call': return {
      content: [{ type: 'text', text: `${params.name}: ${params.arguments?.text}` }],
      isError: !(params.name in TOOLS),
    };
    default: return undefined;
  }
};

const reply = (message) => {
  const found = result(message);
  return found === undefined
    ? { jsonrpc: '2.0', id: message.id, error: { code: -32601, message: 'no such method' } }
    : { jsonrpc: '2.0', id: message.id, result: found };
};

const say = (response, status, body, headers = {}) => {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(body === undefined ? '' : JSON.stringify(body));
};

/** Whether the request has a proof by the key of its bound token. */
const proven = async ({ jose, origin }, request, token, jkt) => {
  try {
    const proof = request.headers.dpop;
    const { jwk, alg } = jose.decodeProtectedHeader(proof);
    const key = await jose.importJWK(jwk, alg);
    const { payload } = await jose.jwtVerify(proof, key, { typ: 'dpop+jwt' });
    return payload.htm === request.method
      && payload.htu === origin + request.url.split('?')[0]
      && payload.ath === createHash('sha256').update(token).digest('base64url')
      && await jose.calculateJwkThumbprint(jwk) === jkt;
  } catch { return false; }
};

/** Returns the scopes of the token of a request, or rejects the request. */
const guard = async (site, request, response) => {
  const path = request.url.startsWith('/mcp') ? '/mcp' : '/sse';
  const metadata = `${site.origin}/.well-known/oauth-protected-resource${path}`;
  const refuse = (status, parts) => {
    const text = [...parts, `resource_metadata="${metadata}"`].join(', ');
    say(response, status, { error: 'not authorized' }, { 'www-authenticate': `Bearer ${text}` });
    return null;
  };
  const wanted = ['scope="mcp:read"'];
  const [, scheme, token] = /^(Bearer|DPoP) (\S+)$/i.exec(request.headers.authorization ?? '') ?? [];
  if (!token) return refuse(401, wanted);
  const claims = await site.inspect(site.issuer(), token);
  const audience = [claims?.aud ?? []].flat();
  if (!audience.some((found) => site.resources.includes(found))) {
    return refuse(401, ['error="invalid_token"', ...wanted]);
  }
  const jkt = claims.cnf?.jkt;
  const isProof = scheme.toLowerCase() === 'dpop';
  if (jkt ? !isProof || !await proven(site, request, token, jkt) : isProof) {
    return refuse(401, ['error="invalid_token"', ...wanted]);
  }
  return {
    scopes: (claims.scope ?? '').split(' '),
    lacks: (scope) => refuse(403, ['error="insufficient_scope"', `scope="${scope}"`]),
  };
};

/** Answers requests for a site: {origin, resources, dpop, issuer(), inspect(), jose,
 * record()}. */
export const protectedMcp = (site) => {
  const streams = new Map();

  const receive = async (request, response, visitor) => {
    const parts = [];
    for await (const part of request) parts.push(part);
    let message;
    try { message = JSON.parse(Buffer.concat(parts).toString()); } catch {
      return say(response, 400, { jsonrpc: '2.0', id: null, error: { code: -32700, message: 'no JSON' } });
    }
    const needed = message.method === 'tools/call' ? TOOLS[message.params?.name] : undefined;
    if (needed && !visitor.scopes.includes(needed)) return visitor.lacks(needed);
    const answer = message.id === undefined || !message.method ? undefined : reply(message);
    const stream = streams.get(new URL(request.url, site.origin).searchParams.get('session'));
    if (!stream) return say(response, answer ? 200 : 202, answer);
    if (answer) stream.write(`event: message\ndata: ${JSON.stringify(answer)}\n\n`);
    return say(response, 202);
  };

  const openStream = (response) => {
    const session = randomUUID();
    streams.set(session, response);
    response.on('close', () => streams.delete(session));
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
    response.write(`event: endpoint\ndata: /sse?session=${session}\n\n`);
  };

  return async (request, response) => {
    site.record('mcp', request);
    const [path] = request.url.split('?');
    const about = /^\/\.well-known\/oauth-protected-resource(\/mcp|\/sse|)$/.exec(path);
    if (about) {
      return say(response, 200, {
        resource: site.origin + about[1],
        authorization_servers: [site.issuer()],
        scopes_supported: Object.values(TOOLS),
        bearer_methods_supported: ['header'],
        ...(site.dpop ? { dpop_signing_alg_values_supported: ['ES256'] } : {}),
      });
    }
    if (path !== '/mcp' && path !== '/sse') return say(response, 404, {});
    const visitor = await guard(site, request, response);
    if (!visitor) return undefined;
    if (request.method === 'POST') return receive(request, response, visitor);
    if (request.method === 'GET' && path === '/sse') return openStream(response);
    return say(response, 405, {});
  };
};
