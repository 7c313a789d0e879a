import { useRoute } from "preact-iso";
import { useSession } from "../../session";
import { isAdmin } from "../../shell/places";
import { useText } from "../../text";
import { ButtonLink } from "../../ui/Button";
import { Empty } from "../../ui/Empty";
import { Page } from "../../ui/Page";
import { Tabs } from "../../ui/Tabs";
import { NotFound } from "../NotFound";
import { Health } from "./Health";
import { InstanceSettings } from "./InstanceSettings";
import { Users } from "./Users";
import "./instance.css";

const PARTS = { health: Health, settings: InstanceSettings, users: Users };
type PartName = keyof typeof PARTS;
const NAMES = Object.keys(PARTS) as PartName[];

/** What belongs to no organization: the server itself. */
export default function InstancePage() {
  const t = useText();
  const { user } = useSession();
  const { params } = useRoute();
  const current = NAMES.find((name) => name === (params.tab ?? "health"));
  if (!current) return <NotFound />;
  if (!isAdmin(user)) {
    return (
      <Page title={t.instance.title}>
        <Empty title={t.instance.adminsOnly}>
          <p>{t.instance.adminsOnlyText}</p>
          <ButtonLink href="/">{t.shell.toApplications}</ButtonLink>
        </Empty>
      </Page>
    );
  }
  const Part = PARTS[current];
  return (
    <Page title={`${t.instance.title}: ${t.instance[current]}`} heading={<h1>{t.instance.title}</h1>}>
      <Tabs
        label={t.instance.tabs}
        tabs={NAMES.map((name) => ({
          href: name === "health" ? "/instance" : `/instance/${name}`,
          label: t.instance[name],
          current: name === current,
        }))}
      />
      <Part />
    </Page>
  );
}
