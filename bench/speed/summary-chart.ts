/**
 * The chart of docs/performance.md, drawn from the first table of that page: a group of bars per row, a bar per column. Its colours
 * follow the reader's light or dark mode, and it has a background of its own, because pages may differ from the mode.
 */
const WIDTH = 760;
const LEFT = 150;
const RIGHT = 190;
const MARGIN = 20;
const BAR = 16;
const BAR_GAP = 4;
const GROUP_GAP = 22;
const TITLE = 26;
const FOOT = 54;

const STYLE = `
  svg { font-family: system-ui, -apple-system, "Segoe UI", sans-serif; font-size: 13px; }
  .card { fill: #ffffff; stroke: #d4d9e0; }
  text { fill: #1f2630; }
  .muted { fill: #5b6573; }
  .small { font-size: 11px; }
  .title, .own { font-weight: 600; }
  .bar { fill: #a9b3c1; }
  .limit { fill: #c9a24a; }
  .parley { fill: #0b7a57; }
  @media (prefers-color-scheme: dark) {
    .card { fill: #14181e; stroke: #323a45; }
    text { fill: #e6eaf0; }
    .muted { fill: #a2acba; }
    .bar { fill: #556070; }
    .limit { fill: #8f7434; }
    .parley { fill: #2fb98a; }
  }`;

export interface Summary {
  /** The first is Parley, the second the limit. */
  readonly columns: readonly string[];
  readonly rows: readonly { readonly title: string; readonly cells: readonly Cell[] }[];
  /** What the marks of cells refer to. */
  readonly notes: string;
}

export interface Cell {
  /** undefined: not measured. */
  readonly value: number | undefined;
  /** Refers to a footnote; empty if there is none. */
  readonly mark: string;
}

/** The first table of a page, and the footnotes below it. */
export function summaryOf(page: string): Summary {
  const lines = page.slice(page.indexOf("\n|") + 1).split("\n");
  const table = lines.slice(
    0,
    lines.findIndex((line) => !line.startsWith("|")),
  );
  const [head, , ...rows] = table.map((line) =>
    line
      .split("|")
      .slice(1, -1)
      .map((cell) => cell.replaceAll("**", "").trim()),
  );
  return {
    columns: head?.slice(1) ?? [],
    rows: rows.map(([title = "", ...cells]) => ({ title, cells: cells.map(cellOf) })),
    notes: lines.find((line) => line.startsWith("¹")) ?? "",
  };
}

function cellOf(text: string): Cell {
  const [, digits, mark = ""] = /^([\d,]+) ?([¹²³]?)/.exec(text) ?? [];
  return { value: digits === undefined ? undefined : Number(digits.replaceAll(",", "")), mark };
}

const escaped = (text: string): string => text.replace(/[&<>]/g, (one) => `&#${one.charCodeAt(0)};`);
const text = (x: number, y: number, content: string, extra = ""): string =>
  `  <text x="${x}" y="${y}"${extra}>${escaped(content)}</text>`;

export function summaryChart({ columns, rows, notes }: Summary): string {
  const parts: string[] = [];
  let y = MARGIN;
  for (const { title, cells } of rows) {
    parts.push(text(MARGIN, y + 14, title, ' class="title"'));
    y += TITLE;
    const own = cells[0]?.value ?? 0;
    const most = Math.max(...cells.map(({ value }) => value ?? 0));
    for (const [at, { value, mark }] of cells.entries()) {
      if (value === undefined) continue;
      const width = (value / most) * (WIDTH - LEFT - RIGHT);
      const kind = at === 0 ? "bar parley" : at === 1 ? "bar limit" : "bar";
      const label = `${value.toLocaleString("en")}${mark}${at === 0 ? "" : ` (Parley ${(own / value).toFixed(2)} ×)`}`;
      parts.push(
        text(LEFT - 8, y + 12, columns[at] ?? "", ` text-anchor="end" class="${at === 0 ? "own" : "muted"}"`),
        `  <rect class="${kind}" x="${LEFT}" y="${y}" width="${width.toFixed(1)}" height="${BAR}" rx="2"/>`,
        text(Number((LEFT + width + 8).toFixed(1)), y + 12, label, at === 0 ? ' class="own"' : ' class="muted"'),
      );
      y += BAR + BAR_GAP;
    }
    y += GROUP_GAP;
  }
  const height = y - GROUP_GAP + FOOT;
  const foot = "Work per CPU-second of the server: longer is better. Bars compare within a group only.";
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img">`,
    `  <title>${escaped(foot)}</title>`,
    `  <style>${STYLE}\n  </style>`,
    `  <rect class="card" x="0.5" y="0.5" width="${WIDTH - 1}" height="${height - 1}" rx="8"/>`,
    ...parts,
    text(MARGIN, height - 32, foot, ' class="muted"'),
    text(MARGIN, height - 12, notes, ' class="muted small"'),
    "</svg>\n",
  ].join("\n");
}
