// An authorization server on oidc-provider, an MCP server that it protects, a server for client
// metadata documents, and a control port, all on free ports of the loopback interface.
//
// Environment: OIDC_MODULES is the folder with the packages, OIDC_OPTIONS a JSON object:
//   token_format     "opaque" | "jwt"
//   client_documents whether URLs of metadata documents are clients
//   device_codes     whether it offers device codes
//   dpop             "off" | "on" | "nonce" (proofs need a nonce of the server)
//   clients          clients registered from the start
//   certificate, key PEM for the https server of the documents
// The first line of output is a JSON object with the URLs. It exits when its input closes.
import { createServer } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import { createRequire } from 'node:module';
import { randomBytes } from 'node:crypto';
import { pathToFileURL } from 'node:url';

import { protectedMcp } from './oidc_mcp.mjs';

const require = createRequire(`${process.env.OIDC_MODULES}/`);
const load = (name) => import(pathToFileURL(require.resolve(name)));
const { Provider, errors } = await load('oidc-provider');
const jose = await load('jose');

const options = JSON.parse(process.env.OIDC_OPTIONS);
const ACCESS_SECONDS = 3600;
const SCOPES = ['openid', 'offline_access', 'mcp:read', 'mcp:write'];
// The client with which the MCP server introspects tokens.
const RESOURCE_SERVER = { client_id: 'resource-server', client_secret: 'introspects-only' };

/** State that the control port can change. */
const settings = {
  // The issuer that the protected resource names and trusts; null: our own.
  resource_issuer: null,
  // The `iss` of redirects: null leaves it alone, "" removes it.
  redirect_iss: null,
  // Further resources for which tokens are issued.
  extra_resources: [],
};
const MAX_REQUESTS = 10_000;
const requests = [];
const store = new Map();
// Signed tokens cannot be revoked: those of an earlier generation are rejected.
let generation = 0;

/** Records a request; the oldest are dropped. */
const record = (server, { method, url, headers }, form = {}) => {
  requests.push({ server, method, path: url, headers, form });
  if (requests.length > MAX_REQUESTS) requests.shift();
};

const listen = (server) => new Promise((done) => {
  server.listen(0, '127.0.0.1', () => done(server.address().port));
});
const say = (response, status, body, headers = {}) => {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify(body));
};
const bodyOf = async (request) => {
  const parts = [];
  for await (const part of request) parts.push(part);
  return Buffer.concat(parts).toString();
};

/** Keeps everything in memory, where the control port can read it. */
class Adapter {
  constructor(model) { this.model = model; }
  key(id) { return `${this.model}:${id}`; }
  async upsert(id, payload) { store.set(this.key(id), payload); }
  async find(id) { return store.get(this.key(id)); }
  async findByUid(uid) { return [...store.values()].find((found) => found.uid === uid); }
  async findByUserCode(code) { return [...store.values()].find((found) => found.userCode === code); }
  async consume(id) { store.get(this.key(id)).consumed = Math.floor(Date.now() / 1000); }
  async destroy(id) { store.delete(this.key(id)); }
  async revokeByGrantId(grant) { forget((_, payload) => payload.grantId === grant); }
}

const forget = (which) => {
  for (const [key, payload] of store) if (which(key, payload)) store.delete(key);
};

const issuerServer = createServer();
const mcpServer = createServer();
const controlServer = createServer();
const issuer = `http://127.0.0.1:${await listen(issuerServer)}`;
const mcpOrigin = `http://127.0.0.1:${await listen(mcpServer)}`;
const control = `http://127.0.0.1:${await listen(controlServer)}`;
const ownResources = [`${mcpOrigin}/mcp`, `${mcpOrigin}/sse`, mcpOrigin, `${mcpOrigin}/`];

const provider = new Provider(issuer, {
  adapter: Adapter,
  clients: [
    { ...RESOURCE_SERVER, redirect_uris: [], response_types: [], grant_types: [] },
    ...options.clients,
  ],
  cookies: { keys: [randomBytes(16).toString('hex')] },
  scopes: SCOPES,
  clientAuthMethods: ['none', 'client_secret_basic', 'client_secret_post', 'private_key_jwt'],
  pkce: { required: () => true },
  rotateRefreshToken: true,
  expiresWithSession: () => false,
  issueRefreshToken: (_, client) => client.grantTypeAllowed('refresh_token'),
  ttl: { AccessToken: ACCESS_SECONDS },
  extraTokenClaims: () => ({ generation }),
  // The provider would refuse to fetch a document from the loopback interface.
  fetch: (url, { dispatcher, ...rest }) => fetch(url, rest),
  features: {
    devInteractions: { enabled: true },
    registration: { enabled: true },
    deviceFlow: { enabled: options.device_codes },
    revocation: { enabled: true },
    introspection: { enabled: true, allowedPolicy: () => true },
    dPoP: options.dpop === 'nonce'
      ? { enabled: true, nonceSecret: randomBytes(32), requireNonce: () => true }
      : { enabled: options.dpop === 'on' },
    clientIdMetadataDocument: {
      ack: 'draft-02', enabled: options.client_documents, cacheDuration: { min: 0, max: 0 },
    },
    resourceIndicators: {
      enabled: true,
      useGrantedResource: () => true,
      getResourceServerInfo: (_, resource) => {
        if (![...ownResources, ...settings.extra_resources].includes(resource)) {
          throw new errors.InvalidTarget();
        }
        return {
          scope: 'mcp:read mcp:write',
          audience: resource,
          accessTokenTTL: ACCESS_SECONDS,
          accessTokenFormat: options.token_format,
          jwt: { sign: { alg: 'RS256' } },
        };
      },
    },
  },
});
const answer = provider.callback();

