// How values cross to a worker and back: structured clones lose classes, so they go as plain objects with a mark.
import { Complex, Float, Tensor, Tuple } from './tensor.js';

export function pack(v) {
  if (v instanceof Tensor) return { $: 'tensor', data: v.data, shape: [...v.shape], dtype: v.dtype };
  if (v instanceof Float) return { $: 'float', value: v.value };
  if (v instanceof Complex) return { $: 'complex', real: v.real, imag: v.imag };
  if (v instanceof Tuple) return { $: 'tuple', items: v.items.map(pack) };
  if (Array.isArray(v)) return v.map(pack);
  if (v instanceof Map) return { $: 'map', entries: [...v].map(([k, x]) => [pack(k), pack(x)]) };
  if (v && typeof v === 'object') return { $: 'object', entries: Object.entries(v).map(([k, x]) => [k, pack(x)]) };
  return v;
}

export function unpack(v) {
  if (Array.isArray(v)) return v.map(unpack);
  if (!v || typeof v !== 'object') return v;
  switch (v.$) {
    case 'tensor':
      return new Tensor(v.data, v.shape, v.dtype);
    case 'float':
      return new Float(v.value);
    case 'complex':
      return new Complex(v.real, v.imag);
    case 'tuple':
      return new Tuple(v.items.map(unpack));
    case 'map':
      return new Map(v.entries.map(([k, x]) => [unpack(k), unpack(x)]));
    default:
      return Object.fromEntries(v.entries.map(([k, x]) => [k, unpack(x)]));
  }
}
