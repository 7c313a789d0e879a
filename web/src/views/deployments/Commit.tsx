import type { Deployment } from "../../api/deployments";
import { useText } from "../../text";
import { shortCommit } from "../applications/facts";
import "./commit.css";

export function Commit({ of }: { of: Deployment }) {
  const t = useText();
  if (!of.commit_hash) return <span class="muted">{t.deployments.noCommit}</span>;
  const [subject = ""] = of.commit_message.split("\n");
  return (
    <span class="commit-message" title={of.commit_author}>
      <code title={of.commit_hash}>{shortCommit(of.commit_hash)}</code> {subject}
    </span>
  );
}
