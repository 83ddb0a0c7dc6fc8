import { expect, test } from "bun:test";
import { type DocsIndex, Search } from "./search.ts";

const INDEX: DocsIndex = {
  pages: [
    ["tokens", "Connect tokens"],
    ["history", "History"],
  ],
  sections: [
    [0, "", "Connect tokens", "Every rule that a token must meet."],
    [0, "expiry", "Expiry", "A token ends at its exp. History is not affected."],
    [1, "", "History", "Keep messages (at most 500), and read them back with C++ or $ (.*)."],
    [1, "recovery", "Recovery", `${"filler ".repeat(60)}after a lost connection ${"filler ".repeat(60)}`],
  ],
};

const search = new Search(INDEX);
const found = (query: string): string[] => search.find(query).map(({ path, id }) => (id ? `${path}#${id}` : path));

test("a page of that name comes first, then its sections, then texts", () => {
  expect(found("history")).toEqual(["history", "history#recovery", "tokens#expiry"]);
});

test("a heading that is the whole query comes before one that has all of its terms", () => {
  const { pages, sections } = INDEX;
  const more = new Search({ pages, sections: [...sections, [1, "a", "The live tail", ""], [1, "b", "Live tail", ""]] });
  expect(more.find("live tail").map(({ id }) => id)).toEqual(["b", "a"]);
});

test("every term counts, by its beginning and in any case", () => {
  expect(found("TOK exp")).toEqual(["tokens#expiry"]);
  expect(found("lost conn")).toEqual(["history#recovery"]);
});

test("without a section that has all terms, those with most of them are found", () => {
  expect(found("token exp nonsense")).toEqual(["tokens#expiry"]);
  expect(found("nonsense")).toEqual([]);
  expect(found("  ")).toEqual([]);
});

test("signs of patterns are searched as they are", () => {
  expect(found("c++")).toEqual(["history"]);
  expect(found("(.*)")).toEqual(["history"]);
});

test("an excerpt shows the term, marked, and where it was cut", () => {
  const [hit] = search.find("lost");
  const text = hit?.excerpt.map((piece) => piece.text).join("") ?? "";
  expect(text).toMatch(/^… .*after a lost connection .* …$/);
  expect(text.length).toBeLessThan(160);
  expect(hit?.excerpt.filter(({ isTerm }) => isTerm).map((piece) => piece.text)).toEqual(["lost"]);
});

test("a long query is bounded", () => {
  expect(found("token ".repeat(1000))).toContain("tokens");
});
