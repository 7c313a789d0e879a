import { type Domain, useDomains, useOrderAgain } from "../../api/domains";
import { useSession } from "../../session";
import { useText } from "../../text";
import { Button } from "../../ui/Button";
import { Problem } from "../../ui/Problem";
import { type Column, Table } from "../../ui/Table";
import { Time } from "../../ui/Time";
import { addressOf, keyOf } from "../domains/facts";
import { HttpsBadge } from "../domains/HttpsBadge";

/** How visitors of the organization's domains come, and what is in the way of https. */
export function Domains() {
  const t = useText();
  const { may } = useSession();
  const { data, error, refetch } = useDomains();
  const again = useOrderAgain();
  if (error && !data) return <Problem error={error} onAgain={() => void refetch()} />;
  if (!data || data.domains.length === 0) return null;
  const columns: Column<Domain>[] = [
    { title: t.domains.domain, isName: true, cell: (domain) => <Name of={domain} /> },
    { title: t.domains.https, bare: true, cell: ({ https }) => <HttpsBadge state={https} /> },
    { title: t.domains.problem, cell: ({ problem }) => problem !== "" && <span class="small">{problem}</span> },
    { title: t.domains.next, minor: true, cell: ({ next_at }) => next_at && <Time at={next_at} /> },
    {
      title: t.common.actions,
      hideTitle: true,
      numeric: true,
      cell: (domain) =>
        domain.problem !== "" &&
        may("domain:update") && (
          <Button aria-label={`${t.domains.again}: ${addressOf(domain)}`} onClick={() => again.mutate(domain.domain)}>
            {t.domains.again}
          </Button>
        ),
    },
  ];
  return (
    <>
      {again.error && <Problem error={again.error} />}
      <Table label={t.domains.title} columns={columns} rows={data.domains} rowKey={keyOf} />
    </>
  );
}

/** What an application or the status page has is set up there. */
function Name({ of }: { of: Domain }) {
  if (of.installation_id !== null) return <>{addressOf(of)}</>;
  return (
    <a
      class="row-link"
      href={of.application_id === null ? "/organization/status" : `/applications/${of.application_id}/domains`}
    >
      {addressOf(of)}
    </a>
  );
}
