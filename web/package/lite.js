// Models in a module that has the operators of one selection alone: a face for sconce/lite/sconce_lite.h.
import createModule from './sconce_lite.mjs';
import {
  bytesOf, Complex, count, DTYPE_NAMES, DTYPES, Float, Frame, isComplex, SconceError, startModule, Tensor, textAt, Tuple,
} from './tensor.js';

export { Complex, complex, Float, float, random, SconceError, Tensor, tensor, Tuple, tuple, zeros } from './tensor.js';

const KIND = {
  none: 0, tensor: 1, boolean: 2, integer: 3, real: 4, complex: 5, text: 6, list: 7, tuple: 8, dict: 9, other: 10,
};
const ERROR_NAMES = [null, 'InvalidArgument', 'MemoryError', 'InternalError', 'BadModel', 'NotSelected', 'RuntimeError'];
const MAX_RANK = 8;
// struct sconce_lite_value: where its union begins, where members of a tensor lie in that, and its size.
const UNION = 8, TENSOR = { dtype: 0, rank: 4, sizes: 8, strides: 8 + 8 * MAX_RANK, data: 8 + 16 * MAX_RANK };
const VALUE_BYTES = UNION + TENSOR.data + 8;

let loading = null;
let m = null;  // once it is there

export function init({ wasm } = {}) {
  loading ??= startModule(createModule, wasm ?? new URL('./sconce_lite.wasm', import.meta.url)).then((made) => {
    m = made;
  });
  return loading;
}

const text = (at, length) => textAt(m, at >>> 0, length);
const view = () => new DataView(m.HEAPU8.buffer);

function check(status) {
  if (status === 0) return;
  const raised = text(m._sconce_lite_last_exception()).split('.').at(-1);
  throw new SconceError(text(m._sconce_lite_last_error()), raised || (ERROR_NAMES[status] ?? `status ${status}`));
}

function within(body) {
  const frame = new Frame(m);
  try {
    return body(frame);
  } finally {
    frame.end();
  }
}

// --- values ---------------------------------------------------------------------------------------------------------

function putTensor(frame, at, t) {
  if (t.shape.length > MAX_RANK) throw new RangeError(`a tensor has at most ${MAX_RANK} dimensions, got ${t.shape.length}`);
  const bytes = new Uint8Array(t.data.buffer, t.data.byteOffset, t.data.byteLength);
  const data = frame.take(bytes.length + 64);
  const aligned = Math.ceil(data / 64) * 64;
  m.HEAPU8.set(bytes, aligned);
  const memory = view(), u = at + UNION;
  memory.setInt32(at, KIND.tensor, true);
  memory.setInt32(u + TENSOR.dtype, DTYPES[t.dtype][0], true);
  memory.setInt32(u + TENSOR.rank, t.shape.length, true);
  memory.setUint32(u + TENSOR.data, aligned, true);
  let step = 1;
  for (let i = t.shape.length - 1; i >= 0; --i) {
    memory.setBigInt64(u + TENSOR.sizes + 8 * i, BigInt(t.shape[i]), true);
    memory.setBigInt64(u + TENSOR.strides + 8 * i, BigInt(step), true);
    step *= t.shape[i];
  }
}

function putItems(frame, at, kind, items) {
  const values = frame.take(VALUE_BYTES * items.length);
  items.forEach((x, i) => put(frame, values + VALUE_BYTES * i, x));
  const memory = view();
  memory.setInt32(at, kind, true);
  memory.setUint32(at + UNION, values, true);
  memory.setUint32(at + UNION + 4, items.length, true);
}

function put(frame, at, v) {
  if (v instanceof Tensor) return putTensor(frame, at, v);
  if (v instanceof Tuple) return putItems(frame, at, KIND.tuple, v.items);
  if (Array.isArray(v)) return putItems(frame, at, KIND.list, v);
  if (v instanceof Map) return putItems(frame, at, KIND.dict, [...v].flat(1));
  if (v && typeof v === 'object' && Object.getPrototypeOf(v) === Object.prototype) {
    return putItems(frame, at, KIND.dict, Object.entries(v).flat(1));
  }
  const u = at + UNION;
  if (v === null || v === undefined) {
    view().setInt32(at, KIND.none, true);
  } else if (typeof v === 'boolean') {
    view().setInt32(at, KIND.boolean, true);
    view().setInt32(u, v ? 1 : 0, true);
  } else if (typeof v === 'bigint' || (typeof v === 'number' && Number.isSafeInteger(v))) {
    view().setInt32(at, KIND.integer, true);
    view().setBigInt64(u, BigInt(v), true);
  } else if (typeof v === 'number' || v instanceof Float) {
    view().setInt32(at, KIND.real, true);
    view().setFloat64(u, v instanceof Float ? v.value : v, true);
  } else if (v instanceof Complex) {
    view().setInt32(at, KIND.complex, true);
    view().setFloat64(u, v.real, true);
    view().setFloat64(u + 8, v.imag, true);
  } else if (typeof v === 'string') {
    const [bytes, size] = frame.text(v);
    view().setInt32(at, KIND.text, true);
    view().setUint32(u, bytes, true);
    view().setUint32(u + 4, size, true);
  } else {
    throw new TypeError(`a ${v?.constructor?.name ?? typeof v} is no argument: tensors, numbers, strings, arrays and maps are`);
  }
}

