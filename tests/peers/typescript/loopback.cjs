// Preloaded into a server that would listen on every interface: it gets a free port on loopback, and says which.
const net = require('node:net');

console.log = console.error; // standard output is for that one line
const listen = net.Server.prototype.listen;
net.Server.prototype.listen = function (...given) {
  this.once('listening', () => process.stdout.write(`${JSON.stringify({ endpoint: `http://127.0.0.1:${this.address().port}` })}\n`));
  return listen.call(this, { host: '127.0.0.1', port: 0 }, given.find((one) => typeof one === 'function'));
};
