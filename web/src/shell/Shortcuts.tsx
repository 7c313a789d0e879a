import { useSession } from "../session";
import { useText } from "../text";
import { Dialog } from "../ui/Dialog";
import "../ui/facts.css";
import { INSTANCE, isAdmin, PLACES } from "./places";

export default function Shortcuts({ onClose }: { onClose: () => void }) {
  const t = useText();
  const { user } = useSession();
  const all: [keys: string[], meaning: string][] = [
    [["Ctrl K", "⌘K"], t.shortcuts.palette],
    [["?"], t.shortcuts.help],
    [["/"], t.shortcuts.search],
    ...PLACES.map((place): [string[], string] => [[`g ${place.key}`], place.name(t)]),
    [["g n"], t.shortcuts.create],
    [["g u"], t.shortcuts.account],
    ...(isAdmin(user) ? [[[`g ${INSTANCE.key}`], t.instance.title] as [string[], string]] : []),
    [["Esc"], t.shortcuts.dismiss],
  ];
  return (
    <Dialog title={t.shortcuts.title} onClose={onClose}>
      <dl class="facts">
        {all.map(([keys, meaning]) => (
          <div key={meaning}>
            <dt>
              {keys.map((key) => (
                <kbd key={key}>{key.replace(" ", key.startsWith("g") ? ` ${t.shortcuts.after} ` : "+")}</kbd>
              ))}
            </dt>
            <dd>{meaning}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}
