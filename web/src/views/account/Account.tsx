import { lazy, useRoute } from "preact-iso";
import { useText } from "../../text";
import { Page } from "../../ui/Page";
import { Tabs } from "../../ui/Tabs";
import { NotFound } from "../NotFound";
import { ApiKeys } from "./ApiKeys";
import { Appearance } from "./Appearance";
import { Profile } from "./Profile";
import { Security } from "./Security";
import { Sessions } from "./Sessions";

const OwnMail = lazy(() => import("../notifications/OwnMail"));

const PARTS = {
  profile: Profile,
  security: Security,
  sessions: Sessions,
  keys: ApiKeys,
  notifications: OwnMail,
  appearance: Appearance,
};
type PartName = keyof typeof PARTS;
const NAMES = Object.keys(PARTS) as PartName[];

export default function Account() {
  const t = useText();
  const { params } = useRoute();
  const current = NAMES.find((name) => name === (params.tab ?? "profile"));
  if (!current) return <NotFound />;
  const Part = PARTS[current];
  return (
    <Page
      title={current === "profile" ? t.account.title : `${t.account.title}: ${t.account[current]}`}
      heading={<h1>{t.account.title}</h1>}
    >
      <Tabs
        label={t.account.tabs}
        tabs={NAMES.map((name) => ({
          href: name === "profile" ? "/account" : `/account/${name}`,
          label: t.account[name],
          current: name === current,
        }))}
      />
      <Part />
    </Page>
  );
}
