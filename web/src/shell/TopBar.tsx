import { useEffect, useRef, useState } from "preact/hooks";
import { lazy, useLocation } from "preact-iso";
import { organizationName, useSession } from "../session";
import { useText } from "../text";
import { Button } from "../ui/Button";
import { CheckIcon, ChevronIcon, LogoIcon, PlusIcon, SearchIcon, UserIcon } from "../ui/icons";
import { Menu } from "../ui/Menu";
import { INSTANCE, isAdmin, PLACES } from "./places";

const NewOrganization = lazy(() => import("../views/organization/NewOrganization"));

export function TopBar({ onPalette, onShortcuts }: { onPalette: () => void; onShortcuts: () => void }) {
  const t = useText();
  const { switchTo } = useSession();
  const [creates, setCreates] = useState(false);
  return (
    <>
      <header class="top">
        <a class="brand" href="/" aria-label={t.product}>
          <LogoIcon />
          <span class="brand-name">{t.product}</span>
        </a>
        <OrganizationMenu onCreate={() => setCreates(true)} />
        <Places />
        <span class="grow" />
        <Button class="palette-button" onClick={onPalette} aria-keyshortcuts="Control+K">
          <SearchIcon />
          <span class="hidden-text">{t.shell.commands}</span>
          <kbd>{isApple ? "⌘K" : "Ctrl K"}</kbd>
        </Button>
        <AccountMenu onShortcuts={onShortcuts} />
      </header>
      {creates && <NewOrganization onClose={() => setCreates(false)} onCreated={switchTo} />}
    </>
  );
}

function Places() {
  const t = useText();
  const { path } = useLocation();
  const session = useSession();
  const bar = useRef<HTMLElement>(null);
  const at = path === "/" ? "/applications" : path;
  const current = PLACES.find(({ href }) => at === href || at.startsWith(`${href}/`))?.href;
  useEffect(() => {
    const show = () => {
      const [box, link] = [bar.current, bar.current?.querySelector<HTMLElement>(`[href="${current}"]`)];
      if (box && link) box.scrollLeft = link.offsetLeft - (box.clientWidth - link.offsetWidth) / 2;
    };
    show();
    addEventListener("resize", show);
    return () => removeEventListener("resize", show);
  }, [current]);
  return (
    <nav class="top-links" aria-label={t.shell.navigation} ref={bar}>
      {PLACES.filter((place) => session.may(place.may)).map(({ href, name }) => (
        <a key={href} href={href} aria-current={href === current ? "page" : undefined}>
          {name(t)}
        </a>
      ))}
    </nav>
  );
}

const isApple = /Mac|iP(hone|ad)/.test(navigator.platform);

function OrganizationMenu({ onCreate }: { onCreate: () => void }) {
  const t = useText();
  const { route } = useLocation();
  const session = useSession();
  return (
    <Menu
      class="organization"
      label={t.shell.organizationIs(session.organizationName)}
      shown={
        <>
          <span class="clip">{session.organizationName}</span>
          <ChevronIcon />
        </>
      }
    >
      {session.memberships.map((membership) => {
        const isCurrent = membership.organization_id === session.membership.organization_id;
        return (
          <button
            key={membership.id}
            type="button"
            aria-current={isCurrent || undefined}
            onClick={() => {
              if (isCurrent) return;
              // What is open belongs to the organization that is left.
              route("/applications");
              session.switchTo(membership.organization_id);
            }}
          >
            <span class="menu-mark">{isCurrent && <CheckIcon />}</span>
            {organizationName(membership)}
          </button>
        );
      })}
      <hr />
      <button type="button" onClick={onCreate}>
        <span class="menu-mark">
          <PlusIcon />
        </span>
        {t.organization.create}
      </button>
    </Menu>
  );
}

function AccountMenu({ onShortcuts }: { onShortcuts: () => void }) {
  const t = useText();
  const { user, end } = useSession();
  return (
    <Menu class="icon-only" label={t.shell.accountOf(user.username)} shown={<UserIcon />}>
      <p class="menu-note break">
        <strong>{user.username}</strong>
        <br />
        <span class="muted">{user.email}</span>
      </p>
      <hr />
      <a href="/account">{t.shell.account}</a>
      {isAdmin(user) && <a href={INSTANCE.href}>{t.instance.title}</a>}
      <button type="button" onClick={onShortcuts}>
        {t.shell.shortcuts}
      </button>
      <a href="/api/v1/docs" target="_blank" rel="noreferrer">
        {t.shell.documentation}
      </a>
      <hr />
      <button type="button" onClick={() => void end()}>
        {t.shell.logOut}
      </button>
    </Menu>
  );
}
