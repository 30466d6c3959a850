// A2A agents on the official JavaScript SDK, each at a port of its own on loopback.
// Arguments: the folder of node_modules, then the modes. Prints one line: a JSON object of their origins, by mode.
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { join } from 'node:path';

const [modules, ...modes] = process.argv.slice(2);
const require = createRequire(join(modules, 'x.cjs'));
const express = require('express');
const jose = require('jose');
const { AgentCard, generateAgentCardSignature } = require('@a2a-js/sdk');
const { DefaultRequestHandler, InMemoryTaskStore } = require('@a2a-js/sdk/server');
const { agentCardHandler, jsonRpcHandler, restHandler, UserBuilder } = require('@a2a-js/sdk/server/express');

const executor = { execute: async () => { throw new Error('only its card is of interest'); }, cancelTask: async () => {} };
const scheme = ($case, value) => ({ scheme: { $case, value } });
const part = (mode, name) => mode.split('-').includes(name);

// The SDK's types want every member, so a card in memory has them all, empty or not.
function card(mode, origin) {
  const made = {
    name: 'Weather',
    description: 'Says what the weather will be at a place.',
    version: '1.4.0',
    supportedInterfaces: [{ url: `${origin}/a2a`, protocolBinding: 'JSONRPC', tenant: '', protocolVersion: '1.0' }],
    provider: undefined,
    capabilities: { streaming: true, pushNotifications: false, extensions: [] },
    securitySchemes: {},
    securityRequirements: [],
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['text/plain'],
    skills: [{
      id: 'forecast',
      name: 'Forecast',
      description: 'The forecast for a place, for up to ten days.',
      tags: ['weather', 'forecast'],
      examples: ['Will it rain in Łódź tomorrow?'],
      inputModes: [],
      outputModes: [],
      securityRequirements: [],
    }],
    signatures: [],
  };
  if (part(mode, 'bare')) Object.assign(made, { description: '', capabilities: { extensions: [] }, defaultInputModes: [], defaultOutputModes: [], skills: [] });
  if (part(mode, 'dual')) made.supportedInterfaces.push({ ...made.supportedInterfaces[0], protocolVersion: '0.3' });
  if (part(mode, 'rest')) made.supportedInterfaces.push({ ...made.supportedInterfaces[0], url: `${origin}/rest`, protocolBinding: 'HTTP+JSON' });
  if (part(mode, 'extended')) made.capabilities.extendedAgentCard = true;
  if (part(mode, 'secured') || part(mode, 'json')) secure(made, origin);
  return made;
}

function secure(made, origin) {
  const flow = { authorizationUrl: `${origin}/authorize`, tokenUrl: `${origin}/token`, refreshUrl: '', scopes: { forecasts: 'Read forecasts' }, pkceRequired: true };
  made.securitySchemes = {
    bearer: scheme('httpAuthSecurityScheme', { description: '', scheme: 'Bearer', bearerFormat: 'JWT' }),
    key: scheme('apiKeySecurityScheme', { description: '', location: 'header', name: 'X-Key' }),
    oauth: scheme('oauth2SecurityScheme', { description: '', flows: { flow: { $case: 'authorizationCode', value: flow } }, oauth2MetadataUrl: '' }),
    oidc: scheme('openIdConnectSecurityScheme', { description: '', openIdConnectUrl: `${origin}/.well-known/openid-configuration` }),
  };
  made.securityRequirements = [{ schemes: { bearer: { list: [] } } }, { schemes: { oauth: { list: ['forecasts'] } } }];
}

async function agent(app, mode, origin) {
  let signer;
  if (part(mode, 'signed')) {
    const { privateKey, publicKey } = await jose.generateKeyPair('ES256');
    const jwk = { ...await jose.exportJWK(publicKey), kid: 'key-1', use: 'sig', alg: 'ES256' };
    signer = generateAgentCardSignature(privateKey, { alg: 'ES256', kid: 'key-1', typ: 'JOSE', jku: `${origin}/jwks.json` });
    app.get('/jwks.json', (_, response) => response.json({ keys: [jwk] }));
  }
  const made = card(mode, origin);
  if (made.securitySchemes.oidc) { // what it names
    const metadata = { issuer: origin, authorization_endpoint: `${origin}/authorize`, token_endpoint: `${origin}/token` };
    app.get('/.well-known/openid-configuration', (_, response) => response.json(metadata));
  }
  const more = part(mode, 'extended') ? { ...made, skills: [...made.skills, { ...made.skills[0], id: 'warnings', name: 'Warnings' }] } : undefined;
  const handler = new DefaultRequestHandler(made, new InMemoryTaskStore(), executor, undefined, undefined, undefined, more, signer);
  const legacyCompat = { enabled: part(mode, 'dual') };
  // The handler writes whatever it is given: as JSON of the specification only if that was asked for.
  const agentCardProvider = part(mode, 'json') ? async () => AgentCard.toJSON(await handler.getAgentCard()) : handler;
  app.use('/.well-known/agent-card.json', agentCardHandler({ agentCardProvider, legacyCompat }));
  app.use('/a2a', jsonRpcHandler({ requestHandler: handler, userBuilder: UserBuilder.noAuthentication, legacyCompat }));
  if (part(mode, 'rest')) app.use('/rest', restHandler({ requestHandler: handler, userBuilder: UserBuilder.noAuthentication, legacyCompat }));
}

const origins = {};
for (const mode of modes) {
  const app = express();
  const listening = createServer(app);
  await new Promise((resolve) => { listening.listen(0, '127.0.0.1', resolve); });
  origins[mode] = `http://127.0.0.1:${listening.address().port}`;
  await agent(app, mode, origins[mode]);
}
console.log(JSON.stringify(origins));
