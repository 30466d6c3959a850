// Authorization servers on oidc-provider, one to each mode, each at a port of its own on loopback.
// Arguments: the provider's module, then modes. Prints one line: a JSON object of their issuers, by mode.
import http from 'node:http';
import { pathToFileURL } from 'node:url';

const [module, ...modes] = process.argv.slice(2);
const { Provider } = await import(pathToFileURL(module));

const PATHS = { path: '/tenant', slash: '/tenant/' };
const HIDDEN = { oauth: '/.well-known/openid-configuration', openid: '/.well-known/oauth-authorization-server' };

function listening() {
  const server = http.createServer();
  return new Promise((done) => server.listen(0, '127.0.0.1', () => done(server)));
}

async function start(mode) {
  const server = await listening();
  const base = `http://127.0.0.1:${server.address().port}`;
  const issuer = base + (PATHS[mode] ?? '');
  const features = { devInteractions: { enabled: false } };
  if (mode.includes('dcr')) features.registration = { enabled: true };
  if (mode.includes('cimd')) features.clientIdMetadataDocument = { enabled: true, ack: 'draft-02' };
  const provider = new Provider(mode === 'mismatch' ? 'https://honest.example' : issuer, {
    clients: [{ client_id: 'known', client_secret: 'beforehand', redirect_uris: ['http://127.0.0.1/callback'] }],
    responseTypes: ['code'],
    clientAuthMethods: ['none', 'client_secret_basic'],
    features,
  });
  const answer = provider.callback();
  server.on('request', (request, response) => {
    const prefix = (PATHS[mode] ?? '').replace(/\/$/, '');
    if (!request.url.startsWith(prefix) || request.url.startsWith(HIDDEN[mode] ?? '\n')) {
      response.writeHead(404, { 'content-type': 'text/plain' }).end('Not Found');
      return;
    }
    request.originalUrl = request.url;
    request.url = request.url.slice(prefix.length) || '/';
    answer(request, response);
  });
  return [mode, issuer];
}

console.log(JSON.stringify(Object.fromEntries(await Promise.all(modes.map(start)))));
