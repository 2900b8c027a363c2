// Models in a worker: the same calls as in index.js, as promises.
import { SconceError } from './tensor.js';
import { pack, unpack } from './wire.js';

const WorkerOfHere = globalThis.Worker ?? (await import('node:worker_threads')).Worker;

export class SconceWorker {
  #worker = new WorkerOfHere(new URL('./worker.js', import.meta.url), { type: 'module' });
  #waiting = new Map();
  #next = 1;
  #ended = null;
  constructor() {
    const answered = ({ number, result, error }) => {
      const { resolve, reject } = this.#waiting.get(number);
      this.#waiting.delete(number);
      if (error) reject(new SconceError(error.message, error.kind));
      else resolve(result);
    };
    const failed = ({ message }) => this.#end(new SconceError(message ?? 'the worker ended', 'WorkerError'));
    if (this.#worker.on) {  // Node's
      this.#worker.on('message', answered).on('error', failed);
    } else {
      this.#worker.onmessage = ({ data }) => answered(data);
      this.#worker.onerror = failed;
    }
  }
  #end(error) {
    this.#ended = error;
    for (const { reject } of this.#waiting.values()) reject(error);
    this.#waiting.clear();
  }
  #ask(name, ...args) {
    if (this.#ended) return Promise.reject(this.#ended);
    return new Promise((resolve, reject) => {
      this.#worker.postMessage({ number: this.#next, name, args });  // throws for what cannot be cloned
      this.#waiting.set(this.#next++, { resolve, reject });
    });
  }
  version() {
    return this.#ask('version');
  }
  async loadModel(bytes) {
    const { id, methods } = await this.#ask('load', bytes);
    const timedCall = async (method, ...args) => {
      const { result, milliseconds } = await this.#ask('call', id, method, args.map(pack));
      return { result: unpack(result), milliseconds };
    };
    const call = async (method, ...args) => (await timedCall(method, ...args)).result;
    return {
      methods,
      timedCall,
      call,
      forward: (...args) => call('forward', ...args),
      graphPage: (options = {}) => this.#ask('graphPage', id, { ...options, args: options.args?.map(pack) }),
      free: () => this.#ask('free', id),
    };
  }
  terminate() {
    this.#worker.terminate();
    this.#end(new SconceError('the worker was terminated', 'WorkerError'));
  }
}
