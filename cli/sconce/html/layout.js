// Layered layout, from top to bottom, group by group: the inside of a group is laid out first, then the group is a box of
// its parent. An edge that crosses a group's border passes through a port there. Within a group:
//
//   1. layers: the longest path from above (edges that close a circle are ignored)
//   2. bends: an edge over several layers gets a bend in each; those of one source share them
//   3. order within the layers: by the mean place of the neighbours, sweeping down and up
//   4. places: as near to the neighbours as order and distances allow, the least squares exactly
//
// After layout() every shown item has x, y (its centre) and w, h, in one system of coordinates, and model.lines holds what
// to draw: {points, edges, arrow}.

const kGapX = 22, kGapY = 34, kPad = 16, kHeader = 26, kSweeps = 8;
const kLongest = 40;  // layers; a longer edge is only named at its end, so that many of them cost nothing

function layout(model, sizeOf) {
  const inner = new Map();  // container -> edges in it: [from cell, to cell, edges]
  const ports = new Map();  // container -> key -> port cell
  const cells = new Map();  // item -> cell

  const cellOf = (item) => {
    if (!cells.has(item)) cells.set(item, { item, layer: 0, x: 0, w: 0, h: 0 });
    return cells.get(item);
  };
  const portOf = (group, key, side) => {
    if (!ports.has(group)) ports.set(group, new Map());
    const known = ports.get(group);
    if (!known.has(side + key)) known.set(side + key, { port: side, layer: 0, x: 0, w: 2, h: 0 });
    return known.get(side + key);
  };
  const link = (container, from, to, edge) => {
    if (!inner.has(container)) inner.set(container, new Map());
    const known = inner.get(container);
    const key = keyOf(from) + ">" + keyOf(to);
    if (!known.has(key)) known.set(key, { from, to, edges: [] });
    known.get(key).edges.push(edge);
  };
  let keys = 0;
  const keyOf = (cell) => (cell.key ??= ++keys);

  for (const edge of model.edges) {
    const from = shownAs(edge.from), to = shownAs(edge.to);
    if (from === to) continue;
    const above = new Set();
    for (let at = from.parent; at; at = at.parent) above.add(at);
    let common = to.parent;
    while (!above.has(common)) common = common.parent;
    let start = cellOf(from), end = cellOf(to);
    for (let at = from.parent; at !== common; at = at.parent) {
      const port = portOf(at, from.id, "out");
      link(at, start, port, edge);
      start = viaPort(cellOf(at), port);
    }
    for (let at = to.parent; at !== common; at = at.parent) {
      const port = portOf(at, from.id, "in");
      link(at, port, end, edge);
      end = viaPort(cellOf(at), port);
    }
    link(common, start, end, edge);
  }

  model.lines = [];
  measure(model.root);
  place(model.root, 0, 0);

  // Sizes, and places within the group, of everything inside.
  function measure(group) {
    for (const child of group.children) {
      if (child.kind === "group" && child.open) {
        measure(child);
      } else {
        [child.w, child.h] = sizeOf(child);
      }
    }
    const members = group.children.map((child) => {
      const cell = cellOf(child);
      cell.w = child.w;
      cell.h = child.h;
      return cell;
    });
    const own = ports.get(group) ? [...ports.get(group).values()] : [];
    const plan = arrange(members, own, [...(inner.get(group)?.values() ?? [])]);
    const header = group.parent ? kHeader : 0;
    const title = group.parent ? sizeOf(group)[0] : 0;
    group.w = Math.max(plan.width + 2 * kPad, title);
    group.h = plan.height + 2 * kPad + header;
    group.plan = plan;
    group.shift = [(group.w - plan.width) / 2, kPad + header];
    for (const port of own) {
      port.y = port.port === "in" ? 0 : group.h;
      port.dx = port.x + group.shift[0] - group.w / 2;  // from the group's centre, for the parent
    }
  }

  function place(group, left, top) {
    const [dx, dy] = group.shift;
    for (const child of group.children) {
      const cell = cellOf(child);
      child.x = left + dx + cell.x;
      child.y = top + dy + cell.y;
      if (child.kind === "group" && child.open) place(child, child.x - child.w / 2, child.y - child.h / 2);
    }
    for (const line of group.plan.lines) {
      const points = line.points.map((p) => [left + dx + p.x, p.edge === "in" ? top : p.edge === "out" ? top + group.h : top + dy + p.y]);
      model.lines.push({ points, edges: line.edges, arrow: line.arrow, stub: line.stub });
    }
  }
}

