// Loaded ahead of a server that listens on every address of the machine and says at which port it was told to: has it
// listen on loopback alone, where PORT=0 is any free port, and writes the port that it got to file descriptor 3.
const net = require('node:net');
const { closeSync, writeSync } = require('node:fs');
const listen = net.Server.prototype.listen;
net.Server.prototype.listen = function (port, ...rest) {
  this.once('listening', () => { writeSync(3, String(this.address().port)); closeSync(3); });
  const then = rest.filter((argument) => typeof argument === 'function');
  return listen.call(this, { port: Number(port), host: '127.0.0.1' }, ...then);
};
