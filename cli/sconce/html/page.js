// The page: which graph is shown, what is selected, searching, keys.

class Page {
  constructor(data) {
    this.data = data;
    this.models = new Map();
    this.selected = null;  // an item, or a node without one: {node}
    this.hover = null;
    this.hits = [];
    this.hit = -1;
    this.view = new View(this);
    this.text = new TextPanel(this);
    this.details = new DetailsPanel(this);

    const file = data.file.split("/").pop();
    document.title = file + " · Sconce";
    document.getElementById("file").textContent = file;
    document.getElementById("file").title = data.file;
    const select = document.getElementById("graphs");
    data.graphs.forEach((g, i) => {
      const option = document.createElement("option");
      option.value = i;
      option.textContent = plainName(g.name);
      select.append(option);
    });
    select.hidden = data.graphs.length < 2;
    select.addEventListener("change", () => this.showGraph(Number(select.value)));
    this.buttons();
    this.keys();
    this.searching();
    if (data.graphs.length) this.showGraph(Math.max(0, data.graphs.findIndex((g) => /(^|\.)forward$/.test(g.name))));
  }

  showGraph(i) {
    document.getElementById("graphs").value = i;
    const box = document.getElementById("asides");
    const few = this.data.graphs[i].nodes.length < 60;  // then there is room for everything
    const key = i + (few || box.checked ? " with asides" : "");
    if (!this.models.has(key)) this.models.set(key, buildModel(this.data, this.data.graphs[i], few || box.checked));
    this.model = this.models.get(key);
    this.shownGraph = i;
    box.parentElement.hidden = few;
    this.model.total = this.model.graph.ns ?? 0;
    this.selected = this.hover = null;
    this.findColours();
    const colour = document.getElementById("colour");
    colour.parentElement.hidden = !this.model.total;
    colour.querySelector("[value=step]").hidden = !this.fused.length;
    colour.value = this.model.total ? "time" : "op";
    this.text.show(this.model);
    this.view.show(this.model);
    this.view.fit();
    this.showDetails();
    this.search("");
    this.legend();
  }

  // --- colours

  findColours() {
    const counts = new Map();
    for (const op of leaves(this.model.root)) {
      if (!isScalar(this.model.graph, op.node)) counts.set(op.title, (counts.get(op.title) ?? 0) + 1);
    }
    this.kinds = [...counts.entries()].sort((a, b) => b[1] - a[1]).slice(0, 8);
    this.colours = new Map(this.kinds.map(([kind], i) => [kind, `var(--c${i})`]));
    this.findSteps();
  }
  // Steps of the plan that several operators became, in the order in which they run. Neighbours get hues far apart.
  findSteps() {
    const members = new Map();
    for (const op of leaves(this.model.root)) {
      const { step } = this.model.graph.nodes[op.node];
      if (step === undefined) continue;
      if (!members.has(step)) members.set(step, []);
      members.get(step).push(op.title);
    }
    this.fused = [...members.entries()].filter(([, titles]) => titles.length > 1).sort((a, b) => a[0] - b[0]);
    this.stepColours = new Map(this.fused.map(([step], i) => [step, `hsl(${((i * 137.5) % 360).toFixed(0)} 62% 52%)`]));
  }
  colourOf(item) {
    if (this.bySteps()) return this.stepColours.get(this.model.graph.nodes[item.node]?.step) ?? "var(--other)";
    return this.colours.get(item.title) ?? "var(--other)";
  }
  bySteps() {
    return this.fused.length > 0 && document.getElementById("colour").value === "step";
  }
  // How strongly a box is tinted: the square root of its share of the time, so that small shares are seen, too.
  heatOf(item) {
    if (!this.model.total || document.getElementById("colour").value !== "time") return 0;
    return 0.8 * Math.sqrt(Math.min(1, item.ns / this.model.total));
  }
  legend() {
    const legend = document.getElementById("legend");
    legend.replaceChildren();
    if (this.model.total && document.getElementById("colour").value === "time") {
      html("div", "heat", null, legend);
      const scale = html("small", "", null, legend);
      html("span", "", "0", scale);
      html("span", "", "share of " + showTime(this.model.total), scale);
      const { runs, means } = this.model.graph;
      html("small", "", runs > 1 ? `${means ? "means" : "medians"} of ${runs} runs` : "one run", legend);
    }
    if (this.bySteps()) {
      for (const [step, titles] of this.fused.slice(0, 14)) {
        const row = html("div", "", null, legend);
        html("i", "", null, row).style.background = this.stepColours.get(step);
        html("b", "", shorten(titles.join(" + "), 48), row);
        html("em", "", "step " + step, row);
      }
      if (this.fused.length > 14) html("small", "", `and ${this.fused.length - 14} more`, legend);
      html("small", "", `${this.model.graph.steps.length} steps; grey is a step of its own, or none`, legend);
      legend.hidden = false;
      return;
    }
    for (const [kind, count] of this.kinds) {
      const row = html("div", "", null, legend);
      html("i", "", null, row).style.background = this.colours.get(kind);
      html("b", "", kind, row);
      html("em", "", "×" + count, row);
    }
    legend.hidden = !legend.childElementCount;
  }

