// The page: a model from a dropped file, arguments from pictures, sound, text or chance, and what comes out.
import { float, random, tensor, zeros } from './index.js';
import { SconceWorker } from './worker_client.js';

const at = (id) => document.getElementById(id);
const worker = new SconceWorker();
worker.version();  // the module loads while the user looks for a file
let model = null, fileName = '', readers = [];

function say(text, isError = false) {
  at('status').textContent = text;
  at('status').classList.toggle('error', isError);
}

// Runs something that the user asked for; errors are said.
async function attempt(what, body) {
  say(`${what} …`);
  document.body.dataset.busy = 'yes';
  try {
    await body();
  } catch (error) {
    say(`${error.kind ? error.kind + ': ' : ''}${error.message}`, true);
  }
  delete document.body.dataset.busy;
}

// --- arguments ----------------------------------------------------------------------------------------------------

const parseShape = (text) => text.trim() === '' ? [] : text.split(/[x×,\s]+/).map((n) => {
  if (!/^\d+$/.test(n)) throw new Error(`'${text}' is no shape: sizes with x between them, as 1x3x224x224`);
  return Number(n);
});

// As torchvision's models expect them: short side to 256/224 of the size, the middle of it, mean and deviation of ImageNet.
async function fromPicture(file, shape) {
  const [height, width] = shape.slice(-2);
  const channels = shape.at(-3);
  if (shape.length < 3 || (channels !== 3 && channels !== 1)) throw new Error('a picture needs a shape …x3xHxW or …x1xHxW');
  const picture = await createImageBitmap(file);
  const scale = Math.max(width / picture.width, height / picture.height) * 256 / 224;
  const canvas = new OffscreenCanvas(width, height);
  const context = canvas.getContext('2d', { willReadFrequently: true });
  context.imageSmoothingQuality = 'high';
  context.drawImage(picture, (width - picture.width * scale) / 2, (height - picture.height * scale) / 2,
                    picture.width * scale, picture.height * scale);
  const pixels = context.getImageData(0, 0, width, height).data;
  const out = zeros(shape, 'float32'), mean = [0.485, 0.456, 0.406], deviation = [0.229, 0.224, 0.225];
  const plane = height * width;
  for (let i = 0; i < plane; ++i) {
    if (channels === 1) {
      out.data[i] = (0.299 * pixels[4 * i] + 0.587 * pixels[4 * i + 1] + 0.114 * pixels[4 * i + 2]) / 255;
    } else {
      for (let c = 0; c < 3; ++c) out.data[c * plane + i] = (pixels[4 * i + c] / 255 - mean[c]) / deviation[c];
    }
  }
  return out;
}

async function fromMicrophone(shape) {
  const stream = await navigator.mediaDevices.getUserMedia({ audio: true });
  const context = new AudioContext({ sampleRate: 16000 });
  const wanted = shape.reduce((a, b) => a * b, 1), out = zeros(shape, 'float32');
  const source = context.createMediaStreamSource(stream), node = context.createScriptProcessor(4096, 1, 1);
  let have = 0;
  await new Promise((done) => {
    node.onaudioprocess = ({ inputBuffer }) => {
      const block = inputBuffer.getChannelData(0).subarray(0, wanted - have);
      out.data.set(block, have);
      have += block.length;
      if (have === wanted) done();
    };
    source.connect(node).connect(context.destination);
    context.resume();
  });
  stream.getTracks().forEach((track) => track.stop());
  await context.close();
  return out;
}

// A field for an argument, and a function that reads it.
function field({ name, type }) {
  const box = document.createElement('fieldset');
  box.innerHTML = '<legend></legend>';
  box.firstChild.textContent = `${name}: ${type}`;
  const add = (html) => {
    const holder = document.createElement('span');
    holder.innerHTML = html + ' ';
    box.append(holder);
    return holder.firstChild;
  };
  if (type === 'Tensor') {
    const source = add('<select><option value="random">random</option><option value="zeros">zeros</option>' +
      '<option value="picture">picture</option><option value="microphone">microphone</option>' +
      '<option value="text">text (bytes)</option><option value="numbers">numbers</option></select>');
    const shape = add('<input type="text" value="1x3x224x224" title="Shape">');
    const dtype = add('<select><option>float32</option><option>float64</option><option>int64</option><option>bool</option></select>');
    const file = add('<input type="file" accept="image/*" hidden>');
    const text = add('<input type="text" hidden>');
    for (const [part, attribute] of [[source, 'source'], [shape, 'shape'], [dtype, 'dtype'], [text, 'text']]) {
      part.dataset[attribute] = name;
    }
    source.onchange = () => {
      file.hidden = source.value !== 'picture';
      text.hidden = source.value !== 'text' && source.value !== 'numbers';
      shape.hidden = source.value === 'text' || source.value === 'numbers';
    };
    return [box, async () => {
      switch (source.value) {
        case 'random':
          return random(parseShape(shape.value), dtype.value);
        case 'zeros':
          return zeros(parseShape(shape.value), dtype.value);
        case 'picture':
          if (!file.files[0]) throw new Error(`${name}: choose a picture`);
          return fromPicture(file.files[0], parseShape(shape.value));
        case 'microphone':
          return fromMicrophone(parseShape(shape.value));
        case 'text': {
          const bytes = [...new TextEncoder().encode(text.value)];
          return tensor([bytes], { dtype: 'int64' });
        }
        default:
          return tensor(JSON.parse(text.value), { dtype: dtype.value });
      }
    }];
  }
  if (type === 'bool') {
    const tick = add('<input type="checkbox">');
    return [box, async () => tick.checked];
  }
  const input = add('<input type="text">');
  input.placeholder = type === 'str' ? 'text' : 'as JSON; empty: null';
  return [box, async () => {
    if (type === 'str') return input.value;
    if (input.value.trim() === '') return null;
    const value = JSON.parse(input.value);
    return type === 'float' ? float(value) : value;
  }];
}

