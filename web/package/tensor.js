// Tensors and other values of models, as JavaScript has them: what index.js and lite.js share.

// By name: the number in files and in C, and the typed array. float16 and bfloat16 are their bits, complex numbers pairs.
export const DTYPES = {
  uint8: [0, Uint8Array], int8: [1, Int8Array], int16: [2, Int16Array], int32: [3, Int32Array], int64: [4, BigInt64Array],
  float16: [5, Uint16Array], float32: [6, Float32Array], float64: [7, Float64Array], complex64: [9, Float32Array],
  complex128: [10, Float64Array], bool: [11, Uint8Array], bfloat16: [15, Uint16Array], uint16: [27, Uint16Array],
  uint32: [28, Uint32Array], uint64: [29, BigUint64Array],
};
export const DTYPE_NAMES = Object.fromEntries(Object.entries(DTYPES).map(([name, [number]]) => [number, name]));

// What Python would raise; `kind` is the name of its class.
export class SconceError extends Error {
  constructor(message, kind) {
    super(message);
    this.name = 'SconceError';
    this.kind = kind;
  }
}

export const count = (shape) => shape.reduce((a, b) => a * b, 1);
export const isComplex = (dtype) => dtype === 'complex64' || dtype === 'complex128';

export class Tensor {
  constructor(data, shape, dtype) {
    const kind = DTYPES[dtype];
    if (!kind) throw new TypeError(`tensor: there is no dtype '${dtype}'; known are ${Object.keys(DTYPES).join(', ')}`);
    if (!(data instanceof kind[1])) {
      throw new TypeError(`tensor: ${dtype} lies in a ${kind[1].name}, got ${data?.constructor?.name ?? typeof data}`);
    }
    if (!shape.every((n) => Number.isInteger(n) && n >= 0)) {
      throw new RangeError(`tensor: a shape has whole numbers that are not negative, got [${shape}]`);
    }
    const wanted = count(shape) * (isComplex(dtype) ? 2 : 1);
    if (data.length !== wanted) {
      throw new RangeError(`tensor: shape [${shape}] of ${dtype} has ${wanted} numbers, got ${data.length}`);
    }
    this.data = data;
    this.shape = Object.freeze([...shape]);
    this.dtype = dtype;
    Object.freeze(this);
  }

  toArray() {
    const step = isComplex(this.dtype) ? 2 : 1;
    let at = 0;
    const element = () => {
      if (step === 2) return [this.data[at++], this.data[at++]];
      const x = this.data[at++];
      if (this.dtype === 'bool') return x !== 0;
      return typeof x === 'bigint' && Number.isSafeInteger(Number(x)) ? Number(x) : x;
    };
    const build = (dim) =>
      dim === this.shape.length ? element() : Array.from({ length: this.shape[dim] }, () => build(dim + 1));
    return build(0);
  }
}

export class Float {
  constructor(value) {
    this.value = Number(value);
  }
}
export const float = (value) => new Float(value);
export class Complex {
  constructor(real, imag) {
    this.real = Number(real);
    this.imag = Number(imag);
  }
}
export const complex = (real, imag) => new Complex(real, imag);
export class Tuple {
  constructor(items) {
    this.items = items;
  }
}
export const tuple = (...items) => new Tuple(items);

function flattened(data, out, shape, depth) {
  if (!Array.isArray(data)) {
    if (depth !== shape.length) throw new RangeError('tensor: nested arrays have different lengths');
    out.push(data);
    return;
  }
  if (shape.length === depth) {
    if (out.length > 0) throw new RangeError('tensor: nested arrays have different lengths');
    shape.push(data.length);
  }
  if (shape[depth] !== data.length) throw new RangeError('tensor: nested arrays have different lengths');
  for (const x of data) flattened(x, out, shape, depth + 1);
}

