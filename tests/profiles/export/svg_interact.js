"use strict";
// Opens an SVG in jsdom, uses it as a reader would, and prints what they would see.
//   node svg_interact.js FOLDER_WITH_JSDOM FILE
const fs = require("node:fs");
const { createRequire } = require("node:module");
const [folder, file] = process.argv.slice(2);
const { JSDOM, VirtualConsole } = createRequire(`${folder}/`)("jsdom");

const errors = [];
const virtualConsole = new VirtualConsole();
virtualConsole.on("jsdomError", (error) => errors.push(String(error)));
const { window } = new JSDOM(fs.readFileSync(file, "utf8"), { contentType: "image/svg+xml", runScripts: "outside-only", virtualConsole });
const { document } = window;

// jsdom gives no focus to SVG elements, as browsers do: stand in for it.
let focused = null;
function focus() {
  focused = this;
  this.dispatchEvent(new window.Event("focus"));
}
window.SVGElement.prototype.focus = focus;
window.HTMLElement.prototype.focus = focus;
Object.defineProperty(document, "activeElement", { get: () => focused });

window.eval(document.querySelector("script").textContent); // jsdom does not run scripts of SVG itself

const frame = (name) => [...document.querySelectorAll(".frame")].find((group) => group.dataset.n === name);
const width = (name) => Number(frame(name).querySelector("rect").getAttribute("width"));
const hidden = () => [...document.querySelectorAll(".frame.hidden")].map((group) => group.dataset.n);
const press = (target, key, more) => {
  const event = new window.KeyboardEvent("keydown", { key, bubbles: true, cancelable: true, ...more });
  target.dispatchEvent(event);
  return event.defaultPrevented;
};
const search = (pattern) => {
  const field = document.getElementById("search");
  field.value = pattern;
  field.dispatchEvent(new window.Event("input"));
  return document.getElementById("matched").textContent;
};

const seen = {};
seen.whole = width("main");
frame("read").dispatchEvent(new window.MouseEvent("click", { bubbles: true }));
seen.zoomed = { read: width("read"), main: width("main"), hidden: hidden() };
press(document, "Escape");
seen.reset = { main: width("main"), hidden: hidden() };
frame("all").focus();
press(document.activeElement, "ArrowUp");
seen.arrow = document.activeElement.dataset.n;
seen.details = document.getElementById("details").textContent;
press(document.activeElement, "Enter");
seen.entered = hidden();
seen.intercepted = press(document, "f", { ctrlKey: true });
seen.field = document.activeElement.id;
seen.second = press(document, "f", { ctrlKey: true });
seen.matched = search("^(read|ma.n)$");
seen.hits = [...document.querySelectorAll(".frame.hit")].map((group) => group.dataset.n);
seen.bad = search("(");
seen.none = search("");
seen.errors = errors;
process.stdout.write(JSON.stringify(seen));
