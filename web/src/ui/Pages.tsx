import type { Schemas } from "../api/client";
import { useText } from "../text";
import { Button } from "./Button";

export function Pages({ of, onPage }: { of: Schemas["Pagination"]; onPage: (page: number) => void }) {
  const t = useText();
  if (of.total_pages <= 1) return null;
  return (
    <nav class="row" aria-label={t.common.page(of.current_page, of.total_pages)}>
      <Button disabled={!of.has_prev} onClick={() => onPage(of.current_page - 1)}>
        {t.common.previous}
      </Button>
      <span class="muted">{t.common.page(of.current_page, of.total_pages)}</span>
      <Button disabled={!of.has_next} onClick={() => onPage(of.current_page + 1)}>
        {t.common.next}
      </Button>
    </nav>
  );
}
