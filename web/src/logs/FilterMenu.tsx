import { useText } from "../text";
import { CheckList, SelectField } from "../ui/Field";
import { Menu } from "../ui/Menu";
import { STEPS, STREAMS } from "./filter";
import type { Question } from "./useQuestion";

interface Props {
  services: readonly string[];
  question: Question;
  hasSteps: boolean;
  onAsk: (change: Partial<Question>) => void;
}

/** Services, streams and steps. Where none is chosen, all are shown. */
export function FilterMenu({ services, question, hasSteps, onAsk }: Props) {
  const { logs: t, deployment } = useText();
  const { streams, steps, service } = question;
  const count = streams.length + steps.length + (service ? 1 : 0);
  return (
    <Menu label={t.filterIs(count)} shown={count > 0 ? t.filterIs(count) : t.filter} kind="plain">
      {services.length > 0 && (
        <SelectField
          label={t.service}
          value={service}
          options={[["", t.everyService], ...services.map((name) => [name, name] as const)]}
          onValue={(chosen) => onAsk({ service: chosen })}
        />
      )}
      <Choices
        title={t.streams}
        all={STREAMS}
        chosen={streams}
        name={(stream) => t.stream[stream]}
        onChange={(chosen) => onAsk({ streams: chosen })}
      />
      {hasSteps && (
        <Choices
          title={t.steps}
          all={STEPS}
          chosen={steps}
          name={(step) => deployment.step[step]}
          onChange={(chosen) => onAsk({ steps: chosen })}
        />
      )}
      {count > 0 && (
        <button type="button" onClick={() => onAsk({ streams: [], steps: [], service: "" })}>
          {t.filterNone}
        </button>
      )}
    </Menu>
  );
}

interface ChoicesProps<T extends string> {
  title: string;
  all: readonly T[];
  chosen: readonly T[];
  name: (one: T) => string;
  onChange: (chosen: readonly T[]) => void;
}

function Choices<T extends string>({ title, all, chosen, name, onChange }: ChoicesProps<T>) {
  return (
    <fieldset class="log-choices">
      <legend>{title}</legend>
      <CheckList options={all.map((one) => [one, name(one)])} chosen={chosen} onChosen={onChange} />
    </fieldset>
  );
}
