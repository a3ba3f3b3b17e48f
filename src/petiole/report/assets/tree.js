"use strict";
const NODES = REPORT.tree.nodes;
const open = new Set();
let chosen = 0;

function classColor(k) {
  const hues = [215, 32, 156, 282, 350, 190, 60, 100, 320, 250];
  const hue = k < hues.length ? hues[k] : (k * 137.5) % 360;
  return `hsl(${hue} 58% ${isDark() ? 70 : 58}%)`;
}

function path(number) {
  const steps = [];
  for (let at = number; at !== null; at = NODES[at].up) steps.unshift(at);
  return steps;
}

function share(value) {
  return (100 * value).toFixed(value > 0 && value < 0.1 ? 1 : 0) + "%";
}

function mix(node) {
  const bar = make("span", { class: "mix", "aria-hidden": "true" });
  const order = node.classes.map((k, i) => [k, node.raw[i]]).sort((a, b) => a[0] - b[0]);  // colours in one order everywhere
  order.forEach(([k, width]) => {
    const part = make("i", {});
    part.style.width = 100 * width + "%";
    part.style.background = classColor(k);
    bar.append(part);
  });
  return bar;
}

/* Rows may be fractions, where missing values divide them: all with one decimal then. */
const FRACTIONS = NODES.some((node) => node.n !== Math.round(node.n));
function amount(value) {
  return value.toLocaleString("en", FRACTIONS ? { minimumFractionDigits: 1, maximumFractionDigits: 1 } : {});
}

function treeItem(number) {
  const node = NODES[number];
  const inner = node.down.length > 0;
  const words = make("span", { class: "words" }, node.rule);
  const mark = make("span", { class: "mark", "aria-hidden": "true" }, inner ? (open.has(number) ? "▾" : "▸") : "•");
  const row = make("div", { class: "row" }, mark, words, mix(node), make("span", { class: "amount" }, amount(node.n)));
  row.addEventListener("click", () => { if (inner && chosen === number) toggle(number); else if (inner) open.add(number); choose(number, true); });
  const item = make("li", { role: "treeitem", id: "node-" + number, tabindex: number === chosen ? "0" : "-1", "aria-selected": String(number === chosen),
    "aria-expanded": inner ? String(open.has(number)) : null, "aria-level": String(node.depth + 1),
    "aria-label": `${node.rule}; ${amount(node.n)} rows; mostly ${REPORT.classes[node.classes[0]]}` }, row);
  if (inner && open.has(number)) item.append(make("ul", { role: "group" }, ...node.down.map(treeItem)));
  return item;
}

function toggle(number) {
  if (!open.delete(number)) open.add(number);
}

function drawList() {
  document.getElementById("tree-list").replaceChildren(treeItem(0));
}

function drawNode() {
  const node = NODES[chosen];
  const steps = path(chosen).slice(1);
  const kind = node.down.length || node.cut ? `tests ${node.test}` : "a leaf";
  const head = make("tr", {}, ...["Class", "Rows", "Raw", "Smoothed", ""].map((words, i) => make("th", { scope: "col", class: i % 4 ? "number" : "" }, words)));
  const rows = node.classes.map((k, i) => {
    const bar = make("span", { class: "bar" });
    bar.style.width = 100 * node.smooth[i] + "%";
    bar.style.background = classColor(k);
    return make("tr", {}, make("th", { scope: "row" }, short(REPORT.classes[k], 24)), make("td", { class: "number" }, amount(node.counts[i])),
      make("td", { class: "number" }, share(node.raw[i])), make("td", { class: "number" }, share(node.smooth[i])), make("td", {}, make("span", { class: "track" }, bar)));
  });
  const parts = [make("h3", { id: "node-rule" }, chosen ? node.rule : "All rows"),
    make("p", { class: "note" }, `Depth ${node.depth}, ${amount(node.n)} rows; ${kind}.` + (node.cut ? " The nodes below are left out of this page." : ""))];
  if (steps.length) parts.push(make("strong", {}, "Path from the root"), make("ol", { id: "node-path" }, ...steps.map((step) => make("li", {}, NODES[step].rule))));
  parts.push(make("div", { class: "scroll" }, make("table", { id: "node-classes" }, make("thead", {}, head), make("tbody", {}, ...rows))));
  if (REPORT.classes.length > node.classes.length) parts.push(make("p", { class: "note" }, `The ${node.classes.length} most probable of ${REPORT.classes.length} classes.`));
  document.getElementById("node").replaceChildren(...parts);
}

