// The package in a worker: one message is one call, answered by its number. worker_client.js is the other end.
import { loadModel, version } from './index.js';
import { pack, unpack } from './wire.js';

// A browser's worker is its own port; Node has an object for it.
const port = typeof self === 'object' && 'postMessage' in self ? self : (await import('node:worker_threads')).parentPort;
const models = new Map();
let next = 1;

const calls = {
  version,
  async load(bytes) {
    const model = await loadModel(bytes);
    models.set(next, model);
    return { id: next++, methods: model.methods };
  },
  call(id, method, args) {
    const values = args.map(unpack);
    const start = performance.now();
    const result = models.get(id).call(method, ...values);
    return { result: pack(result), milliseconds: performance.now() - start };
  },
  graphPage(id, options) {
    return models.get(id).graphPage({ ...options, args: options.args?.map(unpack) });
  },
  free(id) {
    models.get(id).free();
    models.delete(id);
  },
};

port.onmessage = async ({ data: { number, name, args } }) => {
  try {
    port.postMessage({ number, result: await calls[name](...args) });
  } catch (error) {
    port.postMessage({ number, error: { message: String(error?.message ?? error), kind: error?.kind ?? error?.name } });
  }
};
