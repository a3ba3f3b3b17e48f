"use strict";
const METHOD = Object.fromEntries(REPORT.methods.map((method) => [method.name, method]));
const isNarrow = () => window.innerWidth < 620;

function methodColor(name) {
  return css("m" + REPORT.shown.indexOf(name) % 5);
}

/* The recommended method is drawn thick, and first in legends' order of visibility. */
const FOCUS = REPORT.recommended;
const NEXT = REPORT.shown.find((name) => name !== FOCUS);

/* A figure with so many decimals, and a minus sign that is one. */
function decimal(value, digits) {
  return withMinus(value.toFixed(digits));
}

function percent(value) {
  return (100 * value).toFixed(1) + "%";
}

function drawMethods() {
  const score = document.getElementById("score").value;
  const greater = REPORT.greaterIsBetter.includes(score);
  const rows = [...REPORT.methods].sort((a, b) => (greater ? -1 : 1) * (a.scores[score][0] - b.scores[score][0]));
  const series = [[false, "petiole", css("m0")], [true, "other libraries", css("soft")]].map(([peer, name, color]) => {
    const some = rows.filter((row) => row.peer === peer);
    return {
      kind: "points", name, color, diamond: peer, sizes: some.map(() => 11), x: some.map((row) => row.scores[score][0]), y: some.map((row) => rows.indexOf(row)),
      errors: "x", low: some.map((row) => row.scores[score][1]), high: some.map((row) => row.scores[score][2]),
      hover: (i) => `${some[i].title}: ${figure(some[i].scores[score][0])} (${figure(some[i].scores[score][1])} to ${figure(some[i].scores[score][2])})`,
    };
  }).filter((one) => one.x.length);
  document.getElementById("chart-methods").style.height = 60 + 28 * rows.length + "px";
  document.getElementById("score-note").textContent = greater ? "more is better" : "less is better";
  plot("chart-methods", series, { keys: true, x: { label: REPORT.scores[score] }, y: { names: rows.map((row) => short(row.title, isNarrow() ? 20 : 40)), reversed: true } });
}

const DIAGONAL = () => ({ kind: "line", x: [0, 1], y: [0, 1], color: css("soft"), dash: "6 5", width: 1 });

function drawReliability() {
  const target = document.getElementById("target").value;
  const series = [DIAGONAL()];
  REPORT.shown.forEach((name) => {
    const curve = REPORT.curves[name][target];
    const color = methodColor(name), most = Math.max(...curve.weight), focus = name === FOCUS;
    const errors = focus ? { errors: "y", low: curve.low, high: curve.high } : {};
    series.push(Object.assign({
      kind: "both", x: curve.said, y: curve.came, name: METHOD[name].title, color, width: focus ? 3 : 1.5, off: !focus && name !== NEXT, opacity: focus ? 1 : 0.8,
      sizes: curve.weight.map((weight) => 5 + 7 * Math.sqrt(weight / most)),
      hover: (i) => `predicted ${curve.said[i].toFixed(3)}, observed ${curve.came[i].toFixed(3)} (${figure(curve.weight[i])} rows)`,
    }, errors));
    if (focus) {
      const n = curve.bars.length;
      series.push({ kind: "bars", panel: 1, x: curve.bars.map((_, k) => (k + 0.5) / n), y: curve.bars, color, opacity: 0.6, thick: 0.9 / n,
        hover: (k) => `${(k / n).toFixed(2)} to ${((k + 1) / n).toFixed(2)}: ${percent(curve.bars[k])} of the rows` });
    }
  });
  plot("chart-reliability", series, {
    keys: true, x: { label: "predicted probability", range: [-0.02, 1.02] }, y: { label: "observed frequency", range: [-0.03, 1.03] },
    lower: { label: "rows", percent: true, zero: true, most: 3 },
  });
}

/* Which colour is which method; the lines of several charts. */
function drawMethodLegend(id) {
  document.getElementById(id).replaceChildren(...REPORT.shown.map((name) => {
    const swatch = make("i", {});
    swatch.style.background = methodColor(name);
    return make("li", {}, swatch, METHOD[name].title);
  }));
}

function drawLift() {
  const target = document.getElementById("lift-target").value;
  const share = Array.from({ length: 101 }, (_, i) => i / 100);
  const base = REPORT.curves[REPORT.shown[0]][target].base;
  const gains = [DIAGONAL(), { kind: "line", x: [0, base, 1], y: [0, 1, 1], color: css("soft"), dash: "2 3" }];
  const lift = [{ kind: "line", x: [0, 1], y: [1, 1], color: css("soft"), dash: "6 5", width: 1 }];
  REPORT.shown.forEach((name) => {
    const curve = REPORT.curves[name][target].gains;
    const looks = { kind: "line", color: methodColor(name), width: name === FOCUS ? 3 : 1.5, name: METHOD[name].title };
    const lifts = curve.slice(1).map((value, k) => value / share[k + 1]);
    gains.push(Object.assign({ x: share, y: curve, hover: (i) => `top ${i}%: ${percent(curve[i])} of the class` }, looks));
    lift.push(Object.assign({ x: share.slice(1), y: lifts, hover: (i) => `top ${i + 1}%: ${lifts[i].toFixed(2)} times` }, looks));
  });
  const x = { label: "share of all rows", percent: true, range: [0, 1.01], step: 0.25 };
  plot("chart-gains", gains, { x, y: { label: "share of the class (gains)", percent: true, range: [0, 1.03], step: 0.25 } });
  plot("chart-lift", lift, { x, y: { label: "lift", zero: true } });
  drawMethodLegend("lift-legend");
}

function drawImportance() {
  const rows = REPORT.importance;
  document.getElementById("chart-importance").style.height = 60 + 24 * rows.length + "px";
  plot("chart-importance", [{
    kind: "rows", x: rows.map((row) => row[1]), y: rows.map((_, i) => i), color: css("m0"), errorColor: css("soft"), errors: "x", low: rows.map((row) => row[1] - row[2]), high: rows.map((row) => row[1] + row[2]),
    hover: (i) => `${rows[i][0]}: ${decimal(rows[i][1], 4)} bits`,
  }], { x: { label: "bits of log-loss lost", zero: true }, y: { names: rows.map(([name]) => short(name, isNarrow() ? 16 : 32)), reversed: true } });
  const left = REPORT.nFeatures - rows.length;
  document.getElementById("importance-note").textContent = left > 0 ? left + " columns that matter less are not shown." : "";
}

const classEntries = REPORT.shownClasses.map((k) => [String(k), REPORT.classes[k]]);
fill(document.getElementById("score"), Object.entries(REPORT.scores));
document.getElementById("score").value = REPORT.decides;
fill(document.getElementById("target"), REPORT.classes.length > 2 ? [["top", "the most probable class"], ...classEntries] : classEntries);
fill(document.getElementById("lift-target"), classEntries);
if (REPORT.decision.kind === "threshold") {
  for (const id of ["target", "lift-target"]) document.getElementById(id).value = String(REPORT.decision.positive);
}
for (const [id, draw] of [["score", drawMethods], ["target", drawReliability], ["lift-target", drawLift]]) {
  document.getElementById(id).addEventListener("change", draw);
}
redraws.push(drawMethods, drawReliability, drawLift, drawImportance);
drawMethods();
drawReliability();
drawLift();
drawImportance();
