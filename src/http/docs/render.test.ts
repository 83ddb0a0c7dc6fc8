import { expect, test } from "bun:test";
import { scratch } from "../../../test/support/temp.ts";
import { readDocs } from "./read.ts";
import { renderDocs } from "./render.ts";
import { served } from "./server.ts";
import { LLMS, LLMS_FULL, NOT_FOUND, SEARCH_SCRIPT } from "./site.ts";
import { filesInFolder, inFolder } from "./static.ts";

const SHELL = "<title>%title%</title><nav>%nav%</nav><article>%content%</article>%contents%%pager%";

const README = `# Parley

What it is,
in two lines.

## Start

- [Tour](docs/tour.md): a \`short\` [way](docs/more.md) in

## Messages

- [More](docs/more.md): the rest

## Operate

- [Missing](docs/missing.md): not in this package

## Reference

- [Decisions](docs/decisions/README.md): why
- [Security](SECURITY.md): reports
`;

const PAGES = {
  "README.md": README,
  "docs/tour.md": "# Tour\n\nRead [more.md](more.md#a-part), [this](../src/main.ts) and ![a](images/a.png).\n",
  "docs/more.md": "# More\n\n## A part\n\none\n\n## A part\n\ntwo\n\n## Last & `least`\n\nthree\n",
  "docs/decisions/README.md": "# Decisions\n\n[Bun](01-bun.md)\n",
  "docs/decisions/01-bun.md": "# 1. Bun\n\n[up](../more.md)\n",
  "SECURITY.md": "# Security\n\n[tour](docs/tour.md)\n",
};

const sources = (pages: Readonly<Record<string, string>> = {}) =>
  new Map<string, string | Uint8Array<ArrayBuffer>>([
    ...Object.entries({ ...PAGES, ...pages }),
    ["docs/images/a.png", Uint8Array.fromHex("89504e470d0a1a0a0000000d49484452000002d000000200")],
  ]);

const pageOf = (path: string, pages?: Readonly<Record<string, string>>): string =>
  String(renderDocs(sources(pages), served(SHELL)).get(path)?.body ?? "");

test("pages are those that README.md lists and that are there, with folders behind their first page", () => {
  const paths = [...renderDocs(sources(), served(SHELL))].filter(([, { isPage }]) => isPage).map(([path]) => path);
  expect(paths).toEqual(["", NOT_FOUND, "tour", "more", "decisions", "decisions/01-bun", "security"]);
});

test("links lead to pages, with the title of a page in place of its file's name; files that are no pages are only named", () => {
  const tour = pageOf("tour");
  expect(tour).toContain('<a href="/docs/more#a-part">More</a>');
  expect(tour).toContain('<span class="file">this</span>');
  expect(tour).toContain('<img src="/docs/images/a.png" alt="a" width="720" height="512"');
  expect(pageOf("decisions/01-bun")).toContain('<a href="/docs/more">up</a>');
  expect(pageOf("security")).toContain('<a href="/docs/tour">tour</a>');
});

test("headings have the anchors of code hosts, each its own", () => {
  const ids = [...pageOf("more").matchAll(/<h2 id="([^"]+)"/g)].map(([, id]) => id);
  expect(ids).toEqual(["a-part", "a-part-1", "last--least"]);
});

