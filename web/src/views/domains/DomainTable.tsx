import type { Application } from "../../api/applications";
import { type Domain, useOrderAgain } from "../../api/domains";
import { useSession } from "../../session";
import { useText } from "../../text";
import { Button } from "../../ui/Button";
import { Outside } from "../../ui/Outside";
import { type Column, Table } from "../../ui/Table";
import { Time } from "../../ui/Time";
import { useTellProblem } from "../../ui/Toast";
import { addressOf, keyOf, visitUrl } from "./facts";
import { HttpsBadge } from "./HttpsBadge";

/** What can be done with one of them, in a dialog. */
export type DomainAction = "check" | "setUp" | "remove";

interface Props {
  application: Application;
  domains: readonly Domain[];
  onOpen: (what: DomainAction, domain: Domain) => void;
}

export function DomainTable({ application, domains, onOpen }: Props) {
  const t = useText();
  const columns: Column<Domain>[] = [
    { title: t.domains.domain, isName: true, cell: (domain) => <Name of={domain} applicationUrl={application.url} /> },
    { title: t.domains.https, bare: true, cell: (domain) => <Https of={domain} /> },
    {
      title: t.common.actions,
      hideTitle: true,
      numeric: true,
      cell: (domain) => <Actions of={domain} onOpen={(what) => onOpen(what, domain)} />,
    },
  ];
  return <Table label={t.domains.title} columns={columns} rows={domains} rowKey={keyOf} />;
}

function Name({ of, applicationUrl }: { of: Domain; applicationUrl: string }) {
  const t = useText();
  const { id, domain, readable, redirect, service } = of;
  const kind = id === null ? t.domains.main : t.domains.redirects[redirect];
  return (
    <div class="row">
      <div>
        <Outside href={visitUrl(of, applicationUrl) ?? ""}>{addressOf(of)}</Outside>
        {readable !== domain && <p class="small muted">{domain}</p>}
      </div>
      {kind && <span class="tag">{kind}</span>}
      {service && <span class="tag">{service}</span>}
    </div>
  );
}

/** With what is in its way. */
function Https({ of }: { of: Domain }) {
  const t = useText();
  const { https, https_only, problem, next_at } = of;
  return (
    <>
      <span class="row">
        <HttpsBadge state={https} />
        {https !== "none" && !https_only && <span class="tag">{t.domains.httpToo}</span>}
      </span>
      {problem !== "" && <p class="small">{problem}</p>}
      {problem !== "" && next_at && (
        <p class="small muted">
          {t.domains.next}: <Time at={next_at} />
        </p>
      )}
    </>
  );
}

function Actions({ of, onOpen }: { of: Domain; onOpen: (what: DomainAction) => void }) {
  const t = useText();
  const { may } = useSession();
  const again = useOrderAgain();
  const tellProblem = useTellProblem();
  const name = addressOf(of);
  return (
    <span class="row row-actions">
      {of.problem !== "" && may("domain:update") && (
        <Button
          aria-label={`${t.domains.again}: ${name}`}
          busy={again.isPending}
          onClick={() => again.mutate(of.domain, { onError: tellProblem })}
        >
          {t.domains.again}
        </Button>
      )}
      <Button aria-label={`${t.domains.check}: ${name}`} onClick={() => onOpen("check")}>
        {t.domains.check}
      </Button>
      {may("domain:update") && (
        <Button aria-label={`${t.domains.setUp}: ${name}`} onClick={() => onOpen("setUp")}>
          {t.domains.setUp}
        </Button>
      )}
      {of.id !== null && may("domain:delete") && (
        <Button kind="danger" aria-label={`${t.domains.remove}: ${name}`} onClick={() => onOpen("remove")}>
          {t.domains.remove}
        </Button>
      )}
    </span>
  );
}
