// Pictures of every view with a pleasant example, for docs/dashboard.md: `scripts/browser --pictures`.
import { execFileSync } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { SIZES } from "./look.mjs";
import { openEveryView } from "./visit.mjs";
import { PLEASANT } from "./words.mjs";

const FOLDER = "../docs/dashboard";
const QUALITY = 75;
/** A path that readers can do something with. Below the engine mounts are of its own, so the machine's folder is not touched. */
const REPOSITORIES = "/srv";

export async function takePictures(platform) {
  execFileSync("mount", ["-t", "tmpfs", "tmpfs", REPOSITORIES]);
  platform.folder = REPOSITORIES;
  rmSync(FOLDER, { recursive: true, force: true });
  mkdirSync(FOLDER, { recursive: true });
  let bytes = 0;
  for (const size of SIZES) {
    const take = async (view, page) => {
      if (view.pictured === false) return;
      const devtools = await page.context().newCDPSession(page);
      const { data } = await devtools.send("Page.captureScreenshot", { format: "webp", quality: QUALITY });
      const picture = Buffer.from(data, "base64");
      bytes += picture.length;
      writeFileSync(join(FOLDER, `${view.name}-${size.width}.webp`), picture);
    };
    await openEveryView(platform, "owner", take, { words: PLEASANT, viewport: size });
  }
  console.log(`       ${(bytes / 1024 / 1024).toFixed(2)} MB in docs/dashboard`);
}
