"use strict";
// Opens files with the importer inside speedscope's released bundle and prints the totals of each profile.
//   node speedscope_import.js BUNDLE FILE...
const fs = require("node:fs");
const path = require("node:path");
const vm = require("node:vm");

const [bundle, ...inputs] = process.argv.slice(2);
const code = fs.readFileSync(bundle, "utf8");
// The bundle exports nothing: find the importer's lazy module, and stop before the page is drawn.
const exported = /([\w$]+)=\{\};[\w$]+\(\1,\{[^}]*importProfilesFromArrayBuffer:/.exec(code)[1];
const start = code.indexOf(`(),${exported})`);
const initialise = /[\w$]+$/.exec(code.slice(0, start))[0];
const page = code.lastIndexOf("console.log(`speedscope v");

const element = () => new Proxy(function () {}, { get: (_, key) => (key === Symbol.toPrimitive ? () => "" : element()), set: () => true, apply: () => element(), construct: () => element() });
const context = vm.createContext({
  console: { log() {}, warn() {}, error: console.error },
  document: element(), navigator: { userAgent: "", platform: "" }, location: { protocol: "file:", hash: "" },
  localStorage: { getItem: () => null, setItem() {} }, matchMedia: () => ({ matches: false, addEventListener() {}, addListener() {} }),
  TextDecoder, TextEncoder, DecompressionStream, Blob, Response, URL, setTimeout, clearTimeout, performance,
  requestAnimationFrame: () => 0, ArrayBuffer, Uint8Array, DataView,
});
context.window = context.self = context.globalThis = context;
context.addEventListener = () => {};
vm.runInContext(`${code.slice(0, page)}globalThis.importer=(${initialise}(),${exported});})();`, context);

(async () => {
  const totals = [];
  for (const input of inputs) {
    const bytes = fs.readFileSync(input);
    const buffer = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength);
    const group = await context.importer.importProfilesFromArrayBuffer(path.basename(input), buffer);
    for (const profile of group.profiles) {
      const frames = [];
      profile.forEachFrame((frame) => frames.push([frame.name, frame.file ?? "", frame.getSelfWeight(), frame.getTotalWeight()]));
      totals.push({ input: path.basename(input), name: profile.getName(), total: profile.getTotalWeight(), frames });
    }
  }
  process.stdout.write(JSON.stringify(totals));
})();