/* Every node a rectangle below its parent, as wide as its share of the rows. */
function drawIcicle() {
  const box = document.getElementById("icicle");
  const width = box.clientWidth, height = 30;
  const levels = 1 + Math.min(9, Math.max(...NODES.map((node) => node.depth)));
  const space = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(space, "svg");
  svg.setAttribute("width", width);
  svg.setAttribute("height", levels * height + 2);
  const onPath = new Set(path(chosen));
  const place = (number, from, to) => {
    const node = NODES[number];
    if (node.depth >= levels || to - from < 0.7) return;
    const shape = document.createElementNS(space, "rect");
    const values = { x: from + 1, y: node.depth * height + 1, width: Math.max(to - from - 1, 0.7), height: height - 2, rx: to - from > 8 ? 3 : 0, fill: classColor(node.classes[0]),
      "fill-opacity": (isDark() ? 0.55 : 0.3) + (isDark() ? 0.45 : 0.7) * Math.max(...node.raw), "data-node": number, class: number === chosen ? "chosen" : onPath.has(number) ? "on-path" : "" };
    for (const [key, value] of Object.entries(values)) shape.setAttribute(key, value);
    shape.addEventListener("click", () => choose(number, false));
    const tip = document.createElementNS(space, "title");
    tip.textContent = `${node.rule}\n${amount(node.n)} rows, mostly ${REPORT.classes[node.classes[0]]}`;
    shape.append(tip);
    svg.append(shape);
    const letters = Math.floor((to - from - 12) / 6.2);
    if (letters >= 5) {
      const label = document.createElementNS(space, "text");
      label.setAttribute("x", from + 7);
      label.setAttribute("y", node.depth * height + 19);
      label.textContent = short(node.rule, letters);
      svg.append(label);
    }
    let at = from;
    for (const child of node.down) {
      const next = at + (node.n > 0 ? (to - from) * NODES[child].n / node.n : 0);
      place(child, at, next);
      at = next;
    }
  };
  place(0, 0, width);
  box.replaceChildren(svg);
}

function drawLegend() {
  const seen = [...new Set(NODES.flatMap((node) => node.classes))].sort((a, b) => a - b).slice(0, 30);
  document.getElementById("class-legend").replaceChildren(...seen.map((k) => {
    const swatch = make("i", {});
    swatch.style.background = classColor(k);
    return make("li", {}, swatch, short(REPORT.classes[k], 30));
  }));
}

function choose(number, focus) {
  chosen = number;
  for (const step of path(number).slice(0, -1)) open.add(step);
  drawList();
  drawNode();
  drawIcicle();
  const item = document.getElementById("node-" + number);
  if (focus) item.focus({ preventScroll: true });
  const box = item.closest(".tree-box"), row = item.firstElementChild;
  const offset = row.getBoundingClientRect().top - box.getBoundingClientRect().top;
  if (offset < 0 || offset > box.clientHeight - 30) box.scrollTop += offset - box.clientHeight / 3;
}

function visible() {
  return [...document.querySelectorAll("#tree-list [role=treeitem]")].map((item) => Number(item.id.slice(5)));
}

document.getElementById("tree-list").addEventListener("keydown", (event) => {
  const shown = visible(), place = shown.indexOf(chosen), node = NODES[chosen];
  let next = null;
  if (event.key === "ArrowDown") next = shown[place + 1];
  else if (event.key === "ArrowUp") next = shown[place - 1];
  else if (event.key === "Home") next = shown[0];
  else if (event.key === "End") next = shown[shown.length - 1];
  else if (event.key === "ArrowRight" && node.down.length) { if (open.has(chosen)) next = node.down[0]; else { open.add(chosen); next = chosen; } }
  else if (event.key === "ArrowLeft") { if (open.delete(chosen)) next = chosen; else next = node.up; }
  else if (event.key === "Enter" || event.key === " ") { toggle(chosen); next = chosen; }
  else return;
  event.preventDefault();
  if (next !== null && next !== undefined) choose(next, true);
});

const TREE = REPORT.tree;
document.getElementById("tree-note").textContent = `${figure(TREE.n_nodes)} nodes, ${figure(TREE.n_leaves)} leaves, depth ${TREE.depth}.`
  + ` Log-loss of such trees on rows that they were not fitted to: ${TREE.scores.shown.toFixed(3)} bits; of full trees: ${TREE.scores.full.toFixed(3)} bits.`
  + (TREE.n_nodes > NODES.length ? ` This page has the ${figure(NODES.length)} nodes nearest to the root.` : "");
NODES.forEach((node, number) => { if (node.depth < 3) open.add(number); });
redraws.push(() => { drawLegend(); drawList(); drawNode(); drawIcicle(); });
drawLegend();
choose(0, false);
