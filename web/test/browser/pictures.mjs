// Pictures of every view with a pleasant example, for docs/dashboard.md: `scripts/browser --pictures`.
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { SIZES, settle } from "./look.mjs";
import { WIDE } from "./pages.mjs";
import { openEveryView } from "./visit.mjs";
import { PLEASANT } from "./words.mjs";

const FOLDER = "../docs/dashboard";
const QUALITY = 75;

export async function takePictures(platform) {
  rmSync(FOLDER, { recursive: true, force: true });
  mkdirSync(FOLDER, { recursive: true });
  let bytes = 0;
  const take = async (view, page) => {
    if (view.pictured === false) return;
    const devtools = await page.context().newCDPSession(page);
    for (const size of SIZES) {
      await page.setViewportSize(size);
      await settle(page);
      const { data } = await devtools.send("Page.captureScreenshot", { format: "webp", quality: QUALITY });
      const picture = Buffer.from(data, "base64");
      bytes += picture.length;
      writeFileSync(join(FOLDER, `${view.name}-${size.width}.webp`), picture);
    }
    await page.setViewportSize(WIDE);
  };
  await openEveryView(platform, "owner", take, PLEASANT);
  console.log(`       ${(bytes / 1024 / 1024).toFixed(2)} MB in docs/dashboard`);
}
