// A Gitea as far as Windlass asks it: who the token is, which repositories it reaches, and their branches.
import { createServer } from "node:http";

export async function startCodeHost({ account, repositories, branches }) {
  const answers = (origin, path) => {
    if (path === "/api/v1/user") return { id: 1, login: account, username: account, email: "", full_name: "" };
    if (path === "/api/v1/user/repos")
      return repositories.map((name, index) => shapeOf(origin, name, index, branches[0]));
    if (path.endsWith("/branches")) return branches.map((name) => ({ name, commit: { id: "0".repeat(40) } }));
    if (path.endsWith("/tags")) return [];
    const index = repositories.findIndex((name) => path === `/api/v1/repos/${name}`);
    return index >= 0 ? shapeOf(origin, repositories[index], index, branches[0]) : null;
  };
  const server = createServer((asked, answer) => {
    const found = answers(`http://${asked.headers.host}`, decodeURI(asked.url.split("?")[0]));
    answer.writeHead(found ? 200 : 404, { "Content-Type": "application/json" });
    answer.end(JSON.stringify(found ?? { message: "not found" }));
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { origin: `http://127.0.0.1:${server.address().port}`, stop: () => server.close() };
}

function shapeOf(origin, full_name, index, default_branch) {
  const [login, name] = full_name.split("/");
  return {
    id: index + 1,
    owner: { id: 1, login, username: login },
    name,
    full_name,
    private: index > 0,
    fork: false,
    empty: false,
    html_url: `${origin}/${full_name}`,
    clone_url: `${origin}/${full_name}.git`,
    ssh_url: `git@127.0.0.1:${full_name}.git`,
    default_branch,
  };
}
