"use strict";
const METHOD = Object.fromEntries(REPORT.methods.map((method) => [method.name, method]));
const isNarrow = () => window.innerWidth < 620;

function methodColor(name) {
  return css("m" + REPORT.shown.indexOf(name) % 5);
}

/* The recommended method is drawn thick, and first in legends' order of visibility. */
const FOCUS = REPORT.recommended;
const NEXT = REPORT.shown.find((name) => name !== FOCUS);

function layout(extra) {
  const axis = { gridcolor: css("grid"), zerolinecolor: css("grid"), linecolor: css("line"), automargin: true };
  const base = {
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", font: { color: css("ink"), size: 13, family: "system-ui, sans-serif" },
    margin: { l: 52, r: 26, t: 10, b: 46 }, showlegend: false, dragmode: false,
    legend: { orientation: "h", x: 0, y: 1.02, yanchor: "bottom" },
    hoverlabel: { bgcolor: css("card"), bordercolor: css("line"), font: { color: css("ink") } },
  };
  const merged = Object.assign(base, extra);
  for (const key of Object.keys(merged)) {
    if (/^[xy]axis/.test(key)) merged[key] = Object.assign({}, axis, { fixedrange: true }, merged[key]);
  }
  return merged;
}

function plot(id, traces, extra) {
  return Plotly.react(id, traces, layout(extra), { displayModeBar: false, responsive: true });
}

function drawMethods() {
  const score = document.getElementById("score").value;
  const greater = REPORT.greaterIsBetter.includes(score);
  const rows = [...REPORT.methods].sort((a, b) => (greater ? 1 : -1) * (a.scores[score][0] - b.scores[score][0]));
  const width = isNarrow() ? 20 : 40;
  const traces = [[false, "petiole", css("m0")], [true, "other libraries", css("soft")]].map(([peer, name, color]) => {
    const some = rows.filter((row) => row.peer === peer);
    return {
      x: some.map((row) => row.scores[score][0]), y: some.map((row) => rows.indexOf(row)), name, customdata: some.map((row) => plotText(row.title)), type: "scatter", mode: "markers",
      marker: { color, size: 11, symbol: peer ? "diamond" : "circle" },
      error_x: {
        type: "data", symmetric: false, color, thickness: 2, width: 5,
        array: some.map((row) => row.scores[score][2] - row.scores[score][0]),
        arrayminus: some.map((row) => row.scores[score][0] - row.scores[score][1]),
      },
      hovertemplate: "%{customdata}: %{x:.4g}<extra></extra>",
    };
  });
  document.getElementById("chart-methods").style.height = 90 + 30 * rows.length + "px";
  document.getElementById("score-note").textContent = greater ? "more is better" : "less is better";
  plot("chart-methods", traces, {
    showlegend: true, xaxis: { title: { text: REPORT.scores[score] } },
    yaxis: { tickvals: rows.map((_, i) => i), ticktext: rows.map((row) => plotText(short(row.title, width))), range: [-0.6, rows.length - 0.4], zeroline: false },
  });
}

