/** Draws the OpenAPI document of this service as a page of the documentation. */
import { demoNames } from "../docs/demo-names.ts";
import { closePopovers } from "../docs/page-list.ts";
import { SearchBox } from "../docs/search-box.ts";
import { type ApiDocument, apiOf, operationsOf, type Placed } from "./document.ts";
import { h, prose } from "./dom.ts";
import { Operations } from "./operations.ts";

/** The list has the beginning of a summary; the operation has all of it. */
const shortName = ({ operation, path }: Placed): string => (operation.summary ?? path).split(/[;:,.]/)[0] ?? path;

const link = (placed: Placed): HTMLElement =>
  h(
    "li",
    {},
    h(
      "a",
      { href: `#${placed.operation.operationId}` },
      h("span", { class: `method ${placed.method}` }, placed.method.toUpperCase()),
      h("span", {}, shortName(placed)),
    ),
  );

function draw(api: ApiDocument, hasDemo: boolean): void {
  const operations = new Operations(api, hasDemo);
  const { version, description } = api.info;
  document.querySelector("h1")?.append(" ", h("span", { class: "version" }, `version ${version}`));
  if (description) document.getElementById("about")?.before(h("p", {}, prose(description)));
  const list: HTMLElement[] = [];
  const main: HTMLElement[] = [];
  for (const [part, all] of Map.groupBy(operationsOf(api), ({ path }) => apiOf(path))) {
    list.push(h("h2", { class: "part" }, part));
    for (const [tag, group] of Map.groupBy(all, ({ operation }) => operation.tags?.[0] ?? "other")) {
      list.push(h("h3", { class: "side-title" }, tag), h("ul", { class: "side-list" }, group.map(link)));
      main.push(h("h2", {}, h("span", { class: "group" }, part), tag), ...group.map((one) => operations.section(one)));
    }
  }
  document.getElementById("pages")?.append(...list);
  document.getElementById("operations")?.append(...main);
  // The element that the fragment names exists only now, so scroll to it again.
  if (location.hash) location.replace(location.hash);
}

const RETRY_MS = 3000;

/** The service may restart: the page tries until it has the document. */
async function load(): Promise<ApiDocument> {
  for (;;) {
    try {
      const response = await fetch("/openapi.json", { credentials: "omit" });
      if (!response.ok) throw new Error(`the server responded with ${response.status}`);
      return (await response.json()) as ApiDocument;
    } catch (error) {
      const text = error instanceof Error ? error.message : String(error);
      problem.textContent = `The description at /openapi.json could not be loaded: ${text}. This page retries every few seconds.`;
      document.querySelector("main")?.append(problem);
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
    }
  }
}

new SearchBox().show();
closePopovers();
const problem = h("p", { role: "alert" });
const [found, demo] = await Promise.all([load(), demoNames(document.body.dataset.demo ?? "")]);
problem.remove();
draw(found, demo.publishableKey !== undefined);
