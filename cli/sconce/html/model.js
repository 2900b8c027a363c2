// The graph as a tree of boxes. Leaves are operators and pills (inputs, results, what a loop carries); groups are
// submodules, called functions and control flow. Constants, attributes and lists of them are folded into their users.
//
//   item  {id, kind: "op" | "pill" | "group", parent, node, value, title, ...}; groups have children and open
//   edge  {from, to, value}: between leaves

function buildModel(data, graph, withAsides = false) {
  const items = [];
  const edges = [];
  const root = { id: -1, kind: "group", children: [], parent: null, open: true, depth: 0, title: graph.name };
  const producers = new Array(graph.values.length).fill(null);  // value -> the leaf that makes it
  const makers = new Array(graph.values.length).fill(null);     // value -> its node
  const users = graph.values.map(() => []);                     // value -> nodes
  const leafOf = new Map();                                     // node -> the item that shows it
  const text = foldedTexts(graph, makers);
  const hidden = withAsides ? new Set() : findAsides(data, graph);
  const handedOn = new Set(graph.blocks.flatMap((block) => block.outputs));

  graph.nodes.forEach((node, n) => {
    node.inputs.forEach((v) => users[v].push(n));
  });

  function add(parent, item) {
    item.id = items.length;
    item.parent = parent;
    item.depth = parent.depth + 1;
    if (item.kind === "group") item.children = [];
    items.push(item);
    parent.children.push(item);
    return item;
  }
  function connect(value, to) {
    const from = producers[value];
    if (from && from !== to) edges.push({ from, to, value });
  }
  function pill(parent, title, role, value, node = null) {
    return add(parent, { kind: "pill", title, role, value, node });
  }

  // The groups that a node stands in, below `container`: one per inlined call around it.
  function groupFor(container, scope, outer) {
    const frames = [];
    for (let s = scope; s !== null && s !== outer; s = graph.scopes[s].outer) frames.push(s);
    let group = container;
    for (const frame of frames.reverse()) {
      group.byScope ??= new Map();
      if (!group.byScope.has(frame)) {
        group.byScope.set(frame, add(group, { kind: "group", role: "module", scope: frame, open: false,
                                              ...scopeTitle(graph.scopes[frame]) }));
      }
      group = group.byScope.get(frame);
    }
    return group;
  }

  function addBlock(container, block, outerScope) {
    for (const n of block.nodes) {
      const node = graph.nodes[n];
      if (hidden.has(n) || (node.outputs.length === 1 && text[node.outputs[0]] !== null)) continue;
      if (node.kind === "prim::unchecked_cast") {  // another name
        producers[node.outputs[0]] = producers[node.inputs[0]];
        continue;
      }
      const parent = groupFor(container, node.scope, outerScope);
      if (!withAsides && node.kind === "prim::If" && node.blocks.every((b) => !showsAnything(graph.blocks[b]))) {
        node.outputs.forEach((v, k) => {  // which of two values
          producers[v] = node.blocks.map((b) => producers[graph.blocks[b].outputs[k]]).find(Boolean) ?? null;
        });
      } else if (node.blocks.length) {
        addControl(parent, node, n);
      } else {
        const op = add(parent, { kind: "op", node: n, title: shortKind(node.kind) });
        leafOf.set(n, op);
        node.inputs.forEach((v) => connect(v, op));
        node.outputs.forEach((v) => (producers[v] = op));
      }
    }
  }

  function showsAnything(block) {
    return block.nodes.some((n) => {
      const node = graph.nodes[n];
      return !hidden.has(n) && node.kind !== "prim::unchecked_cast" && !(node.outputs.length === 1 && text[node.outputs[0]] !== null);
    });
  }

  function addControl(parent, node, n) {
    const short = shortKind(node.kind);
    const group = add(parent, { kind: "group", role: "control", node: n, open: true, title: short.toLowerCase(), subtitle: "" });
    leafOf.set(n, group);
    const isIf = short === "If";
    const isLoop = short === "Loop";
    if (isIf) {
      const [v] = node.inputs;
      const condition = pill(group, "if " + (text[v] ?? "%" + graph.values[v].name), "condition", v, n);
      connect(v, condition);
    } else if (isLoop && text[node.inputs[0]] === null) {
      const trips = pill(group, "at most %" + graph.values[node.inputs[0]].name + " turns", "condition", node.inputs[0], n);
      connect(node.inputs[0], trips);
    }
    node.blocks.forEach((b, i) => {
      const block = graph.blocks[b];
      let inside = group;
      if (isIf) inside = add(group, { kind: "group", role: "branch", node: n, open: true, title: i === 0 ? "then" : "else" });
      block.inputs.forEach((v, k) => {
        if (!users[v].some((u) => !hidden.has(u)) && !handedOn.has(v)) return;
        const param = pill(inside, "%" + graph.values[v].name, "param", v, n);
        producers[v] = param;
        const outer = isLoop ? (k > 0 ? node.inputs[k + 1] : undefined) : node.inputs[k];
        if (outer !== undefined) connect(outer, param);
      });
      addBlock(inside, block, node.scope);
      if (isLoop && text[block.outputs[0]] === null) {
        connect(block.outputs[0], pill(inside, "again while %" + graph.values[block.outputs[0]].name, "condition", block.outputs[0], n));
      }
    });
    node.outputs.forEach((v, k) => {
      if (!users[v].some((u) => !hidden.has(u)) && !handedOn.has(v)) return;
      const result = pill(group, "%" + graph.values[v].name, "result", v, n);
      for (const b of node.blocks) {
        const from = graph.blocks[b].outputs[isLoop ? k + 1 : k];
        if (from !== undefined) connect(from, result);
      }
      producers[v] = result;
    });
  }

  const top = graph.blocks[0];
  for (const v of graph.inputs) {
    if (text[v] !== null || (!users[v].length && !handedOn.has(v))) continue;
    producers[v] = pill(root, "%" + graph.values[v].name, "input", v);
  }
  addBlock(root, top, null);
  graph.outputs.forEach((v) => {
    if (text[v] === "None") return;
    connect(v, pill(root, "return " + (text[v] ?? "%" + graph.values[v].name), "output", v));
  });

  simplify(root);
  unwrap(root);
  shortenTitles(root, "");
  const model = { data, graph, root, edges: mergeEdges(edges), text, makers, users, leafOf, hidden };
  countInside(model, root);
  openSome(root);
  return model;
}

