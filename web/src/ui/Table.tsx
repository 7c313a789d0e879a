import type { ComponentChildren } from "preact";
import "./table.css";

export interface Column<T> {
  title: string;
  cell: (row: T) => ComponentChildren;
  /** Cells that name the row. */
  isName?: boolean;
  /** Left out where there is little room. */
  minor?: boolean;
  numeric?: boolean;
  /** Says by itself what it is, where there is no room for titles. */
  bare?: boolean;
  /** The title is read out and not shown. */
  hideTitle?: boolean;
}

interface Props<T> {
  label: string;
  columns: Column<T>[];
  rows: readonly T[];
  rowKey: (row: T) => string;
}

const classes = <T,>({ minor, numeric }: Column<T>): string =>
  [minor && "minor", numeric && "numeric"].filter(Boolean).join(" ");

/** A real table, which becomes a list of small cards where it would not fit. */
export function Table<T>({ label, columns, rows, rowKey }: Props<T>) {
  return (
    <div class="table-frame">
      <table aria-label={label}>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column.title} scope="col" class={classes(column)}>
                <span class={column.hideTitle ? "hidden-text" : ""}>{column.title}</span>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={rowKey(row)}>
              {columns.map((column) => {
                const content = column.cell(row);
                return column.isName ? (
                  <th key={column.title} scope="row" class={classes(column)}>
                    {content}
                  </th>
                ) : (
                  <td
                    key={column.title}
                    class={classes(column)}
                    data-title={column.hideTitle || column.bare ? "" : column.title}
                  >
                    {content}
                  </td>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
