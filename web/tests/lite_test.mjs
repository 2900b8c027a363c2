// node lite_test.mjs PACKAGE MODEL CASES [OTHER]: a package of one model (docs/web.md) under Node against what was recorded from
// PyTorch: MODEL is a lite archive, CASES the recorded inputs and results, OTHER a model that needs operators which it lacks.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { largestDifference, readCases } from './recorded.mjs';

const [packageDir, file, recorded, other] = process.argv.slice(2);
const { loadModel, selection, tensor, Tensor, SconceError } = await import(pathToFileURL(resolve(packageDir, 'lite.js')));

const model = await loadModel(await readFile(file));
assert.match(await selection(), /^(level|dtype|op) /);
const { tensors, cases } = await readCases(recorded);
assert.ok(cases.length > 0, `${recorded}: no cases`);
for (const { inputs, out } of cases) {
  const args = inputs.map(({ t }) => new Tensor(...tensors[t]));
  for (let run = 0; run < 3; ++run) {  // the second has an arena, the third nothing new
    const result = model.forward(...args);
    const [data, shape] = tensors[out.t];
    assert.deepEqual([...result.shape], shape);
    const worst = largestDifference(result.data, data);
    assert.ok(worst <= 1e-4, `${file}: differs by ${worst}`);
    if (run === 2) console.log(`${file}: differs by ${worst.toExponential(1)}`);
  }
}
assert.throws(() => model.forward('text'), (e) => e instanceof SconceError && e.message.length > 10);
assert.throws(() => model.forward(tensor([[1, 2, 3]])), SconceError);
assert.throws(() => model.call('nothing'), /there is no method 'nothing'/);
if (model.methods.some((x) => x.name === 'describe')) assert.equal(model.call('describe', 1), 'b1');
await assert.rejects(loadModel(new Uint8Array([1, 2, 3])), SconceError);
if (other) {
  await assert.rejects(loadModel(await readFile(other)),
                       (e) => e instanceof SconceError && e.kind === 'NotSelected' && /aten::/.test(e.message));
}
model.free();
assert.throws(() => model.forward(tensor([1])), /freed/);
console.log('passed');
