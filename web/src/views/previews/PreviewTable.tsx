import type { Application } from "../../api/applications";
import { type Preview, useDeployPreview } from "../../api/previews";
import { useMay } from "../../session";
import { useText } from "../../text";
import { Button } from "../../ui/Button";
import { MoreIcon } from "../../ui/icons";
import { Menu } from "../../ui/Menu";
import { Outside } from "../../ui/Outside";
import { ApplicationStateBadge } from "../../ui/State";
import { type Column, Table } from "../../ui/Table";
import { Time } from "../../ui/Time";
import { tell, useTellProblem } from "../../ui/Toast";
import { shortCommit } from "../applications/facts";

interface Props {
  application: Application;
  previews: readonly Preview[];
  onEnd: (preview: Preview) => void;
}

export function PreviewTable({ application, previews, onEnd }: Props) {
  const t = useText();
  const [mayCreate, mayDelete] = [useMay("deploy:create"), useMay("deploy:delete")];
  const deploy = useDeployPreview(application.id);
  const tellProblem = useTellProblem();
  const again = ({ pull_request, branch, title }: Preview) =>
    deploy.mutate(
      { pull_request, branch, ...(title ? { title } : {}) },
      { onError: tellProblem, onSuccess: () => tell(t.previews.queued) },
    );
  const columns: Column<Preview>[] = [
    {
      title: t.previews.pullRequest,
      isName: true,
      cell: ({ id, pull_request, title, is_fork }) => (
        <>
          <a class="row-link" href={`/applications/${id}`}>
            #{pull_request} {title}
          </a>{" "}
          {is_fork && <span class="tag">{t.previews.fork}</span>}
        </>
      ),
    },
    { title: t.applications.state, bare: true, cell: ({ status }) => <ApplicationStateBadge state={status} /> },
    { title: t.applications.url, bare: true, cell: ({ url, domain }) => <Outside href={url}>{domain}</Outside> },
    {
      title: t.applications.branch,
      bare: true,
      cell: ({ branch, commit_hash }) => (
        <>
          {branch} {commit_hash && <code class="muted">{shortCommit(commit_hash)}</code>}
        </>
      ),
    },
    { title: t.previews.deployed, cell: ({ deployed_at }) => <Time at={deployed_at} /> },
    { title: t.previews.ends, minor: true, cell: ({ ends_at }) => <Time at={ends_at} /> },
    {
      title: t.common.actions,
      hideTitle: true,
      numeric: true,
      cell: (preview) => (
        <span class="row row-actions">
          {mayCreate && !preview.is_fork && (
            <Button
              busy={deploy.isPending && deploy.variables.pull_request === preview.pull_request}
              onClick={() => again(preview)}
            >
              {t.application.redeploy}
            </Button>
          )}
          <Menu kind="plain" class="icon-only" label={t.common.actions} shown={<MoreIcon />}>
            {preview.pull_request_url.startsWith("http") && (
              <a href={preview.pull_request_url} target="_blank" rel="noreferrer">
                {t.previews.toPullRequest}
              </a>
            )}
            <a href={`/applications/${preview.id}/logs`}>{t.application.logs}</a>
            {mayDelete && (
              <button type="button" class="danger" onClick={() => onEnd(preview)}>
                {t.previews.end}
              </button>
            )}
          </Menu>
        </span>
      ),
    },
  ];
  return <Table label={t.previews.title} columns={columns} rows={previews} rowKey={({ id }) => id} />;
}
