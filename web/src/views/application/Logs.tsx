import type { Application } from "../../api/applications";
import { LogView } from "../../logs/LogView";

export default function Logs({ application }: { application: Application }) {
  return <LogView source={{ of: "application", id: application.id }} isLive />;
}
