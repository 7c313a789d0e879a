// What a Gitea reports of a repository to an application's webhook, signed with the webhook's secret.
import { createHmac, randomUUID } from "node:crypto";

const NO_COMMIT = "0".repeat(40);

/** Sends it; what Windlass answers. With another secret it is refused. */
export async function deliver(platform, application, { event, agent, secret, ...body }) {
  const webhook = await platform.api("GET", `/deploy/application/${application.id}/webhook`);
  const text = JSON.stringify(body);
  const answer = await fetch(`${platform.server.origin}/api/v1/webhook`, {
    method: "POST",
    headers: {
      "Content-Type": "application/json",
      "User-Agent": agent,
      "X-Gitea-Event": event,
      "X-Gitea-Delivery": randomUUID(),
      "X-Gitea-Signature": createHmac("sha256", secret ?? webhook.secret)
        .update(text)
        .digest("hex"),
    },
    body: text,
  });
  return { ...(await answer.json()), status: answer.status };
}

/** A push of one commit to the branch. */
export function pushOf(words, repository, hash) {
  const person = { name: words.author, email: "ada@example.org", username: words.sender };
  const commit = { id: hash, message: words.commit, author: person, committer: person, added: [], modified: [] };
  return {
    event: "push",
    agent: words.agent,
    ref: `refs/heads/${words.branch}`,
    before: NO_COMMIT,
    after: hash,
    commits: [commit],
    head_commit: commit,
    repository,
    pusher: { login: words.sender, full_name: words.user },
    sender: { login: words.sender },
  };
}

/** A pull request that was opened, from a branch of the repository itself. */
export function pullRequestOf(words, repository, number, hash) {
  const side = (ref, sha) => ({ label: ref, ref, sha, repo: repository });
  return {
    event: "pull_request",
    agent: words.agent,
    action: "opened",
    number,
    pull_request: {
      number,
      title: words.title,
      state: "open",
      html_url: words.pullRequestPage,
      updated_at: new Date().toISOString(),
      head: side(words.pullBranch, hash),
      base: side(words.branch, NO_COMMIT),
    },
    repository,
    sender: { login: words.sender },
  };
}
