// Recorded cases: a model, and what PyTorch gave for some inputs (tests/conformance).
import { readFile } from 'node:fs/promises';

const TYPES = {
  F32: ['float32', Float32Array], F64: ['float64', Float64Array], I64: ['int64', BigInt64Array], I32: ['int32', Int32Array],
  I16: ['int16', Int16Array], I8: ['int8', Int8Array], U8: ['uint8', Uint8Array], BOOL: ['bool', Uint8Array],
  F16: ['float16', Uint16Array], BF16: ['bfloat16', Uint16Array],
};

// {tensors: {t0: [data, shape, dtype]}, cases: [{inputs, out}]} of a .safetensors file beside a model: calls with tensors that
// return one, or all.
export async function readCases(path, all = false) {
  const file = await readFile(path);
  const length = Number(file.readBigUInt64LE(0));
  const header = JSON.parse(file.subarray(8, 8 + length).toString());
  const tensors = {};
  for (const [name, entry] of Object.entries(header)) {
    if (name === '__metadata__' || !TYPES[entry.dtype]) continue;
    const [dtype, array] = TYPES[entry.dtype];
    const [begin, end] = entry.data_offsets;
    const bytes = new Uint8Array(file.subarray(8 + length + begin, 8 + length + end));  // aligned, as a copy is
    tensors[name] = [new array(bytes.buffer, 0, bytes.length / array.BYTES_PER_ELEMENT), entry.shape, dtype];
  }
  const plain = (c) => all || (c.inputs.every((x) => x.t) && c.out?.t);
  const cases = JSON.parse(header.__metadata__.cases).filter((c) => c.inputs && plain(c));
  return { tensors, cases };
}

export function largestDifference(a, b) {
  let worst = 0;
  for (let i = 0; i < a.length; ++i) {
    const scale = Math.max(1, Math.abs(Number(b[i])));
    worst = Math.max(worst, Math.abs(Number(a[i]) - Number(b[i])) / scale);
  }
  return worst;
}
