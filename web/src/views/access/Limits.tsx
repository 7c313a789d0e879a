import { useText } from "../../text";
import { TextField } from "../../ui/Field";
import { GroupForm } from "./GroupForm";
import { readSize } from "./size";
import { type GroupProps, useGroup } from "./useGroup";

const FIELDS = ["requests_per_minute", "request_burst", "body_bytes", "answer_seconds"] as const;

const WHOLE = { type: "number", required: true, autocomplete: "off" } as const;

export function Limits(props: GroupProps) {
  const t = useText().access;
  const group = useGroup(props, FIELDS);
  const size = group.text("body_bytes");
  const bytes = readSize(size.value);
  return (
    <section class="card stack">
      <h2>{t.limits}</h2>
      <GroupForm title={t.limits} group={group} readOnly={props.readOnly} isUnreadable={bytes === null}>
        <TextField
          {...WHOLE}
          min={0}
          max={1_000_000}
          label={t.perMinute}
          hint={t.perMinuteHint}
          {...group.text("requests_per_minute")}
        />
        <TextField
          {...WHOLE}
          min={0}
          max={100_000}
          label={t.burst}
          hint={t.burstHint}
          {...group.text("request_burst")}
        />
        <TextField
          autocomplete="off"
          spellcheck={false}
          required
          label={t.body}
          hint={t.bodyHint(bytes ?? 0)}
          {...size}
          problem={bytes === null ? t.notASize : size.problem}
        />
        <TextField
          {...WHOLE}
          min={1}
          max={3600}
          label={t.answer}
          hint={t.answerHint}
          {...group.text("answer_seconds")}
        />
      </GroupForm>
    </section>
  );
}
