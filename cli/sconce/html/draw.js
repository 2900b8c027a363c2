// Draws a model that was laid out, as SVG; zooms and pans.

const kSvg = "http://www.w3.org/2000/svg";
const kMany = 1500;   // above this only what is in sight is drawn
const kFar = 0.42;    // below this scale text cannot be read, and is left out

function svg(name, attributes = {}, parent = null, text = null) {
  const element = document.createElementNS(kSvg, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (text !== null) element.textContent = text;
  parent?.appendChild(element);
  return element;
}

const measureContext = document.createElement("canvas").getContext("2d");
function textWidth(text, size = 13, weight = "") {
  measureContext.font = `${weight} ${size}px system-ui, sans-serif`;
  return measureContext.measureText(text).width;
}
function shorten(text, most) {
  return text.length <= most ? text : text.slice(0, most / 2) + "…" + text.slice(text.length - most / 2 + 1);
}
// " 12.3 %"; small shares are no news.
function showShare(ns, total) {
  const percent = 100 * ns / total;
  return percent < 0.05 ? "" : `  ${percent.toFixed(1)} %`;
}
function showTime(ns) {
  if (ns >= 1e9) return (ns / 1e9).toFixed(2) + " s";
  if (ns >= 1e6) return (ns / 1e6).toFixed(2) + " ms";
  if (ns >= 1e3) return (ns / 1e3).toFixed(1) + " µs";
  return Math.round(ns) + " ns";
}

class View {
  constructor(page) {
    this.page = page;
    this.surface = document.getElementById("graph");
    this.world = document.getElementById("world");
    this.map = document.getElementById("map");
    this.x = this.y = 0;  // what lies at the surface's corner
    this.scale = 1;
    this.listen();
  }

  // Shown items, parents before children.
  show(model) {
    this.model = model;
    layout(model, (item) => this.sizeOf(item));
    this.shown = [];
    const walk = (group) => {
      for (const child of group.children) {
        this.shown.push(child);
        if (child.kind === "group" && child.open) walk(child);
      }
    };
    walk(model.root);
    this.drawMap();
    this.draw();
  }

  labels(item) {
    const { graph, total } = this.model;
    const node = item.kind === "op" ? graph.nodes[item.node] : null;
    const second = item.kind === "op" ? (item.module ?? "") : item.subtitle ?? "";
    const shape = node ? node.outputs.map((v) => shapeOf(graph.values[v])).filter(Boolean).join(", ") : "";
    const time = total && item.ns ? showTime(item.ns) + showShare(item.ns, total) : "";
    return { first: shorten(item.title, 36), second: shorten(second, 40), shape: shorten(shape, 40), time };
  }

  sizeOf(item) {
    const label = this.labels(item);
    if (item.kind === "pill") return [Math.max(30, 7.4 * label.first.length + 20), 24];
    const lines = item.kind === "op" ? 1 + !!label.second + !!label.shape + !!label.time : 2 + !!label.time;
    const wide = Math.max(textWidth(label.first, 13, 600) + (item.kind === "group" ? textWidth(label.second, 11) + 22 : 0),
                          item.kind === "op" ? textWidth(label.second, 11) : 0, textWidth(label.shape, 11), textWidth(label.time, 11));
    return [Math.max(item.kind === "group" ? 110 : 70, wide + 28), item.kind === "op" && lines === 1 ? 26 : 14 + 15 * lines];
  }

  draw() {
    const { shown, model } = this;
    const many = shown.length + model.lines.length > kMany;
    const seen = many ? this.sight(0.3) : null;
    const visible = (x0, y0, x1, y1) => !seen || (x1 > seen.x0 && x0 < seen.x1 && y1 > seen.y0 && y0 < seen.y1);
    this.drawnFor = seen;
    this.world.replaceChildren();
    this.byItem = new Map();
    const groups = svg("g", {}, this.world), lines = svg("g", {}, this.world), boxes = svg("g", {}, this.world);
    const titles = svg("g", { class: "titles" }, this.world);  // of open groups, above the lines that cross them
    for (const item of shown) {
      if (!visible(item.x - item.w / 2, item.y - item.h / 2, item.x + item.w / 2, item.y + item.h / 2)) continue;
      const element = item.kind === "group" && item.open ? this.drawOpen(item, groups, titles) : this.drawBox(item, boxes);
      element.item = item;
      element.dataset.item = item.id;
      if (item.node !== null && item.node !== undefined) element.dataset.node = item.node;
      this.byItem.set(item, element);
    }
    this.lineElements = [];
    for (const line of model.lines) {
      const [x, y] = line.points[0], [x1, y1] = line.points[line.points.length - 1];
      if (!visible(Math.min(x, x1) - 200, y, Math.max(x, x1) + 200, y1)) continue;
      const element = svg("path", { class: "line" + (line.stub ? " stub" : ""), d: curve(line.points) }, lines);
      if (line.arrow) element.setAttribute("marker-end", "url(#arrow)");
      element.line = line;
      this.lineElements.push(element);
    }
    this.page.mark();
    this.move();
  }

  drawOpen(item, parent, titles) {
    const transform = `translate(${item.x - item.w / 2} ${item.y - item.h / 2})`;
    const g = svg("g", { class: "group " + item.role, transform }, parent), title = svg("g", { transform }, titles);
    svg("rect", { width: item.w, height: item.h, rx: 10 }, g);
    const head = svg("rect", { class: "head", width: item.w, height: kHeader, rx: 10 }, g);
    svg("title", {}, head, "Click to select, double-click to close");
    const label = this.labels(item);
    svg("text", { x: 12, y: 18 }, title, "▾ " + label.first);
    if (label.second) svg("text", { class: "soft", x: 20 + textWidth("▾ " + label.first, 13, 600), y: 18 }, title, label.second);
    if (label.time && item.w > 260) svg("text", { class: "time", x: item.w - 12, y: 18, "text-anchor": "end" }, title, label.time);
    return g;
  }

  drawBox(item, parent) {
    const g = svg("g", { transform: `translate(${item.x - item.w / 2} ${item.y - item.h / 2})` }, parent);
    const label = this.labels(item);
    if (item.kind === "pill") {
      g.setAttribute("class", "pill " + item.role);
      svg("rect", { width: item.w, height: item.h, rx: 12 }, g);
      svg("text", { x: item.w / 2, y: 16, "text-anchor": "middle" }, g, label.first);
      return g;
    }
    const isGroup = item.kind === "group";
    if (isGroup) svg("rect", { class: "back", x: 4, y: 4, width: item.w, height: item.h, rx: 8 }, g);
    const box = svg("rect", { class: "box", width: item.w, height: item.h, rx: isGroup ? 8 : 6 }, g);
    const heat = this.page.heatOf(item);
    if (heat > 0) svg("rect", { class: "heat", width: item.w, height: item.h, rx: isGroup ? 8 : 6, fill: `rgba(var(--heat), ${heat})` }, g);
    // Grey text could not be read on a tint. 0.72: where black has as much contrast as white in the dark.
    const hot = heat > 0.72 ? " warm hot" : heat > 0.1 ? " warm" : "";
    if (isGroup) {
      g.setAttribute("class", "closed " + item.role + hot);
      svg("text", { x: 10, y: 18, "font-weight": 600 }, g, "▸ " + label.first);
      if (label.second) svg("text", { class: "soft", x: 18 + textWidth("▸ " + label.first, 13, 600), y: 18 }, g, label.second);
      svg("text", { class: "soft", x: 12, y: 34 }, g, `${item.count} operator${item.count === 1 ? "" : "s"}`);
      if (label.time) svg("text", { class: "time", x: 12, y: 49 }, g, label.time);
    } else {
      g.setAttribute("class", "op" + (isScalar(this.model.graph, item.node) ? " scalar" : "") + hot);
      if (this.model.total && !this.model.graph.nodes[item.node].calls) g.classList.add("idle");
      g.style.setProperty("--colour", this.page.colourOf(item));
      svg("rect", { class: "strip", x: 0, y: 0, width: 5, height: item.h, rx: 2.5 }, g);
      let y = 18;
      svg("text", { x: 14, y }, g, label.first);
      for (const [kind, text] of [["soft", label.second], ["soft", label.shape], ["time", label.time]]) {
        if (text) svg("text", { class: kind, x: 14, y: (y += 15) }, g, text);
      }
    }
    box.appendChild(svg("title", {}, null, item.title + (item.module ? "  " + item.module : "")));
    return g;
  }

  // --- zooming and panning

  size() {
    const r = this.surface.getBoundingClientRect();
    return [r.width || 800, r.height || 600];
  }
  sight(margin) {
    const [w, h] = this.size();
    const mx = margin * w / this.scale, my = margin * h / this.scale;
    return { x0: this.x - mx, y0: this.y - my, x1: this.x + w / this.scale + mx, y1: this.y + h / this.scale + my };
  }
  move() {
    this.world.setAttribute("transform", `scale(${this.scale}) translate(${-this.x} ${-this.y})`);
    this.surface.classList.toggle("far", this.scale < kFar);
    const s = this.sight(0);
    for (const [k, v] of Object.entries({ x: s.x0, y: s.y0, width: s.x1 - s.x0, height: s.y1 - s.y0 })) this.mapView?.setAttribute(k, v);
    if (this.drawnFor && !this.waiting) {
      const d = this.drawnFor;
      if (s.x0 < d.x0 || s.y0 < d.y0 || s.x1 > d.x1 || s.y1 > d.y1) {
        this.waiting = true;
        requestAnimationFrame(() => {
          this.waiting = false;
          this.draw();
        });
      }
    }
  }
  zoom(factor, px, py) {
    const [w, h] = this.size();
    px ??= w / 2;
    py ??= h / 2;
    const scale = Math.min(4, Math.max(0.01, this.scale * factor));
    this.x += px / this.scale - px / scale;
    this.y += py / this.scale - py / scale;
    this.scale = scale;
    this.move();
  }
  fit(least = 0.01) {
    const [w, h] = this.size();
    const { root } = this.model;
    this.scale = Math.max(least, Math.min(1.15, w / (root.w + 20), h / (root.h + 20)));
    // What is too wide is shown from where the data comes in.
    const first = root.children.find((c) => c.role === "input") ?? root.children[0];
    this.x = (root.w * this.scale > w && first ? first.x : root.w / 2) - w / this.scale / 2;
    this.y = Math.min(0, (root.h - h / this.scale) / 2);
    if (root.h * this.scale > h) this.y = least > 0.01 ? 0 : (root.h - h / this.scale) / 2;
    this.move();
  }
  centre(item) {
    const [w, h] = this.size();
    const s = this.sight(-0.05);
    const inside = item.x - item.w / 2 > s.x0 && item.x + item.w / 2 < s.x1 && item.y - item.h / 2 > s.y0 && item.y + item.h / 2 < s.y1;
    if (inside && this.scale > kFar) return;
    if (this.scale < 0.6) this.scale = 0.9;
    this.x = item.x - w / 2 / this.scale;
    this.y = item.y - Math.min(h / 2 / this.scale, Math.max(h / 2 / this.scale, item.h / 2 + 40));
    this.move();
  }

  drawMap() {
    const { root } = this.model;
    this.map.replaceChildren();
    this.map.setAttribute("viewBox", `-10 -10 ${root.w + 20} ${root.h + 20}`);
    const step = Math.ceil(this.shown.length / 3000);
    this.shown.forEach((item, i) => {
      if (i % step || item.kind === "pill") return;
      const open = item.kind === "group" && item.open;
      const r = svg("rect", { class: open ? "group" : "item", x: item.x - item.w / 2, y: item.y - item.h / 2, width: item.w, height: item.h }, this.map);
      if (!open && item.kind === "op") r.style.fill = this.page.colourOf(item);
      r.item = item;
    });
    this.mapView = svg("rect", { class: "view" }, this.map);
  }

  listen() {
    let from = null;
    this.surface.addEventListener("wheel", (e) => {
      e.preventDefault();
      const r = this.surface.getBoundingClientRect();
      if (e.shiftKey) {
        this.x += (e.deltaX || e.deltaY) / this.scale;
        this.move();
      } else {
        this.zoom(Math.exp(-e.deltaY * (e.deltaMode === 1 ? 0.05 : 0.0015)), e.clientX - r.left, e.clientY - r.top);
      }
    }, { passive: false });
    this.surface.addEventListener("pointerdown", (e) => {
      from = { px: e.clientX, py: e.clientY, x: this.x, y: this.y, moved: false };
    });
    addEventListener("pointermove", (e) => {
      if (!from) return;
      const dx = e.clientX - from.px, dy = e.clientY - from.py;
      if (Math.abs(dx) + Math.abs(dy) > 4) from.moved = true;
      if (!from.moved) return;
      this.surface.classList.add("dragging");
      this.x = from.x - dx / this.scale;
      this.y = from.y - dy / this.scale;
      this.move();
    });
    addEventListener("pointerup", (e) => {
      const was = from;
      from = null;
      this.surface.classList.remove("dragging");
      if (was && !was.moved) this.page.clicked(itemAt(e.target));
    });
    this.surface.addEventListener("dblclick", (e) => this.page.toggled(itemAt(e.target)));
    this.surface.addEventListener("pointerover", (e) => this.page.hovered(itemAt(e.target)));
    const jump = (e) => {
      if (e.buttons !== 1) return;
      const at = new DOMPoint(e.clientX, e.clientY).matrixTransform(this.map.getScreenCTM().inverse());
      const [w, h] = this.size();
      this.x = at.x - w / 2 / this.scale;
      this.y = at.y - h / 2 / this.scale;
      this.move();
    };
    this.map.addEventListener("pointerdown", jump);
    this.map.addEventListener("pointermove", jump);
  }
}

function itemAt(target) {
  for (let at = target; at; at = at.parentNode) if (at.item) return at.item;
  return null;
}

// Straight where the line is vertical, an S elsewhere.
function curve(points) {
  let d = `M${points[0][0].toFixed(1)} ${points[0][1].toFixed(1)}`;
  for (let i = 1; i < points.length; ++i) {
    const [x0, y0] = points[i - 1], [x1, y1] = points[i];
    if (x0 === x1 && y0 === y1) continue;
    if (Math.abs(x1 - x0) < 0.5) {
      d += `L${x1.toFixed(1)} ${y1.toFixed(1)}`;
    } else {
      const middle = (y0 + y1) / 2;
      d += `C${x0.toFixed(1)} ${middle.toFixed(1)} ${x1.toFixed(1)} ${middle.toFixed(1)} ${x1.toFixed(1)} ${y1.toFixed(1)}`;
    }
  }
  return d;
}

// "1×64×56×56 float32", seen in a run, or what the type says.
function shapeOf(value) {
  if (value.seen) return value.seen;
  const known = /^[A-Z]\w*\(([\d, *]+?)(?:, strides|, requires|, device|\))/.exec(value.type);
  return known ? known[1].replace(/, /g, "×") : "";
}
function isScalar(graph, n) {
  const { outputs } = graph.nodes[n];
  return !outputs.some((v) => holdsTensors(graph.values[v].type) && graph.values[v].type !== "NoneType");
}
