// PyTorch's models in Node and in browsers: a face for the C interface (sconce/api/sconce.h) of the WebAssembly module.
import createModule from './sconce.mjs';
import {
  bytesOf, Complex, count, DTYPE_NAMES, DTYPES, Float, Frame, isComplex, SconceError, startModule, Tensor, textAt, Tuple,
} from './tensor.js';

export { Complex, complex, Float, float, random, SconceError, Tensor, tensor, Tuple, tuple, zeros } from './tensor.js';

const KIND = { none: 0, bool: 1, int: 2, float: 3, complex: 4, string: 5, tensor: 6, list: 7, tuple: 8, dict: 9 };
const ERROR_NAMES = [null, 'InvalidArgument', 'MemoryError', 'InternalError', 'RuntimeError', 'TypeError', 'ValueError',
  'IndexError', 'KeyError', 'NotImplementedError', 'ZeroDivisionError', 'OverflowError', 'CompileError', 'ScriptError',
  'LimitReached'];

// --- the module ---------------------------------------------------------------------------------------------------

let loading = null;
let m = null;  // once it is there

export function init({ wasm } = {}) {
  loading ??= startModule(createModule, wasm ?? new URL('./sconce.wasm', import.meta.url)).then((made) => {
    m = made;
  });
  return loading;
}

// Beside memory, values that the C interface has made.
class Values extends Frame {
  values = [];
  // Calls f with room for a pointer at the end, and gives what stands there.
  made(f, ...args) {
    const out = this.take(4);
    check(f(...args, out));
    const value = m.HEAPU32[out >>> 2];
    this.values.push(value);
    return value;
  }
  addresses(list) {
    const at = this.take(4 * list.length);
    m.HEAPU32.set(list, at >>> 2);
    return at;
  }
  end() {
    for (const v of this.values) m._sconce_value_free(v);
    super.end();
  }
}

function within(body) {
  const frame = new Values(m);
  try {
    return body(frame);
  } finally {
    frame.end();
  }
}

const text = (at, length) => textAt(m, at >>> 0, length);

function check(status) {
  if (status !== 0) throw new SconceError(text(m._sconce_last_error()), ERROR_NAMES[status] ?? `status ${status}`);
}

function toTensor(frame, t) {
  const [number] = DTYPES[t.dtype];
  const bytes = new Uint8Array(t.data.buffer, t.data.byteOffset, t.data.byteLength);
  const sizes = frame.take(8 * t.shape.length);
  new BigInt64Array(m.HEAPU8.buffer, sizes, t.shape.length).set(t.shape.map(BigInt));
  const value = frame.made(m._sconce_tensor_zeros, number, t.shape.length, sizes);
  const out = frame.take(4);
  check(m._sconce_tensor_data(value, out));
  if (bytes.length > 0) m.HEAPU8.set(bytes, m.HEAPU32[out >>> 2]);
  return value;
}

function toValue(frame, v) {
  if (v === null || v === undefined) return frame.made(m._sconce_none);
  if (v instanceof Tensor) return toTensor(frame, v);
  if (v instanceof Float) return frame.made(m._sconce_float, v.value);
  if (v instanceof Complex) return frame.made(m._sconce_complex, v.real, v.imag);
  if (v instanceof Tuple) return sequence(frame, m._sconce_tuple, v.items);
  switch (typeof v) {
    case 'boolean':
      return frame.made(m._sconce_bool, v ? 1 : 0);
    case 'bigint':
      return frame.made(m._sconce_int, v);
    case 'number':
      return Number.isSafeInteger(v) ? frame.made(m._sconce_int, BigInt(v)) : frame.made(m._sconce_float, v);
    case 'string':
      return frame.made(m._sconce_string, ...frame.text(v));
  }
  if (Array.isArray(v)) return sequence(frame, m._sconce_list, v);
  if (typeof v === 'object' && (v instanceof Map || Object.getPrototypeOf(v) === Object.prototype)) {
    const entries = v instanceof Map ? [...v] : Object.entries(v);
    const keys = frame.addresses(entries.map(([k]) => toValue(frame, k)));
    const values = frame.addresses(entries.map(([, x]) => toValue(frame, x)));
    return frame.made(m._sconce_dict, keys, values, entries.length);
  }
  throw new TypeError(`a ${v?.constructor?.name ?? typeof v} is no argument: tensors, numbers, strings, arrays and maps are`);
}

function sequence(frame, make, items) {
  return frame.made(make, frame.addresses(items.map((x) => toValue(frame, x))), items.length);
}

