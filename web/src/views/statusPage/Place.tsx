import { useState } from "preact/hooks";
import { useApplications } from "../../api/applications";
import { type Domain, useDomains } from "../../api/domains";
import type { StatusPage } from "../../api/statusPage";
import { useSession } from "../../session";
import { useText } from "../../text";
import { Button } from "../../ui/Button";
import { LinkIcon } from "../../ui/icons";
import { Problem } from "../../ui/Problem";
import { Time } from "../../ui/Time";
import { CheckDomain } from "../domains/CheckDomain";
import { addressOf, visitUrl } from "../domains/facts";
import { HttpsBadge } from "../domains/HttpsBadge";
import { SetUpDomain } from "../domains/SetUpDomain";

/** Whether the page is on, and where. */
export function Place({ page }: { page: StatusPage }) {
  const t = useText();
  const { data, error, refetch } = useDomains();
  const domain = data?.domains.find(({ domain, path }) => page.enabled && domain === page.domain && path === "/");
  return (
    <section class="card stack">
      <div class="row between">
        <h2>{t.statusPage.title}</h2>
        <span role="status">
          <span class={`state ${page.enabled ? "good" : ""}`}>
            {page.enabled ? t.statusPage.isOn : t.statusPage.isOff}
          </span>
        </span>
      </div>
      {error && !data && <Problem error={error} onAgain={() => void refetch()} />}
      {domain && <At domain={domain} />}
      {page.updated_at && (
        <p class="muted small">
          {t.statusPage.updated} <Time at={page.updated_at} />
        </p>
      )}
    </section>
  );
}

function At({ domain }: { domain: Domain }) {
  const t = useText();
  const { may } = useSession();
  const [open, setOpen] = useState<"check" | "setUp" | null>(null);
  const { data } = useApplications({});
  // The port of http is told by the addresses of applications alone.
  const near = data?.applications[0]?.url;
  const url = data ? visitUrl(domain, near ?? `http://${domain.domain}`) : null;
  return (
    <>
      <p class="row">
        {url ? (
          <a
            class="row break"
            href={url}
            target="_blank"
            rel="noreferrer"
            aria-label={t.statusPage.openAt(addressOf(domain))}
          >
            {addressOf(domain)} <LinkIcon />
          </a>
        ) : (
          <span class="break">{addressOf(domain)}</span>
        )}
        <HttpsBadge state={domain.https} />
      </p>
      {domain.problem !== "" && <p class="notice warn">{domain.problem}</p>}
      <div class="row">
        <Button onClick={() => setOpen("check")}>{t.domains.check}</Button>
        {may("domain:update") && <Button onClick={() => setOpen("setUp")}>{t.domains.setUp}</Button>}
      </div>
      {open === "check" && <CheckDomain domain={domain} onClose={() => setOpen(null)} />}
      {open === "setUp" && <SetUpDomain domain={domain} onClose={() => setOpen(null)} />}
    </>
  );
}
