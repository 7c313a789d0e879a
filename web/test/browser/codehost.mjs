// A Gitea as far as Windlass asks it: who the token is, which repositories it reaches, their branches, and their commits by git.
import { createServer } from "node:http";
import { answerByGit } from "./git-backend.mjs";

/** `page` is what it says of where a repository is shown to people. `folder` has the repositories that can be fetched, each at its name with `.git`. */
export async function startCodeHost({ account, repositories, branches, page, folder }) {
  const shapeOf = (origin, name) =>
    repositoryOf(origin, name, repositories.indexOf(name), { page, branch: branches[0] });
  const answers = (origin, path) => {
    if (path === "/api/v1/user") return { id: 1, login: account, username: account, email: "", full_name: "" };
    if (path === "/api/v1/user/repos") return repositories.map((name) => shapeOf(origin, name));
    if (path.endsWith("/branches")) return branches.map((name) => ({ name, commit: { id: "0".repeat(40) } }));
    if (path.endsWith("/tags")) return [];
    const asked = repositories.find((name) => path === `/api/v1/repos/${name}`);
    return asked ? shapeOf(origin, asked) : null;
  };
  const server = createServer((asked, answer) => {
    if (!asked.url.startsWith("/api/")) return answerByGit(folder, asked, answer);
    // Statuses, comments and keys are taken without a look at them.
    const found =
      asked.method === "GET" ? answers(`http://${asked.headers.host}`, decodeURI(asked.url.split("?")[0])) : { id: 1 };
    const success = asked.method === "POST" ? 201 : 200;
    answer.writeHead(found ? success : 404, { "Content-Type": "application/json" });
    answer.end(JSON.stringify(found ?? { message: "not found" }));
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const origin = `http://127.0.0.1:${server.address().port}`;
  const stop = () => {
    server.closeAllConnections();
    server.close();
  };
  return { origin, stop, shapeOf: (name) => shapeOf(origin, name) };
}

function repositoryOf(origin, full_name, index, { page, branch }) {
  const [login, name] = full_name.split("/");
  return {
    id: index + 1,
    owner: { id: 1, login, username: login },
    name,
    full_name,
    private: index > 0,
    fork: false,
    empty: false,
    html_url: page,
    clone_url: `${origin}/${full_name}.git`,
    ssh_url: `git@127.0.0.1:${full_name}.git`,
    default_branch: branch,
  };
}
