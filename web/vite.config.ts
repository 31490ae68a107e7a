import { defineConfig } from "vite";

// The built page is served by necroscope itself, under a Content-Security-Policy without inline scripts.
export default defineConfig({
  base: "./",
  build: {
    outDir: "../src/necroscope/server/static",
    emptyOutDir: true,
    target: "es2022",
    assetsInlineLimit: 0,
    modulePreload: false,
    sourcemap: false,
    chunkSizeWarningLimit: 800,
    cssCodeSplit: false,
  },
  server: { proxy: { "/api": "http://127.0.0.1:8420" } },
});
