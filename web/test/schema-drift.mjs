// Fails when src/api/schema.d.ts is not what `npm run types` makes of openapi.json today.
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync } from "node:fs";

mkdirSync(".tmp", { recursive: true });
execFileSync("npx", ["openapi-typescript", "../openapi.json", "-o", ".tmp/schema.d.ts"], { stdio: "pipe" });
if (readFileSync(".tmp/schema.d.ts", "utf8") !== readFileSync("src/api/schema.d.ts", "utf8")) {
  console.error("src/api/schema.d.ts differs from openapi.json: run `npm run types`.");
  process.exit(1);
}
