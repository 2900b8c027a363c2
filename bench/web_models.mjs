// node web_models.mjs PACKAGE SHAPE TIMES MODEL...: how long each model takes in the web package under Node, on a random float32 tensor of
// the shape (1x3x224x224): its first call, and the least of so many. `SCONCE_CPU_LEVEL=2 sconce bench MODEL --random SHAPE` is its peer.
import { readFile } from 'node:fs/promises';
import { basename, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

const [packageDir, shape, times, ...models] = process.argv.slice(2);
const { loadModel, random } = await import(pathToFileURL(resolve(packageDir, 'index.js')));
for (const file of models) {
  const model = await loadModel(await readFile(file));
  const x = random(shape.split('x').map(Number));
  const taken = Array.from({ length: Number(times) }, () => {
    const start = performance.now();
    model.forward(x);
    return performance.now() - start;
  });
  console.log(`${basename(file)}: first ${taken[0].toFixed(1)} ms, least of ${times} ${Math.min(...taken).toFixed(2)} ms`);
  model.free();
}
