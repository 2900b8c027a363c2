// What stands beside the graph: the details of what is selected, and the graph as text.

function html(name, className = "", text = null, parent = null) {
  const element = document.createElement(name);
  if (className) element.className = className;
  if (text !== null) element.textContent = text;
  parent?.appendChild(element);
  return element;
}

// One line of graph text as elements, like `sconce ir` prints it.
function irLine(graph, n, parent, withPlace = true) {
  const node = graph.nodes[n];
  const values = (list, typed) => list.forEach((v, i) => {
    if (i) parent.append(", ");
    html("span", "v", "%" + graph.values[v].name, parent);
    if (typed) html("span", "t", " : " + graph.values[v].type, parent);
  });
  values(node.outputs, true);
  parent.append(node.outputs.length ? " = " : " = ");
  html("span", "k", node.kind, parent);
  if (node.attributes) html("span", "a", shorten(node.attributes, 400), parent);
  parent.append("(");
  values(node.inputs, false);
  parent.append(")");
  if (withPlace && node.at) html("span", "n", " # " + node.at.text, parent);
}

class TextPanel {
  constructor(page) {
    this.page = page;
    this.element = document.getElementById("text");
    const lineAt = (e) => e.target.closest("[data-node]");
    this.element.addEventListener("click", (e) => {
      const line = lineAt(e);
      if (line && !String(getSelection())) page.select(Number(line.dataset.node), true);
    });
    this.element.addEventListener("pointerover", (e) => page.hoverNode(lineAt(e) ? Number(lineAt(e).dataset.node) : null));
  }
  show(model) {
    const { graph } = model;
    this.lines = new Map();
    const all = document.createDocumentFragment();
    const line = (level, n = null) => {
      const div = html("div", "", "  ".repeat(level), all);
      if (n !== null) {
        div.dataset.node = n;
        this.lines.set(n, div);
      }
      return div;
    };
    const typed = (v) => "%" + graph.values[v].name + " : " + graph.values[v].type;
    const names = (list) => list.map((v) => "%" + graph.values[v].name).join(", ");
    const block = (b, level, head) => {
      const { nodes, outputs } = graph.blocks[b];
      if (head !== null) line(level).append(head);
      for (const n of nodes) {
        const node = graph.nodes[n];
        const div = line(level + 1, n);
        if (node.outputs.length === 1 && model.text[node.outputs[0]] !== null) div.classList.add("folded");
        irLine(graph, n, div);
        node.blocks.forEach((inner, i) => block(inner, level + 2, `block${i}(${graph.blocks[inner].inputs.map(typed).join(", ")}):`));
      }
      if (head !== null) line(level + 1).append(`-> (${names(outputs)})`);
    };
    graph.inputs.forEach((v, i) => {
      line(0).append((i ? "      " : "graph(") + typed(v) + (i + 1 < graph.inputs.length ? "," : "):"));
    });
    if (!graph.inputs.length) line(0).append("graph():");
    block(0, 0, null);
    line(1).append(`return (${names(graph.outputs)})`);
    this.element.replaceChildren(all);
  }
  mark(selected, hovered, scroll) {
    for (const name of ["selected", "hover"]) this.element.querySelectorAll("." + name).forEach((e) => e.classList.remove(name));
    this.lines.get(hovered)?.classList.add("hover");
    const line = this.lines.get(selected);
    line?.classList.add("selected");
    if (line && scroll) line.scrollIntoView({ block: "center" });
  }
}

class DetailsPanel {
  constructor(page) {
    this.page = page;
    this.element = document.getElementById("details");
  }

  clear() {
    this.element.replaceChildren();
    this.element.scrollTop = 0;
  }
  row(table, ...cells) {
    const tr = html("tr", "", null, table);
    for (const cell of cells) {
      const td = html("td", "", null, tr);
      if (typeof cell === "string") td.textContent = cell;
      else td.append(cell);
    }
    return tr;
  }
  section(title) {
    html("h3", "", title, this.element);
    return html("table", "", null, this.element);
  }
  link(text, go) {
    const a = html("a", "", text);
    a.tabIndex = 0;
    a.addEventListener("click", go);
    a.addEventListener("keydown", (e) => e.key === "Enter" && go());
    return a;
  }
  nodeLink(n) {
    const node = this.page.model.graph.nodes[n];
    const item = this.page.model.leafOf.get(n);
    return this.link(shortKind(node.kind) + (item?.module ? " " + item.module : ""), () => this.page.select(n, true));
  }

