/** What browsers say about a page that they run. */
import type { Page } from "playwright-core";

/**
 * Uncaught exceptions, and errors and warnings of the console that are not expected, each given to `complain`. What a browser itself reports, such
 * as a socket that fails, is in the console of Chromium; Firefox hands it over as an uncaught error, which has a text but no class.
 */
export function listen(page: Page, complain: (text: string) => void, expected?: RegExp): void {
  const isExpected = (text: string): boolean => expected?.test(text) === true;
  page.on("pageerror", (error) => {
    const isThrown = /(Error|Exception)$/.test(error.name);
    if (isThrown || !isExpected(error.message)) complain(String(error));
  });
  page.on("console", (message) => {
    if (!["error", "warning"].includes(message.type()) || isExpected(message.text())) return;
    complain(`${message.text()} ${message.location().url}`);
  });
}
