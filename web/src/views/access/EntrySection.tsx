import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { EntriesField } from "../../api/access";
import { useText } from "../../text";
import { Button } from "../../ui/Button";
import { PlusIcon } from "../../ui/icons";
import { type Column, Table } from "../../ui/Table";
import { type Entry, entriesOf } from "./entries";
import { RemoveEntry } from "./RemoveEntry";
import type { GroupProps } from "./useGroup";

interface Words {
  title: string;
  text: string;
  add: string;
  change: string;
  remove: string;
  removeText: string;
}

interface Props extends GroupProps {
  field: EntriesField;
  words: Words;
  columns: Column<Entry>[];
  /** No more can be added. */
  isFull?: boolean;
  /** A card of its own, and not a part of one. */
  isCard?: boolean;
  /** The dialog for one of them, by its name, or for a new one. */
  dialog: (name: string | null, onClose: () => void) => ComponentChildren;
}

type Opened = { what: "set" | "remove"; name: string | null };

/** Users, headers or pages: all of them, and the dialogs that change one, each of which saves it. */
export function EntrySection({ field, words, columns, isFull = false, isCard = false, dialog, ...group }: Props) {
  const t = useText();
  const { access, readOnly } = group;
  const [opened, setOpened] = useState<Opened | null>(null);
  const close = () => setOpened(null);
  const entries = entriesOf(access, field);
  const actions: Column<Entry> = {
    title: t.common.actions,
    hideTitle: true,
    numeric: true,
    cell: ([name]) => (
      <span class="row row-actions">
        <Button aria-label={`${words.change}: ${name}`} onClick={() => setOpened({ what: "set", name })}>
          {words.change}
        </Button>
        <Button
          kind="danger"
          aria-label={`${words.remove}: ${name}`}
          onClick={() => setOpened({ what: "remove", name })}
        >
          {words.remove}
        </Button>
      </span>
    ),
  };
  return (
    <section class={isCard ? "card stack" : "stack"}>
      <div class="row between">
        {isCard ? <h2>{words.title}</h2> : <h3>{words.title}</h3>}
        {!readOnly && !isFull && (
          <Button onClick={() => setOpened({ what: "set", name: null })}>
            <PlusIcon />
            {words.add}
          </Button>
        )}
      </div>
      <p class="muted">{words.text}</p>
      {entries.length > 0 && (
        <Table
          label={words.title}
          columns={readOnly ? columns : [...columns, actions]}
          rows={entries}
          rowKey={([name]) => name}
        />
      )}
      {opened?.what === "set" && dialog(opened.name, close)}
      {opened?.what === "remove" && opened.name !== null && (
        <RemoveEntry
          application={group.application}
          field={field}
          name={opened.name}
          action={words.remove}
          text={words.removeText}
          onClose={close}
        />
      )}
    </section>
  );
}
