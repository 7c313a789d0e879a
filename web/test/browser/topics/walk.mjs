// The walks through the views of each noun (test/walk), each on a server of its own, and without an engine, as `npm run walk` has them.

import { serve } from "../../serve.mjs";
import { api, registerTheAdmin, walks } from "../../walk.mjs";
import { look } from "../look.mjs";
import { expect, newContext, newPage, problems } from "../pages.mjs";
import { startServer } from "../server.mjs";

export default async function walk({ browser }) {
  for (const [name, walkThrough] of await walks()) {
    const server = await startServer({ args: ["--docker-socket", "/nowhere"] });
    const files = process.env.DIST ? await serve({ api: server.origin }) : null;
    try {
      const origin = files?.origin ?? server.origin;
      const context = await newContext(browser);
      const page = await newPage(context);
      await registerTheAdmin(page, origin);
      await walkThrough({ browser, context, page, origin, folder: server.folder, api, look, expect });
    } catch (error) {
      problems.push(`${name}: ${error.stack ?? error}`);
    } finally {
      // A page whose server goes away has reason to complain.
      await Promise.all(browser.contexts().map((context) => context.close().catch(() => {})));
      await files?.stop();
      await server.stop();
    }
  }
}
