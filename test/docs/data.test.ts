/** docs/data.md: its tables are those of the inventory, and its commands work. */
import { expect, test } from "bun:test";
import { dataPage } from "../../scripts/data-page.ts";
import { startParley } from "../support/parley.ts";
import { blocks, readPage } from "./support/page.ts";
import { paste } from "./support/shell.ts";

const PAGE = "docs/data.md";

test("the tables are those of the inventory", async () => {
  expect(readPage(PAGE)).toBe(await dataPage());
});

test("the commands show what is kept", async () => {
  await using server = await startParley({ env: { PARLEY_ADMIN_TOKEN: "" } });
  const [script = ""] = blocks(PAGE).map(({ text }) => text);
  const [all, demo, json] = await paste(script, { PARLEY_DATA: server.data });
  expect([all?.out, demo?.out]).toEqual([
    expect.stringMatching(/^Recordings +0 recordings, 0 B/m),
    expect.stringContaining("parley apps plan demo --retention-days N"),
  ]);
  expect(JSON.parse(json?.out ?? "")).toMatchObject({ places: expect.any(Array), data: expect.any(Array) });
});
