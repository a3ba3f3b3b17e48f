"use strict";
const REPORT = JSON.parse(document.getElementById("report-data").textContent);
const redraws = [];  // what must be drawn again in other colours or at another width

function css(name) {
  return getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
}

function isDark() {
  const chosen = document.documentElement.dataset.theme;
  return chosen === "dark" || (chosen === "auto" && window.matchMedia("(prefers-color-scheme: dark)").matches);
}

function redraw() {
  for (const draw of redraws) draw();
}

function showTheme() {
  const button = document.getElementById("theme");
  button.textContent = isDark() ? "Light" : "Dark";
  button.setAttribute("aria-pressed", String(isDark()));
  button.setAttribute("aria-label", isDark() ? "Use light colours" : "Use dark colours");
}

function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  showTheme();
  redraw();
}

document.getElementById("theme").addEventListener("click", () => setTheme(isDark() ? "light" : "dark"));
window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { showTheme(); redraw(); });
let themeBeforePrint = null;
window.addEventListener("beforeprint", () => {
  themeBeforePrint = document.documentElement.dataset.theme;
  setTheme("light");
  for (const box of document.querySelectorAll("details")) box.open = true;
});
window.addEventListener("afterprint", () => setTheme(themeBeforePrint || "auto"));
let resizing = null;
let lastWidth = window.innerWidth;
window.addEventListener("resize", () => {
  if (window.innerWidth === lastWidth) return;  // phones resize when their address bar hides
  lastWidth = window.innerWidth;
  clearTimeout(resizing);
  resizing = setTimeout(redraw, 120);
});
showTheme();

/* An element with properties and children; strings become text, so nothing from the data is read as HTML. */
function make(name, properties, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(properties || {})) {
    if (key === "class") node.className = value;
    else if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (value !== null && value !== false) node.setAttribute(key, value);
  }
  node.append(...children);
  return node;
}

function fill(select, entries) {
  for (const [value, words] of entries) select.append(make("option", { value }, words));
}

function short(words, most) {
  const text = String(words);
  return text.length > most ? text.slice(0, most - 1) + "…" : text;
}

function withMinus(words) {
  return words.replace(/^-/, "\u2212");
}

/* Figures that stand together, with as many decimals as show three digits of the largest. */
function evenly(values) {
  const most = Math.max(...values.map(Math.abs).filter(Number.isFinite));
  const digits = most > 0 && values.some((value) => value !== Math.round(value)) ? Math.min(6, Math.max(0, 2 - Math.floor(Math.log10(most)))) : 0;
  return values.map((value) => withMinus((Math.abs(value) < 0.5 * 10 ** -digits ? 0 : value).toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits })));
}

function figure(value) {
  if (!Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  if (size >= 1000) return withMinus(Math.round(value).toLocaleString("en"));
  return withMinus(String(Number(value.toPrecision(size >= 100 ? 4 : 3))));
}