  // --- selecting

  // A node by its number. One that is folded shows its details, and its first user in the graph.
  select(node, reveals = false) {
    let item = this.model.leafOf.get(node) ?? null;
    let shown = item;
    for (let at = node, steps = 0; !shown && steps < 8; ++steps) {
      const user = this.model.users[this.model.graph.nodes[at].outputs[0]]?.[0];
      if (user === undefined) break;
      shown = this.model.leafOf.get(user) ?? null;
      at = user;
    }
    this.selected = item ?? { node, shown };
    if (shown && reveals) this.reveal(shown);
    this.mark(true);
    this.showDetails();
  }
  reveal(item) {
    if (shownAs(item) !== item) {
      reveal(item);
      this.view.show(this.model);
    }
    this.view.centre(item);
  }
  clicked(item) {
    this.selected = item;
    this.mark(true);
    this.showDetails();
  }
  toggled(item) {
    if (item?.kind !== "group") return;
    const before = [item.x, item.y - item.h / 2];
    item.open = !item.open;
    this.view.show(this.model);
    // What was clicked stays under the pointer.
    this.view.x += item.x - before[0];
    this.view.y += item.y - item.h / 2 - before[1];
    this.selected = item;
    this.view.draw();
    this.showDetails();
  }
  hovered(item) {
    this.hover = item;
    this.mark();
  }
  hoverNode(node) {
    this.hover = node === null ? null : this.model.leafOf.get(node) ?? null;
    this.mark();
  }
  showDetails() {
    const s = this.selected;
    if (!s) this.details.showGraph();
    else if (s.kind === "pill") this.details.showPill(s);
    else if (s.kind === "group" && s.role !== "control") this.details.showGroup(s);
    else this.details.showNode(s.node);
  }

  // Classes for what is selected, hovered and found, in both views.
  mark(scroll = false) {
    const { view } = this;
    if (!view.byItem) return;
    const hits = new Set(this.hits.map((n) => this.model.leafOf.get(n)).filter(Boolean).map(shownAs));
    const selected = this.selected?.kind ? this.selected : this.selected?.shown;
    const chosen = selected ? shownAs(selected) : null;
    for (const [item, element] of view.byItem) {
      element.classList.toggle("selected", item === chosen);
      element.classList.toggle("hover", this.hover !== null && item === shownAs(this.hover));
      element.classList.toggle("hit", hits.has(item));
    }
    for (const element of view.lineElements) {
      const near = selected && element.line.edges.some((e) => within(e.from, selected) || within(e.to, selected));
      element.classList.toggle("near", Boolean(near));
    }
    for (const r of view.map.querySelectorAll("rect")) r.classList.toggle("selected", r.item !== undefined && r.item === chosen);
    const node = this.selected && this.selected.kind !== "pill" && this.selected.node !== undefined ? this.selected.node : null;
    this.text.mark(node, this.hover?.kind === "op" ? this.hover.node : null, scroll);
  }

  scopePath(scope) {
    if (scope === null) return "";
    const { object, function: name } = this.model.graph.scopes[scope];
    return object ? `${object}  ${plainName(name)}` : plainName(name);
  }

  // --- searching: operators, values and module paths that contain every word