// What a value is in a word, where a constant, an attribute or a list of such makes it; else null.
function foldedTexts(graph, makers) {
  const text = new Array(graph.values.length).fill(null);
  const [self] = graph.inputs;
  if (self !== undefined && graph.values[self].type.startsWith("__torch__.")) text[self] = graph.values[self].name;
  for (const [n, node] of graph.nodes.entries()) {
    for (const v of node.outputs) makers[v] = n;
    if (node.outputs.length !== 1 || node.blocks.length) continue;
    const [out] = node.outputs;
    const parts = node.inputs.map((v) => text[v]);
    if (node.kind === "prim::Constant") {
      text[out] = node.value ?? "None";
    } else if (node.kind === "prim::unchecked_cast") {
      text[out] = parts[0];
    } else if (parts.includes(null)) {
      continue;
    } else if (node.kind === "prim::GetAttr") {
      text[out] = parts[0] + "." + node.name;
    } else if (node.kind === "prim::ListConstruct" && parts.length <= 16) {
      text[out] = "[" + parts.join(", ") + "]";
    } else if (node.kind === "prim::TupleConstruct" && parts.length <= 16) {
      text[out] = "(" + parts.join(", ") + ")";
    }
  }
  return text;
}

// Nodes beside the way of the data: conditions that only raise errors, numbers that are computed from sizes, and what only
// those need. Without them one sees what happens to the tensors; they are a click away.
function findAsides(data, graph) {
  const hidden = new Set();  // nodes; "block3" for what a block hands on
  const users = graph.values.map(() => []);
  graph.nodes.forEach((node, n) => node.inputs.forEach((v) => users[v].push(n)));
  graph.blocks.forEach((block, b) => block.outputs.forEach((v) => users[v].push("block" + b)));
  const isUnused = (node) => node.outputs.every((v) => users[v].every((u) => hidden.has(u)));
  const isPure = (node) => node.schema === undefined
      ? /^prim::(Constant|GetAttr|\w+Construct|\w+Unpack|TupleIndex|Uninitialized|unchecked_cast|isinstance)$/.test(node.kind)
      : !data.schemas[node.schema].text.includes("!");
  const makesNumbers = (node) => node.kind === "prim::NumToTensor" || node.outputs.every((v) => !holdsTensors(graph.values[v].type));
  const hide = (n) => {
    hidden.add(n);
    for (const b of graph.nodes[n].blocks) {
      hidden.add("block" + b);
      graph.blocks[b].nodes.forEach(hide);
    }
  };
  const isQuiet = (b) => graph.blocks[b].nodes.every((i) => hidden.has(i) || isPure(graph.nodes[i]));
  const raises = (b) => graph.blocks[b].nodes.some((i) => graph.nodes[i].kind === "prim::RaiseException");
  const isAside = (node) => {
    if (node.kind === "prim::If") {
      return (isUnused(node) || makesNumbers(node)) && node.blocks.every((b) => raises(b) || isQuiet(b));
    }
    if (node.kind === "prim::Loop") return (isUnused(node) || makesNumbers(node)) && isQuiet(node.blocks[0]);
    return node.outputs.length > 0 && !node.blocks.length && isPure(node) && (isUnused(node) || makesNumbers(node));
  };
  for (let again = true; again;) {  // what is hidden may leave others unused, or quiet
    const before = hidden.size;
    for (let n = graph.nodes.length - 1; n >= 0; --n) if (!hidden.has(n) && isAside(graph.nodes[n])) hide(n);
    again = hidden.size !== before;
  }
  return hidden;
}

