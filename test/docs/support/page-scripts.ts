/** The scripts that a page names, as a browser loads them. */
import { expect } from "bun:test";

/** `url` is the address of the page, `html` its text. */
export async function scriptsOf(url: string, html: string): Promise<string> {
  const sources = [...html.matchAll(/<script [^>]*src="([^"]+)"/g)].map(([, source = ""]) => source);
  expect(sources.length).toBeGreaterThan(0);
  const scripts = sources.map(async (source) => {
    const response = await fetch(new URL(source, url));
    expect([source, response.status]).toEqual([source, 200]);
    // The only one without a hash in its name: pages of every release must find it.
    const kept = source === "/assets/recover.js" ? "max-age=86400" : "immutable";
    expect(response.headers.get("cache-control")).toContain(kept);
    return response.text();
  });
  return (await Promise.all(scripts)).join("\n");
}

/** Ways to make markup of a text, which no page of ours uses. */
export const MARKUP_FROM_TEXT = /innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|\beval\b/g;
