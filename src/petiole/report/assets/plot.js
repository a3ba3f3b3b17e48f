"use strict";
/* Charts as SVG: lines, points and bars on one panel or two, error bars, a legend that switches series on and off, and
   a box with the figures of what is nearest to the pointer. */
const SVG_SPACE = "http://www.w3.org/2000/svg";
const TEXT_SIZE = 12;
const switched = {};  // by chart: which series the reader has switched on or off
const ruler = document.createElement("canvas").getContext("2d");

function shape(name, properties, ...children) {
  const node = document.createElementNS(SVG_SPACE, name);
  for (const [key, value] of Object.entries(properties)) if (value !== null && value !== undefined) node.setAttribute(key, value);
  node.append(...children);
  return node;
}

function textWidth(words) {
  ruler.font = `${TEXT_SIZE}px system-ui, sans-serif`;
  return ruler.measureText(words).width;
}

/* Round numbers from low to high, about as many as asked for, unless the step is given. */
function roundTicks(low, high, most, given) {
  if (!(high > low)) return [low];
  const rough = (high - low) / most, power = 10 ** Math.floor(Math.log10(rough));
  const step = given || [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= rough * 0.999);
  const ticks = [];
  for (let k = Math.ceil(low / step - 1e-6); k * step <= high + 1e-6 * step; k++) ticks.push(k * step);
  return ticks;
}

/* All ticks with the same number of decimals. */
function tickTexts(ticks, percent) {
  const values = percent ? ticks.map((tick) => 100 * tick) : ticks;
  const step = values.length > 1 ? Math.abs(values[1] - values[0]) : Math.abs(values[0]) || 1;
  const decimals = Math.max(0, Math.min(8, -Math.floor(Math.log10(step) + 1e-6)));
  return values.map((value) => withMinus((Math.abs(value) < step * 1e-6 ? 0 : value).toLocaleString("en", { minimumFractionDigits: decimals, maximumFractionDigits: decimals })) + (percent ? "%" : ""));
}

/* Days since 1970 as a date, to the month where they span years. */
function dateText(days, span) {
  return new Date(days * 864e5).toISOString().slice(0, span > 700 ? 7 : 10);
}

/* An axis of numbers (`range`, else what `values` need) or of names, from one pixel to another. */
function makeAxis(given, values, from, to) {
  const axis = Object.assign({}, given);
  if (axis.names) {
    axis.low = -0.5;
    axis.high = axis.names.length - 0.5;
    axis.ticks = axis.names.map((_, i) => i);
    axis.texts = axis.names;
  } else {
    const finite = values.filter(Number.isFinite);
    let [low, high] = axis.range || [Math.min(...finite), Math.max(...finite)];
    if (!axis.range) {
      if (axis.zero) { low = Math.min(low, 0); high = Math.max(high, 0); }
      const room = 0.04 * (high - low) || Math.abs(high) * 0.1 || 1;
      if (!(axis.zero && low === 0)) low -= room;
      if (!(axis.zero && high === 0)) high += room;
    }
    axis.low = low;
    axis.high = high;
    axis.ticks = roundTicks(low, high, axis.most || Math.max(2, Math.min(10, Math.floor(Math.abs(to - from) / (axis.spread || 45)))), axis.step);
    axis.texts = axis.dates ? axis.ticks.map((days) => dateText(days, axis.high - axis.low)) : tickTexts(axis.ticks, axis.percent);
  }
  axis.at = (value) => from + (value - axis.low) / (axis.high - axis.low) * (to - from);
  return axis;
}

function valuesOf(series, key, panel) {
  return series.filter((one) => (one.panel || 0) === panel).flatMap((one) => [...one[key], ...(one.errors === key ? [...one.low, ...one.high] : [])]);
}

/* A series has `x`, `y`, a `color` and a `kind`: "line", "points", "both", "bars" or "rows" (bars that lie); besides
   `name`, `width`, `dash`, `sizes`, `diamond`, `opacity`, `errors` ("x" or "y") with `low` and `high`, `hover(i)`,
   `panel` (1 for the lower one) and `off` (only the legend shows it).
   The chart has axes `x`, `y` and `lower`, `keys` (a legend that can be used) and `mark` (an upright line). */
