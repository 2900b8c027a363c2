// Tensors and other values of models: what the packages `sconce` and `sconce-lite` share.

export type DType =
  | 'uint8' | 'int8' | 'int16' | 'int32' | 'int64' | 'float16' | 'float32' | 'float64' | 'complex64' | 'complex128'
  | 'bool' | 'bfloat16' | 'uint16' | 'uint32' | 'uint64';

/** Elements in order, the last dimension fastest. float16 and bfloat16 are their bits; complex numbers are pairs. */
export type TensorData =
  | Uint8Array | Int8Array | Int16Array | Uint16Array | Int32Array | Uint32Array | BigInt64Array | BigUint64Array
  | Float32Array | Float64Array;

export class Tensor {
  readonly dtype: DType;
  readonly shape: readonly number[];
  readonly data: TensorData;
  constructor(data: TensorData, shape: readonly number[], dtype: DType);
  /** Nested arrays of numbers; a number for a tensor without dimensions. int64 becomes numbers where that is exact. */
  toArray(): unknown;
}

/** What methods take and return. Numbers that are whole are passed as int, others as float: float(2) is a float. */
export type Value =
  | null | boolean | number | bigint | string | Tensor | Float | Complex | Tuple | Value[] | Map<Value, Value>
  | { [key: string]: Value };

/** A number that is a float even where it is whole. */
export class Float {
  readonly value: number;
  constructor(value: number);
}
export function float(value: number): Float;

/** A complex number, as argument and as result. */
export class Complex {
  readonly real: number;
  readonly imag: number;
  constructor(real: number, imag: number);
}
export function complex(real: number, imag: number): Complex;

/** An array that is a tuple, not a list. Results that are tuples are plain arrays. */
export class Tuple {
  readonly items: Value[];
  constructor(items: Value[]);
}
export function tuple(...items: Value[]): Tuple;

/** From a typed array (its type says the dtype), numbers, or nested arrays of numbers (float32, unless said). */
export function tensor(data: TensorData | ArrayLike<number | boolean | bigint> | unknown[] | number | boolean,
                       options?: { shape?: readonly number[]; dtype?: DType }): Tensor;
/** Zeros. */
export function zeros(shape: readonly number[], dtype?: DType): Tensor;
/** Normal numbers; of whole types, those in [0, high), else below 10. By Math.random. */
export function random(shape: readonly number[], dtype?: DType, options?: { high?: number }): Tensor;

/** What went wrong, in the library's words. `kind`: what Python would raise ('RuntimeError', 'TypeError', ...). */
export class SconceError extends Error {
  readonly kind: string;
}
