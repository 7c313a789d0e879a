import { type DnsRecord, type Domain, type DomainCheck, useDomainCheck } from "../../api/domains";
import { type Text, useText } from "../../text";
import { Button } from "../../ui/Button";
import { Copyable } from "../../ui/Copyable";
import { Dialog } from "../../ui/Dialog";
import { Facts } from "../../ui/Facts";
import { Problem } from "../../ui/Problem";
import { type Column, Table } from "../../ui/Table";

/** What DNS says about a domain now, and what it should say. */
export function CheckDomain({ domain, onClose }: { domain: Domain; onClose: () => void }) {
  const t = useText();
  const { data, error, isFetching, refetch } = useDomainCheck(domain.domain);
  return (
    <Dialog wide title={t.domains.checkTitle(domain.readable)} onClose={onClose}>
      {error && !isFetching && <Problem error={error} />}
      {!data && isFetching && (
        <p class="loading" role="status">
          {t.domains.asking}
        </p>
      )}
      {data && !error && <Answer check={data} />}
      <div class="dialog-actions">
        <Button onClick={onClose}>{t.common.close}</Button>
        <Button kind="primary" busy={isFetching} onClick={() => void refetch()}>
          {t.domains.checkAgain}
        </Button>
      </div>
    </Dialog>
  );
}

function Answer({ check }: { check: DomainCheck }) {
  const t = useText();
  // Without an answer of DNS nothing else of it is known either.
  if (check.problem !== "") {
    return (
      <>
        <p class="notice bad" role="alert">
          {check.problem}
        </p>
        <Proof record={check.proof} isAsked={false} />
      </>
    );
  }
  return (
    <>
      <Facts
        rows={[
          [t.domains.leadsTo, check.addresses.join(", ") || t.domains.nowhere],
          [t.domains.issuers, check.issuers ? check.issuers.join(", ") || t.domains.noIssuer : t.domains.anyIssuer],
        ]}
      />
      <section class="stack">
        <h3>{t.domains.records}</h3>
        <p class="muted">{check.records.length > 0 ? t.domains.recordsText : t.domains.noRecords}</p>
        {check.records.length > 0 && <Records label={t.domains.records} records={check.records} isAsked />}
      </section>
      <Proof record={check.proof} isAsked />
    </>
  );
}

function Proof({ record, isAsked }: { record: DnsRecord; isAsked: boolean }) {
  const t = useText();
  return (
    <section class="stack">
      <h3>{t.domains.proof}</h3>
      <p class="muted">{t.domains.proofText}</p>
      <Records label={t.domains.proof} records={[record]} isAsked={isAsked} />
    </section>
  );
}

function Records({ label, records, isAsked }: { label: string; records: readonly DnsRecord[]; isAsked: boolean }) {
  const t = useText();
  return (
    <Table
      label={label}
      columns={columns(t, isAsked)}
      rows={records}
      rowKey={({ type, value }) => `${type} ${value}`}
    />
  );
}

function columns(t: Text, isAsked: boolean): Column<DnsRecord>[] {
  const found: Column<DnsRecord> = {
    title: t.domains.inDns,
    cell: ({ is_found }) => (
      <span class={`state ${is_found ? "good" : ""}`}>{is_found ? t.domains.found : t.domains.missing}</span>
    ),
  };
  return [
    { title: t.domains.recordName, isName: true, cell: ({ name }) => <Copyable value={name} /> },
    { title: t.domains.recordType, cell: ({ type }) => type },
    { title: t.domains.recordValue, cell: ({ value }) => <Copyable value={value} /> },
    ...(isAsked ? [found] : []),
  ];
}
