// MCP servers on the official TypeScript SDK that ask for authorization, each at a port of its own on loopback.
// Arguments: the folder of node_modules, then NAME=ISSUER. Prints one line: a JSON object of their endpoints, by name.
// browser lets pages of other origins in; lazy lets anybody shake hands, and gates what comes behind it.
import { createRequire } from 'node:module';
import { join } from 'node:path';

const [modules, ...resources] = process.argv.slice(2);
const require = createRequire(join(modules, 'x.cjs'));
const cors = require('cors');
const { z } = require('zod');
const { McpServer } = require('@modelcontextprotocol/sdk/server/mcp.js');
const { StreamableHTTPServerTransport } = require('@modelcontextprotocol/sdk/server/streamableHttp.js');
const { createMcpExpressApp } = require('@modelcontextprotocol/sdk/server/express.js');
const { InvalidTokenError } = require('@modelcontextprotocol/sdk/server/auth/errors.js');
const { getOAuthProtectedResourceMetadataUrl, mcpAuthMetadataRouter } = require('@modelcontextprotocol/sdk/server/auth/router.js');
const { requireBearerAuth } = require('@modelcontextprotocol/sdk/server/auth/middleware/bearerAuth.js');

const SCOPES = ['forecasts'];
const HANDSHAKE = ['initialize', 'notifications/initialized'];
const verifier = { verifyAccessToken: async () => { throw new InvalidTokenError('no token is valid here'); } };

function server() {
  const made = new McpServer({ name: 'weather', version: '1.4.0' });
  const get = async ({ place }) => ({ content: [{ type: 'text', text: place }] });
  made.registerTool('get_forecast', { description: 'The forecast for a place.', inputSchema: { place: z.string() } }, get);
  return made;
}

async function handle(request, response) {
  const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined });
  response.on('close', () => transport.close());
  await server().connect(transport);
  await transport.handleRequest(request, response, request.body);
}

function start(resource) {
  const [name, issuer] = resource.split(/=(.*)/s);
  const app = createMcpExpressApp();
  const listening = app.listen(0, '127.0.0.1');
  return new Promise((done) => listening.on('listening', () => {
    const endpoint = new URL(`http://127.0.0.1:${listening.address().port}/mcp`);
    const oauthMetadata = {
      issuer,
      authorization_endpoint: `${issuer}/auth`,
      token_endpoint: `${issuer}/token`,
      response_types_supported: ['code'],
    };
    const guard = requireBearerAuth({ verifier, requiredScopes: SCOPES, resourceMetadataUrl: getOAuthProtectedResourceMetadataUrl(endpoint) });
    if (name === 'browser') app.use(cors({ exposedHeaders: ['WWW-Authenticate'] }));
    app.use(mcpAuthMetadataRouter({ oauthMetadata, resourceServerUrl: endpoint, scopesSupported: SCOPES, resourceName: 'Weather' }));
    const isOpen = (request) => name === 'lazy' && HANDSHAKE.includes(request.body?.method);
    app.post('/mcp', (request, response, next) => (isOpen(request) ? next() : guard(request, response, next)), handle);
    app.get('/mcp', guard, (request, response) => response.status(405).end());
    done([name, endpoint.href]);
  }));
}

console.log(JSON.stringify(Object.fromEntries(await Promise.all(resources.map(start)))));
