/** Writes the tables of docs/data.md again, after a change to the inventory. */
import { dataPage } from "./data-page.ts";

await Bun.write("docs/data.md", await dataPage());