  // %x : Tensor, what it is when it is folded, its shape, who makes it.
  valueCell(v, withMaker) {
    const { graph, text, makers } = this.page.model;
    const value = graph.values[v];
    const span = html("span");
    if (text[v] !== null) {
      html("code", "a", shorten(text[v], 200), span);
    } else {
      html("code", "v", "%" + value.name, span);
      html("code", "t", " " + value.type, span);
    }
    if (value.seen && (text[v] === null || holdsTensors(value.type))) html("span", "", "  " + value.seen, span);
    if (withMaker && makers[v] !== null && text[v] === null) {
      span.append("  from ");
      span.append(this.nodeLink(makers[v]));
    }
    return span;
  }

  showNode(n) {
    const { model } = this.page;
    const { graph, users } = model;
    const node = graph.nodes[n];
    this.clear();
    html("h2", "", node.kind, this.element);
    const path = this.page.scopePath(node.scope);
    if (path) html("p", "", path, this.element);
    if (node.calls !== undefined && this.page.model.total) {
      html("p", "", `ran ${node.calls} time${node.calls === 1 ? "" : "s"}, ${showTime(node.ns)}${node.calls === 1 ? "" : " in all"}` + shareOfRun(node.ns, model), this.element);
    }
    const line = html("code", "line-of", null, this.element);
    line.style.marginTop = "8px";
    irLine(graph, n, line, false);
    if (node.step !== undefined) {
      const step = graph.steps[node.step];
      html("h3", "", `Step ${node.step} of the plan`, this.element);
      html("pre", "source", step.text + (step.nest ? "\n\n" + step.nest : ""), this.element);
    }

    const schema = node.schema === undefined ? null : model.data.schemas[node.schema];
    if (node.inputs.length) {
      const table = this.section("Inputs");
      node.inputs.forEach((v, i) => this.row(table, schema?.arguments[i] ?? String(i), this.valueCell(v, true)));
    }
    if (node.outputs.length) {
      const table = this.section("Outputs");
      node.outputs.forEach((v, i) => {
        const cell = this.valueCell(v, false);
        if (users[v].length) cell.append("  to ");
        users[v].slice(0, 12).forEach((user, k) => {
          if (k) cell.append(", ");
          cell.append(this.nodeLink(user));
        });
        if (users[v].length > 12) cell.append(` and ${users[v].length - 12} more`);
        if (graph.outputs.includes(v)) cell.append(users[v].length ? ", returned" : "  returned");
        this.row(table, node.outputs.length > 1 ? String(i) : "", cell);
      });
    }
    if (node.at) this.source(node.at);
    if (node.written) this.source(node.written, "The archive's code");
    this.calls(node.scope);
    if (schema) {
      html("h3", "", "Schema", this.element);
      html("code", "", schema.text, this.element);
    }
  }

  source(at, title = "Source") {
    const source = this.page.data.sources[at.source];
    html("h3", "", `${title}  ${at.text}`, this.element);
    const pre = html("pre", "source", null, this.element);
    const lines = source.text.split("\n");
    let offset = 0;
    const first = at.line - source.line;
    lines.forEach((text, i) => {
      const begin = offset, end = offset + text.length;
      offset = end + 1;
      if (i < first - 4 || i > first + 5) return;
      const marked = begin < at.end && end > at.begin;
      const div = html("div", marked ? "at" : "", null, pre);
      html("i", "", String(source.line + i), div);
      if (!marked) {
        div.append(text);
        return;
      }
      const from = Math.max(0, at.begin - begin), to = Math.min(text.length, at.end - begin);
      div.append(text.slice(0, from));
      html("mark", "", text.slice(from, to), div);
      div.append(text.slice(to));
    });
  }

