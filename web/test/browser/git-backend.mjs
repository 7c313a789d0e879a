// git over http: what `git http-backend`, a CGI program, reads and writes.
import { spawn } from "node:child_process";

const HEAD_END = "\r\n\r\n";

/** Answers a request for a repository in this folder. */
export function answerByGit(folder, asked, answer) {
  const { pathname, searchParams } = new URL(asked.url, "http://x");
  const git = spawn("git", ["http-backend"], {
    env: {
      PATH: process.env.PATH,
      GIT_PROJECT_ROOT: folder,
      GIT_HTTP_EXPORT_ALL: "1",
      REQUEST_METHOD: asked.method,
      PATH_INFO: decodeURIComponent(pathname),
      QUERY_STRING: searchParams.toString(),
      CONTENT_TYPE: asked.headers["content-type"] ?? "",
      HTTP_CONTENT_ENCODING: asked.headers["content-encoding"] ?? "",
      GIT_PROTOCOL: asked.headers["git-protocol"] ?? "",
    },
    stdio: ["pipe", "pipe", "ignore"],
  });
  // A client that has heard enough closes the connection, and git then ends before it has read everything.
  git.stdin.on("error", () => {});
  answer.on("close", () => git.kill());
  asked.pipe(git.stdin);
  passOn(git.stdout, answer);
}

function passOn(output, answer) {
  let head = Buffer.alloc(0);
  const onData = (part) => {
    head = Buffer.concat([head, part]);
    const end = head.indexOf(HEAD_END);
    if (end < 0) return;
    output.off("data", onData);
    answer.writeHead(...statusAndHeaders(head.subarray(0, end).toString()));
    answer.write(head.subarray(end + HEAD_END.length));
    output.pipe(answer);
  };
  output.on("data", onData);
}

function statusAndHeaders(head) {
  const lines = head.split("\r\n").map((line) => line.split(": "));
  const status = lines.find(([name]) => name === "Status")?.[1];
  return [Number.parseInt(status ?? "200", 10), Object.fromEntries(lines.filter(([name]) => name !== "Status"))];
}
