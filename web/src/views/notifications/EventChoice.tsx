import type { EventName } from "../../api/notifications";
import { useText } from "../../text";
import { Button } from "../../ui/Button";
import { CheckField, CheckList } from "../../ui/Field";
import { ApplicationChoice } from "./ApplicationChoice";
import { type Choice, withEvents } from "./choice";
import { EVENTS, eventsIn, GROUPS, USUAL } from "./events";

interface Props {
  choice: Choice;
  onChoice: (choice: Choice) => void;
  /** What may be chosen. What else is chosen already stays chosen. */
  offered: readonly EventName[];
  /** Whether there was an attempt to save what is not complete. */
  isIncomplete: boolean;
}

/** Which events are told, and of which applications. */
export function EventChoice({ choice, onChoice, offered, isIncomplete }: Props) {
  const t = useText().notifications;
  const set = (part: Partial<Choice>) => onChoice({ ...choice, ...part });
  const choose = (wanted: readonly EventName[]) => set({ events: withEvents(choice.events, offered, wanted) });
  return (
    <>
      <div class="row">
        <Button onClick={() => choose(USUAL)}>{t.chooseUsual}</Button>
        <Button onClick={() => choose(EVENTS)}>{t.chooseAll}</Button>
        <Button onClick={() => choose([])}>{t.chooseNone}</Button>
      </div>
      <div class="event-groups">
        {GROUPS.map((group) => {
          const names = eventsIn(group, offered);
          if (names.length === 0) return null;
          return (
            <fieldset key={group}>
              <legend>{t.groups[group]}</legend>
              <CheckList
                options={names.map((name) => [name, t.events[name]] as const)}
                chosen={choice.events}
                onChosen={(events) => set({ events })}
              />
            </fieldset>
          );
        })}
      </div>
      <CheckField label={t.recoveries} checked={choice.recoveries} onChecked={(recoveries) => set({ recoveries })} />
      <ApplicationChoice
        chosen={choice.applications}
        onChosen={(applications) => set({ applications })}
        problem={isIncomplete ? t.oneAtLeast : null}
      />
    </>
  );
}
