// MCP servers on the official TypeScript SDK, each at a port of its own on loopback.
// Arguments: the folder of node_modules, then the modes. Prints one line: a JSON object of their endpoints, by mode.
import { randomUUID } from 'node:crypto';
import { createRequire } from 'node:module';
import { join } from 'node:path';

const [modules, ...modes] = process.argv.slice(2);
const require = createRequire(join(modules, 'x.cjs'));
const express = require('express');
const { z } = require('zod');
const { McpServer } = require('@modelcontextprotocol/sdk/server/mcp.js');
const { SSEServerTransport } = require('@modelcontextprotocol/sdk/server/sse.js');
const { StreamableHTTPServerTransport } = require('@modelcontextprotocol/sdk/server/streamableHttp.js');
const { createMcpExpressApp } = require('@modelcontextprotocol/sdk/server/express.js');
const { isInitializeRequest } = require('@modelcontextprotocol/sdk/types.js');

function server() {
  const made = new McpServer({ name: 'weather', version: '1.4.0' }, { capabilities: { logging: {} } });
  const text = (value) => ({ content: [{ type: 'text', text: value }] });
  made.registerTool('get_forecast', { description: 'The forecast for a place.', inputSchema: { place: z.string(), days: z.number().default(3) } }, async ({ place }) => text(place));
  made.registerTool('get_warnings', { description: 'The warnings for a place.', inputSchema: { place: z.string() } }, async ({ place }) => text(place));
  return made;
}

function refuse(response, status, message) {
  response.status(status).json({ jsonrpc: '2.0', error: { code: -32000, message }, id: null });
}

function sessions(app) { // in the shape of the SDK's own example
  const open = new Map();
  app.post('/mcp', async (request, response) => {
    const known = open.get(request.headers['mcp-session-id']);
    if (known) return known.handleRequest(request, response, request.body);
    if (request.headers['mcp-session-id']) return refuse(response, 404, 'Session not found');
    if (!isInitializeRequest(request.body)) return refuse(response, 400, 'Bad Request: No valid session ID provided');
    const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: () => randomUUID(), onsessioninitialized: (id) => { open.set(id, transport); } });
    transport.onclose = () => open.delete(transport.sessionId);
    await server().connect(transport);
    return transport.handleRequest(request, response, request.body);
  });
  const held = (request, response) => {
    const known = open.get(request.headers['mcp-session-id']);
    return known ? known.handleRequest(request, response) : response.status(400).send('Invalid or missing session ID');
  };
  app.get('/mcp', held);
  app.delete('/mcp', held);
}

function stateless(app, enableJsonResponse) {
  app.post('/mcp', async (request, response) => {
    const [made, transport] = [server(), new StreamableHTTPServerTransport({ sessionIdGenerator: undefined, enableJsonResponse })];
    response.on('close', () => { transport.close(); made.close(); });
    await made.connect(transport);
    await transport.handleRequest(request, response, request.body);
  });
  const no = (request, response) => refuse(response, 405, 'Method not allowed.');
  app.get('/mcp', no);
  app.delete('/mcp', no);
}

function events(app) {
  const open = new Map();
  app.get('/sse', async (request, response) => {
    const transport = new SSEServerTransport('/messages', response);
    open.set(transport.sessionId, transport);
    response.on('close', () => open.delete(transport.sessionId));
    await server().connect(transport);
  });
  app.post('/messages', async (request, response) => {
    const known = open.get(request.query.sessionId);
    return known ? known.handlePostMessage(request, response, request.body) : response.status(404).send('No such session');
  });
}

function plain() {
  const app = express();
  app.use(express.json());
  return app;
}

const endpoints = {};
for (const mode of modes) {
  const app = mode === 'plain' ? plain() : createMcpExpressApp();
  if (mode === 'sse') events(app);
  else if (mode === 'stateless' || mode === 'json') stateless(app, mode === 'json');
  else sessions(app);
  const listening = await new Promise((resolve) => { const made = app.listen(0, '127.0.0.1', () => resolve(made)); });
  endpoints[mode] = `http://127.0.0.1:${listening.address().port}/${mode === 'sse' ? 'sse' : 'mcp'}`;
}
console.log(JSON.stringify(endpoints));
