// A client made with the TypeScript SDK: v1, which most clients in use are made with, or v2, as a client of either era. It
// does one thing with the server at URL and prints what came of it as JSON.
// Usage: node client.cjs URL v1|v2|v2-modern cancel|drop|lose|progress|changes
// E2E_DIR is where the SDKs are installed.
const { createRequire } = require('node:module');
const installed = createRequire(process.env.E2E_DIR + '/package.json');
const [url, sdk, what] = process.argv.slice(2);
const v1 = sdk === 'v1', modern = sdk === 'v2-modern';
const { Client } = installed(v1 ? '@modelcontextprotocol/sdk/client/index.js' : '@modelcontextprotocol/client');
const { StreamableHTTPClientTransport } = installed(v1 ? '@modelcontextprotocol/sdk/client/streamableHttp.js' : '@modelcontextprotocol/client');
const toolsChanged = v1 ? installed('@modelcontextprotocol/sdk/types.js').ToolListChangedNotificationSchema : 'notifications/tools/list_changed';

const say = (value) => require('node:fs').writeSync(1, JSON.stringify(value) + '\n');
const pause = (ms) => new Promise((done) => setTimeout(done, ms));

// Requests that are cut off, each with its response, when `cut` is aborted.
const cut = new AbortController();
const cuttable = (input, init) => fetch(input, { ...init, signal: AbortSignal.any([cut.signal, ...(init?.signal ? [init.signal] : [])]) });

async function main() {
  const client = new Client({ name: 'typescript', version: '1' }, modern ? { versionNegotiation: { mode: { pin: '2026-07-28' } } } : {});
  await client.connect(new StreamableHTTPClientTransport(new URL(url), what === 'drop' ? { fetch: cuttable } : {}));
  const call = (name, options) => client.callTool({ name, arguments: {} }, ...(v1 ? [undefined] : []), options);
  const cancel = new AbortController();
  const ways = { // how to end a call, once its progress shows that it has begun
    cancel: () => { say({ at: Date.now() }); cancel.abort('enough'); },
    drop: () => { say({ at: Date.now() }); cut.abort(); },
    lose: () => { say({ at: Date.now() }); process.kill(process.pid, 'SIGKILL'); },
  };
  if (ways[what]) {
    call('wait', { signal: cancel.signal, onprogress: ways[what] }).catch(() => {});
    await new Promise((done) => process.stdin.on('end', done).resume()); // until the test has seen what it waits for
    process.exit(0);
  }
  if (what === 'progress') {
    const steps = [];
    let late = 0, over = false;
    await call('steps', { onprogress: (p) => { steps.push(p.progress); late += over ? 1 : 0; } });
    over = true;
    await pause(100);
    say({ steps, late });
  }
  if (what === 'changes') {
    let count = 0;
    client.setNotificationHandler(toolsChanged, () => { count++; });
    if (modern) await client.listen({ toolsListChanged: true });
    const before = (await client.listTools()).tools.length;
    await call('add');
    await pause(1000); // far longer than any debounce
    say({ count, more: (await client.listTools()).tools.length - before });
  }
  await client.close();
}

main().catch((error) => { console.error(error); process.exit(1); });