function drawReliability() {
  const target = document.getElementById("target").value;
  const traces = [{ x: [0, 1], y: [0, 1], mode: "lines", line: { dash: "dash", color: css("soft"), width: 1 }, hoverinfo: "skip", showlegend: false }];
  REPORT.shown.forEach((name) => {
    const curve = REPORT.curves[name][target];
    const color = methodColor(name);
    traces.push({
      x: curve.said, y: curve.came, name: plotText(METHOD[name].title), mode: "lines+markers", line: { color, width: name === FOCUS ? 3 : 1.5 }, visible: name === FOCUS || name === NEXT ? true : "legendonly",
      marker: { size: curve.weight.map((w) => 5 + 9 * Math.sqrt(w / Math.max(...curve.weight))), color }, opacity: name === FOCUS ? 1 : 0.75,
      error_y: name !== FOCUS ? undefined : {
        type: "data", symmetric: false, color, thickness: 1.4, width: 4,
        array: curve.high.map((value, k) => value - curve.came[k]), arrayminus: curve.low.map((value, k) => curve.came[k] - value),
      },
      customdata: curve.weight, hovertemplate: "predicted %{x:.3f}, observed %{y:.3f} (%{customdata} rows)<extra>" + plotText(METHOD[name].title) + "</extra>",
    });
    if (name === FOCUS) {
      traces.push({
        x: curve.bars.map((_, k) => (k + 0.5) / curve.bars.length), y: curve.bars, type: "bar", yaxis: "y2", marker: { color, opacity: 0.55 }, width: 0.045,
        showlegend: false, hovertemplate: "%{y:.1%} of the rows<extra></extra>",
      });
    }
  });
  plot("chart-reliability", traces, {
    showlegend: true, xaxis: { title: { text: "predicted probability" }, range: [-0.02, 1.02], anchor: "y2" },
    yaxis: { title: { text: "observed frequency" }, range: [-0.03, 1.03], domain: [0.26, 1] },
    yaxis2: { title: { text: "rows" }, domain: [0, 0.17], tickformat: ".0%", nticks: 3 }, bargap: 0,
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
  const gains = [{ x: [0, 1], y: [0, 1], mode: "lines", line: { dash: "dash", color: css("soft"), width: 1 }, hoverinfo: "skip", showlegend: false }];
  const lift = [{ x: [0, 1], y: [1, 1], mode: "lines", line: { dash: "dash", color: css("soft"), width: 1 }, hoverinfo: "skip", showlegend: false }];
  const base = REPORT.curves[REPORT.shown[0]][target].base;
  gains.push({ x: [0, base, 1], y: [0, 1, 1], mode: "lines", name: "perfect", line: { dash: "dot", color: css("soft"), width: 1.5 }, hoverinfo: "skip" });
  REPORT.shown.forEach((name) => {
    const curve = REPORT.curves[name][target].gains;
    const line = { color: methodColor(name), width: name === FOCUS ? 3 : 1.5 };
    const title = plotText(METHOD[name].title);
    gains.push({ x: share, y: curve, mode: "lines", name: title, line, hovertemplate: "top %{x:.0%}: %{y:.1%} of the class<extra>" + title + "</extra>" });
    lift.push({ x: share.slice(1), y: curve.slice(1).map((value, k) => value / share[k + 1]), mode: "lines", name: title, line, showlegend: false,
      hovertemplate: "top %{x:.0%}: %{y:.2f} times<extra>" + title + "</extra>" });
  });
  const xaxis = { title: { text: "share of all rows" }, tickformat: ".0%", range: [0, 1.01], dtick: 0.25 };
  plot("chart-gains", gains, { xaxis, yaxis: { title: { text: "share of the class (gains)" }, tickformat: ".0%", range: [0, 1.03], dtick: 0.25 } });
  plot("chart-lift", lift, { xaxis, yaxis: { title: { text: "lift" }, rangemode: "tozero" } });
  drawMethodLegend("lift-legend");
}

function drawImportance() {
  const rows = [...REPORT.importance].reverse();
  const names = rows.map(([name]) => plotText(short(name, isNarrow() ? 16 : 32)));
  const places = rows.map((_, i) => i);
  document.getElementById("chart-importance").style.height = 80 + 24 * rows.length + "px";
  plot("chart-importance", [{
    x: rows.map((row) => row[1]), y: places, type: "bar", orientation: "h", marker: { color: css("m0") },
    error_x: { type: "data", array: rows.map((row) => row[2]), color: css("soft"), thickness: 1.2, width: 3 }, customdata: names,
    hovertemplate: "%{customdata}: %{x:.4f} bits<extra></extra>",
  }], { xaxis: { title: { text: "bits of log-loss lost" }, zerolinecolor: css("soft") }, yaxis: { tickvals: places, ticktext: names } });
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