function holdsTensors(type) {
  return /Tensor|^[A-Z]\w*\(|__torch__|^Future|^Any|^NoneType$/.test(type);
}

function shortKind(kind) {
  return kind.startsWith("aten::") || kind.startsWith("prim::") ? kind.slice(6) : kind;
}

// "layer1.0" of class BasicBlock, or a function.
function scopeTitle(scope) {
  const names = scope.function.split(".").filter((s) => !s.startsWith("___torch_mangle"));
  const method = names.pop();
  const owner = names.pop() ?? "";
  if (scope.object) return { isObject: true, title: scope.object, subtitle: method === "forward" ? owner : owner + "." + method };
  if (/^[A-Z]/.test(owner)) return { title: owner, subtitle: method === "forward" ? "" : method };
  return { title: method, subtitle: "function" };
}

// A module around one operator is a label of it; a group around one group, the inner one.
function simplify(group) {
  for (const child of group.children) if (child.kind === "group") simplify(child);
  group.children = group.children.map((child) => {
    if (child.kind !== "group" || child.role !== "module" || child.children.length !== 1) return child;
    const [only] = child.children;
    if (only.kind === "pill" || only.role === "control") return child;
    only.parent = group;
    if (only.kind === "op") only.module ??= child.title;
    return only;
  });
  group.children = group.children.filter((c) => c.kind !== "group" || c.children.length);
  for (const child of group.children) child.depth = group.depth + 1;
}

// One group that holds everything but inputs and outputs says nothing.
function unwrap(root) {
  for (;;) {
    const groups = root.children.filter((c) => c.kind !== "pill");
    if (groups.length !== 1 || groups[0].role !== "module") return;
    const at = root.children.indexOf(groups[0]);
    root.children.splice(at, 1, ...groups[0].children);
    for (const child of groups[0].children) child.parent = root;
    const lift = (item, depth) => {
      item.depth = depth;
      item.children?.forEach((c) => lift(c, depth + 1));
    };
    lift(root, 0);
  }
}

// Within layer1, layer1.0 is 0.
function shortenTitles(group, path) {
  const within = (title) => (path && title.startsWith(path + ".") ? title.slice(path.length + 1) : title);
  for (const child of group.children) {
    if (child.module) child.module = within(child.module);
    if (child.kind !== "group") continue;
    const full = child.title;
    if (child.role === "module") child.title = full === path ? child.subtitle.split(".").pop() : within(full);
    if (full === path) child.subtitle = "method";
    shortenTitles(child, child.role === "module" && child.isObject ? full : path);
  }
}

function mergeEdges(edges) {
  const known = new Map();
  for (const e of edges) {
    const key = e.from.id + ">" + e.to.id;
    if (known.has(key)) known.get(key).values.push(e.value);
    else known.set(key, { from: e.from, to: e.to, values: [e.value] });
  }
  return [...known.values()];
}

function countInside(model, item) {
  if (item.kind !== "group") {
    const node = item.kind === "op" ? model.graph.nodes[item.node] : null;
    item.ns = node?.ns ?? 0;
    item.count = item.kind === "op" ? 1 : 0;
  } else {
    item.children.forEach((child) => countInside(model, child));
    item.count = item.children.reduce((sum, child) => sum + child.count, 0);
    const own = item.role === "control" ? (model.graph.nodes[item.node].ns ?? 0) : 0;
    item.ns = item.children.reduce((sum, child) => sum + child.ns, own);
  }
}

// Opens groups, the outer ones first, while what is seen stays within what one reads at a glance.
function openSome(root, budget = 90) {
  let seen = root.children.length;
  const queue = root.children.filter((c) => c.kind === "group");
  for (let at = 0; at < queue.length; ++at) {
    const group = queue[at];
    const fits = seen + group.children.length <= budget;
    group.open = fits;
    if (!fits) continue;
    seen += group.children.length;
    queue.push(...group.children.filter((c) => c.kind === "group"));
  }
}

function setOpen(group, open) {
  if (group.parent) group.open = open;
  for (const child of group.children) if (child.kind === "group") setOpen(child, open);
}

// The box that stands for an item: the outermost closed group around it, or itself.
function shownAs(item) {
  let shown = item;
  for (let at = item.parent; at; at = at.parent) if (!at.open) shown = at;
  return shown;
}

// A graph is a group's content now: what leads from a leaf to the root.
function reveal(item) {
  for (let at = item.parent; at; at = at.parent) at.open = true;
}
