"use strict";
/* A small chart for each of the columns that matter most: the mean probability by the column's value. */
function effectColor(i) {
  return css("m" + i % 5);
}

function drawEffect(effect, id) {
  const names = effect.categories ? effect.values.map((value) => plotText(short(value, 14))) : null;
  const places = effect.categories ? effect.values.map((_, i) => i) : effect.values;
  const most = Math.max(...effect.shares);
  const highest = Math.max(...REPORT.effectClasses.map((k) => Math.max(...effect.proba.map((row) => row[k]))));
  const top = Math.min(1, 1.15 * highest) || 1;
  const bars = { x: places, y: effect.shares.map((share) => share / most * top * 0.25), customdata: effect.shares, type: "bar", marker: { color: css("grid") }, hovertemplate: "%{customdata:.0%} of the rows<extra></extra>" };
  const lines = REPORT.effectClasses.map((k, i) => ({
    x: places, y: effect.proba.map((row) => row[k]), mode: effect.categories ? "markers" : "lines+markers",
    line: { color: effectColor(i), width: 2 }, marker: { color: effectColor(i), size: effect.categories ? 10 : 5 },
    text: effect.values.map((value) => plotText(value)), hovertemplate: "%{text}: %{y:.3f}<extra>" + plotText(short(REPORT.classes[k], 20)) + "</extra>",
  }));
  const axis = effect.categories ? { tickvals: places, ticktext: names, tickangle: places.length > 4 ? -35 : 0 } : { nticks: 6 };
  plot(id, [bars, ...lines], { xaxis: axis, yaxis: { range: [0, top], nticks: 5, tickformat: ".0%" }, margin: { l: 44, r: 10, t: 6, b: 34 }, bargap: 0.15, hovermode: "closest" });
}

function drawEffects() {
  REPORT.effects.forEach((effect, i) => drawEffect(effect, "effect-" + i));
  document.getElementById("effect-legend").replaceChildren(...REPORT.effectClasses.map((k, i) => {
    const swatch = make("i", {});
    swatch.style.background = effectColor(i);
    return make("li", {}, swatch, `P(${short(REPORT.classes[k], 30)})`);
  }));
}

document.getElementById("effects").replaceChildren(...REPORT.effects.map((effect, i) => make("figure", {},
  make("figcaption", {}, short(effect.column, 40)), make("div", { class: "chart small", id: "effect-" + i, role: "img", "aria-label": `Mean probability by ${effect.column}` }))));
redraws.push(drawEffects);
drawEffects();

/* The commands that come next, for the clipboard; pages that are opened from a file may have no access to it. */
const copyButton = document.getElementById("copy");
if (copyButton) {
  copyButton.addEventListener("click", () => {
    const code = document.getElementById("next-commands");
    const done = () => { copyButton.textContent = "Copied"; setTimeout(() => { copyButton.textContent = "Copy"; }, 1500); };
    const select = () => {
      const range = document.createRange();
      range.selectNodeContents(code);
      getSelection().removeAllRanges();
      getSelection().addRange(range);
      if (document.execCommand("copy")) done();
    };
    if (navigator.clipboard) navigator.clipboard.writeText(code.textContent).then(done, select);
    else select();
  });
}