function plot(id, all, { x = {}, y = {}, lower = null, keys = false, mark = null } = {}) {
  const box = document.getElementById(id);
  const isOn = (one) => (switched[id] && one.name in switched[id] ? switched[id][one.name] : !one.off);
  if (keys) drawKeys(box, all, isOn, () => plot(id, all, { x, y, lower, keys, mark }));
  const series = all.filter(isOn);
  const width = box.clientWidth || 600, height = box.clientHeight || 300;
  const bottom = height - (x.label ? 44 : 24), right = width - 16, upper = 10;
  const divide = lower ? upper + 0.76 * (bottom - upper) : bottom;
  // names of columns and methods need more room than numbers, which is known only once the ticks are
  const upright = makeAxis(y, valuesOf(series, "y", 0), y.reversed ? upper : divide, y.reversed ? divide : upper);
  const below = lower && makeAxis(lower, valuesOf(series, "y", 1), bottom, divide + 22);
  const widest = Math.max(...[...upright.texts, ...(below ? below.texts : [])].map(textWidth), 10);
  const left = Math.min(widest, 0.5 * width) + (y.label ? 30 : 10);
  const flat = makeAxis(Object.assign({ spread: 75 }, x), [...valuesOf(series, "x", 0), ...valuesOf(series, "x", 1)], left, right);
  const picture = shape("svg", { width, height, class: "picture", "aria-hidden": "true" });
  const spots = [];
  drawAxis(picture, { upright, below, flat, left, right, upper, divide, bottom, x, y, lower });
  if (mark) drawMark(picture, mark, flat.at(mark.at), upper, divide, right);
  for (const one of series) drawSeries(picture, one, flat, one.panel ? below : upright, spots);
  const tip = make("div", { class: "tip", hidden: "" });
  box.replaceChildren(picture, tip);
  box.onpointermove = (event) => showNearest(box, tip, spots, event);
  box.onpointerleave = () => { tip.hidden = true; };
}

function drawAxis(picture, { upright, below, flat, left, right, upper, divide, bottom, x, y, lower }) {
  const label = (words, place, looks) => shape("text", Object.assign({ class: "tick" }, place, looks), words);
  for (const [axis, from, to] of below ? [[upright, upper, divide], [below, divide + 22, bottom]] : [[upright, upper, bottom]]) {
    axis.ticks.forEach((tick, i) => {
      const at = axis.at(tick);
      picture.append(shape("line", { class: "grid", x1: left, x2: right, y1: at, y2: at }), label(axis.texts[i], { x: left - 7, y: at + 4 }, { "text-anchor": "end" }));
    });
  }
  const between = flat.ticks.length > 1 ? flat.at(flat.ticks[1]) - flat.at(flat.ticks[0]) : right - left;
  const crowded = flat.texts.some((words) => textWidth(words) > between - 6);
  flat.ticks.forEach((tick, i) => {
    const at = flat.at(tick);
    if (!flat.names) picture.append(shape("line", { class: "grid", x1: at, x2: at, y1: upper, y2: divide }));
    if (below && !flat.names) picture.append(shape("line", { class: "grid", x1: at, x2: at, y1: divide + 22, y2: bottom }));
    // names that do not fit side by side are cut
    const words = crowded ? fitted(flat.texts[i], between - 4) : flat.texts[i];
    picture.append(shape("text", { class: "tick", x: at, y: bottom + 17, "text-anchor": "middle" }, words, shape("title", {}, flat.texts[i])));
  });
  const zero = (axis, place) => axis.low < 0 && axis.high > 0 && !axis.names && !axis.range && picture.append(shape("line", Object.assign({ class: "zero" }, place(axis.at(0)))));
  zero(flat, (at) => ({ x1: at, x2: at, y1: upper, y2: divide }));
  zero(upright, (at) => ({ x1: left, x2: right, y1: at, y2: at }));
  if (x.label) picture.append(label(x.label, { x: (left + right) / 2, y: bottom + 37 }, { "text-anchor": "middle", class: "axis" }));
  for (const [words, from, to] of [[y.label, upper, divide], [lower && lower.label, divide + 22, bottom]]) {
    if (words) picture.append(label(words, { transform: `translate(13 ${(from + to) / 2}) rotate(-90)` }, { "text-anchor": "middle", class: "axis" }));
  }
}

function fitted(words, room) {
  let text = words;
  while (text.length > 1 && textWidth(text + "…") > room) text = text.slice(0, -1);
  return text === words ? words : text + "…";
}

function drawMark(picture, mark, at, upper, divide, right) {
  const before = at > right - textWidth(mark.words) - 12;
  picture.append(shape("line", { class: "mark", x1: at, x2: at, y1: upper, y2: divide }),
    shape("text", { class: "tick", x: at + (before ? -5 : 5), y: upper + 11, "text-anchor": before ? "end" : "start" }, mark.words));
}