// The end of an edge at a group's border: the group's cell, and where on its border.
function viaPort(cell, port) {
  port.ends ??= new Map();
  if (!port.ends.has(cell)) port.ends.set(cell, { end: cell, via: port });
  return port.ends.get(cell);
}
const cellAt = (end) => end.end ?? end;
const offsetAt = (end) => (end.via ? (end.via.dx ?? 0) : 0);

function arrange(members, ports, links) {
  const cells = [...members, ...ports];
  cells.forEach((c, i) => Object.assign(c, { below: [], above: [], order: i, bend: false }));
  for (const link of links) {
    link.a = cellAt(link.from);
    link.b = cellAt(link.to);
    link.da = offsetAt(link.from);
    link.db = offsetAt(link.to);
    link.a.below.push(link);
    link.b.above.push(link);
  }
  const layers = layersOf(cells, ports);
  const lines = addBends(layers, links);
  orderLayers(layers);
  placeLayers(layers);
  return finish(layers, lines);
}

// Layer numbers; cells that nothing leads to stand right above their first user.
function layersOf(cells, ports) {
  const state = new Map();
  const post = [];
  for (const start of cells) {  // depth first, without recursion: graphs are deep
    if (state.has(start)) continue;
    const stack = [[start, 0]];
    state.set(start, "open");
    while (stack.length) {
      const top = stack[stack.length - 1];
      const link = top[0].below[top[1]++];
      if (!link) {
        state.set(top[0], "done");
        post.push(top[0]);
        stack.pop();
      } else if (!state.has(link.b)) {
        state.set(link.b, "open");
        stack.push([link.b, 0]);
      } else {
        link.back = state.get(link.b) === "open";
      }
    }
  }
  post.reverse();
  const hasIn = ports.some((p) => p.port === "in") ? 1 : 0;
  for (const c of post) c.layer = c.port === "in" ? 0 : hasIn;
  for (const c of post) {
    for (const link of c.below) if (!link.back) link.b.layer = Math.max(link.b.layer, c.layer + 1);
  }
  for (const c of post.reverse()) {
    const down = c.below.filter((l) => !l.back);
    if (!c.port && down.length && !c.above.some((l) => !l.back)) c.layer = Math.min(...down.map((l) => l.b.layer)) - 1;
  }
  let last = 0;
  for (const c of cells) if (c.port !== "out") last = Math.max(last, c.layer);
  for (const p of ports) if (p.port === "out") p.layer = last + 1;
  const layers = [];
  for (const c of cells) (layers[c.layer] ??= []).push(c);
  return Array.from(layers, (l) => l ?? []);
}

// Cells for the bends of long edges; returns the lines to draw.
function addBends(layers, links) {
  const lines = [];
  const chains = new Map();
  for (const c of layers.flat()) c.up = [], c.down = [];
  const join = (a, da, b, db, weight) => {
    a.down.push({ cell: b, here: da, there: db, weight });
    b.up.push({ cell: a, here: db, there: da, weight });
  };
  for (const link of links) {
    const { a, b, da, db } = link;
    const span = b.layer - a.layer;
    const ends = { edges: link.edges, arrow: !b.port && !link.to.via, from: a, to: b, da, db, bends: [] };
    lines.push(ends);
    if (link.back || span < 1 || span > kLongest) {
      ends.stub = true;
      continue;
    }
    const key = link.from.key;
    if (!chains.has(key)) chains.set(key, []);
    const chain = chains.get(key);
    for (let l = a.layer + 1; l < b.layer; ++l) {
      const at = l - a.layer - 1;
      if (!chain[at]) {
        const bend = { bend: true, layer: l, order: a.order, x: 0, w: 10, h: 0, up: [], down: [] };
        layers[l].push(bend);
        if (at === 0) join(a, da, bend, 0, 3);
        else join(chain[at - 1], 0, bend, 0, 30);
        chain[at] = bend;
      }
      ends.bends.push(chain[at]);
    }
    if (span === 1) join(a, da, b, db, 1);
    else join(chain[span - 2], 0, b, db, 3);
  }
  return lines;
}

