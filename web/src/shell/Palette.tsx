import { useEffect, useId, useRef, useState } from "preact/hooks";
import { useLocation } from "preact-iso";
import { useUpdateSettings } from "../api/account";
import { useApplications } from "../api/applications";
import { organizationName, useSession } from "../session";
import { type Text, useText } from "../text";
import { THEME_NAMES } from "../theme/names";
import { Dialog } from "../ui/Dialog";
import { useSettled } from "../ui/settled";
import { best } from "./match";
import { INSTANCE, isAdmin, PLACES } from "./places";
import "./palette.css";

interface Command {
  id: string;
  group: string;
  name: string;
  run: () => void;
}

/** Parts of the organization that can be gone to directly. */
const PARTS = [
  { name: "invitations", may: "member:read", href: "/organization/invitations" },
  { name: "keys", may: "api_key:read", href: "/organization/keys" },
  { name: "notifications", may: "webhook:read", href: "/organization/notifications" },
  { name: "status", may: "organization:read", href: "/organization/status" },
  { name: "about", may: "organization:read", href: "/organization/about" },
] as const;

const SHOWN = 12;
const TYPING_MS = 120;

function useCommands(t: Text, typed: string): Command[] {
  const { route } = useLocation();
  const session = useSession();
  const settings = useUpdateSettings();
  const search = typed.trim();
  const asked = useSettled(search, TYPING_MS);
  const applications = useApplications(asked ? { search: asked } : {});
  const go = (name: string, href: string): Command => ({
    id: href,
    group: t.palette.goTo,
    name,
    run: () => route(href),
  });
  const found = (applications.data?.applications ?? []).map((application) => ({
    ...go(application.name, `/applications/${application.id}`),
    group: t.palette.application,
  }));
  const views = [
    ...PLACES.filter((place) => session.may(place.may)).map((place) => go(place.name(t), place.href)),
    ...PARTS.filter(({ may }) => session.may(may)).map(({ name, href }) =>
      go(`${t.shell.organization}: ${t.organization[name]}`, href),
    ),
    ...(isAdmin(session.user) ? [go(t.instance.title, INSTANCE.href)] : []),
    ...(session.may("deploy:create") ? [go(t.applications.create, "/applications/new")] : []),
    go(`${t.shell.account}: ${t.account.profile}`, "/account"),
    go(`${t.shell.account}: ${t.account.security}`, "/account/security"),
    go(`${t.shell.account}: ${t.account.sessions}`, "/account/sessions"),
    go(`${t.shell.account}: ${t.account.keys}`, "/account/keys"),
    go(`${t.shell.account}: ${t.account.notifications}`, "/account/notifications"),
    go(`${t.shell.account}: ${t.account.appearance}`, "/account/appearance"),
  ];
  const act = (id: string, name: string, run: () => void): Command => ({ id, group: t.palette.do, name, run });
  const others = session.memberships.filter((one) => one.organization_id !== session.membership.organization_id);
  const actions = [
    ...others.map((one) =>
      act(one.id, t.palette.switchTo(organizationName(one)), () => {
        route("/applications");
        session.switchTo(one.organization_id);
      }),
    ),
    ...THEME_NAMES.map((theme) =>
      act(theme, t.palette.theme(t.account.themes[theme]), () => settings.mutate({ theme })),
    ),
    act("log-out", t.shell.logOut, () => void session.end()),
  ];
  return [...best(found, search, ({ name }) => name, SHOWN), ...best([...views, ...actions], search, nameOf, SHOWN)];
}

const nameOf = ({ name }: Command): string => name;

export default function Palette({ onClose }: { onClose: () => void }) {
  const t = useText();
  const id = useId();
  const [typed, setTyped] = useState("");
  const [at, setAt] = useState(0);
  const list = useRef<HTMLDivElement>(null);
  const commands = useCommands(t, typed).slice(0, SHOWN);
  const chosen = Math.min(at, commands.length - 1);

  useEffect(() => {
    list.current?.children[chosen]?.scrollIntoView({ block: "nearest" });
  }, [chosen]);

  const run = (command: Command | undefined) => {
    if (!command) return;
    onClose();
    command.run();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) {
      event.preventDefault();
      setAt((chosen + step + commands.length) % Math.max(1, commands.length));
    } else if (event.key === "Enter") {
      event.preventDefault();
      run(commands[chosen]);
    }
  };

  return (
    <Dialog title={t.palette.title} onClose={onClose}>
      <input
        type="text"
        role="combobox"
        aria-label={t.palette.placeholder}
        aria-expanded="true"
        aria-controls={`${id}-list`}
        aria-activedescendant={commands.length > 0 ? `${id}-${chosen}` : undefined}
        aria-autocomplete="list"
        autocomplete="off"
        placeholder={t.palette.placeholder}
        value={typed}
        onInput={(event) => {
          setTyped(event.currentTarget.value);
          setAt(0);
        }}
        onKeyDown={onKeyDown}
        ref={(input) => input?.focus()}
      />
      <div class="palette" role="listbox" id={`${id}-list`} aria-label={t.palette.title} ref={list} tabIndex={-1}>
        {commands.map((command, index) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the keys act on the input, which keeps the focus
          <div
            key={command.id}
            id={`${id}-${index}`}
            role="option"
            tabIndex={-1}
            aria-selected={index === chosen}
            onClick={() => run(command)}
          >
            <span class="break">{command.name}</span>
            <span class="muted small">{command.group}</span>
          </div>
        ))}
      </div>
      {commands.length === 0 && <p class="muted">{t.palette.nothing}</p>}
    </Dialog>
  );
}
