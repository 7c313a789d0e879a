import { type ComponentChildren, createContext } from "preact";
import { useContext, useEffect, useMemo, useRef, useState } from "preact/hooks";
import { type Membership, type Permission, type User, useMemberships, useSettings, useUser } from "../api/account";
import { cache } from "../api/cache";
import { ApiError, actIn, linked, request, whenUnauthenticated } from "../api/client";
import { logOut } from "../api/login";
import { TextProvider } from "../text";
import { wear } from "../theme";
import { recallOrganization, rememberOrganization } from "./organization";
import { keepLoginAlive } from "./renew";

export interface Session {
  user: User;
  memberships: Membership[];
  membership: Membership;
  organizationName: string;
  may: (permission: Permission) => boolean;
  switchTo: (organizationId: string) => void;
  end: () => Promise<void>;
}

export type Phase =
  | { is: "unknown" }
  | { is: "unreachable"; error: Error; again: () => void }
  | { is: "out"; entered: () => void }
  | { is: "homeless"; user: User; end: () => Promise<void> }
  /** `lapsed`: the login has ended while the user was at work, whose drafts must stay. */
  | { is: "in"; session: Session; lapsed: boolean; entered: () => void };

const PhaseContext = createContext<Phase>({ is: "unknown" });
export const usePhase = (): Phase => useContext(PhaseContext);

export function useSession(): Session {
  const phase = usePhase();
  if (phase.is !== "in") throw new Error("This view is only for users who are logged in.");
  return phase.session;
}

export const useMay = (permission: Permission): boolean => useSession().may(permission);

export function useIsLapsed(): boolean {
  const phase = usePhase();
  return phase.is === "in" && phase.lapsed;
}

export function organizationName(membership: Membership): string {
  return linked(membership.organization)?.name ?? membership.organization_id;
}

async function end(): Promise<void> {
  await logOut().catch(() => {});
  wear(null);
  // Everything in memory belongs to the user who leaves.
  location.assign("/");
}

const isRefused = (error: Error | null): boolean => error instanceof ApiError && error.status === 401;

/** All tabs share one login. Where another user has logged in in another tab, everything in memory belongs to the user before. */
function useReloadForAnotherUser(id: string | undefined): void {
  const first = useRef(id);
  useEffect(() => {
    first.current ??= id;
    if (id !== first.current) location.reload();
  }, [id]);
}

export function SessionProvider({ children }: { children: ComponentChildren }) {
  const user = useUser();
  useReloadForAnotherUser(user.data?.id);
  const isIn = user.data !== undefined;
  const memberships = useMemberships(isIn);
  const settings = useSettings(isIn);
  const [lapsed, setLapsed] = useState(false);
  const [chosen, setChosen] = useState(recallOrganization);
  const [fallback, setFallback] = useState<string | null>(null);

  useEffect(() => {
    whenUnauthenticated(() => setLapsed(true));
  }, []);
  useEffect(() => {
    if (isIn && !lapsed) return keepLoginAlive();
  }, [isIn, lapsed]);
  useEffect(() => {
    if (settings.data) wear(settings.data);
  }, [settings.data]);

  const mine = memberships.data;
  const isChosenMine = mine?.some((membership) => membership.organization_id === chosen) ?? false;
  useEffect(() => {
    if (!mine || isChosenMine || mine.length === 0) return;
    actIn(null);
    request("get", "/organizations")
      .then((organization) => setFallback(organization.id))
      .catch(() => setFallback(mine[0]?.organization_id ?? null));
  }, [mine, isChosenMine]);

  const phase = useMemo<Phase>(() => {
    const entered = () => {
      setLapsed(false);
      if (user.data) void cache.invalidateQueries();
      else void cache.resetQueries();
    };
    if (!user.data && isRefused(user.error)) return { is: "out", entered };
    const error = user.error ?? memberships.error;
    if (error && !(user.data && mine)) {
      return { is: "unreachable", error, again: () => void cache.refetchQueries() };
    }
    if (!user.data || !mine) return { is: "unknown" };
    if (mine.length === 0) {
      actIn(null);
      return { is: "homeless", user: user.data, end };
    }
    const id = isChosenMine ? chosen : fallback;
    const membership = mine.find((candidate) => candidate.organization_id === id);
    if (!membership) return { is: "unknown" };
    actIn(membership.organization_id);
    const permissions = new Set(membership.permissions);
    const session: Session = {
      user: user.data,
      memberships: mine,
      membership,
      organizationName: organizationName(membership),
      may: (permission) => permissions.has(permission),
      switchTo: (organizationId) => {
        rememberOrganization(organizationId);
        setChosen(organizationId);
      },
      end,
    };
    return { is: "in", session, lapsed, entered };
  }, [user.data, user.error, mine, memberships.error, isChosenMine, chosen, fallback, lapsed]);

  return (
    <PhaseContext.Provider value={phase}>
      <TextProvider language={settings.data?.language ?? null}>{children}</TextProvider>
    </PhaseContext.Provider>
  );
}
