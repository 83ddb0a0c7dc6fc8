/** Generates docs/settings.md from the table of settings. */
import { settingsPage } from "../src/config/show.ts";

await Bun.write("docs/settings.md", settingsPage());