export function tensor(data, { shape, dtype } = {}) {
  if (ArrayBuffer.isView(data)) {
    const name = dtype ?? Object.keys(DTYPES).find((d) => data instanceof DTYPES[d][1] && d !== 'float16');
    if (!name) throw new TypeError(`tensor: no dtype lies in a ${data.constructor.name}`);
    return new Tensor(data, shape ?? [data.length / (isComplex(name) ? 2 : 1)], name);
  }
  const numbers = [], found = [];
  flattened(data, numbers, found, 0);
  const name = dtype ?? (numbers.length > 0 && numbers.every((x) => typeof x === 'boolean') ? 'bool' : 'float32');
  const kind = DTYPES[name];
  if (!kind) throw new TypeError(`tensor: there is no dtype '${name}'`);
  if (name === 'float16' || name === 'bfloat16' || isComplex(name)) {
    throw new TypeError(`tensor: ${name} is given as a ${kind[1].name}`);
  }
  const big = kind[1] === BigInt64Array || kind[1] === BigUint64Array;
  return new Tensor(kind[1].from(numbers, (x) => (big ? BigInt(x) : Number(x))), shape ?? found, name);
}

export function zeros(shape, dtype = 'float32') {
  const kind = DTYPES[dtype];
  if (!kind) throw new TypeError(`zeros: there is no dtype '${dtype}'`);
  return new Tensor(new kind[1](count(shape) * (isComplex(dtype) ? 2 : 1)), shape, dtype);
}

// Normal by the method of Box and Muller; whole numbers in [0, high). By Math.random: models have their own generator.
export function random(shape, dtype = 'float32', { high = 10 } = {}) {
  const t = zeros(shape, dtype);
  const normal = () => Math.sqrt(-2 * Math.log(1 - Math.random())) * Math.cos(2 * Math.PI * Math.random());
  const whole = () => Math.floor(Math.random() * (dtype === 'bool' ? 2 : high));
  if (dtype === 'float16' || dtype === 'bfloat16') throw new TypeError(`random: ${dtype} is not made here; float32 is`);
  const next = /^(float|complex)/.test(dtype) ? normal : /64$/.test(dtype) ? () => BigInt(whole()) : whole;
  for (let i = 0; i < t.data.length; ++i) t.data[i] = next();
  return t;
}

// --- the module's bytes, and its memory ------------------------------------------------------------------------------

const isNode = typeof process === 'object' && typeof process.versions?.node === 'string';

async function instantiate(wasm, imports) {
  if (wasm instanceof ArrayBuffer || ArrayBuffer.isView(wasm)) return WebAssembly.instantiate(wasm, imports);
  const url = new URL(wasm, import.meta.url);
  if (isNode && url.protocol === 'file:') {
    const { readFile } = await import('node:fs/promises');
    return WebAssembly.instantiate(await readFile(url), imports);
  }
  const response = await fetch(url);
  if (!response.ok) throw new SconceError(`${url}: ${response.status} ${response.statusText}`, 'RuntimeError');
  if (response.headers.get('Content-Type') === 'application/wasm') return WebAssembly.instantiateStreaming(response, imports);
  return WebAssembly.instantiate(await response.arrayBuffer(), imports);
}

// The module that `create` (Emscripten's script) makes of these bytes, or of those at this address.
export function startModule(create, wasm) {
  return new Promise((resolve, reject) => {
    create({
      instantiateWasm(imports, done) {
        instantiate(wasm, imports).then(({ instance, module }) => done(instance, module), reject);
        return {};
      },
    }).then(resolve, reject);
  });
}

export function textAt(m, at, length) {
  const end = length === undefined ? m.HEAPU8.indexOf(0, at) : at + length;
  return new TextDecoder().decode(m.HEAPU8.subarray(at, end));
}

// Memory of the module for the time of one call: what is taken is given back together.
export class Frame {
  taken = [];
  constructor(module) {
    this.m = module;
  }
  take(bytes) {
    const at = this.m._malloc(Math.max(bytes, 8)) >>> 0;
    if (at === 0) throw new SconceError(`no memory for ${bytes} bytes`, 'MemoryError');
    this.taken.push(at);
    return at;
  }
  text(s) {
    const bytes = new TextEncoder().encode(s);
    const at = this.take(bytes.length + 1);
    this.m.HEAPU8.set(bytes, at);
    this.m.HEAPU8[at + bytes.length] = 0;
    return [at, bytes.length];
  }
  end() {
    for (const at of this.taken) this.m._free(at);
  }
}

export function bytesOf(file) {
  const content = file instanceof ArrayBuffer ? new Uint8Array(file) : file;
  if (!(content instanceof Uint8Array)) throw new TypeError('loadModel takes the bytes of a file: an ArrayBuffer or Uint8Array');
  return content;
}
