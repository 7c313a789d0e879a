// The texts that `furnish` fills an organization with: those of a pleasant example, and those of an attacker.

export const PLEASANT = {
  user: "Ada",
  organization: "Analytical Engines",
  application: "shop",
  label: "web",
  variable: "GREETING",
  value: "Good morning",
  branch: "main",
  commit: "Show the price with taxes",
  author: "Ada",
  sender: "ada",
  event: "issues",
  title: "A basket for gifts",
  pullBranch: "gifts",
  path: "/data",
  domain: "www.engines.example",
  command: "sync",
  schedule: "nightly",
  outcry: "The database is locked",
  line: "GET /basket 200 in 3 ms",
  error: "src/prices.c:12: missing semicolon",
  connection: "Our Gitea",
  account: "ada",
  repository: "engines/shop",
  repositoryPage: "https://git.example.org/engines/shop",
  pullRequestPage: "https://git.example.org/engines/shop/pulls/7",
  keyed: "blog",
  extension: "Greeter",
  description: "A page with a greeting.",
  greeting: "Good morning",
  invitation: "alan@example.org",
  key: "build server",
  agent: "curl/8.14.1",
  issuer: "Engines Root",
  visitor: "anna",
  realm: "Engines, for members",
  header: "noindex",
  html: "<h1>Back in a moment</h1>",
  refusal: '{"message": "Unknown Webhook", "code": 10015}',
  mailFrom: "Engines",
  pageTitle: "Analytical Engines: status",
  publicName: "The shop",
};

/** Runs if any page takes it for more than text. The name tells which text it was. */
const hostile = (name) => `<img src=x onerror="ran('${name}')">`;
const NO_SPACE = (name) => `<img/src=x/onerror=ran('${name}')>`;

export const HOSTILE = {
  ...Object.fromEntries(Object.keys(PLEASANT).map((name) => [name, hostile(name)])),
  // No "=" may be in the name of a variable.
  variable: "<script>ran('variable')</script>",
  branch: NO_SPACE("branch"),
  pullBranch: NO_SPACE("pullBranch"),
  // Without quotes that JSON escapes, because the body of a delivery is shown as it came.
  commit: NO_SPACE("commit"),
  sender: NO_SPACE("sender"),
  title: NO_SPACE("title"),
  path: `/${hostile("path")}`,
  // The server takes nothing but a name. This one is another in DNS than people read.
  domain: "bücher.example",
  // A comment to the shell that runs it.
  command: `sync # ${hostile("command")}`,
  // In the head of an answer between quotation marks.
  realm: NO_SPACE("realm"),
  repository: `engines/${NO_SPACE("repository").replaceAll("/", "-")}`,
  repositoryPage: "javascript:ran('repositoryPage')",
  pullRequestPage: "javascript:ran('pullRequestPage')",
  invitation: `<img/src=x/onerror=ran('invitation')>@example.org`,
};