function orderLayers(layers) {
  for (const layer of layers) layer.sort((p, q) => p.order - q.order);
  const number = () => layers.forEach((layer) => layer.forEach((c, i) => (c.place = i)));
  number();
  const sweep = (layer, side) => {
    for (const c of layer) {
      let sum = 0, weight = 0;
      for (const n of c[side]) {
        // The place within a wide box counts, too.
        sum += n.cell.place + (n.cell.w ? n.there / n.cell.w : 0);
        weight += 1;
      }
      c.wish = weight ? sum / weight : c.place;
    }
    layer.sort((p, q) => p.wish - q.wish || p.place - q.place);
    layer.forEach((c, i) => (c.place = i));
  };
  for (let i = 0; i < kSweeps; ++i) {
    if (i % 2 === 0) for (let l = 1; l < layers.length; ++l) sweep(layers[l], "up");
    else for (let l = layers.length - 2; l >= 0; --l) sweep(layers[l], "down");
  }
}

function placeLayers(layers) {
  for (const layer of layers) {
    let x = 0;
    for (const c of layer) {
      c.x = x + c.w / 2;
      x += c.w + kGapX;
    }
  }
  const settle = (layer, sides) => {
    const wishes = layer.map((c) => {
      let sum = 0, weight = 0;
      for (const side of sides) {
        for (const n of c[side]) {
          sum += n.weight * (n.cell.x + n.there - n.here);
          weight += n.weight;
        }
      }
      return weight ? [sum / weight, weight] : [c.x, 0.01];
    });
    spread(layer, wishes);
  };
  for (let i = 0; i < kSweeps; ++i) {
    for (let l = 1; l < layers.length; ++l) settle(layers[l], ["up"]);
    for (let l = layers.length - 2; l >= 0; --l) settle(layers[l], ["down"]);
  }
  for (let i = 0; i < 8; ++i) layers.forEach((layer) => settle(layer, ["up", "down"]));
}

// Places with the given order and distances that are nearest to the wishes: neighbours that collide are pooled.
function spread(layer, wishes) {
  const pools = [];
  let offset = 0;
  layer.forEach((c, i) => {
    if (i > 0) offset += (layer[i - 1].w + c.w) / 2 + kGapX;
    c.offset = offset;
    let pool = { sum: (wishes[i][0] - offset) * wishes[i][1], weight: wishes[i][1], from: i };
    while (pools.length && pools[pools.length - 1].sum / pools[pools.length - 1].weight > pool.sum / pool.weight) {
      const before = pools.pop();
      pool = { sum: before.sum + pool.sum, weight: before.weight + pool.weight, from: before.from };
    }
    pools.push(pool);
  });
  pools.forEach((pool, p) => {
    const end = p + 1 < pools.length ? pools[p + 1].from : layer.length;
    for (let i = pool.from; i < end; ++i) layer[i].x = pool.sum / pool.weight + layer[i].offset;
  });
}

function finish(layers, lines) {
  let left = Infinity, right = -Infinity;
  for (const c of layers.flat()) {
    left = Math.min(left, c.x - c.w / 2);
    right = Math.max(right, c.x + c.w / 2);
  }
  if (left === Infinity) left = right = 0;
  let y = 0;
  for (const layer of layers) {
    const height = Math.max(0, ...layer.map((c) => c.h));
    const onBorder = layer.length > 0 && layer.every((c) => c.port || c.bend);
    for (const c of layer) {
      c.x -= left;
      c.y = y + c.h / 2;
      c.top = y;
      c.bottom = y + height;
    }
    y += height + (onBorder && height === 0 ? kGapY / 2 : kGapY);
  }
  const height = Math.max(0, y - kGapY);
  const drawn = lines.map((line) => {
    const { from, to, da, db, bends } = line;
    const start = { x: from.x + da, y: from.y + from.h / 2, edge: from.port === "in" ? "in" : null };
    const end = { x: to.x + db, y: to.y - to.h / 2, edge: to.port === "out" ? "out" : null };
    if (line.stub) return { ...line, points: [{ x: end.x, y: end.y - 16, edge: end.edge }, end], stub: true };
    const points = [start, { x: start.x, y: from.bottom, edge: start.edge }];
    for (const b of bends) points.push({ x: b.x, y: b.top }, { x: b.x, y: b.bottom });
    points.push({ x: end.x, y: to.top, edge: end.edge }, end);
    return { ...line, points };
  });
  return { width: right - left, height, lines: drawn };
}