test("raw HTML is shown as text, comments are left out, and a link can run nothing", () => {
  const markdown =
    "# Tour\n\n<!-- note -->\n\n<script>alert(1)</script>\n\nan <img src=x onerror=alert(1)> and &lt;b&gt; `<i>`\n";
  const page = pageOf("tour", { "docs/tour.md": markdown });
  expect(page).not.toMatch(/<script|<img|<b>|<i>|note/);
  expect(page).toContain("&lt;script&gt;alert(1)&lt;/script&gt;");
  expect(page).toContain("&lt;img src=x onerror=alert(1)&gt;");
  expect(() => pageOf("tour", { "docs/tour.md": "[x](javascript:alert(1))" })).toThrow("javascript:");
  const quoted = pageOf("tour", {
    "docs/tour.md": '# T\n\n[x](https://a.example/"onclick=x) ![" onload="x](images/a.png)',
  });
  expect(quoted).not.toMatch(/" ?on(click|load)=/);
});

test("a flowchart becomes a table of its arrows, and other diagrams stay as they are written", () => {
  const chart = (lines: string) => pageOf("tour", { "docs/tour.md": `# T\n\n\`\`\`mermaid\n${lines}\n\`\`\`\n` });
  expect(chart("flowchart TD\n  a[a]\n  b([b])\n  a --> b\n  a --> c")).toContain(
    '<tr><th scope="row">a</th><td>→ <code>b</code>, <code>c</code></td></tr>',
  );
  expect(chart("flowchart TD\n  a -- <label> --> b")).toContain("a -- &lt;label&gt; --&gt; b");
});

test("a page knows its place: the list, its neighbours, its parts", () => {
  const more = pageOf("more");
  expect(more).toContain('<a href="/docs/more" aria-current="page">More</a>');
  expect(more).toContain('<a rel="prev" href="/docs/tour">');
  expect(more).toContain('<a rel="next" href="/docs/decisions">');
  expect(more).toContain('<a href="#last--least">Last &amp; least</a>');
  expect(more).not.toContain("01-bun");
  expect(pageOf("decisions")).toContain('href="/docs/decisions/01-bun"');
});

test("in a folder every address is relative, also from a folder inside", () => {
  const files = filesInFolder(
    renderDocs(sources(), inFolder(`${SHELL}<link href="/assets/a.css">`.replaceAll("/assets/", '"/assets/'))),
  );
  expect([...files.keys()]).toEqual(
    expect.arrayContaining([
      "index.html",
      "tour.html",
      "tour.md",
      "decisions.html",
      "decisions/01-bun.html",
      "images/a.png",
      LLMS,
    ]),
  );
  expect(files.has("404.html")).toBe(false);
  expect(files.get("tour.html")).toContain('<a href="more.html#a-part">');
  expect(files.get("decisions/01-bun.html")).toContain('<a href="../more.html">');
  expect(files.get("decisions/01-bun.html")).toContain("../assets/a.css");
  for (const [name, body] of files) if (name.endsWith(".html")) expect(String(body)).not.toMatch(/(href|src)="\//);
});

test("llms.txt has a line per page, and llms-full.txt every page", () => {
  const files = renderDocs(sources(), served(SHELL));
  expect(files.get(LLMS)?.body).toStartWith(
    "# Parley\n\n> What it is, in two lines.\n\n## Start\n\n- [Tour](/docs/tour.md): a short way in\n",
  );
  expect(files.get(LLMS_FULL)?.body).toContain("<!-- docs/decisions/01-bun.md -->\n\n# 1. Bun\n");
});

/** What a browser loads with the first search; gzip. */
const SEARCH_MAX_BYTES = 250 * 1024;

test("the project's own pages: every link leads to a page and a heading of it, and the search index stays small", () => {
  const files = renderDocs(readDocs(), served(SHELL));
  const anchors = new Map(
    [...files].map(([path, { body, isPage }]) => [
      path,
      new Set(isPage ? [...String(body).matchAll(/<h\d id="([^"]+)"/g)].map(([, id]) => id) : []),
    ]),
  );
  expect(files.size).toBeGreaterThan(90);
  const dead: string[] = [];
  for (const [path, { body, isPage }] of files)
    for (const [, target = "", anchor] of isPage
      ? String(body).matchAll(/(?:href|src)="(?:\/docs\/?)?([^"#:]*)(?:#([^"]*))?"/g)
      : []) {
      const name = target === "" && anchor !== undefined ? path : target.replace(/^\//, "");
      if (name === "api") continue;
      if (!files.has(name) || (anchor !== undefined && !anchors.get(name)?.has(anchor)))
        dead.push(`${path}: ${target}#${anchor}`);
    }
  expect(dead).toEqual([]);
  const { body = "" } = files.get(SEARCH_SCRIPT) ?? {};
  expect(Bun.gzipSync(String(body)).length).toBeLessThan(SEARCH_MAX_BYTES);
});

/** What a column of prose is called. Tables of measurements have empty cells where nothing was measured. */
const PROSE_COLUMN = /^(meaning|answer|cause|effect|what|then|enforced|left|beyond|not moved|needs|$)/i;

test("the project's own tables: no column of prose has an empty title or cell", () => {
  const empty: string[] = [];
  let tables = 0;
  for (const [path, { body, isPage }] of renderDocs(readDocs(), served(SHELL)))
    for (const [, head = "", rows = ""] of isPage
      ? String(body).matchAll(/<table><thead><tr>(.*?)<\/tr><\/thead><tbody>(.*?)<\/tbody>/gs)
      : []) {
      tables++;
      const cellsOf = (row: string): string[] =>
        [...row.matchAll(/<t[hd][^>]*>(.*?)<\/t[hd]>/gs)].map(([, cell = ""]) => cell);
      const titles = cellsOf(head);
      for (const [, row = ""] of rows.matchAll(/<tr>(.*?)<\/tr>/gs)) {
        const cells = cellsOf(row);
        for (const [at, title] of titles.entries())
          if (at > 0 && PROSE_COLUMN.test(title) && (title === "" || cells[at] === ""))
            empty.push(`${path}: ${title}: ${cells[0]}`);
      }
    }
  expect(tables).toBeGreaterThan(100);
  expect(empty).toEqual([]);
});

test("an installation without the files has a front page all the same", () => {
  using folder = scratch();
  const files = renderDocs(readDocs(folder.path), served(SHELL));
  expect([...files.keys()].sort()).toEqual(["", NOT_FOUND, LLMS_FULL, LLMS, SEARCH_SCRIPT].sort());
  expect(String(files.get("")?.body)).toContain('href="/docs/api"');
});
