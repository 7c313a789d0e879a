import { type Domain, useDomains, useOrderAgain } from "../../api/domains";
import { useSession } from "../../session";
import { useText } from "../../text";
import { Button } from "../../ui/Button";
import { Problem } from "../../ui/Problem";
import { type Column, Table } from "../../ui/Table";
import { Time } from "../../ui/Time";

const TONES: Readonly<Record<Domain["https"], string>> = { served: "good", ordering: "busy", failed: "bad", none: "" };

/** How visitors of the organization's domains come, and what is in the way of https. */
export function Domains() {
  const t = useText();
  const { may } = useSession();
  const { data, error, refetch } = useDomains();
  const again = useOrderAgain();
  if (error && !data) return <Problem error={error} onAgain={() => void refetch()} />;
  if (!data || data.domains.length === 0) return null;
  const columns: Column<Domain>[] = [
    { title: t.domains.domain, isName: true, cell: ({ domain }) => domain },
    {
      title: t.domains.https,
      bare: true,
      cell: ({ https }) => <span class={`state ${TONES[https]}`}>{t.domains.states[https]}</span>,
    },
    { title: t.domains.problem, cell: ({ problem }) => <span class="small">{problem}</span> },
    { title: t.domains.next, minor: true, cell: ({ next_at }) => next_at && <Time at={next_at} /> },
    {
      title: t.common.actions,
      hideTitle: true,
      numeric: true,
      cell: ({ domain, problem }) =>
        problem !== "" &&
        may("domain:update") && (
          <Button aria-label={`${t.domains.again}: ${domain}`} onClick={() => again.mutate(domain)}>
            {t.domains.again}
          </Button>
        ),
    },
  ];
  return (
    <>
      {again.error && <Problem error={again.error} />}
      <Table label={t.domains.title} columns={columns} rows={data.domains} rowKey={({ domain }) => domain} />
    </>
  );
}
