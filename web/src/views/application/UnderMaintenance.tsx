import { useAccess } from "../../api/access";
import type { Application } from "../../api/applications";
import { useText } from "../../text";

/** Over every part of the page, because an application that visitors cannot reach looks well otherwise. */
export function UnderMaintenance({ application }: { application: Application }) {
  const t = useText();
  const { data } = useAccess(application);
  if (!data?.maintenance) return null;
  return (
    <div class="notice warn" role="status">
      <div class="row between">
        <p>{t.access.maintenanceIs}</p>
        <a href={`/applications/${application.id}/access`}>{t.access.title}</a>
      </div>
    </div>
  );
}
