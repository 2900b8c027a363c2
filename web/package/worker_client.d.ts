// Models in a worker, so that a page stays responsive while they run.
import { Method, Value } from './index.js';

export interface RemoteModel {
  readonly methods: readonly Method[];
  forward(...args: Value[]): Promise<Value>;
  call(method: string, ...args: Value[]): Promise<Value>;
  /** The same with how long the call itself took. */
  timedCall(method: string, ...args: Value[]): Promise<{ result: Value; milliseconds: number }>;
  graphPage(options?: { file?: string; method?: string; args?: Value[]; repeat?: number }): Promise<string>;
  free(): Promise<void>;
}
export class SconceWorker {
  constructor();
  loadModel(bytes: Uint8Array | ArrayBuffer): Promise<RemoteModel>;
  version(): Promise<string>;
  /** Ends the worker, and every call that runs there. */
  terminate(): void;
}