  search(text) {
    const box = document.getElementById("search");
    if (box.value !== text) box.value = text;
    const words = text.toLowerCase().split(/\s+/).filter(Boolean);
    const { graph } = this.model;
    this.hits = [];
    this.hit = -1;
    if (words.length) {
      graph.nodes.forEach((node, n) => {
        const names = node.outputs.map((v) => "%" + graph.values[v].name).join(" ");
        const path = node.scope === null ? "" : graph.scopes[node.scope].object + " " + graph.scopes[node.scope].function;
        const all = `${node.kind}${node.attributes ?? ""} ${names} ${path}`.toLowerCase();
        if (words.every((w) => all.includes(w))) this.hits.push(n);
      });
      this.hits.sort((a, b) => Boolean(this.model.leafOf.get(b)) - Boolean(this.model.leafOf.get(a)) || a - b);
    }
    this.listHits(words.length > 0);
    this.mark();
  }
  listHits(shown) {
    const list = document.getElementById("hits");
    list.replaceChildren();
    list.hidden = !shown;
    document.getElementById("hit-count").textContent = shown ? (this.hit >= 0 ? `${this.hit + 1} of ` : "") + this.hits.length : "";
    if (shown && !this.hits.length) html("div", "", "nothing found", list);
    this.hits.slice(0, 200).forEach((n, i) => {
      const node = this.model.graph.nodes[n];
      const row = html("div", i === this.hit ? "current" : "", null, list);
      html("b", "", shortKind(node.kind), row);
      const out = node.outputs.map((v) => "%" + this.model.graph.values[v].name).join(", ");
      html("span", "", [out, this.scopePath(node.scope)].filter(Boolean).join("  "), row);
      row.addEventListener("mousedown", (e) => {
        e.preventDefault();
        this.goTo(i);
      });
    });
  }
  goTo(i) {
    if (!this.hits.length) return;
    this.hit = (i + this.hits.length) % this.hits.length;
    this.listHits(true);
    document.querySelector("#hits .current")?.scrollIntoView({ block: "nearest" });
    this.select(this.hits[this.hit], true);
  }
  searching() {
    const box = document.getElementById("search");
    box.addEventListener("input", () => this.search(box.value));
    box.addEventListener("focus", () => this.listHits(box.value !== ""));
    box.addEventListener("blur", () => (document.getElementById("hits").hidden = true));
    box.addEventListener("keydown", (e) => {
      if (e.key === "Enter" || e.key === "ArrowDown") this.goTo(this.hit + (e.shiftKey ? -1 : 1));
      else if (e.key === "ArrowUp") this.goTo(this.hit - 1);
      else if (e.key === "Escape") {
        this.search("");
        box.blur();
      } else return;
      e.preventDefault();
      e.stopPropagation();
    });
  }

  // --- buttons and keys

  setAll(open) {
    setOpen(this.model.root, open);
    this.view.show(this.model);
    this.view.fit();
  }
  buttons() {
    const on = (id, act) => document.getElementById(id).addEventListener("click", act);
    on("fit", () => this.view.fit());
    on("zoom-in", () => this.view.zoom(1.3));
    on("zoom-out", () => this.view.zoom(1 / 1.3));
    on("open-all", () => this.setAll(true));
    on("close-all", () => this.setAll(false));
    document.getElementById("asides").addEventListener("change", () => this.showGraph(this.shownGraph));
    on("side", () => this.toggleSide());
    document.getElementById("colour").addEventListener("change", () => {
      this.view.draw();
      this.legend();
    });
    const splitter = document.getElementById("splitter"), aside = document.querySelector("aside");
    splitter.addEventListener("pointerdown", (e) => {
      splitter.setPointerCapture(e.pointerId);
      splitter.onpointermove = (m) => {
        aside.style.width = Math.max(200, innerWidth - m.clientX) + "px";
        this.view.move();
      };
    });
    splitter.addEventListener("pointerup", () => (splitter.onpointermove = null));
    addEventListener("resize", () => this.view.move());
  }
  toggleSide() {
    for (const e of [document.querySelector("aside"), document.getElementById("splitter")]) e.hidden = !e.hidden;
    this.view.move();
  }
  keys() {
    const act = {
      "/": () => {
        document.getElementById("search").focus();
        document.getElementById("search").select();
      },
      f: () => this.view.fit(),
      e: () => this.setAll(true),
      c: () => this.setAll(false),
      t: () => this.toggleSide(),
      "+": () => this.view.zoom(1.3),
      "=": () => this.view.zoom(1.3),
      "-": () => this.view.zoom(1 / 1.3),
      Escape: () => this.clicked(null),
      Enter: () => this.toggled(this.selected),
      ArrowUp: () => this.follow("to", "from"),
      ArrowDown: () => this.follow("from", "to"),
    };
    addEventListener("keydown", (e) => {
      if (e.ctrlKey || e.metaKey || e.altKey || /^(INPUT|SELECT)$/.test(e.target.tagName)) return;
      if (!act[e.key]) return;
      e.preventDefault();
      act[e.key]();
    });
  }
  // To what makes, or uses, the selected value.
  follow(near, far) {
    const s = this.selected;
    if (!s?.kind) return;
    const edge = this.model.edges.find((e) => within(e[near], s) && !within(e[far], s));
    if (!edge) return;
    const next = shownAs(edge[far]);
    this.view.centre(next);
    this.clicked(next);
  }
}

// "torchvision.models.resnet.ResNet.forward" of "__torch__.torchvision.models.resnet.ResNet.forward".
function plainName(name) {
  return name.replace(/^__torch__\./, "").replace(/___torch_mangle_\d+\./g, "");
}

function within(item, group) {
  for (let at = item; at; at = at.parent) if (at === group) return true;
  return false;
}

window.page = new Page(JSON.parse(document.getElementById("data").textContent));
