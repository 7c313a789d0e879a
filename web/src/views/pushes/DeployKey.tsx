import { useState } from "preact/hooks";
import type { Application } from "../../api/applications";
import { useCreateDeployKey, useDeleteDeployKey, useDeployKey } from "../../api/deliveries";
import { useMay } from "../../session";
import { useText } from "../../text";
import { Button } from "../../ui/Button";
import { Confirm } from "../../ui/Confirm";
import { Copyable } from "../../ui/Copyable";
import { Problem } from "../../ui/Problem";
import { tell, useTellProblem } from "../../ui/Toast";

/** A key pair of the application for reading its repository over ssh. Only its public half is ever shown. */
export function DeployKey({ application }: { application: Application }) {
  const t = useText();
  const mayUpdate = useMay("deploy:update");
  const { data: key, error, refetch } = useDeployKey(application.id, true);
  const create = useCreateDeployKey(application.id);
  const remove = useDeleteDeployKey(application.id);
  const tellProblem = useTellProblem();
  const [asked, setAsked] = useState<"renew" | "remove" | null>(null);
  if (error && key === undefined) return <Problem error={error} onAgain={() => void refetch()} />;
  if (key === undefined) return null;

  const make = () =>
    create.mutate(undefined, {
      onSuccess: () => {
        setAsked(null);
        tell(t.pushes.keyMade);
      },
      onError: (thrown) => key || tellProblem(thrown),
    });
  return (
    <div class="stack">
      <h3>{t.pushes.deployKey}</h3>
      {key ? (
        <>
          <Copyable value={key.public_key} label={t.pushes.deployKey} />
          <p class={key.is_registered ? "state good" : "muted"}>
            {key.is_registered ? t.pushes.keyRegistered : t.pushes.keyByHand}
          </p>
        </>
      ) : (
        <p class="muted">{t.pushes.noKey}</p>
      )}
      {mayUpdate && (
        <div class="row">
          <Button busy={create.isPending && !asked} onClick={() => (key ? setAsked("renew") : make())}>
            {key ? t.pushes.renewKey : t.pushes.makeKey}
          </Button>
          {key && (
            <Button kind="danger" onClick={() => setAsked("remove")}>
              {t.pushes.removeKey}
            </Button>
          )}
        </div>
      )}
      {asked === "renew" && (
        <Confirm
          title={t.pushes.renewKeyTitle}
          action={t.pushes.renewKey}
          busy={create.isPending}
          error={create.error}
          onClose={() => setAsked(null)}
          onConfirm={make}
        >
          <p>{t.pushes.renewKeyText}</p>
        </Confirm>
      )}
      {asked === "remove" && (
        <Confirm
          title={t.pushes.removeKeyTitle}
          action={t.pushes.removeKey}
          danger
          busy={remove.isPending}
          error={remove.error}
          onClose={() => setAsked(null)}
          onConfirm={() => remove.mutate(undefined, { onSuccess: () => setAsked(null) })}
        >
          <p>{t.pushes.removeKeyText}</p>
        </Confirm>
      )}
    </div>
  );
}
