import { useLocation } from "preact-iso";
import { type ListedExtension, useExtensions } from "../../api/extensions";
import { ALL, type Installation, useInstallations } from "../../api/installations";
import { useMay } from "../../session";
import { useText } from "../../text";
import { ButtonLink } from "../../ui/Button";
import { Empty, Loading } from "../../ui/Empty";
import { isFiltered } from "../../ui/filter";
import { PlusIcon } from "../../ui/icons";
import { Page } from "../../ui/Page";
import { Pages } from "../../ui/Pages";
import { Problem } from "../../ui/Problem";
import { ExtensionFilters } from "./ExtensionFilters";
import { addressOf } from "./facts";
import { extensionsAddress, readFilter } from "./filter";
import { ExtensionIcon } from "./Icon";
import { ListTabs } from "./ListTabs";
import { Marks } from "./Marks";

export function Catalog() {
  const t = useText();
  const { query, route } = useLocation();
  const mayCreate = useMay("extension:create");
  const filter = readFilter(query);
  const { data, error, refetch } = useExtensions(filter);
  const installations = useInstallations(1, ALL).data?.installations ?? [];
  const create = mayCreate && (
    <ButtonLink href="/extensions/new">
      <PlusIcon />
      {t.extensions.create}
    </ButtonLink>
  );
  return (
    <Page title={t.extensions.title} actions={create}>
      <ListTabs current="catalog" />
      <ExtensionFilters filter={filter} onFilter={(next) => route(extensionsAddress(next), true)} />
      {error && <Problem error={error} onAgain={() => void refetch()} />}
      {!data && !error && <Loading />}
      {data?.extensions.length === 0 && (
        <Empty title={t.extensions.nothingFound}>
          {mayCreate && <p>{t.extensions.nothingFoundHint}</p>}
          {isFiltered(filter) && <ButtonLink href="/extensions">{t.common.clearFilters}</ButtonLink>}
        </Empty>
      )}
      {data && data.extensions.length > 0 && (
        <>
          <ul class="catalog">
            {data.extensions.map((extension) => (
              <Card
                key={extension.id}
                extension={extension}
                installed={installations.filter(({ extension_id }) => extension_id === extension.id)}
              />
            ))}
          </ul>
          <div class="row between">
            <p class="muted">{t.extensions.count(data.pagination.total_count)}</p>
            <Pages of={data.pagination} onPage={(page) => route(extensionsAddress({ ...filter, page }))} />
          </div>
        </>
      )}
    </Page>
  );
}

function Card({ extension, installed }: { extension: ListedExtension; installed: readonly Installation[] }) {
  const t = useText();
  return (
    <li class="catalog-card">
      <ExtensionIcon icon={extension.icon} name={extension.name || extension.extension_id} />
      <div class="catalog-words">
        <h2>
          <a href={addressOf(extension)}>{extension.name || extension.extension_id}</a>
        </h2>
        <p class="catalog-description">{extension.description}</p>
        <p class="row catalog-marks">
          {extension.category && <span class="muted small">{extension.category}</span>}
          <Marks extension={extension} />
          {installed.length > 0 && (
            <span class="tag good">
              {installed.length === 1 ? t.extensions.isInstalled : t.extensions.installedTimes(installed.length)}
            </span>
          )}
          {installed.some(({ has_update }) => has_update) && <span class="tag warn">{t.extensions.updateThere}</span>}
        </p>
      </div>
    </li>
  );
}