function showMethod() {
  const method = model.methods[at('method').selectedIndex];
  at('signature').textContent = method.signature;
  const made = method.arguments.map(field);
  readers = made.map(([, read]) => read);
  at('arguments').replaceChildren(...made.map(([box]) => box));
}
const readArguments = () => Promise.all(readers.map((read) => read()));

// --- results ------------------------------------------------------------------------------------------------------

function describe(value, depth = 0) {
  const indent = '  '.repeat(depth);
  if (value && value.shape && value.data) {
    const numbers = Array.from(value.data.subarray(0, 8), (x) => typeof x === 'bigint' ? x : Number(x.toPrecision(6)));
    let text = `${indent}${value.dtype} [${value.shape.join(', ')}]: ${numbers.join(', ')}${value.data.length > 8 ? ', …' : ''}`;
    if (value.dtype === 'float32' && value.shape.length === 2 && value.shape[0] === 1 && value.shape[1] >= 10) {
      const order = [...value.data.keys()].sort((a, b) => value.data[b] - value.data[a]).slice(0, 5);
      text += `\n${indent}largest: ` + order.map((i) => `${i} (${value.data[i].toPrecision(5)})`).join(', ');
    }
    return text;
  }
  if (Array.isArray(value)) return `${indent}[\n${value.map((x) => describe(x, depth + 1)).join('\n')}\n${indent}]`;
  if (value && typeof value === 'object') {
    const entries = value instanceof Map ? [...value] : Object.entries(value);
    return entries.map(([k, x]) => `${indent}${String(k)}:\n${describe(x, depth + 1)}`).join('\n');
  }
  return indent + String(value);
}

async function showGraph(args, repeat) {
  const method = model.methods[at('method').selectedIndex].name;
  const page = await model.graphPage({ file: fileName, method, args, repeat });
  const frame = at('graph');
  URL.revokeObjectURL(frame.src);
  frame.dataset.shown = 'no';
  frame.onload = () => { frame.dataset.shown = 'yes'; };
  frame.src = URL.createObjectURL(new Blob([page], { type: 'text/html' }));
}

async function open(file) {
  await attempt(`reading ${file.name}`, async () => {
    const loaded = await worker.loadModel(await file.arrayBuffer());
    await model?.free();
    model = loaded;
    fileName = file.name;
    at('method').replaceChildren(...model.methods.map((x) => new Option(x.name)));
    const forward = model.methods.findIndex((x) => x.name === 'forward');
    at('method').selectedIndex = Math.max(forward, 0);
    showMethod();
    document.querySelector('main').hidden = false;
    at('outputs').replaceChildren();
    at('time').textContent = '';
    try {
      await showGraph();
      say(`${file.name}: ${model.methods.length} methods`);
    } catch (error) {
      say(`${file.name}: no graph to show: ${error.message}`);
    }
  });
}

at('file').onchange = () => at('file').files[0] && open(at('file').files[0]);
at('method').onchange = () => attempt('drawing', async () => {
  showMethod();
  await showGraph();
  say('');
});
for (const name of ['dragover', 'dragenter']) {
  addEventListener(name, (event) => {
    event.preventDefault();
    at('drop').classList.add('over');
  });
}
addEventListener('dragleave', () => at('drop').classList.remove('over'));
addEventListener('drop', (event) => {
  event.preventDefault();
  at('drop').classList.remove('over');
  if (event.dataTransfer.files[0]) open(event.dataTransfer.files[0]);
});
at('run').onclick = () => attempt('running', async () => {
  const args = await readArguments();
  const { result, milliseconds } = await model.timedCall(model.methods[at('method').selectedIndex].name, ...args);
  at('time').textContent = `${milliseconds.toFixed(1)} ms`;
  const text = document.createElement('pre');
  text.textContent = describe(result);
  at('outputs').replaceChildren(text);
  say('done');
});
at('times').onclick = () => attempt('running, node by node', async () => {
  const args = await readArguments();
  const { milliseconds } = await model.timedCall(model.methods[at('method').selectedIndex].name, ...args);
  const repeat = Math.max(3, Math.min(50, Math.round(1000 / milliseconds)));
  await showGraph(args, repeat);
  say(`times are means of ${repeat} runs, operator by operator`);
});
document.body.dataset.ready = 'yes';