  // The calls around an inlined node, the innermost first.
  calls(scope) {
    const { graph } = this.page.model;
    if (scope === null) return;
    const table = this.section("Called by");
    for (let s = scope; s !== null; s = graph.scopes[s].outer) {
      const { function: name, call, object } = graph.scopes[s];
      this.row(table, call?.text ?? "", (object ? object + "  " : "") + plainName(name));
    }
  }

  showGroup(item) {
    const { model } = this.page;
    this.clear();
    html("h2", "", item.title, this.element);
    if (item.subtitle) html("p", "", item.subtitle, this.element);
    html("p", "", `${item.count} operators` + (model.total && item.ns ? `, ${showTime(item.ns)}` + shareOfRun(item.ns, model) : ""), this.element);
    this.element.append(this.link(item.open ? "close" : "open", () => this.page.toggled(item)));
    const call = item.scope !== undefined ? model.graph.scopes[item.scope].call : null;
    if (call) this.source(call, "Called at");
    this.operators(leaves(item));
  }

  showPill(item) {
    this.clear();
    html("h2", "", item.title, this.element);
    const what = { input: "An input of the graph", output: "What the graph returns", param: "What the block is given",
                   result: "What the block leaves", condition: "What decides" };
    html("p", "", what[item.role], this.element);
    const table = this.section("Value");
    this.row(table, "", this.valueCell(item.value, true));
    const users = this.page.model.users[item.value];
    if (users.length) {
      const to = this.section("Used by");
      users.slice(0, 20).forEach((n) => this.row(to, "", this.nodeLink(n)));
    }
    if (item.node !== null) this.element.append(this.nodeLink(item.node));
  }

  showGraph() {
    const { model, data } = this.page;
    const { graph } = model;
    this.clear();
    html("h2", "", plainName(graph.name), this.element);
    if (model.hidden.size) html("p", "", "What is only computed from shapes, and checks, are not drawn.", this.element);
    html("p", "", `${graph.nodes.length} nodes, ${model.root.count} of them operators that are drawn` +
                  (model.total ? `; the run took ${showTime(model.total)}` : ""), this.element);
    if (data.run) html("p", "", data.run, this.element);
    const table = this.section("Inputs and outputs");
    graph.inputs.forEach((v) => this.row(table, "in", this.valueCell(v, false)));
    graph.outputs.forEach((v) => this.row(table, "out", this.valueCell(v, false)));
    this.operators(leaves(model.root));
  }

  // A table of the operators inside: how many, and how long they took.
  operators(ops) {
    const { model } = this.page;
    const rows = new Map();
    for (const op of ops) {
      const kind = model.graph.nodes[op.node].kind;
      const row = rows.get(kind) ?? { kind, count: 0, ns: 0, first: op.node };
      row.count += model.total ? model.graph.nodes[op.node].calls : 1;
      row.ns += op.ns;
      rows.set(kind, row);
    }
    const sorted = [...rows.values()].sort((a, b) => b.ns - a.ns || b.count - a.count);
    if (!sorted.length) return;
    const table = this.section(model.total ? "Operators: calls, and the time of all of them" : "Operators");
    const most = sorted[0].ns;
    for (const row of sorted.slice(0, 40)) {
      const name = this.link(shortKind(row.kind), () => this.page.search(row.kind));
      const tr = this.row(table, name, String(row.count));
      tr.children[1].className = "number";
      if (!model.total) continue;
      html("td", "number", showTime(row.ns), tr);
      html("td", "number", showShare(row.ns, model.total).trim(), tr);
      html("div", "bar", null, html("td", "", null, tr)).style.width = 90 * row.ns / (most || 1) + "px";
    }
  }
}

function shareOfRun(ns, model) {
  const share = showShare(ns, model.total).trim();
  return share ? `, ${share} of the run` : "";
}

function leaves(item) {
  if (item.kind === "op") return [item];
  return item.kind === "group" ? item.children.flatMap(leaves) : [];
}
