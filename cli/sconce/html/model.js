// The graph as a tree of boxes. Leaves are operators and pills (inputs, results, what a loop carries); groups are
// submodules, called functions and control flow. Constants, attributes and lists of them are folded into their users.
//
//   item  {id, kind: "op" | "pill" | "group", parent, node, value, title, ...}; groups have children and open
//   edge  {from, to, value}: between leaves

function buildModel(data, graph) {
  const items = [];
  const edges = [];
  const root = { id: -1, kind: "group", children: [], parent: null, open: true, depth: 0, title: graph.name };
  const producers = new Array(graph.values.length).fill(null);  // value -> the leaf that makes it
  const makers = new Array(graph.values.length).fill(null);     // value -> its node
  const users = graph.values.map(() => []);                     // value -> nodes
  const blockOf = new Map();                                    // node -> its block
  const leafOf = new Map();                                     // node -> the item that shows it
  const text = foldedTexts(graph, makers);

  graph.blocks.forEach((block) => block.nodes.forEach((n) => blockOf.set(n, block)));
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
      if (node.outputs.length === 1 && text[node.outputs[0]] !== null) continue;
      const parent = groupFor(container, node.scope, outerScope);
      if (node.blocks.length) {
        addControl(parent, node, n);
      } else {
        const op = add(parent, { kind: "op", node: n, title: shortKind(node.kind) });
        leafOf.set(n, op);
        node.inputs.forEach((v) => connect(v, op));
        node.outputs.forEach((v) => (producers[v] = op));
      }
    }
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
        if (!users[v].length && !block.outputs.includes(v)) return;
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
      if (!users[v].length && !graph.outputs.includes(v)) return;
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
    if (text[v] !== null || (!users[v].length && !graph.outputs.includes(v))) continue;
    producers[v] = pill(root, "%" + graph.values[v].name, "input", v);
  }
  addBlock(root, top, null);
  graph.outputs.forEach((v) => {
    if (text[v] === "None") return;
    connect(v, pill(root, "return " + (text[v] ?? "%" + graph.values[v].name), "output", v));
  });

  simplify(root);
  const model = { data, graph, root, items, edges: mergeEdges(edges), text, makers, users, producers, leafOf, blockOf };
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

function shortKind(kind) {
  return kind.startsWith("aten::") || kind.startsWith("prim::") ? kind.slice(6) : kind;
}

// "layer1.0" of class BasicBlock, or a function.
function scopeTitle(scope) {
  const names = scope.function.split(".").filter((s) => !s.startsWith("___torch_mangle"));
  const method = names.pop();
  const owner = names.pop() ?? "";
  if (scope.object) return { title: scope.object, subtitle: method === "forward" ? owner : owner + "." + method };
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
  group.children = group.children.filter((c) => c.kind !== "group" || c.children.length || c.role === "branch");
  for (const child of group.children) child.depth = group.depth + 1;
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
function openSome(root, budget = 70) {
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
