import { useText } from "../../text";
import { Facts } from "../../ui/Facts";
import { readValues, valueText } from "./facts";

/** What variables were given. Secrets are stars already when they come. */
export function Values({ text }: { text: string }) {
  const t = useText();
  if (text === "") return <p class="muted">{t.executions.valuesHidden}</p>;
  const values = Object.entries(readValues(text));
  if (values.length === 0) return <p class="muted">{t.installations.noValues}</p>;
  return (
    <Facts
      rows={values.map(([name, value]) => {
        const shown = valueText(value).split("\n").join(", ");
        return [name, shown ? <code key={name}>{shown}</code> : <span class="muted">{t.extensions.none}</span>];
      })}
    />
  );
}
