import { useState } from "preact/hooks";
import { useLocation } from "preact-iso";
import { type Extension, useDeleteExtension, useForkExtension } from "../../api/extensions";
import { useMay } from "../../session";
import { useText } from "../../text";
import { Button, ButtonLink } from "../../ui/Button";
import { Confirm } from "../../ui/Confirm";
import { MoreIcon } from "../../ui/icons";
import { Menu } from "../../ui/Menu";
import { tell, useTellProblem } from "../../ui/Toast";
import { addressOf } from "./facts";

export function Actions({ extension, isAtRun }: { extension: Extension; isAtRun: boolean }) {
  const { extensions: t, common } = useText();
  const { route } = useLocation();
  const mayRun = useMay("extension:run");
  const mayCreate = useMay("extension:create");
  const mayDelete = useMay("extension:delete") && extension.organization_id !== null;
  const fork = useForkExtension(extension.id);
  const tellProblem = useTellProblem();
  const [asksToDelete, setAsksToDelete] = useState(false);
  const canRun = mayRun && extension.validation_status === "valid" && !isAtRun;
  const runFork = () =>
    fork.mutate(undefined, {
      onError: tellProblem,
      onSuccess: (made) => {
        tell(t.forked);
        route(addressOf(made, "text"));
      },
    });
  return (
    <>
      {mayCreate && (
        <Button busy={fork.isPending} title={t.forkText} onClick={runFork}>
          {t.forkIt}
        </Button>
      )}
      {canRun && (
        <ButtonLink kind="primary" href={addressOf(extension, "run")}>
          {extension.extension_type === "install" ? t.install : t.run}…
        </ButtonLink>
      )}
      {mayDelete && (
        <Menu kind="plain" class="icon-only" label={common.actions} shown={<MoreIcon />}>
          <a href={addressOf(extension, "text")}>{t.edit}</a>
          <button type="button" class="danger" onClick={() => setAsksToDelete(true)}>
            {t.remove}…
          </button>
        </Menu>
      )}
      {asksToDelete && <Delete extension={extension} onClose={() => setAsksToDelete(false)} />}
    </>
  );
}

function Delete({ extension, onClose }: { extension: Extension; onClose: () => void }) {
  const t = useText().extensions;
  const { route } = useLocation();
  const remove = useDeleteExtension(extension.id);
  const name = extension.name || extension.extension_id;
  return (
    <Confirm
      title={t.removeTitle(name)}
      action={t.remove}
      danger
      typed={{ label: t.removeConfirm, text: extension.extension_id }}
      busy={remove.isPending}
      error={remove.error}
      onClose={onClose}
      onConfirm={() =>
        remove.mutate(undefined, {
          onSuccess: () => {
            tell(t.removed(name));
            route("/extensions");
          },
        })
      }
    >
      <p>{t.removeText}</p>
      <p>
        <code>{extension.extension_id}</code>
      </p>
    </Confirm>
  );
}
