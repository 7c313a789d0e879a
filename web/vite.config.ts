import { defineConfig } from "vite";

export default defineConfig({
  oxc: { jsx: { importSource: "preact" } },
  // For `npm run dev`; what is built asks the server that has served it.
  server: { proxy: { "/api": process.env.WINDLASS_API ?? "http://127.0.0.1:7780" } },
  build: {
    target: "es2022",
    // Everything is a file of its own: the served policy allows neither inline code nor inline styles.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    cssCodeSplit: false,
    reportCompressedSize: false,
    rolldownOptions: {
      output: {
        // Few files: what every view needs, split by how often it changes.
        codeSplitting: {
          groups: [
            { name: "libraries", test: /node_modules/ },
            { name: "base", test: /src\/(api|session|theme|ui|text\/(en\.|index))/ },
          ],
        },
      },
    },
  },
});
