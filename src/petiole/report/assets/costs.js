"use strict";
const DECISION = REPORT.decision;
const panel = document.getElementById("cost-panel");
const cost = (DECISION.cost || []).map((row) => [...row]);  // none where there are too many classes to list

/* The figures at the top of the page are means over all repetitions; the page has the rows of one. */
const ONCE = REPORT.repeats > 1 ? ` Figures here are those of the first of ${REPORT.repeats} repetitions; the ones at the top of the page are means over all.` : "";
const said = (name) => (DECISION.areClasses ? "predicted " : "") + short(name, 18);

/* Fields for cost[decision][true]; `changed` is called after every valid change. */
function costFields(changed) {
  const names = REPORT.classes;
  const head = make("tr", {}, make("td", {}), ...names.map((name) => make("th", { scope: "col" }, "truly " + short(name, 18))));
  const rows = DECISION.names.map((decision, i) => make("tr", {}, make("th", { scope: "row" }, said(decision)), ...names.map((truth, j) => {
    const field = make("input", { type: "number", step: "any", value: String(cost[i][j]), "aria-label": `Cost of ${said(decision)} when it is ${truth}`, "data-cost": `${i},${j}` });
    field.addEventListener("input", () => {
      const value = field.valueAsNumber;
      field.setAttribute("aria-invalid", String(!Number.isFinite(value)));
      if (Number.isFinite(value)) { cost[i][j] = value; changed(); }
    });
    return make("td", {}, field);
  })));
  return make("div", { class: "scroll", role: "region", "aria-label": "Costs", tabindex: "0" }, make("table", { class: "cost-fields" }, make("thead", {}, head), make("tbody", {}, ...rows)));
}

function figures(entries) {
  return make("dl", { class: "figures" }, ...entries.map(([name, id]) => make("div", {}, make("dt", {}, name), make("dd", { id }, "–"))));
}

/* Two classes: weights of both classes at or above each thousandth, per method. */
const STEPS = 1000;
function above(method) {
  const [used, negative, positive] = DECISION.steps[method];
  const counts = [new Float64Array(STEPS + 2), new Float64Array(STEPS + 2)];
  used.forEach((step, i) => { counts[0][step] += negative[i]; counts[1][step] += positive[i]; });
  for (const column of counts) for (let step = STEPS; step >= 0; step--) column[step] += column[step + 1];
  return counts;
}

