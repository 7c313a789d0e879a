// Repositories to deploy from, in a folder that the first organization may deploy from.
import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** One page, served by busybox. The lines come before the last ones. */
export const dockerfile = (...lines) =>
  [
    "FROM busybox:1",
    "COPY www /www",
    ...lines,
    "EXPOSE 8080",
    'CMD ["httpd", "-f", "-p", "8080", "-h", "/www"]',
    "",
  ].join("\n");

/** What the page of an application says. */
export const says = (text, ...lines) => ({ Dockerfile: dockerfile(...lines), "www/index.html": `${text}\n` });

/** Prints a line again and again: "said 1", "said 2" and so on. */
export const CHATTY = {
  Dockerfile: dockerfile()
    .replace(/CMD .*/, 'CMD ["sh", "/chat.sh"]')
    .replace("COPY www /www", "COPY chat.sh /chat.sh"),
  "chat.sh": "mkdir /www; httpd -p 8080 -h /www; n=0; while true; do n=$((n+1)); echo said $n; usleep 100000; done\n",
};

/** A folder with a first commit of these files. Others follow it by `commit`, on its own branch or from there on another. */
export function makeRepository(path, files, { message = "First version", branch = "main", author = "Ada" } = {}) {
  mkdirSync(path, { recursive: true });
  const git = (...args) =>
    execFileSync("git", ["-C", path, "-c", `user.name=${author}`, "-c", "user.email=ada@example.org", ...args], {
      encoding: "utf8",
    }).trim();
  const commit = (changed, text, to = branch) => {
    if (to !== branch) git("checkout", "-q", "-B", to);
    for (const [name, content] of Object.entries(changed)) {
      mkdirSync(dirname(join(path, name)), { recursive: true });
      writeFileSync(join(path, name), content);
    }
    git("add", ".");
    git("commit", "-q", "--allow-empty", "-m", text);
    const hash = git("rev-parse", "HEAD");
    if (to !== branch) git("checkout", "-q", branch);
    return hash;
  };
  git("init", "-q", "-b", branch);
  return { path, first: commit(files, message), commit };
}
