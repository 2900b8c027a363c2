// Types of the package `sconce`: PyTorch's models in Node and in browsers.
import { Value } from './tensor.js';

export * from './tensor.js';

export interface Argument {
  readonly name: string;
  /** As in a schema: 'Tensor', 'List[int]'. */
  readonly type: string;
}
export interface Method {
  readonly name: string;
  /** 'forward(Tensor x) -> Tensor' */
  readonly signature: string;
  readonly arguments: readonly Argument[];
}

export interface Model {
  readonly methods: readonly Method[];
  forward(...args: Value[]): Value;
  call(method: string, ...args: Value[]): Value;
  /** The page of `sconce ir --html`: a whole document. With arguments it has the times of every node: means of `repeat`
   * runs (10), since a browser's clock has steps of up to 0.1 ms. */
  graphPage(options?: { file?: string; method?: string; args?: Value[]; repeat?: number }): string;
  /** Gives the memory back; the model cannot be used any more. */
  free(): void;
}

/** A TorchScript archive, an exported program or a file of the lite interpreter. Throws SconceError. */
export function loadModel(bytes: Uint8Array | ArrayBuffer): Promise<Model>;

/** Loads the module; the other functions do so themselves. `wasm`: its bytes, or where it is when not beside index.js. */
export function init(options?: { wasm?: Uint8Array | ArrayBuffer | URL | string }): Promise<void>;
export function manualSeed(seed: number | bigint): Promise<void>;
export function version(): Promise<string>;