function drawSeries(picture, one, flat, upright, spots) {
  const places = one.x.map((value, i) => [flat.at(value), upright.at(one.y[i])]);
  const group = shape("g", { class: "series", opacity: one.opacity });
  const say = (i, place, inside) => { if (one.hover) spots.push({ place, inside, words: one.hover(i), name: one.name, color: one.color }); };
  if (one.kind === "bars" || one.kind === "rows") {
    drawBars(group, one, flat, upright, places, say);
  } else {
    if (one.kind !== "points" && places.length > 1) {
      group.append(shape("path", { d: "M" + places.map((place) => place.map((at) => at.toFixed(1)).join(" ")).join("L"), fill: "none", stroke: one.color, "stroke-width": one.width || 1.5,
        "stroke-dasharray": one.dash, "stroke-linejoin": "round" }));
    }
    places.forEach((place, i) => say(i, place));
  }
  if (one.errors) drawErrors(group, one, flat, upright, places);
  if (one.kind === "points" || one.kind === "both") {
    places.forEach(([x, y], i) => {
      const r = (one.sizes ? one.sizes[i] : 6) / 2;
      group.append(one.diamond ? shape("path", { d: `M${x} ${y - 1.3 * r}L${x + 1.3 * r} ${y}L${x} ${y + 1.3 * r}L${x - 1.3 * r} ${y}Z`, fill: one.color }) : shape("circle", { cx: x, cy: y, r, fill: one.color }));
    });
  }
  picture.append(group);
}

/* Bars from zero; `thick` is their thickness in units of the axis, `slot` [i, n] their place side by side. */
function drawBars(group, one, flat, upright, places, say) {
  const lying = one.kind === "rows", across = lying ? upright : flat, along = lying ? flat : upright;
  const [slot, slots] = one.slot || [0, 1];
  const from = along.at(Math.min(Math.max(0, along.low), along.high));
  const centers = places.map((place) => place[lying ? 1 : 0]);
  const gaps = [...centers].sort((a, b) => a - b).map((at, i, sorted) => (i ? at - sorted[i - 1] : Infinity)).filter((gap) => gap > 0);
  const thick = one.thick ? Math.abs(across.at(one.thick) - across.at(0)) : 0.8 * Math.min(...gaps, one.most || 40);
  places.forEach((place, i) => {
    const to = place[lying ? 0 : 1], start = centers[i] - thick / 2 + thick * slot / slots, size = Math.max(thick / slots, 1);
    const low = Math.min(from, to), length = Math.max(Math.abs(to - from), 0.5);
    const box = lying ? { x: low, y: start, width: length, height: size } : { x: start, y: low, width: size, height: length };
    group.append(shape("rect", Object.assign({ fill: one.color }, box)));
    say(i, [box.x + box.width / 2, box.y + box.height / 2], box);
  });
}

function drawErrors(group, one, flat, upright, places) {
  const lying = one.errors === "x", axis = lying ? flat : upright;
  places.forEach(([x, y], i) => {
    const low = axis.at(one.low[i]), high = axis.at(one.high[i]), end = 4;
    const d = lying ? `M${low} ${y}H${high}M${low} ${y - end}V${y + end}M${high} ${y - end}V${y + end}` : `M${x} ${low}V${high}M${x - end} ${low}H${x + end}M${x - end} ${high}H${x + end}`;
    group.append(shape("path", { d, fill: "none", stroke: one.errorColor || one.color, "stroke-width": 1.5 }));
  });
}

/* The legend above a chart: buttons, so that it can be used by keys as well. */
function drawKeys(box, series, isOn, again) {
  const id = box.id + "-keys";
  const list = document.getElementById(id) || make("ul", { class: "legend keys", id, "aria-label": "Show or hide" });
  if (!list.parentElement) box.before(list);
  const named = series.filter((one) => one.name);
  list.replaceChildren(...named.map((one) => {
    const swatch = make("i", {});
    swatch.style.background = one.color;
    const flip = () => {
      switched[box.id] = Object.assign({}, switched[box.id], { [one.name]: !isOn(one) });
      again();
      [...list.querySelectorAll("button")].find((button) => button.textContent === one.name)?.focus();
    };
    return make("li", {}, make("button", { type: "button", "aria-pressed": String(isOn(one)), onclick: flip }, swatch, one.name));
  }));
}

function showNearest(box, tip, spots, event) {
  const frame = box.getBoundingClientRect();
  const x = event.clientX - frame.left, y = event.clientY - frame.top;
  const away = ({ place, inside }) => {
    const within = inside && x >= inside.x && x <= inside.x + inside.width && y >= inside.y && y <= inside.y + inside.height;
    return within ? 20 : Math.hypot(place[0] - x, place[1] - y);
  };
  const best = spots.reduce((least, spot) => (least === null || away(spot) < away(least) ? spot : least), null);
  tip.hidden = best === null || away(best) > 40;
  if (tip.hidden) return;
  const swatch = make("i", {});
  swatch.style.background = best.color;
  tip.replaceChildren(...(best.name ? [make("b", {}, swatch, best.name)] : []), make("span", {}, best.words));
  const [at, over] = best.place;
  tip.style.left = Math.min(Math.max(at - tip.offsetWidth / 2, 0), Math.max(frame.width - tip.offsetWidth, 0)) + "px";
  tip.style.top = (over > tip.offsetHeight + 14 ? over - tip.offsetHeight - 12 : over + 14) + "px";
}
