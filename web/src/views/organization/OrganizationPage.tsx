import { lazy, useRoute } from "preact-iso";
import type { Permission } from "../../api/account";
import { useSession } from "../../session";
import { useText } from "../../text";
import { Page } from "../../ui/Page";
import { Tabs } from "../../ui/Tabs";
import { NotFound } from "../NotFound";
import { About } from "./About";
import { Certificates } from "./Certificates";
import { Invitations } from "./Invitations";
import { Keys } from "./Keys";
import { Members } from "./Members";
import { SharedVariables } from "./SharedVariables";
import "./organization.css";

const StatusPage = lazy(() => import("../statusPage/StatusPage"));
const Notifications = lazy(() => import("../notifications/Notifications"));

const PARTS = {
  members: Members,
  invitations: Invitations,
  variables: SharedVariables,
  certificates: Certificates,
  keys: Keys,
  notifications: Notifications,
  status: StatusPage,
  about: About,
};
type PartName = keyof typeof PARTS;
const NAMES = Object.keys(PARTS) as PartName[];
/** The way to a part is shown to those who may do this. The part itself explains it to all others. */
const NEEDS: Readonly<Record<PartName, Permission>> = {
  members: "member:read",
  invitations: "member:read",
  variables: "deploy:read",
  certificates: "domain:read",
  keys: "api_key:read",
  notifications: "webhook:read",
  status: "organization:read",
  about: "organization:read",
};

export default function OrganizationPage() {
  const t = useText();
  const { may, organizationName } = useSession();
  const { params } = useRoute();
  const current = NAMES.find((name) => name === (params.tab ?? "members"));
  if (!current || (params.item && current !== "notifications")) return <NotFound />;
  const Part = PARTS[current];
  return (
    <Page title={`${organizationName}: ${t.organization[current]}`} heading={<h1>{organizationName}</h1>}>
      <Tabs
        label={t.organization.tabs}
        tabs={NAMES.filter((name) => name === current || may(NEEDS[name])).map((name) => ({
          href: name === "members" ? "/organization" : `/organization/${name}`,
          label: t.organization[name],
          current: name === current,
        }))}
      />
      <Part />
    </Page>
  );
}
