// node node_test.mjs PACKAGE CONFORMANCE [MODELS]: the package under Node against what was recorded from PyTorch: small
// programs of CONFORMANCE/programs, and MODELS' mobilenet_v3_small and resnet18 where they are.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { largestDifference, readCases } from './recorded.mjs';

const [packageDir, conformance, models] = process.argv.slice(2);
const sconce = await import(pathToFileURL(resolve(packageDir, 'index.js')));
const { complex, float, loadModel, tensor, Tensor, tuple, SconceError } = sconce;

async function check(path, tolerance) {
  const model = await loadModel(await readFile(path + '.pt'));
  const { tensors, cases } = await readCases(path + '.safetensors');
  assert.ok(cases.length > 0, `${path}: no cases`);
  for (const { inputs, out } of cases) {
    const args = inputs.map(({ t }) => new Tensor(...tensors[t]));
    const start = performance.now();
    const result = model.forward(...args);
    const milliseconds = performance.now() - start;
    const [data, shape] = tensors[out.t];
    assert.deepEqual([...result.shape], shape);
    const worst = largestDifference(result.data, data);
    assert.ok(worst <= tolerance, `${path}: differs by ${worst}`);
    console.log(`${path}: ${milliseconds.toFixed(1)} ms, differs by ${worst.toExponential(1)}`);
  }
  return model;
}

const mlp = await check(join(conformance, 'programs/MLP'), 1e-5);
assert.equal(mlp.call('describe', 1), 'b1');
assert.match(mlp.methods.find((x) => x.name === 'forward').signature, /^forward\(Tensor x\) -> Tensor/);
assert.throws(() => mlp.forward(tensor([[1, 2, 3]])), (e) => e instanceof SconceError && /linear|mat/i.test(e.message));
assert.throws(() => mlp.forward('text'), (e) => e instanceof SconceError && e.kind.length > 0);
assert.throws(() => tensor([[1, 2], [3]]), RangeError);
assert.throws(() => new Tensor(new Float32Array(3), [2, 2], 'float32'), RangeError);
await assert.rejects(loadModel(new Uint8Array([1, 2, 3])), SconceError);
const page = mlp.graphPage({ args: [tensor([[1, 2, 3, 4]])] });
assert.match(page, /aten::linear/);
assert.match(page, /"ns":/);
mlp.free();
assert.throws(() => mlp.forward(tensor([[1, 2, 3, 4]])), /freed/);
assert.deepEqual(tensor([[1, 2], [3, 4]], { dtype: 'int64' }).toArray(), [[1, 2], [3, 4]]);

await check(join(conformance, 'programs/ConvNet'), 1e-5);

// Every recorded program whose values have a form in JavaScript: numbers, texts, containers, errors, there and back.
const missing = (value) => value && typeof value === 'object' &&
  ('enum' in value || 'namedtuple' in value || Object.values(value).some(missing));
const argument = (value, type, tensors) => {
  if (Array.isArray(value)) return value.map((x) => argument(x, type, tensors));
  if (typeof value === 'number') return /float/.test(type) && !/int/.test(type) ? float(value) : value;
  if (!value || typeof value !== 'object') return value;
  if (value.t) return new Tensor(...tensors[value.t]);
  if (value.c) return complex(...value.c);
  if (value.tuple) return tuple(...value.tuple.map((x) => argument(x, type, tensors)));
  return new Map(value.dict.map((pair) => pair.map((x) => argument(x, type, tensors))));
};
const same = (got, want, tensors) => {
  if (Array.isArray(want) || want?.tuple) return (want.tuple ?? want).every((x, i) => same(got[i], x, tensors));
  if (want?.t) return largestDifference(got.data, tensors[want.t][0]) <= 1e-5 && String(got.shape) === String(tensors[want.t][1]);
  if (want?.c) return got.real === want.c[0] && got.imag === want.c[1];
  if (want?.dict) return want.dict.every(([k, v]) => same(got instanceof Map ? got.get(k) : got[k], v, tensors));
  return typeof want === 'number' ? Math.abs(got - want) <= 1e-12 * Math.abs(want) : got === want;
};
let ran = 0, left = 0;
for (const file of (await readdir(join(conformance, 'programs'))).filter((x) => x.endsWith('.pt'))) {
  const path = join(conformance, 'programs', file.slice(0, -3));
  const { tensors, cases } = await readCases(path + '.safetensors', true);
  const model = await loadModel(await readFile(path + '.pt'));
  const types = model.methods.find((x) => x.name === 'forward').arguments.map((x) => x.type);
  for (const { inputs, out, error } of cases) {
    const hasStrides = inputs.some((x) => x?.strides);  // arguments of JavaScript are dense
    if (missing(inputs) || missing(out) || hasStrides) {
      ++left;
      continue;
    }
    const run = () => model.forward(...inputs.map((x, i) => argument(x, types[i], tensors)));
    if (error !== undefined) assert.throws(run, SconceError, file);
    else assert.ok(same(run(), out, tensors), `${file}: ${JSON.stringify(out)} was expected`);
    ++ran;
  }
  model.free();
}
console.log(`${ran} calls of recorded programs, ${left} with values that JavaScript has not`);
assert.ok(ran >= 85);

// The same in a worker.
const { SconceWorker } = await import(pathToFileURL(resolve(packageDir, 'worker_client.js')));
const worker = new SconceWorker();
const far = await worker.loadModel(await readFile(join(conformance, 'programs/MLP.pt')));
assert.equal(await far.call('describe', 2), 'c1');
assert.deepEqual((await far.forward(tensor([[1, 2, 3, 4]]))).shape, [1, 2]);
await assert.rejects(far.forward(tensor([[1, 2, 3]])), SconceError);
assert.match(await far.graphPage(), /aten::linear/);
await far.free();
worker.terminate();
await assert.rejects(worker.version(), /terminated/);
for (const name of ['mobilenet_v3_small', 'resnet18']) {
  if (models && existsSync(join(models, name + '.pt'))) await check(join(models, name), 1e-4);
  else console.log(`left out: ${name} is not there`);
}
console.log('passed');
