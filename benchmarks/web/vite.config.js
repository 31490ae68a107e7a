// Built apart from the page, with the page's own bundler; the peers lie where bench_page.py put them.
const peers = ["d3-flame-graph", "d3-heatmap2", "d3-selection"];

export default {
  root: import.meta.dirname,
  base: "./",
  resolve: { alias: Object.fromEntries(peers.map((name) => [name, `${process.env.PEERS}/${name}`])) },
  build: {
    target: "es2022",
    modulePreload: false,
    emptyOutDir: true,
    rollupOptions: { input: ["ours.html", "peers.html"].map((name) => `${import.meta.dirname}/${name}`) },
  },
};