// Elements in the order of the sizes, from wherever their strides say that they are.
function readTensor(u) {
  const memory = view();
  const number = memory.getInt32(u + TENSOR.dtype, true), dtype = DTYPE_NAMES[number];
  if (!dtype) throw new SconceError(`tensors of dtype ${number} have no typed array`, 'NotImplementedError');
  const rank = memory.getInt32(u + TENSOR.rank, true);
  const member = (at) => Array.from({ length: rank }, (_, i) => Number(memory.getBigInt64(u + at + 8 * i, true)));
  const shape = member(TENSOR.sizes), strides = member(TENSOR.strides);
  const type = DTYPES[dtype][1], per = isComplex(dtype) ? 2 : 1, n = count(shape);
  const out = new type(n * per);
  if (n === 0) return new Tensor(out, shape, dtype);
  const last = shape.reduce((sum, size, i) => sum + (size - 1) * strides[i], 0);
  const from = new type(m.HEAPU8.buffer, memory.getUint32(u + TENSOR.data, true), (last + 1) * per);
  const index = new Array(rank).fill(0);
  for (let i = 0, at = 0; i < n; ++i) {
    for (let p = 0; p < per; ++p) out[i * per + p] = from[at * per + p];
    for (let d = rank - 1; d >= 0; --d) {
      at += strides[d];
      if (++index[d] < shape[d]) break;
      at -= strides[d] * shape[d];
      index[d] = 0;
    }
  }
  return new Tensor(out, shape, dtype);
}

function read(at) {
  const memory = view(), u = at + UNION;
  const items = () => Array.from({ length: memory.getUint32(u + 4, true) },
                                 (_, i) => read(memory.getUint32(u, true) + VALUE_BYTES * i));
  const kind = memory.getInt32(at, true);
  switch (kind) {
    case KIND.none:
      return null;
    case KIND.tensor:
      return readTensor(u);
    case KIND.boolean:
      return memory.getInt32(u, true) !== 0;
    case KIND.integer: {
      const n = memory.getBigInt64(u, true);
      return Number.isSafeInteger(Number(n)) ? Number(n) : n;
    }
    case KIND.real:
      return memory.getFloat64(u, true);
    case KIND.complex:
      return new Complex(memory.getFloat64(u, true), memory.getFloat64(u + 8, true));
    case KIND.text:
    case KIND.other:
      return text(memory.getUint32(u, true), memory.getUint32(u + 4, true));
    case KIND.list:
    case KIND.tuple:
      return items();
    case KIND.dict: {
      const flat = items(), entries = [];
      for (let i = 0; i < flat.length; i += 2) entries.push([flat[i], flat[i + 1]]);
      return entries.every(([k]) => typeof k === 'string') ? Object.fromEntries(entries) : new Map(entries);
    }
    default:
      throw new SconceError(`a value of kind ${kind}`, 'InternalError');
  }
}

// --- models ---------------------------------------------------------------------------------------------------------

class LiteModel {
  #handle;
  #bytes;
  constructor(handle, bytes) {
    this.#handle = handle;
    this.#bytes = bytes;
    this.methods = Object.freeze(Array.from({ length: m._sconce_lite_method_count(handle) }, (_, i) => Object.freeze({
      name: text(m._sconce_lite_method_name(handle, i)),
      signature: text(m._sconce_lite_method_signature(handle, i)),
    })));
  }
  #alive() {
    if (this.#handle === 0) throw new SconceError('the model was freed', 'RuntimeError');
    return this.#handle;
  }
  forward(...args) {
    return this.call('forward', ...args);
  }
  call(method, ...args) {
    const handle = this.#alive();
    const number = this.methods.findIndex((x) => x.name === method);
    if (number < 0) {
      throw new SconceError(`there is no method '${method}'; there are ${this.methods.map((x) => x.name).join(', ')}`,
                            'AttributeError');
    }
    return within((frame) => {
      const given = frame.take(VALUE_BYTES * args.length), out = frame.take(4);
      args.forEach((x, i) => put(frame, given + VALUE_BYTES * i, x));
      check(m._sconce_lite_run(handle, number, given, args.length, out));
      return read(m.HEAPU32[out >>> 2]);
    });
  }
  free() {
    m._sconce_lite_free(this.#alive());
    m._free(this.#bytes);
    this.#handle = 0;
  }
}

export async function loadModel(bytes) {
  await init();
  const content = bytesOf(bytes);
  // Weights are used where they lie, at a multiple of 64.
  const memory = m._malloc(content.length + 64) >>> 0;
  if (memory === 0) throw new SconceError(`no memory for ${content.length} bytes`, 'MemoryError');
  const aligned = Math.ceil(memory / 64) * 64;
  m.HEAPU8.set(content, aligned);
  try {
    return within((frame) => {
      const out = frame.take(4);
      check(m._sconce_lite_load(aligned, content.length, 0, out));
      return new LiteModel(m.HEAPU32[out >>> 2], memory);
    });
  } catch (error) {
    m._free(memory);
    throw error;
  }
}

export async function selection() {
  await init();
  return text(m._sconce_lite_selection());
}
