"use strict";
/* A small chart for each of the columns that matter most: the mean probability by the column's value. */
function effectColor(i) {
  return css("m" + i % 5);
}

function drawEffect(effect, id) {
  const named = effect.categories ? effect.values : ["weekday", "month"].includes(effect.part) ? effect.texts.map((words) => words.slice(0, effect.part === "month" ? 1 : 3)) : null;
  const places = named ? named.map((_, i) => i) : effect.values;
  const said = effect.texts || effect.values.map((value) => (effect.categories ? value : figure(value)));
  const most = Math.max(...effect.shares);
  const highest = Math.max(...REPORT.effectClasses.map((k) => Math.max(...effect.proba.map((row) => row[k]))));
  const top = Math.min(1, 1.15 * highest) || 1;
  const bars = { kind: "bars", x: places, y: effect.shares.map((share) => share / most * top * 0.25), color: css("grid"), most: 26, hover: (i) => `${said[i]}: ${percent(effect.shares[i])} of the rows` };
  const lines = REPORT.effectClasses.map((k, i) => ({
    kind: effect.categories ? "points" : "both", x: places, y: effect.proba.map((row) => row[k]), color: effectColor(i), width: 2, sizes: places.map(() => (effect.categories ? 10 : 5)),
    name: `P(${short(REPORT.classes[k], 20)})`, hover: (j) => `${said[j]}: ${effect.proba[j][k].toFixed(3)}`,
  }));
  const x = named ? { names: named.map((value) => short(value, 14)) } : { most: effect.part === "days" ? 4 : 5, dates: effect.part === "days" };
  plot(id, [bars, ...lines], { x, y: { range: [0, top], percent: true, most: 5 } });
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
