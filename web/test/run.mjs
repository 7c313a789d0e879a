// Node 20 does not read TypeScript: Vite bundles the unit tests first, then node --test runs them.
import { spawnSync } from "node:child_process";
import { readdirSync, rmSync } from "node:fs";
import { build } from "vite";

const names = readdirSync("test").filter((name) => name.endsWith(".test.ts"));
rmSync(".tmp/test", { recursive: true, force: true });
await build({
  logLevel: "warn",
  build: {
    ssr: true,
    outDir: ".tmp/test",
    minify: false,
    rolldownOptions: { input: names.map((name) => `test/${name}`), output: { entryFileNames: "[name].mjs" } },
  },
});
const bundled = names.map((name) => `.tmp/test/${name.replace(/\.ts$/, ".mjs")}`);
process.exit(spawnSync(process.execPath, ["--test", ...bundled], { stdio: "inherit" }).status ?? 1);
