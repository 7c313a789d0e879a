import { useLocation } from "preact-iso";
import { useAudit, useVerifyAudit } from "../../api/audit";
import { useSession } from "../../session";
import { useText } from "../../text";
import { Button } from "../../ui/Button";
import { Empty, Loading } from "../../ui/Empty";
import { Page } from "../../ui/Page";
import { Pages } from "../../ui/Pages";
import { Problem } from "../../ui/Problem";
import { AuditFilters } from "./AuditFilters";
import { Entries } from "./Entries";
import { type AuditFilter, auditAddress, isFiltered, queryOf, readFilter } from "./filter";
import { Verified } from "./Verify";
import "./audit.css";

export default function Audit() {
  const t = useText();
  const { user } = useSession();
  const { query, route } = useLocation();
  const { scope, ...rest } = readFilter(query);
  // What the server's own log has is told to its admins only.
  const filter: AuditFilter = scope && user.type === "admin" ? { ...rest, scope } : rest;
  const { data, error, refetch } = useAudit(queryOf(filter));
  const verify = useVerifyAudit();
  const show = (next: AuditFilter, replace: boolean) => route(auditAddress(next), replace);
  const clear = () => show(filter.scope ? { scope: filter.scope } : {}, true);

  return (
    <Page
      title={t.audit.title}
      actions={
        <>
          {isFiltered(filter) && (
            <Button kind="quiet" onClick={clear}>
              {t.common.clearFilters}
            </Button>
          )}
          {!filter.scope && (
            <Button busy={verify.isPending} title={t.audit.verifyHint} onClick={() => verify.mutate()}>
              {t.audit.verify}
            </Button>
          )}
        </>
      }
    >
      {!filter.scope && verify.error && <Problem error={verify.error} onAgain={() => verify.mutate()} />}
      {!filter.scope && verify.data && <Verified found={verify.data} onClose={() => verify.reset()} />}
      <AuditFilters filter={filter} onFilter={(next) => show(next, true)} />
      {error && <Problem error={error} onAgain={() => void refetch()} />}
      {!data && !error && <Loading />}
      {data?.activities.length === 0 && (
        <Empty title={isFiltered(filter) ? t.audit.nothingFound : t.audit.empty}>
          {isFiltered(filter) && <Button onClick={clear}>{t.common.clearFilters}</Button>}
        </Empty>
      )}
      {data && data.activities.length > 0 && (
        <>
          <Entries entries={data.activities} />
          <div class="row between">
            <p class="muted">{t.audit.count(data.pagination.total_count)}</p>
            <Pages of={data.pagination} onPage={(page) => show({ ...filter, page }, false)} />
          </div>
        </>
      )}
    </Page>
  );
}
