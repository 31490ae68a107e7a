"use strict";
// Zoom, search and the keyboard for one flame graph. Everything it knows is in the frames' data attributes:
// x and w (place and width in the root's units), d (depth), s (samples), n (name).
(() => {
  const SVG = "http://www.w3.org/2000/svg";
  const XHTML = "http://www.w3.org/1999/xhtml";
  const MARGIN = 10;
  const CELL = 6.7;
  // Alone in its file, or one of several in a page: then all its ids begin with a prefix.
  const graph = document.currentScript?.closest("svg") ?? document.documentElement;
  const isAlone = graph === document.documentElement;
  const id = (name) => graph.dataset.prefix + name;
  const inner = Number(graph.getAttribute("width")) - 2 * MARGIN;
  const leftOut = Number(graph.dataset.leftOut);
  const details = document.getElementById(id("details"));
  const matched = document.getElementById(id("matched"));

  const frames = [];
  const open = []; // the frame last seen at each depth: frames stand before their children
  for (const group of graph.querySelectorAll(".frame")) {
    const { x, w, d, s, n } = group.dataset;
    const frame = { group, x: Number(x), w: Number(w), depth: Number(d), samples: Number(s), name: n };
    frame.rect = group.querySelector("rect");
    frame.text = group.querySelector("text");
    frame.parent = open[frame.depth - 1] ?? null;
    frame.children = [];
    frame.parent?.children.push(frame);
    open[frame.depth] = frame;
    frames.push(frame);
  }
  const root = frames[0];
  const row = (frame) => Number(frame.rect.getAttribute("y"));
  const upwards = row(root) > row(frames[1] ?? root);

  function fit(name, width) {
    const room = Math.floor((width - 6) / CELL);
    const letters = [...name];
    const cells = letters.map((letter) => (letter.codePointAt(0) > 0x10ff ? 2 : 1));
    if (cells.reduce((sum, cell) => sum + cell, 0) <= room) return name;
    let kept = 0;
    for (let used = 0; kept < letters.length && used + cells[kept] < room; kept++) used += cells[kept];
    return kept >= 2 ? letters.slice(0, kept).join("") + "…" : "";
  }

  function zoom(target) {
    const end = target.x + target.w;
    const scale = inner / Math.max(target.w, 1);
    for (const frame of frames) {
      const outside = frame !== root && (frame.x >= end || frame.x + frame.w <= target.x);
      frame.group.classList.toggle("hidden", outside);
      frame.group.classList.toggle("above", !outside && frame.depth < target.depth);
      if (outside) continue;
      const from = Math.max(frame.x, target.x);
      const left = MARGIN + (from - target.x) * scale;
      const width = frame.depth <= target.depth ? inner : (Math.min(frame.x + frame.w, end) - from) * scale;
      frame.rect.setAttribute("x", left.toFixed(2));
      frame.rect.setAttribute("width", width.toFixed(2));
      frame.text.setAttribute("x", (left + 3).toFixed(2));
      frame.text.textContent = fit(frame.name, width);
    }
    reset.classList.toggle("hidden", target === root);
  }

  function search(pattern) {
    let wanted = null;
    try {
      wanted = pattern && new RegExp(pattern, "u");
    } catch {
      matched.textContent = "not a regular expression";
      return;
    }
    graph.classList.toggle("searching", Boolean(wanted));
    let samples = 0;
    for (const frame of frames) {
      const hit = Boolean(wanted) && wanted.test(frame.name);
      frame.covered = hit || Boolean(frame.parent?.covered);
      if (hit && !frame.parent?.covered) samples += frame.samples; // a recursion counts once
      frame.group.classList.toggle("hit", hit);
    }
    const share = root.samples ? (100 * samples) / root.samples : 0;
    const more = leftOut ? " or more (narrow frames are not searched)" : "";
    matched.textContent = wanted ? `matched: ${share.toFixed(2)} % of all${more}` : "";
  }

  function neighbour(frame, key) {
    if (key === (upwards ? "ArrowDown" : "ArrowUp")) return frame.parent;
    const shown = (list) => list.filter((other) => !other.group.classList.contains("hidden"));
    if (key === (upwards ? "ArrowUp" : "ArrowDown")) {
      return shown(frame.children).reduce((widest, child) => (child.w > (widest?.w ?? -1) ? child : widest), null);
    }
    const beside = shown(frames.filter((other) => other.depth === frame.depth));
    return beside[beside.indexOf(frame) + (key === "ArrowLeft" ? -1 : 1)];
  }

  function focus(frame) {
    for (const other of frames) other.group.setAttribute("tabindex", other === frame ? "0" : "-1");
    frame.group.focus();
  }

  function button(name, words, x, action) {
    const made = document.createElementNS(SVG, "text");
    for (const [key, value] of Object.entries({ id: id(name), class: name, x, y: 24, role: "button", tabindex: 0 })) {
      made.setAttribute(key, value);
    }
    made.textContent = words;
    made.addEventListener("click", action);
    made.addEventListener("keydown", (event) => event.key === "Enter" && action());
    return graph.appendChild(made);
  }

  const reset = button("reset", "reset zoom", 870, () => zoom(root));
  const holder = graph.appendChild(document.createElementNS(SVG, "foreignObject"));
  for (const [key, value] of Object.entries({ x: 960, y: 8, width: 230, height: 24 })) holder.setAttribute(key, value);
  const field = holder.appendChild(document.createElementNS(XHTML, "input"));
  field.id = id("search");
  field.setAttribute("aria-label", "search by regular expression");
  field.setAttribute("placeholder", isAlone ? "search: Ctrl-F, regexp" : "search: regexp");
  field.addEventListener("input", () => search(field.value));

  for (const frame of frames) {
    const tell = () => (details.textContent = frame.group.querySelector("title").textContent);
    frame.group.setAttribute("role", "treeitem");
    frame.group.setAttribute("aria-level", frame.depth + 1);
    frame.group.setAttribute("tabindex", frame === root ? "0" : "-1");
    frame.group.addEventListener("mouseover", tell);
    frame.group.addEventListener("focus", tell);
    frame.group.addEventListener("click", () => zoom(frame));
    frame.group.addEventListener("keydown", (event) => {
      if (event.key === "Enter") zoom(frame);
      else if (event.key.startsWith("Arrow")) {
        const next = neighbour(frame, event.key);
        if (next) focus(next);
        event.preventDefault();
      }
    });
  }
  matched.setAttribute("role", "status");
  document.getElementById(id("frames")).setAttribute("role", "tree");
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") zoom(root);
    // A second Ctrl-F is the browser's own search.
    if (isAlone && event.key === "f" && (event.ctrlKey || event.metaKey) && document.activeElement !== field) {
      event.preventDefault();
      field.focus();
      field.select();
    }
  });
  zoom(root);
})();
