import { useState } from "preact/hooks";
import { useLocation } from "preact-iso";
import type { Application } from "../../api/applications";
import { useRunCommand } from "../../api/runs";
import { useText } from "../../text";
import { Confirm } from "../../ui/Confirm";
import { AreaField, TextField } from "../../ui/Field";
import { splitProblem } from "../../ui/Problem";
import { addressOfRun } from "./RunTable";

const FIELDS = ["command", "service", "timeout_seconds"];

export function RunCommand({ application, onClose }: { application: Application; onClose: () => void }) {
  const t = useText().runs;
  const { route } = useLocation();
  const run = useRunCommand(application.id);
  const [command, setCommand] = useState("");
  const [service, setService] = useState("");
  const [limit, setLimit] = useState("");
  const [problem, rest] = splitProblem(run.error, FIELDS);
  return (
    <Confirm
      title={t.run}
      action={t.action}
      busy={run.isPending}
      error={rest}
      onClose={onClose}
      onConfirm={() =>
        run.mutate(
          {
            command,
            ...(service.trim() ? { service: service.trim() } : {}),
            ...(limit.trim() ? { timeout_seconds: Number(limit) } : {}),
          },
          { onSuccess: (queued) => route(addressOfRun(queued)) },
        )
      }
    >
      <AreaField
        label={t.command}
        hint={t.commandHint}
        required
        rows={3}
        value={command}
        onValue={setCommand}
        problem={problem("command")}
      />
      {application.build_pack === "docker-compose" && (
        <TextField
          label={t.service}
          hint={t.serviceHint}
          optional
          autocomplete="off"
          spellcheck={false}
          value={service}
          onValue={setService}
          problem={problem("service")}
        />
      )}
      <TextField
        label={t.limit}
        hint={t.limitHint}
        optional
        inputmode="numeric"
        value={limit}
        onValue={setLimit}
        problem={problem("timeout_seconds")}
      />
    </Confirm>
  );
}
