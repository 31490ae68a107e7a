import { readdirSync } from "node:fs";
import { defineConfig } from "vite";

// The tests are bundled like the page itself, for node's own test runner.
const tests = readdirSync(new URL("test", import.meta.url)).filter((name) => name.endsWith(".test.ts"));

export default defineConfig({
  build: {
    ssr: true,
    outDir: "../build/web-test",
    emptyOutDir: true,
    target: "node20",
    rollupOptions: {
      input: tests.map((name) => `test/${name}`),
      output: { entryFileNames: "[name].mjs", chunkFileNames: "parts/[name]-[hash].mjs" },
    },
  },
});
