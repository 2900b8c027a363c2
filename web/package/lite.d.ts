// Types of the package `sconce-lite`: models with the operators of one selection (`sconce select`).
import { Value } from './tensor.js';

export * from './tensor.js';

export interface LiteMethod {
  readonly name: string;
  /** 'forward(Tensor x, int times=1) -> Tensor' */
  readonly signature: string;
}

export interface LiteModel {
  readonly methods: readonly LiteMethod[];
  forward(...args: Value[]): Value;
  call(method: string, ...args: Value[]): Value;
  /** Gives the memory back; the model cannot be used any more. */
  free(): void;
}

/** A lite archive (.ptl) or a compiled file (.scx). Throws SconceError: 'NotSelected' where it needs other operators. */
export function loadModel(bytes: Uint8Array | ArrayBuffer): Promise<LiteModel>;

/** Loads the module; loadModel does so itself. `wasm`: its bytes, or where it is when not beside lite.js. */
export function init(options?: { wasm?: Uint8Array | ArrayBuffer | URL | string }): Promise<void>;

/** What the module was built with: 'op aten::relu\n...'. */
export function selection(): Promise<string>;