/** Replaces the issuer of a redirect to the client. */
const twistRedirects = (response) => {
  const setHeader = response.setHeader.bind(response);
  response.setHeader = (name, value) => {
    if (name.toLowerCase() === 'location' && URL.canParse(value) && settings.redirect_iss !== null) {
      const location = new URL(value);
      if (location.searchParams.has('iss')) {
        if (settings.redirect_iss) location.searchParams.set('iss', settings.redirect_iss);
        else location.searchParams.delete('iss');
        return setHeader(name, location.href);
      }
    }
    return setHeader(name, value);
  };
};

issuerServer.on('request', async (request, response) => {
  const form = request.method === 'POST' ? await bodyOf(request) : '';
  // Where the provider looks for a body that was already read.
  if (form) {
    const type = request.headers['content-type'] ?? '';
    request.body = type.includes('json') ? JSON.parse(form) : Object.fromEntries(new URLSearchParams(form));
  }
  record('issuer', request, request.body);
  twistRedirects(response);
  return answer(request, response);
});

/** The claims of a token at an issuer, or null. */
const inspect = async (at, token) => {
  if (options.token_format === 'jwt') {
    try {
      const keys = jose.createLocalJWKSet(await (await fetch(`${at}/jwks`)).json());
      const { payload } = await jose.jwtVerify(token, keys, { issuer: at });
      return at === issuer && payload.generation < generation ? null : payload;
    } catch { return null; }
  }
  const found = await fetch(`${at}/token/introspection`, {
    method: 'POST', body: new URLSearchParams({ token }),
    headers: { authorization: `Basic ${btoa(Object.values(RESOURCE_SERVER).join(':'))}` },
  });
  const claims = await found.json();
  return claims.active ? claims : null;
};
mcpServer.on('request', protectedMcp({
  origin: mcpOrigin,
  resources: ownResources,
  issuer: () => settings.resource_issuer ?? issuer,
  dpop: options.dpop !== 'off',
  inspect,
  jose,
  record,
}));

/** The metadata documents of clients, by path: {status, body}. */
const documents = new Map();
let documentOrigin = null;
if (options.certificate) {
  const server = createSecureServer({ cert: options.certificate, key: options.key });
  server.on('request', (request, response) => {
    record('documents', request);
    const found = documents.get(request.url) ?? { status: 404, body: {} };
    say(response, found.status, found.body, { 'cache-control': 'no-store' });
  });
  documentOrigin = `https://127.0.0.1:${await listen(server)}`;
}

const isToken = (key) => /^(AccessToken|RefreshToken|AuthorizationCode|DeviceCode|Grant):/.test(key);
const actions = {
  settings: (changes) => { Object.assign(settings, changes); },
  document: ({ path, status, body }) => { documents.set(path, { status, body }); },
  revoke_all: () => { forget(isToken); generation += 1; },
  expire_access: () => { forget((key) => key.startsWith('AccessToken:')); generation += 1; },
  forget_clients: () => forget((key) => key.startsWith('Client:')),
  seen: () => ({
    requests,
    clients: [...store].filter(([key]) => key.startsWith('Client:')).map(([, payload]) => payload),
    access_tokens: [...store.keys()].filter((key) => key.startsWith('AccessToken:')).length,
    refresh_tokens: [...store.keys()].filter((key) => key.startsWith('RefreshToken:')).length,
  }),
};
controlServer.on('request', async (request, response) => {
  const body = await bodyOf(request);
  const action = actions[request.url.slice(1)];
  say(response, action ? 200 : 404, action?.(body ? JSON.parse(body) : {}) ?? {});
});

process.stdout.write(`${JSON.stringify({
  issuer, mcp: `${mcpOrigin}/mcp`, sse: `${mcpOrigin}/sse`, control, documents: documentOrigin,
})}\n`);
process.stdin.on('end', () => process.exit(0)).resume();
