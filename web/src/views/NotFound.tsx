import { useText } from "../text";
import { ButtonLink } from "../ui/Button";
import { Empty } from "../ui/Empty";
import { Page } from "../ui/Page";

export function NotFound() {
  const t = useText();
  return (
    <Page title={t.shell.notFound}>
      <Empty title={t.shell.notFound}>
        <p>{t.shell.notFoundHint}</p>
        <ButtonLink href="/">{t.shell.toApplications}</ButtonLink>
      </Empty>
    </Page>
  );
}
