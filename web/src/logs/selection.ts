import { find, type Line } from "./line";

/** The lines that a selection begins and ends in. Their rows are kept, so that the selection stays when they are out of sight. */
export type Selected = readonly [from: number, to: number] | null;

function rowOf(node: Node | null): HTMLElement | null {
  const element = node instanceof Element ? node : node?.parentElement;
  return element?.closest<HTMLElement>("[data-cursor]") ?? null;
}

const cursorOf = (row: HTMLElement | null): number => Number(row?.dataset.cursor ?? Number.NaN);

export function selectedIn(box: HTMLElement): Selected {
  const selection = getSelection();
  if (!selection || selection.isCollapsed || !box.contains(selection.anchorNode)) return null;
  const anchor = cursorOf(rowOf(selection.anchorNode));
  const focus = cursorOf(rowOf(selection.focusNode));
  if (Number.isNaN(anchor)) return null;
  const other = Number.isNaN(focus) ? anchor : focus;
  return [Math.min(anchor, other), Math.max(anchor, other)];
}

/** The text of a selection, as it is shown: also of lines that have no row at the moment, and without buttons. */
export function selectedText(lines: readonly Line[], shown: (line: Line) => string): string | null {
  const selection = getSelection();
  if (!selection || selection.rangeCount === 0) return null;
  const range = selection.getRangeAt(0);
  const [first, last] = [rowOf(range.startContainer), rowOf(range.endContainer)];
  if (!first || !last) return null;
  if (first === last) return partOf(first, range);
  const middle = lines.slice(find(lines, cursorOf(first)) + 1, find(lines, cursorOf(last)));
  return [partOf(first, range), ...middle.map(shown), partOf(last, range)].join("\n");
}

/** What is selected of a row's time, text and unfolded fields. */
function partOf(row: HTMLElement, range: Range): string {
  const texts: string[] = [];
  for (const element of row.querySelectorAll(".log-time, .log-text, .log-fields dt, .log-fields dd")) {
    if (!range.intersectsNode(element)) continue;
    const own = document.createRange();
    own.selectNodeContents(element);
    if (range.compareBoundaryPoints(Range.START_TO_START, own) > 0)
      own.setStart(range.startContainer, range.startOffset);
    if (range.compareBoundaryPoints(Range.END_TO_END, own) < 0) own.setEnd(range.endContainer, range.endOffset);
    const text = own.toString();
    const isMark = element.classList.contains("log-time") && text === "#";
    if (text && !isMark) texts.push(element.tagName === "DT" ? `\n${text}:` : text);
  }
  return texts.join(" ").replaceAll(" \n", "\n");
}