function thresholdPanel() {
  const positive = DECISION.positive, negative = 1 - positive;
  const { act, idle } = DECISION;
  const name = REPORT.classes[positive], action = DECISION.names[act];
  const tallies = Object.fromEntries(REPORT.shown.map((method) => [method, above(method)]));
  const totals = tallies[REPORT.shown[0]].map((column) => column[0]);
  const rows = totals[0] + totals[1];
  const costAt = (tally, step) => {
    const falseAlarms = tally[0][step], hits = tally[1][step];
    return (hits * cost[act][positive] + falseAlarms * cost[act][negative]
      + (totals[1] - hits) * cost[idle][positive] + (totals[0] - falseAlarms) * cost[idle][negative]) / rows;
  };
  const method = make("select", { id: "cost-method" });
  fill(method, REPORT.shown.map((key) => [key, METHOD[key].title]));
  method.value = REPORT.recommended;
  const slider = make("input", { type: "range", id: "threshold", min: "0", max: "1", step: "0.01", value: "0.5", "aria-describedby": "threshold-note" });
  const shown = make("output", { id: "threshold-value", for: "threshold" });
  const best = make("button", { type: "button", id: "to-best" }, "Go to the cheapest threshold");
  panel.append(
    make("p", { class: "lead" }, `The decision is “${short(action, 40)}” if the probability of “${short(name, 40)}” is at least the threshold. Type what each outcome costs (gains are negative), and move the threshold. `
      + "Every row was scored by a model that was not fitted to it." + ONCE),
    make("div", { class: "cost-grid" },
      make("div", {},
        make("div", { class: "controls" }, make("label", { for: "cost-method" }, "Method"), method),
        costFields(() => { draw(); }),
        make("div", { class: "slider" }, make("label", { for: "threshold" }, `“${short(action, 30)}” from a probability of “${short(name, 30)}” of `, shown), slider),
        best, make("p", { class: "note", id: "threshold-note" })),
      make("div", {}, make("ul", { class: "legend", id: "cost-legend", "aria-label": "Colours of the methods" }), make("div", { class: "chart", id: "chart-cost", role: "img", "aria-label": "Cost per row against the threshold" }),
        figures([["cost per row", "f-cost"], [`decided “${short(action, 18)}”`, "f-acted"], [`of all “${short(name, 18)}”, found`, "f-recall"], [`truly “${short(name, 18)}” among these`, "f-precision"],
          ["false alarms", "f-false"], ["missed", "f-missed"]]))));
  const grid = Array.from({ length: 101 }, (_, i) => i * 10);
  /* The decisions at the threshold and what was true, in place of the table for readers without scripts. */
  function drawConfusion(tally, step) {
    const place = document.getElementById("confusion-matrix");
    const acted = [tally[0][step], tally[1][step]];
    const lines = [[action, acted], [DECISION.names[idle], [totals[0] - acted[0], totals[1] - acted[1]]]];
    const heads = ["Decision", `truly ${short(REPORT.classes[negative], 24)}`, `truly ${short(name, 24)}`, "All"];
    const cell = (value, right) => make("td", { class: "number" }, right ? make("b", {}, figure(value)) : figure(value));
    const rows = lines.map(([decision, [other, hit]], i) => make("tr", {}, make("th", { scope: "row" }, short(decision, 30)), cell(other, i === 1), cell(hit, i === 0), cell(other + hit, false)));
    const head = make("tr", {}, ...heads.map((words, i) => make("th", { scope: "col", class: i ? "number" : "" }, words)));
    place.replaceChildren(make("p", { class: "note" }, `Decisions by ${METHOD[method.value].title} at this threshold, and what was true:`),
      make("div", { class: "scroll", role: "region", "aria-label": "Confusion matrix", tabindex: "0" }, make("table", { id: "confusion" }, make("thead", {}, head), make("tbody", {}, ...rows))));
  }
  function cheapest(tally) {
    return grid.reduce((least, step) => (costAt(tally, step) < costAt(tally, least) - 1e-12 ? step : least), 0);
  }
  function draw() {
    const tally = tallies[method.value], step = Math.round(slider.valueAsNumber * STEPS);
    const acted = tally[0][step] + tally[1][step];
    const set = (id, words) => { document.getElementById(id).textContent = words; };
    set("f-cost", figure(costAt(tally, step)));
    set("f-acted", `${figure(acted)} (${(100 * acted / rows).toFixed(1)}%)`);
    set("f-recall", `${figure(tally[1][step])} of ${figure(totals[1])} (${(100 * tally[1][step] / totals[1]).toFixed(1)}%)`);
    set("f-precision", acted > 0 ? (100 * tally[1][step] / acted).toFixed(1) + "%" : "–");
    set("f-false", figure(tally[0][step]));
    set("f-missed", figure(totals[1] - tally[1][step]));
    drawConfusion(tally, step);
    drawMethodLegend("cost-legend");
    shown.textContent = slider.valueAsNumber.toFixed(2);
    slider.setAttribute("aria-valuetext", `${slider.value}, cost per row ${figure(costAt(tally, step))}`);
    // Elkan's threshold: where acting and not acting cost the same in expectation
    const extra = cost[act][negative] - cost[idle][negative], saved = cost[idle][positive] - cost[act][positive];
    const theory = extra + saved > 0 ? Math.min(Math.max(extra / (extra + saved), 0), 1) : NaN;
    const least = cheapest(tally);
    const never = (totals[1] * cost[idle][positive] + totals[0] * cost[idle][negative]) / rows;
    const always = (totals[1] * cost[act][positive] + totals[0] * cost[act][negative]) / rows;
    set("threshold-note", (Number.isFinite(theory) ? `With these costs the best threshold for calibrated probabilities is ${theory.toFixed(3)}. ` : "With these costs no threshold is best: acting does not pay more for probable rows. ")
      + `Cheapest on these rows: ${(least / STEPS).toFixed(2)}, at ${figure(costAt(tally, least))} per row; “${DECISION.names[idle]}” for all costs ${figure(never)}, “${action}” for all ${figure(always)}.`);
    const series = REPORT.shown.map((key) => {
      const costs = grid.map((at) => costAt(tallies[key], at));
      return { kind: "line", x: grid.map((at) => at / STEPS), y: costs, name: METHOD[key].title, color: methodColor(key), width: key === method.value ? 3 : 1.3,
        hover: (i) => `from ${(grid[i] / STEPS).toFixed(2)}: ${figure(costs[i])} per row` };
    });
    series.push({ kind: "points", x: [step / STEPS], y: [costAt(tally, step)], sizes: [13], color: css("ink") });
    plot("chart-cost", series, {
      x: { label: "threshold", range: [-0.01, 1.01] }, y: { label: "cost per row" }, mark: Number.isFinite(theory) ? { at: theory, words: "by theory" } : null,
    });
  }
  slider.addEventListener("input", draw);
  method.addEventListener("change", draw);
  best.addEventListener("click", () => { slider.value = String(cheapest(tallies[method.value]) / STEPS); draw(); });
  slider.value = DECISION.threshold.toFixed(2);
  redraws.push(draw);
  draw();
}

/* More classes: two rules side by side, worked out here where the reader may change the costs. */
const RULES = [["cheapest", DECISION.areClasses ? "class of least expected cost" : "decision of least expected cost"], ["probable", "most probable class"]].slice(0, DECISION.areClasses ? 2 : 1);

function ruleCosts(method) {
  const { truth, weight, proba } = DECISION.rows;
  const sums = { cheapest: 0, probable: 0 };
  let total = 0;
  truth.forEach((k, row) => {
    const p = proba[method][row];
    const cheap = cheapestFor(p);
    const probable = p.reduce((best, value, i) => (value > p[best] ? i : best), 0);
    sums.cheapest += weight[row] * cost[cheap][k];
    if (DECISION.areClasses) sums.probable += weight[row] * cost[probable][k];
    total += weight[row];
  });
  return { cheapest: sums.cheapest / total, probable: sums.probable / total };
}