function fromTensor(frame, value) {
  const out = frame.take(8);
  check(m._sconce_tensor_dtype(value, out));
  const dtype = DTYPE_NAMES[m.HEAPU32[out >>> 2]];
  if (!dtype) throw new SconceError(`tensors of dtype ${m.HEAPU32[out >>> 2]} have no typed array`, 'NotImplementedError');
  check(m._sconce_tensor_dimensions(value, out));
  const dims = m.HEAPU32[out >>> 2];
  check(m._sconce_tensor_sizes(value, out));
  const sizes = new BigInt64Array(m.HEAPU8.buffer, m.HEAPU32[out >>> 2], dims);
  const shape = Array.from(sizes, Number);
  const data = new DTYPES[dtype][1](count(shape) * (isComplex(dtype) ? 2 : 1));
  if (data.byteLength > 0) {
    const at = frame.take(data.byteLength);
    check(m._sconce_tensor_read(value, at, data.byteLength));
    new Uint8Array(data.buffer).set(m.HEAPU8.subarray(at, at + data.byteLength));
  }
  return new Tensor(data, shape, dtype);
}

function fromValue(frame, value) {
  const kind = m._sconce_kind_of(value);
  const out = frame.take(16);
  switch (kind) {
    case KIND.none:
      return null;
    case KIND.bool:
      check(m._sconce_get_bool(value, out));
      return m.HEAP32[out >>> 2] !== 0;
    case KIND.int: {
      check(m._sconce_get_int(value, out));
      const n = new BigInt64Array(m.HEAPU8.buffer, out, 1)[0];
      return Number.isSafeInteger(Number(n)) ? Number(n) : n;
    }
    case KIND.float:
      check(m._sconce_get_float(value, out));
      return m.HEAPF64[out >>> 3];
    case KIND.complex:
      check(m._sconce_get_complex(value, out, out + 8));
      return new Complex(m.HEAPF64[out >>> 3], m.HEAPF64[(out >>> 3) + 1]);
    case KIND.string:
      check(m._sconce_get_string(value, out, out + 4));
      return text(m.HEAPU32[out >>> 2], m.HEAPU32[(out >>> 2) + 1]);
    case KIND.tensor:
      return fromTensor(frame, value);
    case KIND.list:
    case KIND.tuple: {
      check(m._sconce_get_length(value, out));
      return Array.from({ length: m.HEAPU32[out >>> 2] }, (_, i) => fromValue(frame, frame.made(m._sconce_get_item, value, i)));
    }
    case KIND.dict: {
      check(m._sconce_get_length(value, out));
      const entries = Array.from({ length: m.HEAPU32[out >>> 2] }, (_, i) => {
        const pair = frame.take(8);
        check(m._sconce_get_entry(value, i, pair, pair + 4));
        const [key, item] = m.HEAPU32.subarray(pair >>> 2, (pair >>> 2) + 2);
        frame.values.push(key, item);
        return [fromValue(frame, key), fromValue(frame, item)];
      });
      return entries.every(([k]) => typeof k === 'string') ? Object.fromEntries(entries) : new Map(entries);
    }
    default:  // objects: how Python would print them
      return fromValue(frame, frame.made(m._sconce_repr, value));
  }
}

class LoadedModel {
  #handle;
  constructor(handle) {
    this.#handle = handle;
    this.methods = Object.freeze(Array.from({ length: m._sconce_method_count(handle) }, (_, i) => Object.freeze({
      name: text(m._sconce_method_name(handle, i)),
      signature: text(m._sconce_method_signature(handle, i)),
      arguments: Object.freeze(Array.from({ length: m._sconce_argument_count(handle, i) }, (_, k) => Object.freeze({
        name: text(m._sconce_argument_name(handle, i, k)),
        type: text(m._sconce_argument_type(handle, i, k)),
      }))),
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
    return within((frame) => {
      const given = frame.addresses(args.map((x) => toValue(frame, x)));
      return fromValue(frame, frame.made(m._sconce_call, handle, frame.text(method)[0], given, args.length));
    });
  }
  graphPage({ file = 'model.pt', method = 'forward', args, repeat = 10 } = {}) {
    const handle = this.#alive();
    return within((frame) => {
      const given = frame.addresses((args ?? []).map((x) => toValue(frame, x)));
      return fromValue(frame, frame.made(m._sconce_web_graph_page, handle, frame.text(file)[0], frame.text(method)[0],
                                         given, args?.length ?? 0, args ? repeat : 0));
    });
  }
  free() {
    m._sconce_module_free(this.#alive());
    this.#handle = 0;
  }
}

export async function loadModel(bytes) {
  await init();
  const content = bytesOf(bytes);
  return within((frame) => {
    const at = frame.take(content.length);
    m.HEAPU8.set(content, at);
    const out = frame.take(4);
    check(m._sconce_load_memory(at, content.length, out));
    return new LoadedModel(m.HEAPU32[out >>> 2]);
  });
}

export async function manualSeed(seed) {
  await init();
  check(m._sconce_manual_seed(BigInt(seed)));
}

export async function version() {
  await init();
  return text(m._sconce_version());
}
