// Builds into a folder of its own and compares the bytes with dist/, which is committed.
import { readdirSync, readFileSync, rmSync } from "node:fs";
import { build } from "vite";

const files = (folder) =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => `${entry.parentPath}/${entry.name}`.slice(folder.length + 1))
    .sort();

const fresh = ".tmp/dist";
rmSync(fresh, { recursive: true, force: true });
await build({ logLevel: "warn", build: { outDir: fresh, emptyOutDir: true } });

const [made, committed] = [files(fresh), files("dist")];
const differing = made.filter(
  (name) => !committed.includes(name) || !readFileSync(`${fresh}/${name}`).equals(readFileSync(`dist/${name}`)),
);
const stale = committed.filter((name) => !made.includes(name));
if (differing.length + stale.length > 0) {
  console.error("dist/ is not what the sources make. Run `npm run build`.", { differing, stale });
  process.exit(1);
}
console.log(`dist/ is what the sources make: ${made.length} files`);