/* The decisions of least expected cost by the recommended method, under the costs in the fields. */
function drawConfusionOfMany() {
  const { truth, weight, proba } = DECISION.rows;
  const counts = DECISION.names.map(() => REPORT.classes.map(() => 0));
  truth.forEach((k, row) => { counts[cheapestFor(proba[REPORT.recommended][row])][k] += weight[row]; });
  const cells = counts.map((line) => [...line, line.reduce((sum, value) => sum + value, 0)]);
  document.querySelectorAll("#confusion-matrix tbody tr").forEach((line, i) => {
    line.querySelectorAll("td").forEach((cell, j) => { (cell.querySelector("b") || cell).textContent = figure(cells[i][j]); });
  });
}

function cheapestFor(p) {
  const expected = cost.map((line) => line.reduce((sum, value, j) => sum + value * p[j], 0));
  return expected.reduce((best, value, i) => (value < expected[best] - 1e-12 ? i : best), 0);
}

function constantRule() {
  const { truth, weight } = DECISION.rows;
  const mean = DECISION.names.map((_, i) => truth.reduce((sum, k, row) => sum + weight[row] * cost[i][k], 0) / weight.reduce((a, b) => a + b, 0));
  const best = mean.reduce((least, value, i) => (value < mean[least] ? i : least), 0);
  return { class: best, cost: mean[best] };
}

function matrixPanel() {
  const body = make("tbody", { id: "rule-rows" });
  const words = make("p", { class: "note", id: "rule-note" });
  const head = make("tr", {}, make("th", { scope: "col" }, "Method"), ...RULES.map(([, title]) => make("th", { scope: "col", class: "number" }, title)));
  const staticTable = () => make("div", { class: "scroll", role: "region", "aria-label": "Costs", tabindex: "0" }, make("table", {}, make("thead", {}, make("tr", {}, make("td", {}), ...REPORT.classes.map((name) => make("th", { scope: "col", class: "number" }, "truly " + short(name, 18))))),
    make("tbody", {}, ...DECISION.names.map((name, i) => make("tr", {}, make("th", { scope: "row" }, said(name)), ...cost[i].map((value) => make("td", { class: "number" }, figure(value))))))));
  panel.append(
    make("p", { class: "lead" }, DECISION.editable ? (DECISION.areClasses ? "Type what it costs to predict a class (row) when another is true (column). " : "Type what each decision (row) costs when a class (column) is true. ")
      + (DECISION.given ? "" : "Until you do, every mistake costs 1 and both rules agree. ") + "Mean cost per row:" + ONCE
      : "Mean cost per row under the costs of this study, by decision rule:"),
    DECISION.editable ? costFields(() => draw()) : !cost.length ? "" : make("details", {}, make("summary", {}, "Cost matrix"), staticTable()),
    make("div", { class: "scroll", role: "region", "aria-label": "Cost by decision rule", tabindex: "0" }, make("table", {}, make("thead", {}, head), body)),
    make("div", { class: "chart", id: "chart-cost", role: "img", "aria-label": "Cost per row by method and rule" }), words);
  function draw() {
    const found = Object.fromEntries(REPORT.shown.map((key) => [key, DECISION.editable ? ruleCosts(key) : DECISION.rules[key]]));
    const constant = DECISION.editable ? constantRule() : DECISION.constant;
    const texts = evenly(REPORT.shown.flatMap((key) => RULES.map(([rule]) => found[key][rule])));
    body.replaceChildren(...REPORT.shown.map((key, place) => make("tr", {}, make("th", { scope: "row" }, METHOD[key].title), ...RULES.map((_, i) => make("td", { class: "number" }, texts[place * RULES.length + i])))));
    if (DECISION.editable && DECISION.rows.of <= DECISION.rows.truth.length) drawConfusionOfMany();
    words.textContent = `“${DECISION.names[constant.class]}” for all rows would cost ${figure(constant.cost)} per row.`
      + (DECISION.editable && DECISION.rows.of > DECISION.rows.truth.length ? ` Computed on ${figure(DECISION.rows.truth.length)} rows drawn from ${figure(DECISION.rows.of)}.` : "");
    document.getElementById("chart-cost").style.height = 70 + 34 * REPORT.shown.length + "px";
    plot("chart-cost", RULES.map(([rule, title], i) => ({
      kind: "rows", y: REPORT.shown.map((_, place) => place), x: REPORT.shown.map((key) => found[key][rule]), name: title, color: css(i ? "m1" : "m0"), slot: [i, RULES.length],
      hover: (place) => `${METHOD[REPORT.shown[place]].title}: ${figure(found[REPORT.shown[place]][rule])} per row`,
    })), { keys: RULES.length > 1, x: { label: "cost per row", zero: true }, y: { names: REPORT.shown.map((key) => short(METHOD[key].title, isNarrow() ? 18 : 40)), reversed: true } });
  }
  redraws.push(draw);
  draw();
}

if (DECISION.kind === "threshold") thresholdPanel();
else matrixPanel();
