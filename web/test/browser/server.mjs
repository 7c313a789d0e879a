// A real windlass with a data folder of its own.
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { until } from "./until.mjs";

const BINARY = process.env.WINDLASS ?? "../target/debug/windlass";
const KEPT_OUTPUT = 20_000;

/** Tests ask more often than people do, and log in more often. A code host that a test stands in for is on this machine. */
const GENEROUS = [
  ...["--address-requests", "0", "--account-requests", "0", "--login-attempts", "10000"],
  ...["--allow-private-targets", "true", "--notice-tests", "1000"],
];

async function freePort() {
  const server = createServer();
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}

function ended(child, seconds) {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve(true);
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(false), seconds * 1000);
    child.once("exit", () => {
      clearTimeout(timer);
      resolve(true);
    });
  });
}

/** Starts it; `stop` ends it with its edge, which would outlive a server that is only killed. */
export async function startServer({ edge = "127.0.0.1:0", args = [] } = {}) {
  const folder = mkdtempSync(join(tmpdir(), "windlass-data-"));
  const origin = `http://127.0.0.1:${await freePort()}`;
  const where = ["--data-dir", join(folder, "data"), "--listen", origin.slice("http://".length), "--edge-http", edge];
  where.push("--edge-https", "127.0.0.1:0");
  const child = spawn(BINARY, ["serve", ...where, ...GENEROUS, ...args], { stdio: ["ignore", "pipe", "pipe"] });
  let said = "";
  const keep = (text) => {
    said = (said + text).slice(-KEPT_OUTPUT);
    if (process.env.WINDLASS_VERBOSE) process.stderr.write(text);
  };
  child.stdout.on("data", keep);
  child.stderr.on("data", keep);
  child.once("error", keep);

  const stop = async () => {
    const stopping = spawn(BINARY, ["stop", "--data-dir", join(folder, "data")], { stdio: "ignore" });
    await ended(stopping, 40);
    if (!(await ended(child, 20))) child.kill("SIGKILL");
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    await until("windlass answers", async () => {
      if (child.exitCode !== null) return "ended";
      return (await fetch(`${origin}/api/v1/health`)).ok;
    });
    if (child.exitCode !== null) throw new Error(`windlass has ended with ${child.exitCode}`);
  } catch (error) {
    await stop();
    throw new Error(`${error.message}. What it says:\n${said}`);
  }
  return { origin, folder, stop, said: () => said };
}
