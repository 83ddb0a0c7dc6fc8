/**
 * Markdown as HTML, with Bun's own parser (CommonMark and GitHub's tables). Every element is written here: text is escaped wherever it comes from, so
 * raw HTML on a page is shown as the text that it is, and a link goes only to where `link` allows.
 */
export interface Heading {
  readonly level: number;
  /** What comes behind `#` in its address. */
  readonly id: string;
  readonly text: string;
}

export interface Rendered {
  readonly html: string;
  readonly headings: readonly Heading[];
}

export interface Target {
  readonly href: string;
  /** The title of the page that it leads to. */
  readonly title?: string;
}

export interface Image {
  readonly href: string;
  /** In pixels. Known before it is loaded, so that the text below does not move. */
  readonly size?: readonly [width: number, height: number];
}

export interface Targets {
  /** Where a link leads; undefined: to a file that is no page, and only its text is shown. */
  readonly link: (target: string) => Target | undefined;
  readonly image: (target: string) => Image;
}

const ESCAPES: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
const UNESCAPES = Object.fromEntries(Object.entries(ESCAPES).map(([plain, escaped]) => [escaped, plain]));

export const escaped = (text: string): string => text.replace(/[&<>"]/g, (one) => ESCAPES[one] ?? one);

/** The text of HTML that this file has written. */
export const textOf = (html: string): string =>
  html.replace(/<[^>]*>/g, "").replace(/&(amp|lt|gt|quot);/g, (one) => UNESCAPES[one] ?? one);

/** The anchors that code hosts make: links between pages work here and there. */
const anchorOf = (text: string): string =>
  text
    .toLowerCase()
    .replace(/[^\p{L}\p{N}_ -]/gu, "")
    .replaceAll(" ", "-");

export function renderMarkdown(markdown: string, targets: Targets): Rendered {
  const headings: Heading[] = [];
  const html = Bun.markdown.render(markdown, { ...blocks(headings), ...spans(targets) });
  return { html, headings };
}

/** Only alignment to the right is kept, for numbers: the policy of our pages allows no styles in elements. */
const cell = (tag: string) => (children: string, meta?: Bun.markdown.CellMeta) =>
  `<${tag}${meta?.align === "right" ? ' class="number"' : ""}>${children}</${tag}>`;

const wrapped = (tag: string) => (children: string) => `<${tag}>${children}</${tag}>`;

function blocks(headings: Heading[]): Bun.markdown.RenderCallbacks {
  return {
    heading: (children, { level }) => {
      const text = textOf(children);
      const anchor = anchorOf(text);
      const before = headings.filter(({ id }) => id === anchor || id.startsWith(`${anchor}-`)).length;
      const id = before > 0 && headings.some((one) => one.id === anchor) ? `${anchor}-${before}` : anchor;
      headings.push({ level, id, text });
      if (level === 1) return `<h1 id="${escaped(id)}">${children}</h1>\n`;
      const label = escaped(`Link to: ${text}`);
      return `<h${level} id="${escaped(id)}">${children} <a class="anchor" href="#${escaped(id)}" aria-label="${label}">#</a></h${level}>\n`;
    },
    paragraph: (children) => `<p>${children}</p>\n`,
    blockquote: wrapped("blockquote"),
    // It scrolls, so it must be reachable by keyboard.
    code: (children, meta) => {
      const diagram = meta?.language === "mermaid" ? arrowsAsTable(children) : undefined;
      if (diagram !== undefined) return diagram;
      const language = meta?.language ? ` data-language="${escaped(meta.language)}"` : "";
      return `<div class="code"><pre tabindex="0"${language}><code>${children}</code></pre></div>\n`;
    },
    list: (children, { ordered, start }) => {
      if (!ordered) return `<ul>\n${children}</ul>\n`;
      return `<ol${start !== undefined && start !== 1 ? ` start="${start}"` : ""}>\n${children}</ol>\n`;
    },
    listItem: (children) => `<li>${children}</li>\n`,
    hr: () => "<hr>\n",
    table: (children) =>
      `<div class="table" tabindex="0" role="group" aria-label="Table"><table>${children}</table></div>\n`,
    thead: wrapped("thead"),
    tbody: wrapped("tbody"),
    tr: wrapped("tr"),
    th: (children, meta) => cell(children === "" ? "td" : "th")(children, meta),
    td: cell("td"),
    // Comments are for those who change the file. Everything else is shown, as text.
    html: (children) => (/^\s*&lt;!--[\s\S]*--&gt;\s*$/.test(children) ? "" : `<p>${children}</p>\n`),
  };
}

/** A flowchart as a list: to draw it would need a script that is larger than all pages. Anything but nodes and arrows stays as it is written. */
function arrowsAsTable(code: string): string | undefined {
  const [head, ...lines] = code.trim().split("\n");
  const arrows = lines.flatMap((line) => {
    const [, from, to] = /^ *(\w+) --&gt; (\w+)$/.exec(line) ?? [];
    return from && to ? [{ from, to }] : [];
  });
  const nodes = lines.filter((line) => /^ *\w+[[(]+\w+[\])]+$/.test(line));
  if (!head?.startsWith("flowchart") || arrows.length + nodes.length < lines.length) return undefined;
  const rows = [...Map.groupBy(arrows, ({ from }) => from)].map(
    ([from, all]) =>
      `<tr><th scope="row">${from}</th><td>→ ${all.map(({ to }) => `<code>${to}</code>`).join(", ")}</td></tr>`,
  );
  return `<div class="table" tabindex="0" role="group" aria-label="Table"><table><tbody>${rows.join("")}</tbody></table></div>\n`;
}

const FILE_NAME = /^[\w./-]+\.md$/;

function spans({ link, image }: Targets): Bun.markdown.RenderCallbacks {
  return {
    text: escaped,
    codespan: wrapped("code"),
    strong: wrapped("strong"),
    emphasis: wrapped("em"),
    strikethrough: wrapped("s"),
    link: (children, { href }) => {
      const target = link(href);
      if (!target) return `<span class="file">${children}</span>`;
      // In the project a link shows the name of its file. Readers of the site see no files.
      const text = target.title !== undefined && FILE_NAME.test(children) ? escaped(target.title) : children;
      return `<a href="${escaped(target.href)}">${text}</a>`;
    },
    image: (children, { src }) => {
      const { href, size } = image(src);
      const sides = size ? ` width="${size[0]}" height="${size[1]}"` : "";
      return `<img src="${escaped(href)}" alt="${children}"${sides} loading="lazy">`;
    },
  };
}

/** Where a link on a page may lead: this site and the web. Anything else, such as `javascript:`, is a mistake in the page. */
export function isWebAddress(target: string): boolean {
  if (/^https?:\/\//.test(target)) return true;
  if (/^[a-z][a-z\d+.-]*:/i.test(target))
    throw new Error(`a page of the documentation links to ${target}: only pages, files and https: are allowed`);
  return false;
}
