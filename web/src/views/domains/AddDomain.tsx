import { useState } from "preact/hooks";
import type { Application } from "../../api/applications";
import { type Redirect, useAddDomain } from "../../api/domains";
import { useText } from "../../text";
import { Confirm } from "../../ui/Confirm";
import { SelectField, TextField } from "../../ui/Field";
import { splitProblem } from "../../ui/Problem";
import { tell } from "../../ui/Toast";
import { addressOf } from "./facts";

const FIELDS = ["domain", "path", "redirect", "service"];
const REDIRECTS: readonly Redirect[] = ["none", "permanent", "temporary"];

/** Names and paths: the browser neither proposes nor corrects them. */
const EXACT = { autocomplete: "off", autocapitalize: "off", spellcheck: false } as const;

export function AddDomain({ application, onClose }: { application: Application; onClose: () => void }) {
  const t = useText();
  const add = useAddDomain(application.id);
  const [domain, setDomain] = useState("");
  const [path, setPath] = useState("/");
  const [redirect, setRedirect] = useState<Redirect>("none");
  const [service, setService] = useState("");
  const hasServices = application.build_pack === "docker-compose" && redirect === "none";
  const [problem, rest] = splitProblem(add.error, FIELDS);
  return (
    <Confirm
      title={t.domains.add}
      action={t.domains.add}
      busy={add.isPending}
      error={rest}
      onClose={onClose}
      onConfirm={() =>
        add.mutate(
          {
            domain: domain.trim(),
            path: path.trim(),
            redirect,
            ...(hasServices && service.trim() && { service: service.trim() }),
          },
          {
            onSuccess: (added) => {
              tell(t.domains.added(addressOf(added)));
              onClose();
            },
          },
        )
      }
    >
      <TextField
        {...EXACT}
        label={t.domains.domain}
        hint={t.domains.domainHint}
        required
        placeholder="www.example.org"
        value={domain}
        onValue={setDomain}
        problem={problem("domain")}
      />
      <TextField
        {...EXACT}
        label={t.domains.path}
        hint={t.domains.pathHint}
        required
        value={path}
        onValue={setPath}
        problem={problem("path")}
      />
      <SelectField
        label={t.domains.visitors}
        options={REDIRECTS.map((name) => [name, t.domains.visitorsGet[name]])}
        value={redirect}
        onValue={(name) => setRedirect(name as Redirect)}
        problem={problem("redirect")}
      />
      {hasServices && (
        <TextField
          {...EXACT}
          label={t.domains.service}
          hint={t.domains.serviceHint}
          optional
          value={service}
          onValue={setService}
          problem={problem("service")}
        />
      )}
      <p class="muted">{t.domains.addText}</p>
    </Confirm>
  );
}
